"""The supervisor: starts the processes of a server, starts those again that die, and ends all of them in order.

It has no reactor, and does nothing for a request. As the first process of a container it also reaps what others leave behind.
Must not know an API or a store.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Final

from extapi import forks
from extapi.server.structuredlog import structlog
from extapi.workers import control
from extapi.workers.control import Heard

FIRST_DELAY: Final = 0.25
LAST_DELAY: Final = 30.0
"""Seconds before a process that has died is started again: the first time, and at most. In between, they double."""
LASTED: Final = 60.0
"""Seconds after which a process that was ready counts as one that works: the next delay is the first one again."""
ATTEMPTS: Final = 8
"""How often in a row one process may die before it is ready, while none of its kind is ready; then all are ended."""

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
"""Those that the supervisor handles."""

_ABOUT_IMPORTS: Final = (control.IMPORTING, control.IMPORTED)
_ENDED_BY_MODULE: Final = "ended while it imported the API's module: the module, or one that it imports, calls os._exit() or crashes the interpreter"

Work = Callable[[int, socket.socket], int]
"""What a process does: gets its number and its control socket, returns its exit status."""


@dataclass
class Process:
    """One of the processes, and those that take its place after it."""

    name: str
    number: int
    work: Work
    pid: int = 0
    """0: it does not run."""
    sock: socket.socket | None = None
    ready: bool = False
    importing: bool = False
    """Whether it runs an author's module for the first time, which may end it without a word."""
    since: float = 0.0
    """When it became ready."""
    failures: int = 0
    due: float | None = None
    """When it is to be started again."""
    wants_hub: bool = False
    """Whether it waits for a connection to the hub."""


@dataclass
class _Ending:
    """How far the end has come."""

    status: int
    hub_asked: bool = False
    bad: list[int] = field(default_factory=list)


