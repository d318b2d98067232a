"""With real processes: small shell scripts that behave well and badly."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from extapi.dev.failure import DevFailure
from extapi.dev.processes import Processes


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path / "log")
    yield started
    started.stop(seconds=0)


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def lives(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(condition: object) -> None:
    deadline = time.monotonic() + 10
    while not condition():  # type: ignore[operator]  # any callable
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for_file(processes: Processes, path: Path) -> str:
    def missing() -> str | None:
        return None if path.exists() and path.read_text().endswith("\n") else "not written yet"

    processes.wait_until(missing, str(path), seconds=10, interval=0.01)
    return path.read_text()


def test_a_child_runs_where_it_should_with_its_output_in_its_log(processes: Processes, tmp_path: Path) -> None:
    child = processes.start("loud", shell("pwd; echo bad >&2; echo done > done; exec sleep 60"), directory=tmp_path)
    wait_for_file(processes, tmp_path / "done")
    processes.check()
    assert child.log.read_text() == f"{tmp_path}\nbad\n"
    assert child.log == tmp_path / "log" / "loud.log"


def test_a_child_that_ends_is_named_with_its_status_log_and_last_words(processes: Processes) -> None:
    child = processes.start("etcd", shell("echo first; echo 'no such thing'; echo; exit 3"))
    child.process.wait(10)
    message = f"etcd ended with status 3; its log is {child.log}, which ends with: no such thing"
    with pytest.raises(DevFailure, match=f"^{re.escape(message)}$"):
        processes.check()


FULL = """
import sys
from pathlib import Path
from extapi.dev.failure import DevFailure
from extapi.dev.processes import Processes
logs = Path(sys.argv[1])
child = Processes(logs).start("etcd", ["sh", "-c", "yes | head -c 9000; exit 3"])
child.process.wait(10)
try:
    child.check()
except DevFailure as failure:
    print(failure)
