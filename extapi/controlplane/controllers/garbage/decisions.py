"""What is to be done to an object, given how its owners stand.

Pure. Must not know how that was found out. Source: ``garbagecollector.go`` attemptToDeleteItem, processDeletingDependentsItem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from extapi.controlplane.controllers.garbage.objects import Observed, Owner

Policy = Literal["Background", "Foreground", "Orphan"]


class Standing(Enum):
    """How the owner stands that a reference names."""

    SOLID = "solid"
    """It exists, and its dependents are to stay."""
    WAITING = "waiting"
    """It is being deleted, and waits for its dependents."""
    ABSENT = "absent"
    """It does not exist where the reference says."""

    @classmethod
    def of(cls, owner: Observed) -> Standing:
        """The standing of an owner that exists."""
        return cls.WAITING if owner.deletes_dependents else cls.SOLID


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object."""

    policy: Policy
    unblock: tuple[Owner, ...] = ()
    """The references that it is to have first, if any: none of them blocks."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep the object, with these references only."""

    owners: tuple[Owner, ...]


def decide(obj: Observed, standings: Sequence[Standing], dependents: Sequence[Observed]) -> Delete | Keep | None:
    """What is to be done to an object that is not being deleted.

    Args:
        obj: The object.
        standings: Those of its owners, in their order.
        dependents: The objects that refer to it.

    Returns:
        None if nothing is to be done.
    """
    if not obj.owners:
        return None
    if Standing.SOLID in standings:
        solid = tuple(owner for owner, each in zip(obj.owners, standings, strict=True) if each is Standing.SOLID)
        # The other references must go: an owner that waits would wait for this object, which stays.
        return Keep(solid) if len(solid) < len(obj.owners) else None
    if Standing.WAITING in standings and dependents:
        circular = any(each.deletes_dependents for each in dependents)
        return Delete("Foreground", unblocked(obj) if circular else ())
    if obj.orphans:
        return Delete("Orphan")
    return Delete("Foreground" if obj.foreground else "Background")


def unblocked(obj: Observed) -> tuple[Owner, ...]:
    """Its references if none of them blocks; nothing if none does now.

    Objects that own each other in a circle, and wait for each other, would wait forever.
    """
    if not any(owner.block_owner_deletion for owner in obj.owners):
        return ()
    return tuple(
        Owner(each.api_version, each.kind, each.name, each.uid, each.controller, False)
        if each.block_owner_deletion
        else each
        for each in obj.owners
    )
