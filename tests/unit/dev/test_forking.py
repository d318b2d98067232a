"""Forks of a process of its own, since the one of the tests may have threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from extapi.dev import forking
from extapi.dev.failure import DevFailure
from extapi.dev.processes import Processes
from tests.unit.dev.test_processes import lives, wait_for, wait_for_file


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The source of a module that children run."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "forked_program.py"


def run(program: Path, script: str, *arguments: str) -> tuple[int, str]:
    """Its exit status, and what it printed."""
    program.write_text(script)
    with (program.parent / "output").open("wb") as output:
        child = forking.fork("forked_program", arguments, output=output.fileno(), begin=lambda: None)
    return child.wait(30), (program.parent / "output").read_text()


def test_a_module_runs_as_a_program_with_its_arguments(program: Path) -> None:
    script = "import sys\nprint(__name__, sys.argv[1:], flush=True)\nprint('bad', file=sys.stderr)\nprint(repr(sys.stdin.read()))"
    assert run(program, script, "a", "--b") == (0, "__main__ ['a', '--b']\nbad\n''\n")


@pytest.mark.parametrize(
    ("script", "status"),
    [("raise SystemExit(3)", 3), ("raise SystemExit", 0), ("raise SystemExit('no')", 1), ("1 / 0", 1)],
)
def test_its_exit_status_is_that_of_a_program(program: Path, script: str, status: int) -> None:
    assert run(program, script)[0] == status


def test_what_went_wrong_is_in_its_output(program: Path) -> None:
    assert run(program, "raise SystemExit('no such thing')")[1] == "no such thing\n"
    assert run(program, "1 / 0")[1].endswith("ZeroDivisionError: division by zero\n")


def test_it_shares_what_was_imported(program: Path) -> None:
    (program.parent / "costly.py").write_text("import os\npid = os.getpid()")
    forking.prepare(["costly"])
    assert run(program, "import costly\nprint(costly.pid)")[1] == f"{os.getpid()}\n"


def test_its_signals_are_those_of_a_new_program(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        status, _ = run(program, "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert status == -signal.SIGTERM


def test_waiting_has_a_limit_and_a_second_answer_is_the_first(program: Path, tmp_path: Path) -> None:
    program.write_text("import time\ntime.sleep(60)")
    with (tmp_path / "output").open("wb") as output:
        child = forking.fork("forked_program", [], output=output.fileno(), begin=lambda: None)
    assert child.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.02)
    child.terminate()
    assert child.wait(30) == child.wait(30) == -signal.SIGTERM
    child.terminate()  # nothing, not a signal to whoever has that id now


@pytest.mark.parametrize(
    ("module", "safe"),
    [
        ("json", True),
        ("twisted.internet.reactor", False),
        ("threads", False),
    ],
)
def test_a_fork_is_not_safe_with_threads_or_a_reactor(tmp_path: Path, module: str, safe: bool) -> None:
    (tmp_path / "threads.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=[60], daemon=True).start()"
    )
    script = f"from extapi.dev.forking import prepare\nprint(prepare([{module!r}]))"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path.cwd()}"}
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert result.stdout == f"{safe}\n"


def test_a_fork_is_not_safe_where_threads_cannot_be_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(forking, "_TASKS", tmp_path / "nothing")
    assert not forking.prepare([])


def test_a_forked_child_has_a_name_a_group_and_none_of_what_is_private(program: Path, tmp_path: Path) -> None:
    private = os.open(tmp_path, os.O_RDONLY)
    program.write_text(
        "import os, time\nfrom pathlib import Path\n"
        f"names = [os.readlink(f'/proc/self/fd/{{fd}}') if os.path.exists(f'/proc/self/fd/{{fd}}') else '' for fd in [{private}]]\n"
        f"text = f'{{Path(\"/proc/self/comm\").read_text().strip()}} {{os.getpgrp() == os.getpid()}} {{names}}'\n"
        f"Path({str(tmp_path / 'said')!r}).write_text(text + chr(10))\ntime.sleep(60)"
    )
    processes = Processes(tmp_path / "log", fork=True, private=[private])
    try:
        child = processes.start_python("some-server", "forked_program", [])
        assert wait_for_file(processes, tmp_path / "said") == "some-server True ['']\n"
        assert os.fstat(private)
    finally:
        processes.stop(seconds=5)
        os.close(private)
    assert not lives(child.process.pid)


def test_a_forked_child_dies_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "sleeping.py").write_text("import time\ntime.sleep(60)")
    script = f"""
import sys, time
from pathlib import Path
from extapi.dev.processes import Processes
sys.path.insert(0, {str(tmp_path)!r})
child = Processes(Path({str(tmp_path)!r}), fork=True).start_python("sleep", "sleeping", [])
print(child.process.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        child = int(supervisor.stdout.readline())
        assert lives(child)
        supervisor.kill()
    wait_for(lambda: not lives(child))


def test_without_forks_a_module_is_a_program_of_the_same_interpreter(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    child = processes.start_python("version", "platform", ["--x"])
    assert child.process.wait(30) == 0
    with pytest.raises(
        DevFailure, match=r"^version ended with status 0; its log is .*/version.log, which ends with: Linux-"
    ):
        processes.check()
