"""Forks of a process of their own, since the one of the tests may have threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from extapi import forks

HEAD = """
import os, signal, sys
from extapi import forks

def wait(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

"""


def run(script: str) -> tuple[list[str], str]:
    """The lines that a program printed, and what it said of errors."""
    result = subprocess.run(
        [sys.executable, "-c", HEAD + script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(forks.__file__).parents[1])},
    )
    return result.stdout.splitlines(), result.stderr


@pytest.mark.parametrize(
    ("work", "status", "said"),
    [
        ("return 3", "3", ""),
        ("sys.exit()", "0", ""),
        ("sys.exit(4)", "4", ""),
        ("sys.exit('no')", "1", "no"),
        ("1 / 0", "1", "ZeroDivisionError: division by zero"),
    ],
)
def test_it_ends_as_a_program_does(work: str, status: str, said: str) -> None:
    printed, errors = run(f"print('before')\ndef work():\n    {work}\nprint(wait(forks.fork(work, ())))")
    assert printed == ["before", status]  # what was to be printed before the fork is printed once
    assert errors.strip().endswith(said)


def test_a_signal_that_comes_at_once_finds_the_handlers_of_a_new_program() -> None:
    """It comes while the fork still has our handlers, which would do our work there."""
    printed, _ = run(
        "signal.signal(signal.SIGTERM, lambda *_: print('ours', flush=True))\n"
        "os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
        "begin = lambda: print('begin', flush=True)\n"
        "print(wait(forks.fork(lambda: 0, (signal.SIGTERM,), begin=begin)))\n"
        "os.kill(os.getpid(), signal.SIGTERM)"
    )
    assert printed == ["begin", str(-signal.SIGTERM), "ours"]


def test_what_is_held_never_comes() -> None:
    printed, _ = run(
        "def work():\n    os.kill(os.getpid(), signal.SIGINT)\n    return 5\n"
        "print(wait(forks.fork(work, (signal.SIGINT, signal.SIGTERM), held=(signal.SIGINT,))))"
    )
    assert printed == ["5"]


def test_a_detached_one_has_a_group_a_name_and_no_input() -> None:
    printed, _ = run(
        "def begin():\n    forks.detach()\n    forks.set_name('some-server')\n"
        "def work():\n"
        "    name = open('/proc/self/comm').read().strip()\n"
        "    print(os.getpgrp() == os.getpid(), repr(sys.stdin.read()), name)\n    return 0\n"
        "wait(forks.fork(work, (), begin=begin))"
    )
    assert printed == ["True '' some-server"]


def test_one_whose_parent_is_dead_ends_at_once() -> None:
    printed, _ = run("print(wait(forks.fork(lambda: 0, (), begin=lambda: forks.die_with(os.getpid()))))")
    assert printed == ["1"]