class Supervisor:
    """Runs ``count`` workers, and a hub if there is one: it starts before them and ends after them.

    A mistake that keeps the first worker from becoming ready ends everything: the others are only started after it.

    Args:
        count: How many workers.
        work: What a worker does; its numbers begin with 0.
        hub: What the hub does; its number is ``count``.
        first_delay: Seconds before a process that has died is started again for the first time.
    """

    def __init__(self, count: int, work: Work, hub: Work | None = None, *, first_delay: float = FIRST_DELAY) -> None:
        self._first_delay = first_delay
        self._log = structlog.get_logger("extapi.workers")
        self._workers = [Process(f"extapi worker {number}", number, work) for number in range(count)]
        self._hub = None if hub is None else Process("extapi hub", count, hub)
        self._all: Sequence[Process] = [*self._workers, *([] if self._hub is None else [self._hub])]
        self._signals: list[int] = []
        self._ending: _Ending | None = None
        self._wake, self._waker = socket.socketpair()
        for end in (self._wake, self._waker):
            end.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)

    def run(self) -> int:
        """Run until a signal, or until it is no use to go on.

        Returns:
            The exit status: 0 if every process ended as it should; that of one that did not, 1 for one that was killed.
        """
        for number in _SIGNALS:
            signal.signal(number, self._signalled)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        self._start(self._hub or self._workers[0])
        while self._ending is None or any(process.pid for process in self._all):
            for descriptor, _ in self._poll.poll(self._patience()):
                self._heard(descriptor)
            self._reap()
            self._handle_signals()
            self._start_due()
        signal.set_wakeup_fd(-1)
        return self._ending.status or next(iter(self._ending.bad), 0)

    def _signalled(self, number: int, _: FrameType | None) -> None:
        """The interpreter wakes the poll."""
        if number != signal.SIGCHLD:
            self._signals.append(number)

    def _patience(self) -> int | None:
        due = [process.due for process in self._all if process.due is not None]
        return None if not due else max(0, int((min(due) - time.monotonic()) * 1000) + 1)

    # -- starting

    def _start(self, process: Process) -> None:
        process.due = None
        ours, theirs = control.pair()
        others = [each.sock for each in self._all if each.sock is not None]

        def work() -> int:
            for sock in (ours, self._wake, self._waker, *others):
                sock.close()
            return process.work(process.number, theirs)

        try:
            process.pid = forks.fork(work, _SIGNALS, begin=partial(_begin, process.name, os.getpid()))
        except OSError as error:
            self._log.error("no process can be started", process=process.name, reason=str(error))
            ours.close()
            self._failed(process)
            return
        finally:
            theirs.close()
        process.sock = ours
        process.wants_hub = False
        self._poll.register(ours, select.POLLIN)

    def _start_due(self) -> None:
        now = time.monotonic()
        for process in self._all:
            if process.due is not None and process.due <= now and self._ending is None:
                self._start(process)

    def _became_ready(self, process: Process) -> None:
        process.ready, process.since = True, time.monotonic()
        self._log.info("started", process=process.name, pid=process.pid)
        if self._ending is not None:
            return
        if process is self._hub:
            for worker in self._workers:
                if worker.wants_hub:
                    self._connect(worker)
            if not self._workers[0].pid and self._workers[0].due is None:
                self._start(self._workers[0])
            return
        for worker in self._workers:
            if not worker.pid and worker.due is None:
                self._start(worker)

    # -- what they say

    def _heard(self, descriptor: int) -> None:
        if descriptor == self._wake.fileno():
            self._wake.recv(4096)
            return
        process = next((each for each in self._all if each.sock is not None and each.sock.fileno() == descriptor), None)
        if process is not None:
            for heard in self._words(process):
                self._take(process, *heard)

    def _words(self, process: Process) -> Iterator[Heard]:
        """What a process has said and nobody has heard yet."""
        while process.sock is not None:
            try:
                heard = control.hear(process.sock)
            except BlockingIOError:
                return
            if heard is None:
                self._forget(process)
                return
            yield heard

    def _take(self, process: Process, word: bytes, number: int, given: socket.socket | None) -> None:
        if word == control.READY:
            self._became_ready(process)
        elif word in _ABOUT_IMPORTS:
            process.importing = word == control.IMPORTING
        elif word == control.HUB:
            process.wants_hub = True
            if self._hub is not None and self._hub.ready:
                self._connect(process)
        elif word in (control.SCRAPE, control.SLIS) and given is not None:
            self._pass_on(word, number, given)
        elif given is not None:
            given.close()

    def _connect(self, worker: Process) -> None:
        """Give a worker and the hub the two ends of a connection."""
        assert self._hub is not None  # noqa: S101 - for the type checker: whoever calls has looked
        if worker.sock is None or self._hub.sock is None:
            return
        worker.wants_hub = False
        one, other = socket.socketpair()
        control.tell(self._hub.sock, control.HUB, worker.number, give=one)
        control.tell(worker.sock, control.HUB, give=other)

    def _pass_on(self, word: bytes, number: int, given: socket.socket) -> None:
        """Ask another process for its metrics; one that cannot answer says nothing."""
        other = self._all[number] if number < len(self._all) else None
        if other is None or other.sock is None or not other.ready:
            given.close()
            return
        control.tell(other.sock, word, give=given)

    def _forget(self, process: Process) -> None:
        sock, process.sock = process.sock, None
        if sock is not None:
            self._poll.unregister(sock)
            sock.close()

    # -- ends

    def _reap(self) -> None:
        """Learn which have died; orphans of others, which the first process of a container gets, too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            process = next((each for each in self._all if each.pid == pid), None)
            if process is not None:
                self._died(process, os.waitstatus_to_exitcode(status))

    def _died(self, process: Process, status: int) -> None:
        # Its last words; of what it wanted, nothing is of use to it any more.
        for word, _, given in self._words(process):
            if word in _ABOUT_IMPORTS:
                process.importing = word == control.IMPORTING
            if given is not None:
                given.close()
        was_ready, process.ready, process.pid = process.ready, False, 0
        if process.importing and self._ending is None:
            self._log.error(_ENDED_BY_MODULE, process=process.name, status=status)
        process.importing = False
        self._forget(process)
        if self._ending is not None:
            if status not in (0, -signal.SIGTERM):  # by SIGTERM: it had not begun
                self._ending.bad.append(max(status, 1))
                self._log.warning("ended badly", process=process.name, status=status)
            self._go_on_ending()
            return
        if not was_ready and not any(each.ready or each.failures for each in (process, *self._workers)):
            self._end(max(status, 1))  # a mistake of the operator or the author, which it has told
            return
        if was_ready and time.monotonic() - process.since >= LASTED:
            process.failures = 0
        self._failed(process, status)

    def _failed(self, process: Process, status: int = 1) -> None:
        """Start it again, after a while; or give up."""
        process.failures += 1
        kind = [process] if process is self._hub else self._workers
        if process.failures >= ATTEMPTS and not any(each.ready for each in kind):
            self._log.error("does not become ready; ending", process=process.name, attempts=process.failures)
            self._end(1)
            return
        delay = min(self._first_delay * 2 ** (process.failures - 1), LAST_DELAY)
        self._log.error("has died and is started again", process=process.name, status=status, delay=delay)
        process.due = time.monotonic() + delay

    def _handle_signals(self) -> None:
        signals, self._signals = self._signals, []
        for _ in signals:
            if self._ending is None:
                self._log.info("stopping")
                self._end(0)
            else:  # a second signal ends them at once, as it does a single process (behaviour H15)
                self._ending.status = self._ending.status or 1
                for process in self._all:
                    self._send(process, signal.SIGKILL)

    def _end(self, status: int) -> None:
        """Ask the workers to end, each in order; then the hub, once nobody writes any more."""
        self._ending = _Ending(status)
        for process in self._all:
            process.due = None
        for worker in self._workers:
            self._send(worker, signal.SIGTERM)
        self._go_on_ending()

    def _go_on_ending(self) -> None:
        ending, hub = self._ending, self._hub
        if ending is None or hub is None or ending.hub_asked or any(worker.pid for worker in self._workers):
            return
        ending.hub_asked = True
        self._send(hub, signal.SIGTERM)

    def _send(self, process: Process, number: signal.Signals) -> None:
        if process.pid:
            os.kill(process.pid, number)  # it has not been reaped, so the id is still its own


def _begin(name: str, supervisor: int) -> None:
    """What a process does first."""
    forks.detach()
    forks.set_name(name)
    forks.die_with(supervisor)  # nobody would start it again, or end it
