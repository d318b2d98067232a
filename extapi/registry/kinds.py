"""All kinds of an API, compiled together, so that an author reads everything that is wrong with them at once."""

from __future__ import annotations

from functools import partial

from extapi.api.declaration import Declarations
from extapi.api.definition import Api, Kind
from extapi.registry.served import ServedKind
from extapi.registry.shared import shared_kind
from extapi.registry.virtual import subresource_kind


def serve_kinds(api: Api) -> list[ServedKind]:
    """The kinds of all groups, in order. Raises :class:`extapi.api.declaration.DeclarationError` with a line for each mistake."""
    declared = [
        (kind, group.name, kind.native.stored if kind.native else None) for group in api.groups for kind in group.kinds
    ]
    problems = Declarations()
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
    """A kind, and what its subresources speak: the latter is looked at here and made where it is served."""
    served = ServedKind(kind, group)
    problems = Declarations()
    for subresource in kind.subresources.values():
        problems.make(partial(subresource_kind, served, subresource))
    problems.check()
    return served
