"""A process that is nothing but a store is killed while it writes and compacts: what it acknowledged has to be there."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import KeyValue, LogEvent
from extapi.storage.sqlite import SqliteBackend
from extapi.testing.stories import read_until
from tests.attack.storewriter import WRITERS

ROOT = Path(__file__).parents[2]


class Store:
    """One file, and the processes that are killed on it."""

    def __init__(self, path: Path, seed: int) -> None:
        self._path = path
        self._dice = random.Random(seed)  # noqa: S311 - which moment
        self._state: dict[bytes, KeyValue] = {}
        self._seen = 1
        self.kills = 0
        self.acknowledged = 0
        self.violations: list[str] = []

    def round(self) -> None:
        """Write, kill, and read again."""
        acknowledged = run_and_kill(self._path, self._seen, self._dice.randint(1, 400))
        self.kills += 1
        self.acknowledged += len(acknowledged)
        changes, entries = read_after(self._path, self._seen)
        told = {change.revision: (change.key, change.value) for change in changes}
        revisions = [change.revision for change in changes]
        self._expect(
            revisions == list(range(self._seen + 1, self._seen + 1 + len(changes))),
            f"revisions with a hole or a repeat after {self._seen}: {revisions}",
        )
        lost = {revision for revision, change in acknowledged.items() if told.get(revision) != change}
        self._expect(not lost, f"acknowledged, and lost: {lost}")
        # What was not acknowledged may be there or not, but each writer had at most one commit on its way.
        more = len(told) - len(acknowledged)
        self._expect(more <= WRITERS, f"{more} commits that nobody was told of")
        for change in changes:
            before = self._state.pop(change.key, None)
            self._expect(change.previous == (before.value if before else None), f"{change} after {before}")
            if change.value is not None:
                self._state[change.key] = KeyValue(change.key, change.value, change.revision)
        self._expect(entries == sorted(self._state.values()), "the entries are not what the log says")
        self._seen = changes[-1].revision

    def _expect(self, good: bool, text: str) -> None:
        if not good:
            self.violations.append(text)


def run_and_kill(path: Path, oldest: int, after: int) -> dict[int, tuple[bytes, bytes | None]]:
    """Let a writer run until ``after`` commits were acknowledged, then kill it; all that it had acknowledged by then."""
    command = [sys.executable, "-m", "tests.attack.storewriter", str(path), str(oldest)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(after)]
        child.kill()
        lines += child.stdout.read().splitlines(keepends=True)
    acknowledged = {}
    for line in lines:
        assert line.endswith(b"\n"), line
        revision, key, value = line.split()
        assert int(revision) not in acknowledged
        acknowledged[int(revision)] = (key, None if value == b"-" else value)
    return acknowledged


def read_after(path: Path, seen: int) -> tuple[list[LogEvent], list[KeyValue]]:
    """What a reader that had seen everything up to a revision is told, and the entries that are there."""
    with private_reactor() as reactor:
        store = SqliteBackend(reactor, path)

        async def read() -> tuple[list[LogEvent], list[KeyValue]]:
            try:
                changes = await read_until(store.tail(seen), await store.revision())
                return changes, list((await store.page(b"", at=None, after=b"", limit=0)).entries)
            finally:
                await store.close()

        return drive(reactor, read())
