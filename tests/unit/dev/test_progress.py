from __future__ import annotations

import io
import re
import sys

import pytest

from extapi.dev.progress import LineProgress, open_progress


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_lines_come_at_the_beginning_and_now_and_then() -> None:
    now = 100.0
    said: list[str] = []
    progress = LineProgress("compiling", said.append, clock=lambda: now)
    for step in range(1, 61):
        now += 0.5
        progress.step(f"package{step}")
    assert said == [
        "compiling",
        "compiling: 15 s, 30 packages, package30",
        "compiling: 30 s, 60 packages, package60",
    ]


def test_where_there_is_no_terminal_there_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    said: list[str] = []
    with open_progress("compiling", said.append) as progress:
        progress.step("package")
    assert said == ["compiling"]


def test_on_a_terminal_the_last_package_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    said: list[str] = []
    with open_progress("compiling", said.append) as progress:
        progress.step("some/[bold]package")
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    assert "compiling: 1 packages, some/[bold]package" in shown
    assert said == []
