"""What a client may send at its worst takes linear time, and memory that a server can bear."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit import worst_cases

ROOT = Path(__file__).parents[2]


def test_every_case_ends() -> None:
    """In a process of its own, which measures no coverage: only the time of the code itself counts."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.worst_cases"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    ended = dict(map(json.loads, done.stdout.splitlines()))
    assert ended.keys() == worst_cases.CASES.keys(), done.stderr
    assert {name: why for name, why in ended.items() if why} == {}


def _forever() -> None:
    while True:
        pass


def _swallow() -> None:
    _ = bytes(2 * worst_cases.MEMORY)


def _fail() -> None:
    raise LookupError("x")


@pytest.mark.parametrize(
    ("case", "why"),
    [(_forever, "took more than 1 seconds of CPU"), (_swallow, "MemoryError"), (_fail, "LookupError: x")],
)
def test_a_case_that_does_not_end_is_seen(case: Any, why: str) -> None:
    script = (
        "from tests.unit import test_worst_cases, worst_cases\n"
        "worst_cases.SECONDS = 1\n"
        f"worst_cases.CASES['x'] = test_worst_cases.{case.__name__}\n"
        "print(worst_cases.run('x'))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(why)
