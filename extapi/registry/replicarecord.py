"""What each server on a shared store says of itself: the versions of each kind that it reads, and those that it stores.

While two releases of an API run side by side, the old one may meet objects in a version that it cannot read. A server that
would store such a version has to wait until nobody is left who cannot read it. Pure; :mod:`extapi.server.replicas` keeps the
records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from extapi.registry.served import ServedKind
from extapi.registry.shared import SharedKind

PREFIX: Final = b"/extapi/replicas/"
"""What the keys of records begin with; they belong to no resource. The rest is the server's identity."""


class KindVersions(msgspec.Struct, frozen=True):
    """The versions of one kind."""

    reads: Sequence[str]
    """Those that the server has, served or not."""
    stores: Sequence[str]
    """Those in which it stores objects: more than one only while its kinds are being replaced."""


class ReplicaRecord(msgspec.Struct, frozen=True):
    """What one server says of itself. Fields that are not known here are those of a newer extapi."""

    kinds: Mapping[str, KindVersions]
    """By ``PLURAL.GROUP``."""
    beat: int = 0
    """Changes with each renewal, by which others see that the server lives."""


def read_record(value: bytes) -> ReplicaRecord:
    """Decode a record.

    Raises:
        ValueError: It is none.
    """
    return msgspec.json.decode(value, type=ReplicaRecord)


def versions_of(kinds: Iterable[ServedKind]) -> dict[str, KindVersions]:
    """What a record says of kinds. There may be two of one name: requests end with the one and begin with the other."""
    found: dict[str, KindVersions] = {}
    for name, kind in _stored(kinds):
        before = found.get(name)
        reads: Sequence[str] = tuple(kind.versions)
        stores: Sequence[str] = (kind.kind.storage,)
        if before is not None:
            reads = tuple(version for version in before.reads if version in reads)
            stores = tuple(dict.fromkeys((*before.stores, *stores)))
        found[name] = KindVersions(reads, stores)
    return found


def _stored(kinds: Iterable[ServedKind]) -> Iterable[tuple[str, ServedKind]]:
    """The stored kinds by their names; one that shares the objects of another has that one's."""
    for kind in kinds:
        if not kind.virtual and not isinstance(kind, SharedKind):
            group, plural = kind.group, kind.kind.plural
            yield f"{plural}.{group}" if group else plural, kind


def conflict(ours: Mapping[str, KindVersions], name: str, theirs: Mapping[str, KindVersions]) -> str:
    """Why two servers must not both store objects; empty: nothing stands against it.

    Args:
        ours: What this server says.
        name: The other server.
        theirs: What that one says.
    """
    for kind, our in ours.items():
        their = theirs.get(kind)
        if their is None:
            continue
        for version in our.stores:
            if version not in their.reads:
                return (
                    f"this server stores {kind} in {version}, which {name} cannot read; first deploy a release that has {version} "
                    "and stores an earlier version"
                )
        for version in their.stores:
            if version not in our.reads:
                return f"{name} stores {kind} in {version}, which this server cannot read; deploy a release that has {version}"
    return ""