"""


def test_a_child_whose_log_has_no_room_for_its_last_words_says_so(tmp_path: Path) -> None:
    mounted = 'mount -t tmpfs -o size=8k small "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", mounted, "sh", str(tmp_path), sys.executable, FULL]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    log = tmp_path / "etcd.log"
    assert told == (
        f"etcd ended with status 3; its log is {log}; nothing more could be written: No space left on device\n"
    )


def test_a_child_that_is_killed_is_named_with_the_signal(processes: Processes) -> None:
    child = processes.start("etcd", shell("kill -9 $$"))
    child.process.wait(10)
    with pytest.raises(DevFailure, match=f"^etcd ended by SIGKILL; its log is {re.escape(str(child.log))}$"):
        processes.check()


def test_waiting_ends_when_a_child_ends(processes: Processes) -> None:
    processes.start("etcd", shell("exit 1"))
    with pytest.raises(DevFailure, match="etcd ended with status 1"):
        processes.wait_until(lambda: "never", "nothing", seconds=60, interval=0.01)


def test_waiting_has_a_limit_and_says_what_is_missing(processes: Processes, tmp_path: Path) -> None:
    message = f"waited 0 s for the moon: not up; the logs are in {tmp_path / 'log'}"
    with pytest.raises(DevFailure, match=f"^{re.escape(message)}$"):
        processes.wait_until(lambda: "not up", "the moon", seconds=0, interval=0.01)


def waited(tmp_path: Path, found: Callable[[float], int], clock: Clock) -> str:
    """What is said in the end by a wait of a minute for what comes as ``found`` says, per second."""

    def missing() -> str:
        assert clock.seconds() < 10_000, "the wait has no end"
        return "v1.b: no answer"

    processes = Processes(tmp_path / "log", monotonic=clock.seconds, sleep=clock.advance)
    with pytest.raises(DevFailure) as failure:
        processes.wait_until(missing, "the API", seconds=60, interval=1.0, found=lambda: found(clock.seconds()))
    return str(failure.value)


def test_a_wait_goes_on_while_something_comes(tmp_path: Path) -> None:
    clock = Clock()
    said = waited(tmp_path, lambda now: min(int(now / 50), 10), clock)
    assert clock.seconds() == 561
    assert said.startswith("waited 561 s for the API, the last 61 s in vain: v1.b: no answer; ")


def test_what_comes_and_goes_is_no_progress(tmp_path: Path) -> None:
    clock = Clock()
    waited(tmp_path, lambda now: int(now) % 2, clock)
    assert clock.seconds() == 62


def test_between_two_questions_passes_the_time_that_one_takes(tmp_path: Path) -> None:
    clock = Clock()
    asked: list[float] = []

    def missing() -> str | None:
        asked.append(clock.seconds())
        clock.advance(2)
        return "not yet" if len(asked) < 3 else None

    Processes(tmp_path, monotonic=clock.seconds, sleep=clock.advance).wait_until(
        missing, "it", seconds=60, interval=0.1
    )
    assert asked == [0, 4, 8]


def test_what_a_child_has_worked_is_known(processes: Processes) -> None:
    processes.start("idle", shell("exec sleep 60"))
    processes.start("busy", shell("while :; do :; done"))
    processes.wait_until(
        lambda: None if processes.cpu_seconds("busy") > 0.3 else "idle", "work", seconds=60, interval=0.01
    )
    assert processes.cpu_seconds("idle") < 0.3


def test_a_program_that_is_not_there_is_named(processes: Processes) -> None:
    with pytest.raises(DevFailure, match=r"^etcd cannot be started: /no/such/program: No such file or directory$"):
        processes.start("etcd", ["/no/such/program"])


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    with pytest.raises(DevFailure, match=r"^etcd cannot be started: .*/log: "):
        Processes(tmp_path / "log").start("etcd", ["true"])


def test_children_are_ended_last_started_first(processes: Processes, tmp_path: Path) -> None:
    ends = tmp_path / "ends"
    for name in ("first", "second"):
        script = f"trap 'echo {name} >> {ends}; exit' TERM; echo up > {tmp_path}/{name}; while :; do sleep 0.01; done"
        processes.start(name, shell(script))
        wait_for_file(processes, tmp_path / name)
    processes.stop(seconds=10)
    assert ends.read_text() == "second\nfirst\n"


def test_a_child_that_will_not_end_is_killed_in_time(processes: Processes, tmp_path: Path) -> None:
    child = processes.start(
        "stubborn", shell(f"trap '' TERM ALRM; echo up > {tmp_path}/up; while :; do sleep 0.01; done")
    )
    wait_for_file(processes, tmp_path / "up")
    begun = time.monotonic()
    processes.stop(seconds=0.3)
    assert 0.25 < time.monotonic() - begun < 3
    assert child.process.poll() == -9


def test_what_a_child_has_started_ends_with_it(processes: Processes, tmp_path: Path) -> None:
    processes.start("parent", shell(f"sleep 60 & echo $! > {tmp_path}/pid; wait"))
    grandchild = int(wait_for_file(processes, tmp_path / "pid"))
    assert lives(grandchild)
    processes.stop(seconds=5)
    wait_for(lambda: not lives(grandchild))


def test_children_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    script = f"""
import time
from pathlib import Path
from extapi.dev.processes import Processes
child = Processes(Path({str(tmp_path)!r})).start("sleep", ["sleep", "60"])
print(child.process.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        child = int(supervisor.stdout.readline())
        assert lives(child)
        supervisor.kill()
    wait_for(lambda: not lives(child))


def test_ctrl_c_at_the_terminal_does_not_reach_the_children(processes: Processes) -> None:
    child = processes.start("sleep", ["sleep", "60"])
    assert os.getpgid(child.process.pid) == child.process.pid != os.getpgrp()


def test_a_child_of_ours_that_does_not_end_leaves_its_stacks_in_its_log(tmp_path: Path) -> None:
    """As ``extapi/server/watchdog.py`` arranges it in both servers."""
    processes = Processes(tmp_path / "log")
    (tmp_path / "stubborn.py").write_text(
        "import faulthandler, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "faulthandler.register(signal.SIGALRM, chain=True)\n"
        "def occupied():\n"
        "    print('busy', flush=True)\n"
        "    while True: time.sleep(60)\n"
        "occupied()\n"
    )
    child = processes.start("stubborn", [sys.executable, str(tmp_path / "stubborn.py")])
    wait_for(lambda: "busy" in child.log.read_text())
    processes.stop(seconds=0)
    assert " in occupied" in child.log.read_text()
    assert not lives(child.process.pid)


def test_a_wait_that_takes_long_is_told_until_it_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.dev.processes.PATIENCE", 0.02)
    told: list[str] = []
    Processes(tmp_path, waiting=told.append).wait_until(
        lambda: None if len(told) >= 2 else "not yet", "kube-apiserver to be ready", seconds=60, interval=0.01
    )
    assert told == ["waiting for kube-apiserver to be ready: 0 s"] * 2 + [""]


def test_a_short_wait_is_not_told(tmp_path: Path) -> None:
    told: list[str] = []
    Processes(tmp_path, waiting=told.append).wait_until(lambda: None, "nothing", seconds=60)
    assert told == [""]


def test_a_program_whose_output_is_shown_is_not_quoted_when_it_ends(tmp_path: Path) -> None:
    followed: list[tuple[str, Path]] = []
    processes = Processes(tmp_path, follow=lambda name, log: followed.append((name, log)))
    child = processes.start_python("version", "platform", [])
    child.process.wait(30)
    with pytest.raises(DevFailure, match=f"^version ended with status 0; its log is {re.escape(str(child.log))}$"):
        processes.check()
    assert followed == [("version", child.log)]


@pytest.mark.parametrize("fork", [False, True])
def test_a_program_in_the_foreground_has_our_streams_and_our_group(tmp_path: Path, fork: bool) -> None:
    """In a process of its own: its standard streams are the ones that count."""
    (tmp_path / "told.py").write_text(
        "import os, signal, sys\nprint(input(), os.getpgrp() == os.getpgid(os.getppid()))\n"
        "print(sorted(s.name for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])))\nprint('bad', file=sys.stderr)"
    )
    script = f"""
from pathlib import Path
from extapi.dev.processes import Processes
child = Processes(Path("log"), fork={fork}).start_python("told", "told", [], foreground=True)
raise SystemExit(child.process.wait(30))
"""
    result = subprocess.run(
        [sys.executable, "-c", script],
        input="typed\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{Path.cwd()}{os.pathsep}{tmp_path}"},
    )
    assert result.stdout == "typed True\n['SIGHUP', 'SIGINT']\n"
    assert result.stderr == ""
    assert (tmp_path / "log" / "told.log").read_text() == "bad\n"


