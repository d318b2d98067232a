"""What is written to a terminal, to a pipe, and to one that takes nothing."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import termios
from typing import Any

import pytest

from extapi.dev import terminal
from extapi.dev.terminal import LONGEST, QUIET, Terminal, visible


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "shown"),
    [
        (Screen(), {"TERM": "xterm"}, "\x1b[33mwarning: \x1b[0mhot\n"),
        (Screen(), {"TERM": "xterm", "NO_COLOR": "1"}, "warning: hot\n"),
        (Screen(), {"TERM": "xterm", "NO_COLOR": ""}, "\x1b[33mwarning: \x1b[0mhot\n"),
        (Screen(), {"TERM": "dumb"}, "warning: hot\n"),
        (io.StringIO(), {"TERM": "xterm"}, "warning: hot\n"),
    ],
)
def test_colour_is_for_terminals_and_for_who_wants_it(
    stream: io.StringIO, environment: dict[str, str], shown: str
) -> None:
    """NO_COLOR counts when it is not empty: https://no-color.org."""
    Terminal.of(stream, environment).line([("warning: ", "warning"), ("hot", "")])
    assert stream.getvalue() == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pizza für zwei\t\N{SLICE OF PIZZA}", "pizza für zwei\t\N{SLICE OF PIZZA}"),
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\rb\bc\x00", "a\\rb\\x08c\\x00"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\ud800", "\\ud800"),
    ],
)
def test_nothing_controls_the_terminal(text: str, shown: str) -> None:
    assert visible(text) == shown
    stream = io.StringIO()
    Terminal.of(stream, {}).line([(text, "")])
    assert stream.getvalue() == f"{shown}\n"


def test_a_long_line_is_cut() -> None:
    stream = io.StringIO()
    Terminal.of(stream, {}).line([("name", "process"), ("\x1b" * 2 * LONGEST, ""), ("more", "")])
    assert stream.getvalue() == "name" + ("\\x1b" * LONGEST)[: LONGEST - 4] + "...\n"


def test_what_the_encoding_lacks_is_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "ascii")
    Terminal.of(stream, {}).line([("für", "")])
    assert raw.getvalue() == b"f\\xfcr\n"


def test_a_wait_is_one_line_on_a_terminal() -> None:
    stream = Screen()
    live = Terminal.of(stream, {"TERM": "xterm", "NO_COLOR": "1"})
    for second in (1, 2, 2):
        live.status(f"waiting: {second} s")
    live.line([("ready", "")])
    live.status("")
    assert stream.getvalue() == "\r\x1b[Kwaiting: 1 s\r\x1b[Kwaiting: 2 s\r\x1b[Kready\n"


def test_a_wait_is_a_line_now_and_then_elsewhere() -> None:
    now = 0.0
    stream = io.StringIO()
    quiet = Terminal(stream, live=False, colour=False, clock=lambda: now)
    for second in range(1, 41):
        now = float(second)
        quiet.status(f"waiting: {second} s")
    quiet.status("")
    assert stream.getvalue() == f"waiting: {1 + QUIET:.0f} s\nwaiting: {1 + 2 * QUIET:.0f} s\n"


def test_a_pipe_that_is_full_has_no_room() -> None:
    read, write = os.pipe()
    with contextlib.suppress(BrokenPipeError), os.fdopen(write, "w") as stream:
        full = Terminal.of(stream, {})
        assert full.has_room()
        os.write(write, b"x" * fcntl.fcntl(write, fcntl.F_GETPIPE_SZ))
        assert not full.has_room()
        os.read(read, 65536)
        assert full.has_room()
        os.close(read)
        full.line([("nobody reads", "")])  # and that is no error
    assert Terminal.of(io.StringIO(), {}).has_room()


def test_the_terminal_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    controller, terminal_end = pty.openpty()
    before: Any = termios.tcgetattr(terminal_end)
    saved = os.dup(0)
    os.dup2(terminal_end, 0)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())  # it is not the one of this process
    try:
        with terminal.kept():
            raw = termios.tcgetattr(0)
            raw[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(0, termios.TCSANOW, raw)
        assert termios.tcgetattr(0)[3] == before[3]
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        with terminal.kept():
            pass
    finally:
        os.dup2(saved, 0)
        for descriptor in (saved, controller, terminal_end):
            os.close(descriptor)
