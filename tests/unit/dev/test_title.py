"""What a process is called, as the kernel tells it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from extapi.dev import title

SHOWN = (
    "print(open('/proc/self/comm').read().strip(), open('/proc/self/cmdline').read().split(chr(0)), os.environ['X'])"
)


def run(script: str, *arguments: str) -> str:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            f"import os, sys\nfrom extapi import forks\nfrom extapi.dev import title\n{script}\n{SHOWN}",
            *arguments,
        ],
        capture_output=True,
        text=True,
        check=True,
        env={"X": "kept", "PYTHONPATH": str(Path.cwd())},
    ).stdout


def test_a_process_gets_another_name_and_command_line() -> None:
    shown = run("forks.set_name('some-server')\ntitle.set_command_line('extapi dev: some-server')", "x" * 100)
    assert shown.startswith("some-server ['extapi dev: some-server', ''")
    assert shown.endswith("] kept\n")


def test_a_command_line_is_cut_to_the_room_there_is() -> None:
    """What is behind it is the environment."""
    shown = run("title.set_command_line('y' * 100_000)")
    assert shown.startswith("python")
    assert "['yyyyy" in shown
    assert shown.endswith("y', ''] kept\n")


def test_where_there_is_no_proc_nothing_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(title, "_STAT", tmp_path / "nothing")
    title.set_command_line("x")
    (tmp_path / "nothing").write_text("1 (a) S 1")
    title.set_command_line("x")