def test_a_program_in_the_foreground_that_does_not_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deaf.py").write_text(
        "import signal, time\nfor s in (signal.SIGTERM, signal.SIGALRM): signal.signal(s, signal.SIG_IGN)\n"
        "open('deaf', 'w').write('yes\\n')\ntime.sleep(60)"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    processes = Processes(tmp_path / "log")
    child = processes.start_python("deaf", "deaf", [], foreground=True)
    wait_for_file(processes, tmp_path / "deaf")
    processes.stop(seconds=0)
    assert child.process.poll() == -signal.SIGKILL


STOPPED_IN_A_FORK = """
import os, signal, sys
from pathlib import Path
from extapi.dev import signals
from extapi.dev.processes import Processes
os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
processes = Processes(Path(sys.argv[1]))
try:
    with signals.as_exception():
        {start}
        print("the signal is lost")
except signals.StopRequested:
    pid = processes.pid("child")
    processes.stop()
    print("stopped", Path(f"/proc/{{pid}}").exists())
"""


@pytest.mark.parametrize(
    "start", ["processes.start('child', ['sleep', '60'])", "processes.start_python('child', 'http.server', ['0'])"]
)
def test_a_signal_during_a_fork_waits_until_the_child_is_known(tmp_path: Path, start: str) -> None:
    """Python calls others around a fork, such as logging, and drops exceptions there."""
    program = [sys.executable, "-c", STOPPED_IN_A_FORK.format(start=start), str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.stderr) == ("stopped False\n", "")


def test_a_child_gets_the_signals_that_its_start_held_back(processes: Processes) -> None:
    child = processes.start("held", ["grep", "SigBlk", "/proc/self/status"])
    assert child.process.wait(10) == 0
    assert (
        int(child.log.read_text().split()[1], 16)
        & sum(1 << each - 1 for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        == 0
    )
