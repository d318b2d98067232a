"""The end of a process in which threads are left, in processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
import click
from extapi.dev.leaving import threads_left

def poll():
    threading.Event().wait()

threading.Thread(target=poll, name="poller", daemon={daemon}).start()
try:
    with threads_left():
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
        timeout=60,
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
    ],
)
def test_a_thread_that_would_be_waited_for_is_named(last: str, status: int, said: str) -> None:
    code, output, errors = ended(last)
    assert (code, output) == (status, "ended\n")
    assert errors.startswith(said)
    assert errors.removeprefix(said) == (
        "not waiting for threads that the API's code has started, and that are not daemons: poller (poll in <string>)\n"
    )


@pytest.mark.parametrize(
    ("last", "status", "said"), [("pass", 0, ""), ("raise click.ClickException('it failed')", 1, "Error: it failed\n")]
)
def test_nothing_is_said_of_daemons(last: str, status: int, said: str) -> None:
    assert ended(last, daemon=True) == (status, "ended\n", said)
