"""Every story of the contract on every store, many times in random order: ``python -m tests.conformance.matrix``.

It prints a table: a row per store, with how often its stories ran and which failed. Stories of one etcd run one at a time, since
a compaction is of all that it has; ``--row`` and several processes are the way to be done sooner. The last result is in
``docs/reference/stores.md``. The stores' own test modules run each story once, in every run of the tests.
"""

# ruff: noqa: S311, T201 - a command prints, and its dice need no secrecy

from __future__ import annotations

import argparse
import contextlib
import inspect
import random
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred

from extapi.storage.base import Backend, RevisionConflict
from extapi.storage.etcd.backend import EtcdBackend
from extapi.storage.memory import MemoryBackend
from extapi.storage.sqlite import SqliteBackend
from extapi.testing.backends import BackendConformance
from tests.conformance.onetcd import OnEtcd
from tests.conformance.test_hub import OwnHub
from tests.conformance.test_lagging import Turns
from tests.etcds import etcd, kine
from tests.lagging import LaggingBackend
from tests.sharedlog import THEIRS, SharedBackend

Make = Callable[[Path], contextlib.AbstractContextManager[Callable[[], BackendConformance]]]
"""Starts what a row needs; each call of what it gives makes the suite of one story, with an empty store."""


class OnMemory(BackendConformance):
    def store(self, reactor: Any) -> Backend:
        return MemoryBackend(reactor)


class OnLagging(BackendConformance):
    def store(self, reactor: Any) -> Backend:
        return LaggingBackend(MemoryBackend(reactor), Turns(reactor), random.randrange(2**32))


class OnSqlite(BackendConformance):
    durable = True
    path: Path

    def store(self, reactor: Any) -> Backend:
        return SqliteBackend(reactor, self.path)


class OnHub(BackendConformance):
    durable = True
    timeout = 120.0
    path: Path

    def store(self, reactor: Any) -> Backend:
        return OwnHub(reactor, self.path)


class WholeOnEtcd(OnEtcd, BackendConformance):
    """All stories."""


class Crowded(SharedBackend):
    """Somebody else writes under the same prefix all the time, over connections of his own."""

    def __init__(self, ours: Backend, others: Backend) -> None:
        super().__init__(ours)
        self._others = others
        self._open = True
        self._writing = Deferred.fromCoroutine(self._write())

    async def _write(self) -> None:
        revision = 0
        while self._open:
            try:
                revision = await self._others.commit(THEIRS, b"x", expected=revision)
            except RevisionConflict as conflict:  # of the store that was open before
                revision = conflict.live.revision if conflict.live else 0

    async def others_write(self) -> None:
        """They do anyway."""

    async def close(self) -> None:
        await super().close()
        self._open = False
        await self._writing
        await self._others.close()


class SharedOnEtcd(WholeOnEtcd):
    """With others who write."""

    def store(self, reactor: Any) -> Backend:
        ours, others = (EtcdBackend(reactor, self.options()) for _ in range(2))
        return Crowded(ours, others)


def local(kind: type[BackendConformance]) -> Make:
    """A store that needs no server."""

    @contextlib.contextmanager
    def started(directory: Path) -> Iterator[Callable[[], BackendConformance]]:
        numbers = iter(range(sys.maxsize))

        def fresh() -> BackendConformance:
            suite = kind()
            if isinstance(suite, OnSqlite | OnHub):
                suite.path = directory / f"{next(numbers)}.db"
            return suite

        yield fresh

    return started


def on_etcd(version: str, *, tls: bool = False, kind: type[WholeOnEtcd] = WholeOnEtcd) -> Make:
    """A row of etcd."""

    @contextlib.contextmanager
    def started(directory: Path) -> Iterator[Callable[[], BackendConformance]]:
        with etcd(directory, tls=tls, version=version) as member:
            yield lambda: kind.on(member)

    return started


@contextlib.contextmanager
def on_kine(directory: Path) -> Iterator[Callable[[], BackendConformance]]:
    """A row of kine."""
    with kine(directory) as server:
        yield lambda: WholeOnEtcd.on(server)


ROWS: Mapping[str, Make] = {
    "memory": local(OnMemory),
    "SQLite": local(OnSqlite),
    "SQLite behind the hub": local(OnHub),
    "a store that lags": local(OnLagging),
    **{
        f"etcd {version}{', TLS' if tls else ''}": on_etcd(version, tls=tls)
        for version in ("3.5", "3.6", "3.7")
        for tls in (False, True)
    },
    **{
        f"etcd {version}, with another writer": on_etcd(version, kind=SharedOnEtcd) for version in ("3.5", "3.6", "3.7")
    },
    "kine on SQLite": on_kine,
}
STORIES = [name for name, _ in inspect.getmembers(BackendConformance, inspect.isfunction) if name.startswith("test_")]


class Tally:
    """How often the stories of each row ran and failed."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.failed: Counter[tuple[str, str]] = Counter()
        self.seconds: dict[str, float] = defaultdict(float)

    def run(self, row: str, story: str, suite: BackendConformance) -> None:
        """Run one; a failure is printed, and the others go on."""
        began = time.monotonic()
        self.ran[row] += 1
        try:
            getattr(suite, story)()
        except Exception:  # noqa: BLE001 - whatever it is
            self.failed[row, story] += 1
            print(f"{row}: {story}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        self.seconds[row] += time.monotonic() - began

    def show(self, rows: Iterable[str], times: int) -> None:
        """Print the table."""
        print(f"{times} times", flush=True)
        for row in rows:
            ill = [f"{story} {count}" for (where, story), count in sorted(self.failed.items()) if where == row]
            print(f"| {row} | {self.ran[row]} | {', '.join(ill) or 0} | {self.seconds[row]:.0f} s |", flush=True)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=1, help="how often each story runs on each store")
    parser.add_argument("--row", action="append", choices=ROWS, help="only this store; may be given again")
    parser.add_argument("--story", action="append", choices=STORIES, help="only this story; may be given again")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    dice = random.Random(arguments.seed)
    rows, stories = arguments.row or list(ROWS), arguments.story or STORIES
    tally = Tally()
    print(f"seed {arguments.seed}")
    with contextlib.ExitStack() as stack:
        fresh = {}
        for row in rows:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            fresh[row] = stack.enter_context(ROWS[row](directory))
        for number in range(1, arguments.times + 1):
            turn = [(row, story) for row in rows for story in stories]
            dice.shuffle(turn)
            for row, story in turn:
                tally.run(row, story, fresh[row]())
            if number % 10 == 0 or number == arguments.times:
                tally.show(rows, number)
    return bool(tally.failed)


if __name__ == "__main__":
    sys.exit(main())
