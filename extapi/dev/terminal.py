"""The terminal that ``extapi dev`` runs in: lines for it, in colour where it has any, and a line that comes and goes.

Everything is shown as text: no client or program may control the terminal.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

LONGEST = 1000
"""Characters per line. At a few bytes per character, a pipe with room takes the line at once (``PIPE_BUF``)."""
QUIET = 15.0
"""Seconds between two lines about the same wait if the output is not a terminal."""
STYLES = {"warning": "33", "error": "31", "process": "36", "component": "35", "dim": "2"}
"""Select Graphic Rendition (ECMA-48, 8.3.117)."""

Parts = list[tuple[str, str]]
"""Texts with their styles, which may be empty."""


class Terminal:
    """Writes to ``stream``. ``live``: it is a terminal; ``colour``: colours are wanted, too."""

    def __init__(
        self, stream: TextIO, *, live: bool, colour: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._live = live
        self._colour = colour
        self._clock = clock
        self._status = ""
        self._said = clock()

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str]) -> Terminal:
        """A terminal as the stream and the environment demand: ``NO_COLOR`` (no-color.org), and no cursor movement for ``TERM=dumb``."""
        live = stream.isatty() and environment.get("TERM") != "dumb"
        return cls(stream, live=live, colour=live and not environment.get("NO_COLOR"))

    def has_room(self) -> bool:
        """Whether a line can be written now: not while the terminal is stopped (Ctrl-S) or nobody reads."""
        try:
            return bool(select.select([], [self._stream.fileno()], [], 0)[1])
        except (OSError, ValueError):
            return True

    def line(self, parts: Parts) -> None:
        """Write one line."""
        self.status("")
        left = LONGEST
        texts = []
        for text, style in parts:
            shown = visible(text[: left + 1])
            if len(shown) > left:
                texts.append(f"{shown[:left]}...")
                break
            left -= len(shown)
            texts.append(f"\x1b[{STYLES[style]}m{shown}\x1b[0m" if self._colour and style and shown else shown)
        self._write("".join(texts) + "\n")

    def status(self, text: str) -> None:
        """Show what is waited for in a line that the next one replaces; an empty text removes it."""
        if text == self._status:
            return
        if self._live:
            self._write("\r\x1b[K" + visible(text[:LONGEST]))
        elif text and not self._status:
            self._said = self._clock()  # only a wait that takes long is worth a line
        elif text and self._clock() - self._said >= QUIET:
            self._said = self._clock()
            self._write(visible(text[:LONGEST]) + "\n")
        self._status = text

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        with contextlib.suppress(OSError):  # the terminal is gone; the logs have everything
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()


def visible(text: str) -> str:
    """The text with invisible characters escaped: control characters, and those that change the direction of text."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Restore the terminal of standard input, which a process that is killed while it edits a line cannot do."""
    try:
        before = termios.tcgetattr(0)
    except (termios.error, OSError):
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(termios.error, OSError):
            if os.tcgetpgrp(0) == os.getpgrp():  # a background process would be stopped
                termios.tcsetattr(0, termios.TCSADRAIN, before)


def standard_error() -> Terminal:
    """The one of this process."""
    return Terminal.of(sys.stderr, os.environ)
