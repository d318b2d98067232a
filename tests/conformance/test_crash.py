"""A process is killed while it writes, again and again: nothing that was acknowledged may be missing afterwards."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from extapi.storage.base import Change, Entry
from extapi.storage.sqlite import SqliteBackend
from extapi.testing.reactor import drive, private_reactor
from extapi.testing.stories import read_until
from tests.conformance.crash_writer import WRITERS

KILLS = 20
ROOT = Path(__file__).parents[2]


def run_and_kill(path: Path, oldest: int, after: int) -> dict[int, tuple[bytes, bytes | None]]:
    """Let a writer run until ``after`` commits were acknowledged, then kill it; all that it had acknowledged by then."""
    command = [sys.executable, "-m", "tests.conformance.crash_writer", str(path), str(oldest)]
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


def read_after(path: Path, seen: int) -> tuple[list[Change], list[Entry]]:
    """What a reader that had seen everything up to a revision is told, and the entries that are there."""
    with private_reactor() as reactor:
        store = SqliteBackend(reactor, path)

        async def read() -> tuple[list[Change], list[Entry]]:
            try:
                changes = await read_until(store.tail(seen), await store.revision())
                return changes, list((await store.page(b"", at=None, after=b"", limit=0)).entries)
            finally:
                await store.close()

        return drive(reactor, read())


def test_no_acknowledged_write_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    dice = random.Random()  # noqa: S311 - test data
    state: dict[bytes, Entry] = {}
    seen = 1
    for _ in range(KILLS):
        acknowledged = run_and_kill(path, seen, dice.randint(1, 400))
        changes, entries = read_after(path, seen)

        # Revisions go on where they were, without a hole or a repeat.
        assert [change.revision for change in changes] == list(range(seen + 1, seen + 1 + len(changes)))
        told = {change.revision: (change.key, change.value) for change in changes}
        assert {revision: told.get(revision) for revision in acknowledged} == acknowledged
        # What was not acknowledged may be there or not, but each writer had at most one commit on its way.
        assert len(told) - len(acknowledged) <= WRITERS

        for change in changes:
            before = state.pop(change.key, None)
            assert change.previous == (before.value if before else None)
            if change.value is not None:
                state[change.key] = Entry(change.key, change.value, change.revision)
        assert entries == sorted(state.values())
        seen = changes[-1].revision
