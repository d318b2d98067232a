"""The supervisor with processes that do nothing: what is started when, what is started again, and how all end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.stopping import stop
from tests.waiting import until


class Program:
    """The supervised program of ``supervised.py``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, count: int, *more: str) -> None:
        with (self.directory / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.unit.workers.supervised", str(self.directory), str(count), *more],
                stderr=log,
            )

    def started(self) -> list[tuple[int, int]]:
        """Numbers and pids, in the order of their starts."""
        path = self.directory / "started"
        if not path.exists():
            return []
        return [(int(number), int(pid)) for number, pid in (line.split() for line in path.read_text().splitlines())]

    def ended(self) -> list[int]:
        path = self.directory / "ended"
        return [int(line) for line in path.read_text().splitlines()] if path.exists() else []

    def ready(self) -> int:
        return (self.directory / "log").read_text().count('"event":"started"')

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(60)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.wait()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _grown(program: Program, before: int) -> bool:
    return program.ready() == before + 1


def test_the_hub_is_first_and_ends_last(program: Program) -> None:
    """And the first worker is alone until it is ready, so that a mistake is told once."""
    program.start(3, "hub")
    until(lambda: program.ready() == 4, 60)
    assert [number for number, _ in program.started()[:2]] == [3, 0]
    assert sorted(number for number, _ in program.started()[2:]) == [1, 2]
    held = program.directory / "held-1"
    os.mkfifo(held)
    program.send(signal.SIGTERM)
    until(lambda: {0, 2} <= set(program.ended()))
    held.write_bytes(b"")
    assert program.wait() == 0
    assert program.ended()[2:] == [1, 3]


def test_what_dies_is_started_again(program: Program) -> None:
    program.start(2, "hub")
    until(lambda: program.ready() == 3, 60)
    for number in (0, 2, 1):
        before = len(program.started())
        os.kill(dict(program.started())[number], signal.SIGKILL)
        until(partial(_grown, program, before), 60)
        assert program.started()[-1][0] == number
    program.send(signal.SIGINT)
    assert program.wait() == 0


def test_a_mistake_ends_it_at_once_with_its_status(program: Program) -> None:
    (program.directory / "unready-0").write_text("7")
    program.start(3, "hub")
    assert program.wait() == 7
    assert [number for number, _ in program.started()] == [3, 0]
    assert program.ended() == [3]


@pytest.mark.parametrize("status", [0, 7])
def test_a_module_that_ends_its_process_is_told(program: Program, status: int) -> None:
    """Nothing else says so: ``os._exit()`` runs no code of ours. And it is no success."""
    (program.directory / "gone-0").write_text(str(status))
    program.start(2)
    assert program.wait() == max(status, 1)
    [line] = (program.directory / "log").read_text().splitlines()
    told = json.loads(line)
    assert told["event"].startswith("ended while it imported the API's module")
    assert (told["process"], told["status"]) == ("extapi worker 0", status)


def test_nothing_is_said_of_imports_of_a_worker_that_fails_later(program: Program) -> None:
    (program.directory / "unready-0").write_text("7")
    program.start(2)
    assert program.wait() == 7
    assert (program.directory / "log").read_text() == ""


def test_a_worker_that_is_told_to_end_before_it_has_begun_ends_as_it_should(program: Program) -> None:
    """SIGTERM ends it as it does any program, and that is no failure."""
    os.mkfifo(program.directory / "slow-0")
    program.start(2, "hub")
    until((program.directory / "forked").exists, 60)
    program.send(signal.SIGTERM)
    assert program.wait() == 0
    assert program.ended() == [2]
    log = (program.directory / "log").read_text()
    assert "ended badly" not in log
    assert "started again" not in log


def test_it_gives_up_when_no_worker_becomes_ready_again(program: Program) -> None:
    """But not while another one serves."""
    program.start(2)
    until(lambda: program.ready() == 2, 60)
    (program.directory / "unready-1").write_text("1")
    os.kill(dict(program.started())[1], signal.SIGKILL)
    until(lambda: len(program.started()) >= 2 + 9, 60)  # one more than the attempts that would be the last
    (program.directory / "unready-0").write_text("1")
    os.kill(dict(program.started())[0], signal.SIGKILL)
    assert program.wait() == 1


def test_a_second_signal_ends_all_at_once(program: Program) -> None:
    program.start(2)
    until(lambda: program.ready() == 2, 60)
    pids = [pid for _, pid in program.started()]
    stop(pids[1])
    program.send(signal.SIGTERM)
    until(lambda: not _alive(pids[0]), 60)
    program.send(signal.SIGTERM)
    assert program.wait() == 1
    assert not _alive(pids[1])


def test_a_killed_supervisor_leaves_nothing_behind(program: Program) -> None:
    program.start(2, "hub")
    until(lambda: program.ready() == 3, 60)
    program.send(signal.SIGKILL)
    program.wait()
    until(lambda: not any(_alive(pid) for _, pid in program.started()), 60)
