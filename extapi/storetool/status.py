"""What a store holds: revisions, and keys and bytes per resource, with the versions that are stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from extapi.registry.storedversions import record_key
from extapi.storage.keys import CORE, resource_prefix_of
from extapi.storage.snapshot import FileSnapshot
from extapi.storetool.source import PAGE, store_path

OBJECTS = "/registry/"
"""What the keys of objects begin with."""


class ResourceTotals(msgspec.Struct):
    """Of one resource."""

    resource: str
    """``PLURAL.GROUP``."""
    objects: int = 0
    bytes: int = 0
    """Of their values as they are stored, without their past."""
    stored_versions: list[str] = msgspec.field(name="storedVersions", default_factory=list)
    """Versions in which objects are, or were, stored."""


class StoreStatus(msgspec.Struct):
    """Of a store."""

    store: str
    revision: int
    oldest: int
    """The oldest revision that can be read."""
    file: int
    """Bytes of the file, and of its write-ahead log."""
    resources: list[ResourceTotals]


def status_of(url: str) -> StoreStatus:
    """Read all of a store; also while a server has it open.

    Raises:
        CommandFailure: The URL names no store that outlives its process.
        UnusableFile: There is no store in the file.
    """
    path = store_path(url)
    snapshot = FileSnapshot(path)
    try:
        found: dict[bytes, ResourceTotals] = {}
        after, more = OBJECTS.encode(), True
        while more:
            page = snapshot.page(OBJECTS.encode(), after, PAGE)
            for key, value, _ in page.entries:
                prefix = resource_prefix_of(key)
                resource = found.get(prefix)
                if resource is None:
                    resource = found[prefix] = _resource(snapshot, prefix)
                resource.objects += 1
                resource.bytes += len(value)
            more = page.more
            after = page.entries[-1].key if page.entries else after
        return StoreStatus(url, snapshot.revision, snapshot.oldest, _size(path), list(found.values()))
    finally:
        snapshot.close()


def lines(status: StoreStatus) -> Iterator[str]:
    """A table for people."""
    yield f"store      {status.store}"
    yield f"revision   {status.revision:,}"
    yield f"oldest     {status.oldest:,}"
    yield f"file       {status.file / 1e6:,.1f} MB"
    rows = [("RESOURCE", "OBJECTS", "MB", "STORED VERSIONS")]
    rows += [
        (each.resource, f"{each.objects:,}", f"{each.bytes / 1e6:,.1f}", ", ".join(each.stored_versions) or "-")
        for each in status.resources
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    yield ""
    for name, objects, size, versions in rows:
        yield f"{name:<{widths[0]}}  {objects:>{widths[1]}}  {size:>{widths[2]}}  {versions}"


def _resource(snapshot: FileSnapshot, prefix: bytes) -> ResourceTotals:
    _, _, group, plural, _ = prefix.decode(errors="replace").split("/")
    group = "" if group == CORE else group
    record = snapshot.get(record_key(group, plural))
    versions = msgspec.json.decode(record.value, type=list[str]) if record else []
    return ResourceTotals(f"{plural}.{group}" if group else plural, stored_versions=versions)


def _size(path: Path) -> int:
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)
