"""``extapi storage``: the command line."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from extapi.clock import wall_time
from extapi.server.etcdflags import etcd_of, with_etcd_flags, with_other_etcd_flags
from extapi.storage.etcd.mark import LARGEST

if TYPE_CHECKING:
    from extapi.storetool.source import Source
    from extapi.storetool.stores import NamedStore

_FILE = click.Path(path_type=Path, dir_okay=False)
_REPLACE = "Replace what is there."
_URL = "URL"
Opening = Callable[[Any], AbstractAsyncContextManager["Source"]]
"""Opens a source, with the reactor."""


@click.group("storage")
def storage() -> None:
    """Back up a store, restore it, copy it, and see what is in it.

    URL is that of the server's --storage, such as sqlite:///data.sqlite, or etcd: with the server's --etcd-... flags. status,
    backup and copy read a store also while a server has it open; stop the servers before a store is written. Exit status: 0 done,
    1 it could not be done, 130 after Ctrl-C.
    """


@storage.command("status")
@click.argument("url", metavar=_URL)
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@with_etcd_flags
def status(url: str, output: str, **raw: Any) -> None:
    """Print the revisions of a store, how many objects of which resources it holds, and the state of etcd's members."""
    store = _store(url, raw)

    async def main(reactor: Any) -> int:
        import msgspec  # noqa: PLC0415 - --help should answer at once

        from extapi.storetool.status import lines, status_of  # noqa: PLC0415 - see above

        found = await status_of(store, reactor)
        click.echo(msgspec.json.encode(found) if output == "json" else "\n".join(lines(found)))
        return 0

    _run(main)


@storage.command("backup")
@click.argument("url", metavar=_URL)
@click.argument("file", type=_FILE)
@click.option("--replace", is_flag=True, help=_REPLACE)
@with_etcd_flags
def backup(url: str, file: Path, *, replace: bool, **raw: Any) -> None:
    """Write all objects of a store at one revision to FILE, with a checksum. The server may go on meanwhile."""
    store = _store(url, raw)

    async def main(reactor: Any) -> int:
        from extapi.console.display import bar, say  # noqa: PLC0415 - see above
        from extapi.storetool.stores import read  # noqa: PLC0415 - see above
        from extapi.storetool.writing import write_backup  # noqa: PLC0415 - see above

        async with read(store, reactor) as source:
            with bar("backup") as report:
                count = await write_backup(source, file, wall_time(reactor), report, replace=replace)
        say(f"{file}: {count} keys of {store.name} at revision {source.revision}")
        return 0

    _run(main)


@storage.command("restore")
@click.argument("file", type=_FILE)
@click.argument("url", metavar=_URL)
@click.option("--replace", is_flag=True, help=_REPLACE)
@with_etcd_flags
def restore(file: Path, url: str, *, replace: bool, **raw: Any) -> None:
    """Fill a store with the backup in FILE. All of FILE is checked first.

    The store goes on above its own revisions and those of the backup: no resourceVersion comes twice, and clients list anew.
    """

    @asynccontextmanager
    async def source(_: Any) -> AsyncIterator[Source]:
        from extapi.storetool.source import BackupSource  # noqa: PLC0415 - see above

        with closing(BackupSource(file)) as found:
            yield found

    _fill(source, _store(url, raw), replace=replace)


@storage.command("copy")
@click.option("--from", "origin", required=True, metavar=_URL, help="What is copied.")
@click.option("--to", "target", required=True, metavar=_URL, help="Where to.")
@click.option("--replace", is_flag=True, help=_REPLACE)
@with_etcd_flags
@with_other_etcd_flags
def copy(origin: str, target: str, *, replace: bool, **raw: Any) -> None:
    """Fill a store with what another one holds, at one revision. Stop the server first, or what it writes later is left out.

    The store goes on above its own revisions and those of the other one: no resourceVersion comes twice, and clients list anew.
    """
    named, filled = _store(origin, raw), _store(target, raw, other=True)
    if named == filled:
        raise click.UsageError("--from and --to name the same store")

    def source(reactor: Any) -> AbstractAsyncContextManager[Source]:
        from extapi.storetool.stores import read  # noqa: PLC0415 - see above

        return read(named, reactor)

    _fill(source, filled, replace=replace)


@storage.command("compact")
@click.argument("url", metavar=_URL)
@with_etcd_flags
def compact(url: str, **raw: Any) -> None:
    """Forget the past of a store, and give its room back. Servers do so themselves, up to the last five minutes.

    etcd forgets the past of all that it holds, and gives room back only when it is defragmented.
    """
    named = _store(url, raw)

    async def main(reactor: Any) -> int:
        from extapi.console.display import say  # noqa: PLC0415 - see above
        from extapi.storetool.stores import opened  # noqa: PLC0415 - see above

        async with opened(named, reactor, create=False) as store:
            revision = await store.revision()
            await store.compact(revision, expected=await store.oldest())
        say(f"{named.name}: revision {revision} is the oldest that can be read")
        return 0

    _run(main)


@storage.command("bump")
@click.argument("url", metavar=_URL)
@click.argument("count", type=click.IntRange(1, LARGEST), default=1_000_000)
@with_etcd_flags
def bump(url: str, count: int, **raw: Any) -> None:
    """Leave out COUNT revisions, by default a million; for a store that was restored by other means.

    Clients may remember resourceVersions that the store has given since the copy was made. They are then told to list anew. With
    etcd: servers may run; they notice.
    """
    named = _store(url, raw)

    async def main(reactor: Any) -> int:
        from extapi.console.display import say  # noqa: PLC0415 - see above
        from extapi.console.failure import CommandFailure  # noqa: PLC0415 - see above
        from extapi.storetool.stores import opened  # noqa: PLC0415 - see above

        async with opened(named, reactor) as store:
            wanted = await store.revision() + count
            if wanted >= LARGEST:
                raise CommandFailure(f"revision {wanted} would be more than clients can read (2**53)")
            try:
                revision = await store.skip(wanted)
            except ValueError as error:
                raise CommandFailure(str(error)) from error
        say(f"{named.name}: goes on above revision {revision}")
        return 0

    _run(main)


def _fill(source: Opening, named: NamedStore, *, replace: bool) -> None:
    async def main(reactor: Any) -> int:
        from extapi.console.display import bar, say  # noqa: PLC0415 - see above
        from extapi.storetool.filling import Filling  # noqa: PLC0415 - see above
        from extapi.storetool.stores import opened  # noqa: PLC0415 - see above

        async with source(reactor) as found, opened(named, reactor) as store:
            with bar("copying") as report:
                done = await Filling(store, found, replace=replace).run(report)
        say(
            f"{named.name}: {done.entries} keys of {found.name}, {done.written} of them written, {done.deleted} others deleted; "
            f"goes on above revision {done.revision}"
        )
        if done.note:
            say(f"{named.name}: {done.note}")
        return 0

    _run(main)


def _store(url: str, raw: dict[str, Any], *, other: bool = False) -> NamedStore:
    from extapi.storetool.stores import NamedStore  # noqa: PLC0415 - see above

    return NamedStore(url, etcd_of(url, raw, other=other))


def _run(main: Any) -> None:
    from extapi.console.running import run  # noqa: PLC0415 - --help should answer at once

    sys.exit(run(main))
