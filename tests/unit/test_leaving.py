"""The end of a process in which threads are left, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

PROGRAM = """
import sys, threading
import click
from extapi.leaving import threads_left

def poll():
    threading.Event().wait()

try:
    with threads_left():
        threading.Thread(target=poll, name="poller", daemon={daemon}).start()
        click.echo("ended")
        {last}
except click.ClickException as error:
    error.show()
    sys.exit(error.exit_code)
"""


def ended(last: str, *, daemon: bool = False) -> tuple[int, str, str]:
    """How a program ends after ``last``."""
    program = PROGRAM.format(last=last, daemon=daemon)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("last", "status", "said"),
    [
        ("pass", 0, ""),
        ("raise click.ClickException('it failed')", 1, "Error: it failed\n"),
        ("sys.exit(3)", 3, ""),
        ("sys.exit('why')", 1, "why\n"),
        ("sys.exit()", 0, ""),
        ("raise RuntimeError('a defect')", 1, "RuntimeError: a defect\n"),
    ],
)
def test_a_thread_that_would_be_waited_for_is_named(last: str, status: int, said: str) -> None:
    code, output, errors = ended(last)
    assert (code, output) == (status, "ended\n")
    told, said, threads = errors.rpartition(said) if said else ("", "", errors)
    assert told.startswith("Traceback" if "RuntimeError" in said else "")
    assert threads == (
        "not waiting for threads that the API's code has started, and that are not daemons: poller (poll in <string>)\n"
    )


def test_a_thread_that_only_waits_is_named_by_what_it_waits_for() -> None:
    """The target is the standard library's own function."""
    _, _, errors = ended("threading.Thread(target=threading.Event().wait, name='waiter').start()", daemon=True)
    assert f": waiter (Event.wait in {threading.__file__})\n" in errors


@pytest.mark.parametrize(
    ("last", "status", "said"), [("pass", 0, ""), ("raise click.ClickException('it failed')", 1, "Error: it failed\n")]
)
def test_nothing_is_said_of_daemons(last: str, status: int, said: str) -> None:
    assert ended(last, daemon=True) == (status, "ended\n", said)
