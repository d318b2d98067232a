"""The versions of each kind that are in the store: a server that cannot convert one of them must not start.

The store keeps one record per kind, under its own key, as a CRD has ``status.storedVersions`` (behaviour J3).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from twisted.internet.defer import Deferred, FirstError, gatherResults

from extapi.errors import qualified
from extapi.registry.served import ServedKind
from extapi.storage.base import Backend, RevisionConflict
from extapi.storage.keys import CORE

PAGE = 1000
"""Objects per page."""
TOGETHER = 50
"""Kinds that are checked at a time."""


class UnknownStoredVersion(Exception):
    """The store holds objects of a version that this server does not know. The text says which and how many.

    Attributes:
        kind: The kind whose version it is.
    """

    def __init__(self, kind: ServedKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def record_key(group: str, resource: str) -> bytes:
    """The key of a kind's record: a JSON list of versions."""
    return f"/extapi/storedversions/{group or CORE}/{resource}".encode()


async def check_all_stored_versions(backend: Backend, kinds: Sequence[ServedKind]) -> None:
    """Do what :func:`check_stored_versions` does for several kinds, some at a time: their records then share writes to the disk.

    Raises:
        UnknownStoredVersion: Objects of one of them are stored in a version that it does not have; others may be recorded by then.
    """
    for start in range(0, len(kinds), TOGETHER):
        some = kinds[start : start + TOGETHER]
        try:
            await gatherResults(
                [Deferred.fromCoroutine(check_stored_versions(backend, kind)) for kind in some], consumeErrors=True
            )
        except FirstError as error:
            error.subFailure.raiseException()


async def check_stored_versions(backend: Backend, kind: ServedKind) -> None:
    """Record the storage version, and drop recorded versions in which no object is stored any more.

    Raises:
        UnknownStoredVersion: Objects are stored in a version that the kind does not have.
    """
    key = record_key(kind.group, kind.kind.plural)
    while True:
        entry = await backend.get(key)
        recorded: list[str] = msgspec.json.decode(entry.value) if entry else []
        unknown = [version for version in recorded if version not in kind.versions]
        counts = await _counts(backend, kind) if unknown else {}
        lost = {version: counts[version] for version in unknown if counts.get(version)}
        if lost:
            what = ", ".join(f"{count} in {version}" for version, count in lost.items())
            raise UnknownStoredVersion(
                kind,
                f"the store holds objects of {qualified(kind.kind.name, kind.group)} in versions that this server does not have: "
                f"{what}; declare these versions again (with served=False, if no client should use them), read and rewrite the "
                "objects, then drop the versions",
            )
        wanted = [version for version in recorded if version not in unknown]
        if kind.kind.storage not in wanted:
            wanted.append(kind.kind.storage)
        if wanted == recorded:
            return
        try:
            await backend.commit(key, msgspec.json.encode(wanted), expected=entry.revision if entry else 0)
        except RevisionConflict:
            continue  # another process on the same store was faster
        return


async def _counts(backend: Backend, kind: ServedKind) -> dict[str, int]:
    """The number of objects stored in each version."""
    counts: dict[str, int] = {}
    after = b""
    while True:
        page = await backend.page(kind.layout.prefix, at=None, after=after, limit=PAGE)
        for entry in page.entries:
            version = msgspec.json.decode(entry.value, type=_Typed).api_version.rpartition("/")[2]
            counts[version] = counts.get(version, 0) + 1
        if not page.more:
            return counts
        after = page.entries[-1].key


class _Typed(msgspec.Struct):
    """The version of an object, and nothing else of it."""

    api_version: str = msgspec.field(name="apiVersion")
