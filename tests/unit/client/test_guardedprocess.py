"""Programs in bounds: real ones, whose end is seen by a FIFO that they and all that they start hold open."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from threading import Thread

import pytest

from extapi.client import guardedprocess
from extapi.client.guardedprocess import Command, GuardedProcess, Printed, ProcessFailed

HANGS = 'exec 9>"$FIFO"; sleep 100 & echo started >&9; wait'
"""Has a child, which holds the FIFO as well."""


def _command(script: str, seconds: float = 30.0, **environment: str) -> Command:
    return Command(("/bin/sh", "-c", script), {"PATH": os.environ["PATH"], **environment}, seconds)


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    made = tmp_path / "fifo"
    os.mkfifo(made)
    return made


def test_what_it_prints_and_how_it_ends() -> None:
    script = 'echo "$WHAT"; echo first >&2; echo last >&2; exit 3'
    assert GuardedProcess(_command(script, WHAT="ä")).run() == Printed("ä\n", "first\nlast\n", 3)
    assert GuardedProcess(_command("kill -TERM $$")).run().code == -signal.SIGTERM


def test_its_environment_is_not_its_guards() -> None:
    """Not even what would keep a Python from starting."""
    command = _command('echo "$PYTHONHOME $LD_PRELOAD"', PYTHONHOME="/nowhere", LD_PRELOAD="")
    assert GuardedProcess(command).run().output == "/nowhere \n"


def test_it_cannot_read_what_this_process_reads() -> None:
    assert GuardedProcess(_command("cat; echo end")).run().output == "end\n"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("/nonexistent/plugin", "^cannot be run: No such file or directory$"),
        ("/", "^cannot be run: Permission denied$"),
    ],
)
def test_what_is_no_program(program: str, why: str) -> None:
    with pytest.raises(ProcessFailed, match=why):
        GuardedProcess(Command((program,), {}, 30.0)).run()


def _is_let_go(held: FileIO) -> bool:
    """Whether nobody writes to it any more: no program that was started is left."""
    return bool(select.select([held], [], [], 10)[0]) and held.read(1) == b""


def _end_of(process: GuardedProcess, fifo: Path, then: Callable[[], object] = lambda: None) -> str:
    """Why a program that hangs came to an end; returns once nothing that it has started is left."""
    ends: list[str] = []

    def run() -> None:
        try:
            process.run()
        except ProcessFailed as error:
            ends.append(str(error))

    thread = Thread(target=run, daemon=True)
    thread.start()
    with fifo.open("rb", buffering=0) as held:
        assert held.read(8) == b"started\n"
        then()
        assert _is_let_go(held)
    thread.join(10)
    return ends[0]


def test_one_that_hangs_is_killed_with_all_that_it_has_started(fifo: Path) -> None:
    why = _end_of(GuardedProcess(_command(HANGS, 1.0, FIFO=str(fifo))), fifo)
    assert why == "did not end within 1 seconds, and was killed"


def test_it_can_be_stopped(fifo: Path) -> None:
    process = GuardedProcess(_command(HANGS, FIFO=str(fifo)))
    assert _end_of(process, fifo, process.stop) == "was stopped"
    never = GuardedProcess(_command("echo x"))
    never.stop()
    with pytest.raises(ProcessFailed, match=r"^was stopped$"):
        never.run()


def test_one_that_prints_without_end_is_killed() -> None:
    with pytest.raises(ProcessFailed, match=r"^printed more than 1048576 bytes, and was killed$"):
        GuardedProcess(_command("yes")).run()


def test_what_it_leaves_behind_is_not_waited_for() -> None:
    """A plugin may start an agent, which has its stdout."""
    printed = GuardedProcess(_command("sleep 100 & echo $!")).run()
    os.kill(int(printed.output), signal.SIGKILL)
    assert printed.code == 0


def test_it_ends_with_the_process_that_asked_for_it(fifo: Path) -> None:
    script = (
        "import os, sys; from extapi.client.guardedprocess import Command, GuardedProcess; "
        "GuardedProcess(Command(('/bin/sh', '-c', sys.argv[1]), dict(os.environ), 600.0)).run()"
    )
    asking = subprocess.Popen([sys.executable, "-c", script, HANGS], env={**os.environ, "FIFO": str(fifo)})
    with fifo.open("rb", buffering=0) as held:
        assert held.read(8) == b"started\n"
        asking.kill()
        assert _is_let_go(held)
    asking.wait()


def test_a_guard_that_does_not_come_to_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(ProcessFailed, match=r"^cannot be run: No such file or directory$"):
        GuardedProcess(_command("echo x")).run()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ProcessFailed, match=r"^was ended with its guard: exit code 1$"):
        GuardedProcess(_command("echo x")).run()


def test_a_guard_that_hangs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(guardedprocess, "_GRACE", 0.1)
    (tmp_path / "guard").write_text("#!/bin/sh\nexec sleep 100\n")
    (tmp_path / "guard").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "guard"))
    with pytest.raises(ProcessFailed, match=r"^did not end within 0.1 seconds$"):
        GuardedProcess(_command("echo x", 0.1)).run()
