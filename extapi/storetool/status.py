"""What a store holds: revisions, keys and bytes per resource with the versions that are stored, and etcd's members."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from extapi.registry.storedversions import record_key
from extapi.storage.base import Backend, KeyValue
from extapi.storage.keys import CORE, resource_prefix_of
from extapi.storage.snapshot import FileSnapshot
from extapi.storetool.source import PAGE, LiveSource, store_path
from extapi.storetool.stores import NamedStore, opened

if TYPE_CHECKING:
    from extapi.storage.etcd.survey import MemberReport

OBJECTS = "/registry/"
"""What the keys of objects begin with."""
Get = Callable[[bytes], Awaitable[KeyValue | None]]


class ResourceTotals(msgspec.Struct):
    """Of one resource."""

    resource: str
    """``PLURAL.GROUP``."""
    objects: int = 0
    bytes: int = 0
    """Of their values as they are stored, without their past."""
    stored_versions: list[str] = msgspec.field(name="storedVersions", default_factory=list)
    """Versions in which objects are, or were, stored."""


class EtcdMember(msgspec.Struct):
    """Of one member of etcd, as its endpoint is named in ``--etcd-servers``."""

    endpoint: str
    failure: str = ""
    """Why nothing else is known of it; empty: it is."""
    version: str = ""
    hidden: bool = False
    """Whether it tells what follows to root alone."""
    leader: bool = False
    size: int = 0
    """Bytes of its database, which holds more than this store."""
    in_use: int = msgspec.field(name="inUse", default=0)
    quota: int = 0
    """Bytes that it may have; 0: etcd does not say, before 3.6."""
    alarms: list[str] = []


class StoreStatus(msgspec.Struct):
    """Of a store."""

    store: str
    revision: int
    oldest: int
    """The oldest revision that can be read."""
    file: int
    """Bytes of the file, and of its write-ahead log; 0 in etcd."""
    resources: list[ResourceTotals]
    offset: int = 0
    """How far revisions are above etcd's."""
    members: list[EtcdMember] = []


async def status_of(store: NamedStore, reactor: Any) -> StoreStatus:
    """Read all of a store; also while servers have it open.

    Raises:
        CommandFailure: The URL names no store that outlives its process, or it cannot be used.
        UnusableFile: There is no store in the file.
        Unavailable: etcd cannot be reached.
    """
    if store.etcd is None:
        return await _of_file(store.url)
    async with opened(store, reactor, create=False) as backend:
        from extapi.storage.etcd.survey import survey  # noqa: PLC0415 - an extra that only this store needs

        members = [_member(report) for report in await survey(reactor, store.etcd)]
        source = LiveSource(store.name, backend, await backend.revision())
        resources = await _totals(source.entries(), backend.get)
        return StoreStatus(store.name, source.revision, await backend.oldest(), 0, resources, _offset(backend), members)


async def _of_file(url: str) -> StoreStatus:
    path = store_path(url)
    snapshot = FileSnapshot(path)

    async def entries() -> AsyncIterator[KeyValue]:
        after, more = OBJECTS.encode(), True
        while more:
            page = snapshot.page(OBJECTS.encode(), after, PAGE)
            for entry in page.entries:
                yield entry
            more = page.more
            after = page.entries[-1].key if page.entries else after

    async def get(key: bytes) -> KeyValue | None:
        return snapshot.get(key)

    try:
        return StoreStatus(url, snapshot.revision, snapshot.oldest, _size(path), await _totals(entries(), get))
    finally:
        snapshot.close()


async def _totals(entries: AsyncIterator[KeyValue], get: Get) -> list[ResourceTotals]:
    found: dict[bytes, ResourceTotals] = {}
    async for key, value, _ in entries:
        if not key.startswith(OBJECTS.encode()):
            continue
        prefix = resource_prefix_of(key)
        resource = found.get(prefix)
        if resource is None:
            resource = found[prefix] = await _resource(get, prefix)
        resource.objects += 1
        resource.bytes += len(value)
    return list(found.values())


def lines(status: StoreStatus) -> Iterator[str]:
    """A table for people."""
    yield f"store      {status.store}"
    yield f"revision   {status.revision:,}"
    yield f"oldest     {status.oldest:,}"
    if status.members:
        yield f"offset     {status.offset:,}"
        yield ""
        yield from _table(
            ("ENDPOINT", "VERSION", "LEADER", "MB", "IN USE", "QUOTA", "ALARMS"), map(_row, status.members)
        )
    else:
        yield f"file       {status.file / 1e6:,.1f} MB"
    rows = [
        (each.resource, f"{each.objects:,}", f"{each.bytes / 1e6:,.1f}", ", ".join(each.stored_versions) or "-")
        for each in status.resources
    ]
    yield ""
    yield from _table(("RESOURCE", "OBJECTS", "MB", "STORED VERSIONS"), rows)


def _row(member: EtcdMember) -> tuple[str, ...]:
    if member.failure:
        return (member.endpoint, member.failure)
    if member.hidden:
        return (member.endpoint, "it tells its version, size and alarms to root alone")
    sizes = (f"{number / 1e6:,.1f}" if number else "-" for number in (member.size, member.in_use, member.quota))
    return (member.endpoint, member.version, "yes" if member.leader else "no", *sizes, ", ".join(member.alarms) or "-")


def _table(head: tuple[str, ...], rows: Any) -> Iterator[str]:
    """The last column, and one that has no others after it, as long as it is; numbers to the right."""
    whole = [head, *rows]
    widths = [max(len(row[column]) for row in whole if column < len(row) - 1) for column in range(len(head) - 1)]
    numbers = {column for column, title in enumerate(head) if title in ("OBJECTS", "MB", "IN USE", "QUOTA")}
    for row in whole:
        cells = [
            each
            if column == len(row) - 1
            else f"{each:>{widths[column]}}"
            if column in numbers
            else f"{each:<{widths[column]}}"
            for column, each in enumerate(row)
        ]
        yield "  ".join(cells)


def _member(report: MemberReport) -> EtcdMember:
    return EtcdMember(
        report.endpoint,
        report.failure,
        report.version,
        report.hidden,
        report.leads,
        report.size,
        report.in_use,
        report.quota,
        list(report.alarms),
    )


def _offset(backend: Backend) -> int:
    return int(getattr(backend, "offset", 0))


async def _resource(get: Get, prefix: bytes) -> ResourceTotals:
    _, _, group, plural, _ = prefix.decode(errors="replace").split("/")
    group = "" if group == CORE else group
    record = await get(record_key(group, plural))
    versions = msgspec.json.decode(record.value, type=list[str]) if record else []
    return ResourceTotals(f"{plural}.{group}" if group else plural, stored_versions=versions)


def _size(path: Path) -> int:
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)
