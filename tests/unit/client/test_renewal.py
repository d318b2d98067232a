"""When a program is run that issues credentials, and which are used meanwhile. The program is real, the clocks are not."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from extapi.client.credentials import CredentialsError
from extapi.client.guardedprocess import Command, Printed
from extapi.client.renewal import EARLIEST, FIRST_PAUSE, LAST_PAUSE, LEAST_USE, STEADY, Issued, Renewal

SCRIPT = """\
echo x >> "$HERE/runs"
[ -e "$HERE/hang" ] && { exec 9>"$HERE/fifo"; echo started >&9; sleep 100; }
[ -e "$HERE/fail" ] && exit 1
cat "$HERE/token"
"""


class Program:
    """Issues what is in a file: a token, and when it expires."""

    source = "the program"

    def __init__(self, here: Path) -> None:
        self.here = here
        self.now = 1000.0
        self.machine = 50_000.0
        self.failures: list[str] = []
        self.renewal = Renewal(
            self,
            seconds=lambda: self.now,
            wall_time=lambda: self.machine,
            failed=lambda error: self.failures.append(str(error)),
        )

    def prepare(self) -> Command:
        environment = {"PATH": os.environ["PATH"], "HERE": str(self.here)}
        return Command(("/bin/sh", "-c", SCRIPT), environment, 30.0)

    def issued(self, printed: Printed) -> Issued:
        if printed.code:
            raise CredentialsError(f"{self.source} failed")
        if printed.output == "defect":
            raise RuntimeError("a defect")
        token, _, expiry = printed.output.partition(" ")
        return Issued(token, expiry=float(expiry) if expiry else None)

    def issues(self, token: str, lifetime: float | None = None) -> None:
        (self.here / "fail").unlink(missing_ok=True)
        (self.here / "token").write_text(token + (f" {self.machine + lifetime}" if lifetime is not None else ""))

    def fails(self) -> None:
        (self.here / "fail").touch()

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.machine += seconds

    @property
    def runs(self) -> int:
        file = self.here / "runs"
        return len(file.read_text().split()) if file.exists() else 0

    def token(self) -> str:
        """The token, without a wait for a run that is only to come in time."""
        found = self.renewal.current()
        return found.authorization if isinstance(found, Issued) else found.result(30).authorization

    def settled(self) -> None:
        """No run is under way any more."""
        for thread in threading.enumerate():
            if thread.name == "credentials":
                thread.join(30)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path)
    yield made
    made.renewal.stop()
    made.settled()


def test_what_has_no_end_is_used_until_it_is_refused(program: Program) -> None:
    """Cached until the server answers 401 (exec.Authenticator.maybeRefreshCreds)."""
    program.issues("t1")
    assert program.token() == "t1"
    program.issues("t2")
    program.passes(1_000_000)
    assert (program.token(), program.runs) == ("t1", 1)
    program.renewal.refused("t1")
    assert (program.token(), program.runs) == ("t2", 2)
    program.passes(STEADY)  # no pause hides it
    program.renewal.refused("t1")  # an answer that took its time
    assert (program.token(), program.runs) == ("t2", 2)


def test_thirty_who_ask_at_once_have_one_run(program: Program) -> None:
    program.issues("t1")
    found = [program.renewal.current() for _ in range(30)]
    assert {each.result(30).authorization for each in found if isinstance(each, Future)} == {"t1"}
    assert program.runs == 1


def test_it_is_used_to_its_end_and_renewed_a_little_before(program: Program) -> None:
    program.issues("t1", 120)
    program.token()
    program.issues("t2", 120)
    program.passes(107)
    assert (program.token(), program.runs) == ("t1", 1)
    program.passes(2)  # in the last tenth: nobody waits for the run
    assert program.renewal.current() == Issued("t1", expiry=50_120.0)
    program.settled()
    assert (program.token(), program.runs) == ("t2", 2)
    program.issues("t3", 120)
    program.passes(121)
    assert (program.token(), program.runs) == ("t3", 3)


def test_one_that_lasts_is_renewed_minutes_before(program: Program) -> None:
    program.issues("t1", 100_000)
    program.token()
    program.issues("t2")
    program.passes(100_000 - EARLIEST - 1)
    assert (program.token(), program.runs) == ("t1", 1)
    program.passes(2)
    program.token()
    program.settled()
    assert program.token() == "t2"


def test_a_program_that_fails_takes_nothing_that_is_good(program: Program) -> None:
    """Nor is it run for each request: there is a pause, which grows."""
    program.issues("t1", 100)
    program.token()
    program.fails()
    program.passes(95)
    for _ in range(5):
        assert program.token() == "t1"
        program.settled()
    assert (program.runs, program.failures) == (2, ["the program failed"])
    program.passes(FIRST_PAUSE)
    assert program.token() == "t1"
    program.settled()
    assert program.runs == 3
    program.passes(6)  # the end
    for _ in range(5):
        with pytest.raises(CredentialsError, match=r"^the program failed$"):
            program.token()
        program.settled()
    assert program.runs == 4
    program.issues("t2", 100)
    program.passes(LAST_PAUSE)
    assert program.token() == "t2"


def test_what_is_refused_is_used_on_while_there_is_nothing_else(program: Program) -> None:
    """As client-go does: kube-apiserver refuses good tokens while its authenticator is down."""
    program.issues("t1")
    program.token()
    program.passes(STEADY)
    program.fails()
    program.renewal.refused("t1")
    assert (program.token(), program.runs) == ("t1", 2)
    assert (program.token(), program.runs) == ("t1", 2)


def test_a_program_that_issues_what_is_refused_is_run_less_and_less_often(program: Program) -> None:
    """client-go runs it once for each answer."""
    program.issues("t1")
    for _ in range(1000):
        program.renewal.refused(program.token())
        program.passes(0.1)
    assert program.runs == 8  # at 0, 1, 3, 7, 15, 31, 61 and 91 seconds


def test_a_clock_that_is_ahead_does_not_run_it_for_each_request(program: Program) -> None:
    program.issues("t1", -3600)
    assert [program.token() for _ in range(5)] == ["t1"] * 5
    assert program.runs == 1
    program.passes(LEAST_USE + 1)
    assert (program.token(), program.runs) == ("t1", 2)


def test_a_defect_reaches_those_who_wait(program: Program) -> None:
    program.issues("defect")
    with pytest.raises(CredentialsError, match=r"^the program failed: RuntimeError: a defect$"):
        program.token()


def test_those_who_wait_give_up_and_the_run_goes_on(program: Program) -> None:
    os.mkfifo(program.here / "fifo")
    (program.here / "hang").touch()
    with pytest.raises(CredentialsError, match=r"^no credentials within 0.05 seconds: the program still runs$"):
        program.renewal.wait(0.05)
    with (program.here / "fifo").open("rb", buffering=0) as held:
        held.read(8)
        running = program.renewal.current()
        program.renewal.stop()
        assert held.read(1) == b""  # it is killed
    assert isinstance(running, Future)
    with pytest.raises(CredentialsError, match=r"^the program was stopped$"):
        running.result(30)
    assert (program.runs, program.failures) == (1, [])
    with pytest.raises(CredentialsError, match=r"^the program is not run any more: this process is ending$"):
        program.token()


def test_what_was_issued_already(program: Program) -> None:
    renewal = Renewal(program, seconds=lambda: 0.0, wall_time=lambda: 0.0, first=Issued("t0"))
    assert renewal.wait(1) == Issued("t0")


def test_no_further_thread(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(CredentialsError, match=r"^the program cannot be run: can't start new thread$"):
        program.token()
