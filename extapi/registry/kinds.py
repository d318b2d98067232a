"""All kinds of an API, compiled together: an author sees all mistakes at once."""

from __future__ import annotations

from functools import partial

from extapi.api.declaration import ProblemCollector
from extapi.api.definition import Api, Kind
from extapi.registry.served import ServedKind
from extapi.registry.shared import shared_kind
from extapi.registry.virtual import subresource_kind


def serve_kinds(api: Api) -> list[ServedKind]:
    """The kinds of all groups, in order.

    Raises:
        DeclarationError: Some cannot be compiled; with a line per mistake.
    """
    declared = [(kind, group.name, kind.behaviour.storing.stored_as) for group in api.groups for kind in group.kinds]
    problems = ProblemCollector()
    stored = [None if how else problems.make(partial(_served, kind, group)) for kind, group, how in declared]
    problems.check()
    bases = [kind for kind in stored if kind is not None]
    made = [
        problems.make(partial(shared_kind, kind, group, how, bases)) if how else served
        for served, (kind, group, how) in zip(stored, declared, strict=True)
    ]
    problems.check()
    return [kind for kind in made if kind is not None]


def _served(kind: Kind, group: str) -> ServedKind:
    """A kind. The kinds of its subresources are compiled as well, for their mistakes."""
    served = ServedKind(kind, group)
    problems = ProblemCollector()
    for subresource in kind.subresources.values():
        problems.make(partial(subresource_kind, served, subresource))
    problems.check()
    return served
