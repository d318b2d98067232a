"""A process on a host, and those that it has started: a server with workers is a supervisor, a hub and its workers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.ha.hosts import Host


@dataclass
class Program:
    """One process on one host. Its output goes to ``log``."""

    host: Host
    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    starts: int = 0

    @property
    def running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start it; returns at once."""
        self.starts += 1
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.host.command(*self.arguments),
                cwd=self.log.parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **self.environment},
            )

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.process is not None and self.running:
            self.process.send_signal(number)

    def end(self, number: signal.Signals, seconds: float = 20) -> int:
        """Send a signal and wait for the end; the exit status.

        Raises:
            subprocess.TimeoutExpired: It goes on.
        """
        assert self.process is not None
        self.send(number)
        return self.process.wait(seconds)

    def children(self) -> Mapping[str, int]:
        """The processes that it has started, by name; none if it does not run."""
        found: dict[str, int] = {}
        if self.process is None or not self.running:
            return found
        with contextlib.suppress(OSError):  # one that has ended meanwhile
            for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
                with contextlib.suppress(OSError):
                    found[Path(f"/proc/{pid}/comm").read_text().strip()] = int(pid)
        return found

    def send_child(self, name: str, number: signal.Signals) -> None:
        """Send a signal to one of its processes, if there is one of that name now."""
        pid = self.children().get(name)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def send_all(self, number: signal.Signals) -> None:
        """Send a signal to it and to each of its processes."""
        self.send(number)
        for name in self.children():
            self.send_child(name, number)
