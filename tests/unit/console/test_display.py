"""Lines go to standard error; a bar is drawn on terminals only."""

from __future__ import annotations

import sys

import pytest

from extapi.console.display import bar, say


def test_nothing_is_drawn_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("crates") as report:
        report(1, 2)
    say("done")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "done\n")


def test_a_terminal_gets_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with bar("crates") as report:
        report(1, 2)
    assert "crates" in capsys.readouterr().err
