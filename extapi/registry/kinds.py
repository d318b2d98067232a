"""All kinds of an API, compiled together: an author sees all mistakes at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from extapi.api.behaviour import StoredAs
from extapi.api.declaration import ProblemCollector
from extapi.api.definition import Api, Kind
from extapi.registry.served import ServedKind
from extapi.registry.shared import SharedKind, shared_kind
from extapi.registry.virtual import subresource_kind


def serve_kinds(api: Api, known: Iterable[ServedKind] = ()) -> list[ServedKind]:
    """The kinds of all groups, in order.

    Args:
        api: The API.
        known: Kinds that are compiled already. Each is taken over if the same :class:`~extapi.api.definition.Kind` is still in
            its group, and the kind that it is stored as, if any, is taken over as well.

    Raises:
        DeclarationError: Some cannot be compiled; with a line per mistake.
    """
    found = {(kind.group, id(kind.kind)): kind for kind in known}
    declared = [
        (kind, group.name, kind.behaviour.storing.stored_as, found.get((group.name, id(kind))))
        for group in api.groups
        for kind in group.kinds
    ]
    problems = ProblemCollector()
    stored = [
        None if how else same or problems.make(partial(_served, kind, group)) for kind, group, how, same in declared
    ]
    problems.check()
    bases = [kind for kind in stored if kind is not None]
    made = [
        problems.make(partial(_shared, kind, group, how, bases, same)) if how else served
        for served, (kind, group, how, same) in zip(stored, declared, strict=True)
    ]
    problems.check()
    return [kind for kind in made if kind is not None]


def _shared(kind: Kind, group: str, how: StoredAs, bases: Sequence[ServedKind], same: ServedKind | None) -> ServedKind:
    """A kind that is stored as one of ``bases``; ``same``: as it was compiled before."""
    if isinstance(same, SharedKind) and same.base in bases:
        return same
    return shared_kind(kind, group, how, bases)


def _served(kind: Kind, group: str) -> ServedKind:
    """A kind. The kinds of its subresources are compiled as well, for their mistakes."""
    served = ServedKind(kind, group)
    problems = ProblemCollector()
    for subresource in kind.subresources.values():
        problems.make(partial(subresource_kind, served, subresource))
    problems.check()
    return served
