"""What the servers tell their author, shown where ``extapi dev`` runs: warnings, errors, and printed text.

Reads the servers' logs, which stay complete, and shows a part of them: no requests, no messages of the library, folded
tracebacks. A flood of lines is cut to a readable number. Knows the lines that :mod:`extapi.server.logs` writes.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from extapi.dev.folding import TRACEBACK, fold
from extapi.dev.logtail import FileTail
from extapi.dev.terminal import Parts, Terminal
from extapi.loading.authorscode import AuthorsCode

RATE = 100
"""Lines per process and second; more are only counted."""
IDLE = 0.5
"""Seconds after which an incomplete line or traceback is shown as it is."""
_REQUEST = b'{"event":"request",'
"""How the log line of a request begins."""
_COMMON = frozenset({"event", "level", "timestamp", "source", "component", "controller", "traceback", "exception"})
_LEVELS = {"warning": "warning", "error": "error", "critical": "error"}
_LIBRARIES = frozenset({"extapi", "twisted", "py"})
_AT_START = ("health check failed", "--development:")
"""Expected until all servers are ready, because we poll for readiness."""
_TOLD = "reloaded "
"""How the one message of the library begins that is no warning and shown all the same."""
_LONGEST_TRACE = 2000
"""Lines of a traceback that is printed."""


class LogSource:
    """One process: turns its log into rows for the terminal."""

    def __init__(self, name: str, log: Path, authors: AuthorsCode) -> None:
        self.pending: deque[Parts] = deque()
        self._name = name
        self._log = log
        self._tail = FileTail(log)
        self._authors = authors
        self._trace: list[str] = []
        self._changed = 0.0
        self._second = 0.0
        self._shown = self._left_out = 0

    def read(self, now: float, *, starting: bool, last: bool) -> None:
        """Add rows for new log lines. ``last``: nothing follows."""
        before = self._tail.position
        lines = self._tail.read()
        if self._tail.position != before:
            self._changed = now
        if now - self._second >= 1:
            self._tell_left_out()
            self._second, self._shown = now, 0
        if self._tail.skipped:
            self._row("", f"... {self._tail.skipped} bytes of output were skipped; they are in {self._log}", "dim")
            self._tail.skipped = 0
        for line in lines:
            if not line.startswith(_REQUEST):
                self._take(line, starting=starting)
        if last or now - self._changed >= IDLE:
            partial = self._tail.partial()
            if partial:
                self._take(partial, starting=starting)
            self._end_trace()
        if last:
            self._tell_left_out()

    def close(self) -> None:
        """Read no more."""
        self._tail.close()

    def _take(self, line: bytes, *, starting: bool) -> None:
        entry = _entry(line)
        if entry is None:
            self._print(line.decode("utf-8", "backslashreplace").rstrip("\r"))
            return
        self._end_trace()
        if not (starting and entry["event"].startswith(_AT_START)):
            self._show(entry)

    def _show(self, entry: dict[str, Any]) -> None:
        """One log event, unless it concerns only the library."""
        level = str(entry["level"])
        source = str(entry.get("source", ""))
        ours = source.partition(".")[0] in _LIBRARIES and not source.startswith("extapi.pizza")
        if level not in _LEVELS and (level == "debug" or ours or not source) and not entry["event"].startswith(_TOLD):
            return
        component = str(entry.get("component", "" if ours else source))
        style = _LEVELS.get(level, "")
        text = entry["event"].removeprefix(f"{component} ").replace(f"{Path.cwd()}/", "").replace(": builtins.", ": ")
        for key, value in entry.items():
            if key not in _COMMON:
                text += f" {key}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        first, *rest = text.split("\n")
        self._row(component, first, style, label=f"{style}: " if style else "")
        for line in rest:
            self._row(component, f"  {line}")
        trace = entry.get("traceback") or entry.get("exception")
        if trace:
            self._fold(str(trace).split("\n"), component)

    def _print(self, text: str) -> None:
        """A line that no logger wrote."""
        if self._trace and text.startswith(" ") and len(self._trace) < _LONGEST_TRACE:
            self._trace.append(text)
        elif self._trace:
            self._trace.append(text)
            self._end_trace()
        elif text == TRACEBACK:
            self._trace.append(text)
        elif text.strip():
            self._row("", text)

    def _end_trace(self) -> None:
        trace, self._trace = self._trace, []
        if trace:
            self._fold(trace, "")

    def _fold(self, lines: list[str], component: str) -> None:
        for line in fold(lines, self._authors):
            style = "" if line.startswith(("  File", "    ")) else "error"
            self._row(component, f"  {line}", "dim" if line.startswith("  (") else style)

    def _row(self, component: str, text: str, style: str = "", *, label: str = "") -> None:
        if self._shown >= RATE:
            self._left_out += 1
            return
        self._shown += 1
        parts = [(self._name, "process"), (" | ", "dim")]
        if component:
            parts += [(component, "component"), (" | ", "dim")]
        if label:
            parts += [(label, style), (text, "")]
        else:
            parts.append((text, style))
        self.pending.append(parts)

    def _tell_left_out(self) -> None:
        if self._left_out:
            count, self._left_out, self._shown = self._left_out, 0, 0
            self._row("", f"... {count} more lines; they are in {self._log}", "dim")


class Console:
    """Shows what processes write. ``clock``: seconds."""

    def __init__(
        self, terminal: Terminal, authors: AuthorsCode, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._terminal = terminal
        self._authors = authors
        self._clock = clock
        self._sources: list[LogSource] = []
        self.starting = True

    def follow(self, name: str, log: Path) -> None:
        """Show what the process ``name`` writes to its log from now on.

        Raises:
            OSError: The log cannot be read.
        """
        self._sources.append(LogSource(name, log, self._authors))

    def show(self) -> None:
        """Show new lines, as far as the terminal takes them."""
        for source in self._sources:
            if not source.pending:
                source.read(self._clock(), starting=self.starting, last=False)
            while source.pending and self._terminal.has_room():
                self._terminal.line(source.pending.popleft())

    @contextlib.contextmanager
    def until_the_end(self) -> Iterator[None]:
        """Show the rest, after the processes have ended."""
        try:
            yield
        finally:
            self.show()
            for source in self._sources:
                source.read(self._clock(), starting=self.starting, last=True)
                while source.pending and self._terminal.has_room():
                    self._terminal.line(source.pending.popleft())
                source.close()
            self._sources.clear()


def _entry(line: bytes) -> dict[str, Any] | None:
    """The event that a line of our log holds; None for any other text."""
    if not line.startswith(b"{"):
        return None
    try:
        entry = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if isinstance(entry, dict) and {"event", "level", "timestamp"} <= entry.keys():
        return {**entry, "event": str(entry["event"])}
    return None
