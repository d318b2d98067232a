"""How a process ends that cannot start, and one with a debugger in it, which holds up the reactor as long as somebody thinks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pseudoterminal import Terminal
from tests.waiting import until

PROGRAM = """
from twisted.internet.defer import Deferred
from extapi.server.reactor import run_process

class Process:
    def __init__(self):
        self.over = Deferred()

    async def run(self):
        breakpoint()
        print("went on", flush=True)
        return await self.over

    def stop(self):
        self.over.callback(0)

raise SystemExit(run_process(lambda reactor, log: Process()))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_ctrl_c_at_a_debuggers_prompt_stays_there(program: Path, tmp_path: Path) -> None:
    terminal = Terminal([sys.executable, str(program)], tmp_path, PYTHONPATH=str(Path.cwd()))
    try:
        terminal.expect("(Pdb) ")
        until(terminal.waits_for_input)  # a signal that comes sooner is seen with the next input only
        terminal.type("\x03")
        terminal.expect("--KeyboardInterrupt--")
        terminal.expect("(Pdb) ")
        terminal.type("import signal; signal.getitimer(signal.ITIMER_REAL)\n")
        terminal.expect("\n(0.0, 0.0)")  # nothing will end it soon
        terminal.expect("(Pdb) ")
        terminal.type("c\n")
        terminal.expect("went on")
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.status() == 0
    finally:
        terminal.close()


def test_who_is_told_to_end_at_a_debuggers_prompt_ends(program: Path, tmp_path: Path) -> None:
    terminal = Terminal([sys.executable, str(program)], tmp_path, PYTHONPATH=str(Path.cwd()))
    try:
        terminal.expect("(Pdb) ")
        ended: list[int] = []

        def told() -> bool:
            # Told until it has ended: what comes before the prompt waits for input is seen with the next one only.
            os.kill(terminal.pid, signal.SIGTERM)
            pid, status = os.waitpid(terminal.pid, os.WNOHANG)
            ended.append(status)
            return pid != 0

        until(told)
        assert os.waitstatus_to_exitcode(ended[-1]) == 1
    finally:
        terminal.close()


def test_a_program_that_a_debugger_runs_as_a_whole_ends_as_ever(program: Path, tmp_path: Path) -> None:
    """The debugger's frames are below all others then."""
    program.write_text(PROGRAM.replace("breakpoint()", "pass"))
    terminal = Terminal([sys.executable, "-m", "pdb", str(program)], tmp_path, PYTHONPATH=str(Path.cwd()))
    try:
        terminal.expect("(Pdb) ")
        terminal.type("c\n")
        terminal.expect("went on")
        os.kill(terminal.pid, signal.SIGTERM)
        terminal.expect("The program exited via sys.exit(). Exit status: 0")
    finally:
        terminal.close()


TWICE = """
import os, signal
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from extapi.server.reactor import run_process

def tell():
    os.kill(os.getpid(), signal.SIGTERM)

class Process:
    async def run(self):
        tell()
        await Deferred()

    def stop(self):
        {second}

raise SystemExit(run_process(lambda reactor, log: Process()))
"""


@pytest.mark.parametrize("second", ["tell()", "reactor.callLater(0, tell)", "reactor.callFromThread(tell)"])
def test_a_second_signal_ends_it_wherever_it_arrives(second: str) -> None:
    program = TWICE.format(second=second)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


FAILING = """
import sys
from extapi.api.declaration import DeclarationError
from extapi.server.reactor import run_process

class Fails:
    async def run(self):
        raise {error}
    def stop(self):
        pass

def make(reactor, log):
    if {early}:
        raise {error}
    return Fails()

sys.exit(run_process(make))
"""


def run(error: str, *, early: bool) -> tuple[int, str]:
    program = FAILING.format(error=error, early=early)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("early", [True, False])
def test_a_bug_keeps_its_traceback_although_it_is_a_value_error(early: bool) -> None:
    status, told = run("ValueError('a bug')", early=early)
    assert status == 1
    assert "Traceback (most recent call last)" in told
    assert "ValueError: a bug" in told
    assert "Error: a bug" not in told.splitlines()


@pytest.mark.parametrize("early", [True, False])
def test_a_mistake_in_a_declaration_is_a_line(early: bool) -> None:
    status, told = run("DeclarationError('kind Thing: has no versions')", early=early)
    assert status == 1
    assert told.splitlines()[-1] == "Error: kind Thing: has no versions"
    assert "Traceback" not in told
