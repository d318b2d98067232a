"""A terminal for programs that behave in one as they do nowhere else: with colours, Ctrl-C, and a debugger's prompt."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import time
from pathlib import Path

SECONDS = 120
"""How long something that is waited for may take."""


class Terminal:
    """A pseudo-terminal with a program in its foreground, and what it shows."""

    def __init__(self, command: list[str], directory: Path, **environment: str) -> None:
        self.pid, self._descriptor = pty.fork()
        if self.pid == 0:  # pragma: no cover - becomes the program
            os.chdir(directory)
            os.execve(command[0], command, {**os.environ, "TERM": "xterm", "COLUMNS": "200", **environment})  # noqa: S606 - a program of ours
        self.shown = ""
        self.all = ""

    def expect(self, text: str) -> str:
        """Read until ``text`` has been shown since the last time; all that was shown before it."""
        deadline = time.monotonic() + SECONDS
        while text not in self.shown:
            ready = select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]
            assert ready, f"no {text!r} in:\n{self.shown}"
            try:
                data = os.read(self._descriptor, 65536)
            except OSError:  # Linux says so when the last process has closed it
                data = b""
            assert data, f"no {text!r}, and it ended:\n{self.shown}"
            self.shown += data.decode(errors="replace")
            self.all += data.decode(errors="replace")
        before, _, self.shown = self.shown.partition(text)
        return before

    def waits_for_input(self) -> bool:
        """Whether the program sleeps. After a prompt it does so only to read what is typed."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def status(self) -> int:
        """The exit status of the program, once it has ended."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._descriptor)
