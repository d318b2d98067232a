"""The child processes of a local control plane: started, watched, and ended in order, with no orphan left.

Knows processes and their logs, not what they do.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from extapi import forks
from extapi.dev import forking, signals, title
from extapi.dev.directory import open_new
from extapi.dev.failure import DevFailure
from extapi.storage.room import lacking

_LAST_WORDS = 0.5
"""Seconds to write them."""
_LOG = 4096
"""Bytes without which a log may lack its end."""
PATIENCE = 1.0
"""Seconds until the user is told about a wait."""


class Running(Protocol):
    """A process we have started: ``subprocess.Popen``, or a fork."""

    @property
    def pid(self) -> int:
        """Its id, and that of its process group."""
        ...

    def poll(self) -> int | None:
        """Its exit status, negative for a signal; None as long as it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status.

        Raises:
            subprocess.TimeoutExpired: It still runs after ``timeout`` seconds.
        """
        ...

    def terminate(self) -> None:
        """Ask it to end."""
        ...


@dataclass(frozen=True)
class Child:
    """One running program: its name for messages, and the file that holds its output."""

    name: str
    process: Running
    log: Path
    shown: bool = False
    """Whether the user has seen its output already."""

    def check(self) -> None:
        """Check that it runs.

        Raises:
            DevFailure: It has ended.
        """
        status = self.process.poll()
        if status is not None:
            how = f"with status {status}" if status >= 0 else f"by {signal.Signals(-status).name}"
            said = lacking(self.log.parent, _LOG)
            said = f"; nothing more could be written: {said}" if said else "" if self.shown else self._last_words()
            raise DevFailure(f"{self.name} ended {how}; its log is {self.log}{said}")

    def _last_words(self) -> str:
        """The last line of its log, which often says why."""
        with self.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
            lines = log.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f", which ends with: {last[:300]}" if last else ""


class Processes:
    """The children of one control plane, in the order they were started.

    Args:
        fork: Whether Python programs are forks of this process (``forking`` says when that is safe).
        private: File descriptors that a fork closes at once.
        meanwhile: Called with each :meth:`check`, also during a wait.
        follow: Called with the name and the log of each Python program, for those who show it.
        waiting: Called repeatedly during a long wait with what is waited for; at its end with an empty text.
        monotonic: The time.
        sleep: Lets it pass.
    """

    def __init__(
        self,
        logs: Path,
        *,
        fork: bool = False,
        private: Sequence[int] = (),
        meanwhile: Callable[[], None] = lambda: None,
        follow: Callable[[str, Path], None] | None = None,
        waiting: Callable[[str], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._logs = logs
        self._fork = fork
        self._private = private
        self._meanwhile = meanwhile
        self._follow = follow
        self._waiting = waiting
        self._monotonic = monotonic
        self._sleep = sleep
        self._children: list[Child] = []

    def start(self, name: str, command: Sequence[str], *, directory: Path | None = None) -> Child:
        """Start a program.

        It has no terminal and its own process group, so that Ctrl-C reaches only us and we end the children in order. On
        Linux it is killed when this process dies, however that happens.

        Args:
            directory: Its working directory; None: ours.

        Raises:
            DevFailure: It cannot be started, or its log cannot be written.
        """
        follow = partial(forks.die_with, os.getpid())

        def begin() -> None:
            follow()
            signals.release()

        def popen(output: int) -> Running:
            return subprocess.Popen(  # noqa: S603 - programs we have built or found
                list(command),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
                # It only makes a few system calls, and this program has no threads at that time.
                preexec_fn=begin,  # noqa: PLW1509
            )

        return self._add(name, popen)

    def start_python(self, name: str, module: str, arguments: Sequence[str], *, foreground: bool = False) -> Child:
        """Start ``python -m module arguments``, as :meth:`start` does, or as a fork of this process.

        Args:
            foreground: It shares our terminal: standard input and output, and our process group. Ctrl-C still reaches only us.

        Raises:
            DevFailure: It cannot be started, or its log cannot be written.
        """
        if self._fork:
            start = self._forked(name, module, arguments, foreground=foreground)
        else:
            start = self._executed([sys.executable, "-u", "-m", module, *arguments], foreground=foreground)
        child = self._add(name, start, shown=self._follow is not None)
        if self._follow is not None:
            self._follow(name, child.log)
        return child

    def _forked(
        self, name: str, module: str, arguments: Sequence[str], *, foreground: bool
    ) -> Callable[[int], Running]:
        follow = partial(forks.die_with, os.getpid())

        def begin() -> None:
            follow()
            forks.set_name(name)
            title.set_command_line(f"extapi dev: {name}")
            for descriptor in self._private:
                os.close(descriptor)

        return lambda output: forking.fork(module, arguments, output=output, begin=begin, foreground=foreground)

    def _executed(self, command: Sequence[str], *, foreground: bool) -> Callable[[int], Running]:
        follow = partial(forks.die_with, os.getpid())

        def begin() -> None:
            follow()
            signals.release(but=forking.OF_TERMINAL if foreground else ())

        def popen(output: int) -> Running:
            return subprocess.Popen(  # noqa: S603 - programs we have built or found
                list(command),
                stdin=None if foreground else subprocess.DEVNULL,
                stdout=None if foreground else output,
                stderr=output,
                process_group=None if foreground else 0,
                # It only makes a few system calls, and this program has no threads at that time.
                preexec_fn=begin,  # noqa: PLW1509
            )

        return popen

    def _add(self, name: str, start: Callable[[int], Running], *, shown: bool = False) -> Child:
        """``start`` gets the file descriptor of the log."""
        log = self._logs / f"{name}.log"
        try:
            self._logs.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A signal waits until the child is among those that are ended.
            with open_new(log) as output, signals.held():
                child = Child(name, start(output.fileno()), log, shown)
                self._children.append(child)
        except OSError as error:
            raise DevFailure(f"{name} cannot be started: {error.filename or log}: {error.strerror}") from error
        return child

    def pid(self, name: str) -> int:
        """The id of the process that was started last under ``name``.

        Raises:
            KeyError: None was.
        """
        return {child.name: child.process.pid for child in self._children}[name]

    def cpu_seconds(self, name: str) -> float:
        """The CPU time of the process that was started last under ``name``; 0 where the system does not tell (``proc(5)``).

        Raises:
            KeyError: None was.
        """
        try:
            stat = Path(f"/proc/{self.pid(name)}/stat").read_text()
        except OSError:
            return 0.0
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def check(self) -> None:
        """Check that all run.

        Raises:
            DevFailure: One of the children has ended.
        """
        self._meanwhile()
        for child in self._children:
            child.check()

    def wait_until(
        self,
        missing: Callable[[], str | None],
        what: str,
        *,
        seconds: float,
        interval: float = 0.1,
        found: Callable[[], int] = lambda: 0,
    ) -> None:
        """Ask ``missing`` until it returns None, as long as all children live.

        Between two questions passes as much time as the first of them took, so that the children can work, too.

        Args:
            missing: Returns what is still missing, or None.
            what: What is waited for, used in messages: ``kube-apiserver to be ready``.
            seconds: How long to wait for a change.
            interval: Seconds between two questions, at least.
            found: Returns how much is there after a question. When there is more than ever before, ``seconds`` begin again;
                so it has to have an end.

        Raises:
            DevFailure: A child ended, or nothing has come for ``seconds``.
        """
        started = changed = asked = self._monotonic()
        most = found()
        try:
            while (reason := missing()) is not None:
                self.check()
                now = self._monotonic()
                if (count := found()) > most:
                    most, changed = count, now
                if now - changed > seconds:
                    last = f", the last {now - changed:.0f} s in vain" if changed > started else ""
                    raise DevFailure(
                        f"waited {now - started:.0f} s for {what}{last}: {reason}; the logs are in {self._logs}"
                    )
                if now - started > PATIENCE:
                    self._waiting(f"waiting for {what}: {now - started:.0f} s")
                self._sleep(max(interval, now - asked))
                asked = self._monotonic()
        finally:
            self._waiting("")
        self.check()

    def stop(self, *, seconds: float = 6.0) -> None:
        """End all children, last started first: each is asked, has its share of ``seconds``, and is then killed.

        Before it is killed, a Python child writes its stacks to its log, which show why it did not end.
        """
        deadline = time.monotonic() + seconds
        while self._children:
            child = self._children[-1]
            share = (deadline - time.monotonic()) / len(self._children)
            _end(child.process, max(share, 0.0))
            self._children.pop()


def _end(process: Running, seconds: float) -> None:
    """Ask it to end, and kill its whole group when it has not ended in time."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    if process.poll() is None:
        # Python programs of ours end by it with their stacks (extapi/server/watchdog.py), Go programs ignore it.
        os.kill(process.pid, signal.SIGALRM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LAST_WORDS)
    # Also after a clean end: no process that it started may stay.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)  # one in our own group
    process.wait()
