"""``extapi storage``: the command line."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from extapi.storetool.source import Source

LARGEST: Final = 2**53
"""Revisions stay below: clients read them as numbers of JavaScript and of Go's float64, too."""
_FILE = click.Path(path_type=Path, dir_okay=False)
_REPLACE = "Replace what is there."
_URL = "URL"


@click.group("storage")
def storage() -> None:
    """Back up a store, restore it, copy it, and see what is in it.

    URL is that of the server's --storage, such as sqlite:///data.sqlite. status, backup and copy read a store also while a server has
    it open; a store that is written must not be open in a server. Exit status: 0 done, 1 it could not be done, 130 after Ctrl-C.
    """


@storage.command("status")
@click.argument("url", metavar=_URL)
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
def status(url: str, output: str) -> None:
    """Print the revisions of a store, and how many objects of which resources it holds."""

    async def main(_: Any) -> int:
        import msgspec  # noqa: PLC0415 - --help should answer at once

        from extapi.storetool.status import lines, status_of  # noqa: PLC0415 - see above

        found = status_of(url)
        click.echo(msgspec.json.encode(found) if output == "json" else "\n".join(lines(found)))
        return 0

    _run(main)


@storage.command("backup")
@click.argument("url", metavar=_URL)
@click.argument("file", type=_FILE)
@click.option("--replace", is_flag=True, help=_REPLACE)
def backup(url: str, file: Path, *, replace: bool) -> None:
    """Write all objects of a store at one revision to FILE, with a checksum. The server may go on meanwhile."""

    async def main(reactor: Any) -> int:
        from extapi.console.display import bar, say  # noqa: PLC0415 - see above
        from extapi.storetool.source import StoreSource  # noqa: PLC0415 - see above
        from extapi.storetool.writing import write_backup  # noqa: PLC0415 - see above

        with closing(StoreSource(url)) as source, bar("backup") as report:
            count = await write_backup(source, file, reactor.seconds(), report, replace=replace)
        say(f"{file}: {count} keys of {url} at revision {source.revision}")
        return 0

    _run(main)


@storage.command("restore")
@click.argument("file", type=_FILE)
@click.argument("url", metavar=_URL)
@click.option("--replace", is_flag=True, help=_REPLACE)
def restore(file: Path, url: str, *, replace: bool) -> None:
    """Fill a store with the backup in FILE. All of FILE is checked first.

    The store goes on above its own revisions and those of the backup: no resourceVersion comes twice, and clients list anew.
    """

    def source() -> Source:
        from extapi.storetool.source import BackupSource  # noqa: PLC0415 - see above

        return BackupSource(file)

    _fill(source, url, replace=replace)


@storage.command("copy")
@click.option("--from", "origin", required=True, metavar=_URL, help="What is copied.")
@click.option("--to", "target", required=True, metavar=_URL, help="Where to.")
@click.option("--replace", is_flag=True, help=_REPLACE)
def copy(origin: str, target: str, *, replace: bool) -> None:
    """Fill a store with what another one holds, at one revision. Stop the server first, or what it writes later is left out.

    The store goes on above its own revisions and those of the other one: no resourceVersion comes twice, and clients list anew.
    """

    def source() -> Source:
        from extapi.storetool.source import StoreSource  # noqa: PLC0415 - see above

        return StoreSource(origin)

    _fill(source, target, replace=replace)


@storage.command("compact")
@click.argument("url", metavar=_URL)
def compact(url: str) -> None:
    """Forget the past of a store, and give its room back. Servers do so themselves, up to the last five minutes."""

    async def main(reactor: Any) -> int:
        from extapi.console.display import say  # noqa: PLC0415 - see above

        store = _opened(url, reactor)
        try:
            revision = await store.revision()
            await store.compact(revision, expected=await store.oldest())
        finally:
            await store.close()
        say(f"{url}: revision {revision} is the oldest that can be read")
        return 0

    _run(main)


@storage.command("bump")
@click.argument("url", metavar=_URL)
@click.argument("count", type=click.IntRange(1, LARGEST), default=1_000_000)
def bump(url: str, count: int) -> None:
    """Leave out COUNT revisions, by default a million; for a file that was restored by other means.

    Clients may remember resourceVersions that the store has given since the copy was made. They are then told to list anew.
    """

    async def main(reactor: Any) -> int:
        from extapi.console.display import say  # noqa: PLC0415 - see above
        from extapi.console.failure import CommandFailure  # noqa: PLC0415 - see above

        store = _opened(url, reactor)
        try:
            wanted = await store.revision() + count
            if wanted >= LARGEST:
                raise CommandFailure(f"revision {wanted} would be more than clients can read (2**53)")
            revision = await store.skip(wanted)
        finally:
            await store.close()
        say(f"{url}: goes on above revision {revision}")
        return 0

    _run(main)


def _fill(source: Any, url: str, *, replace: bool) -> None:
    async def main(reactor: Any) -> int:
        from extapi.console.display import bar, say  # noqa: PLC0415 - see above
        from extapi.storetool.filling import Filling  # noqa: PLC0415 - see above

        with closing(source()) as opened:
            store = _opened(url, reactor)
            try:
                with bar("copying") as report:
                    done = await Filling(store, opened, replace=replace).run(report)
            finally:
                await store.close()
        say(
            f"{url}: {done.entries} keys of {opened.name}, {done.written} of them written, {done.deleted} others deleted; "
            f"goes on above revision {done.revision}"
        )
        return 0

    _run(main)


def _opened(url: str, reactor: Any) -> Any:
    from extapi.storage.sqlite import SqliteBackend  # noqa: PLC0415 - see above
    from extapi.storetool.source import store_path  # noqa: PLC0415 - see above

    return SqliteBackend(reactor, store_path(url))


def _run(main: Any) -> None:
    from extapi.console.running import run  # noqa: PLC0415 - --help should answer at once

    sys.exit(run(main))
