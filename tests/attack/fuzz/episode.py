"""One seed's worth of requests to a server in memory: sent, judged, and at last everything read and deleted."""

from __future__ import annotations

import contextlib
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from types import FrameType
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.logger import ILogObserver, LogLevel, formatEvent, globalLogPublisher

from tests.attack.fuzz.answers import Answer, Malformed
from tests.attack.fuzz.api import api
from tests.attack.fuzz.generator import Generator
from tests.attack.fuzz.inspection import Inspection
from tests.attack.fuzz.judge import Finding, Judge
from tests.attack.fuzz.memory import MemoryServer
from tests.attack.fuzz.requests import Memory, Request, described

LENGTH = 500
"""Requests of an episode."""
ALARM = 5.0
"""Seconds of CPU after which a request is broken off: a pattern may take years."""


class Frozen(BaseException):
    """A request took so long that it was broken off."""


@dataclass
class Outcome:
    """What an episode came to."""

    seed: str
    requests: int = 0
    statuses: dict[int, int] = field(default_factory=dict)
    found: list[tuple[int, Finding, dict[str, Any]]] = field(default_factory=list)
    """The number of the request, what was found, and the request."""
    slowest: float = 0.0
    slowest_request: str = ""
    cpu: float = 0.0
    """Seconds of CPU in the server."""
    rss: int = 0
    """Megabytes at the end."""


class Log:
    """Failures and errors that reach Twisted's log while it listens, and what Python could raise to nobody."""

    def __init__(self) -> None:
        self._events: list[str] = []

    def __call__(self, event: Any) -> None:
        """An observer."""
        failure = event.get("log_failure")
        if failure is not None or event.get("log_level", LogLevel.info) >= LogLevel.error:
            trace = failure.getTraceback() if failure is not None else ""
            self._events.append(f"{formatEvent(event)} {trace}")

    def _unraisable(self, args: Any) -> None:
        self._events.append(f"raised to nobody: {args.exc_value!r} {args.object!r}")

    def take(self) -> list[str]:
        """What came since the last time."""
        events, self._events = self._events, []
        return events

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """As long as the block lasts."""
        before, observer = sys.unraisablehook, cast("ILogObserver", self)
        sys.unraisablehook = self._unraisable
        globalLogPublisher.addObserver(observer)
        try:
            yield
        finally:
            globalLogPublisher.removeObserver(observer)
            sys.unraisablehook = before


def _frozen(_number: int, _frame: FrameType | None) -> None:
    raise Frozen


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Break off what takes :data:`ALARM` seconds of CPU."""
    signal.setitimer(signal.ITIMER_PROF, ALARM)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class Episode:
    """Everything that follows from one seed."""

    def __init__(self, seed: str, *, length: int = LENGTH) -> None:
        self._seed = seed
        self._length = length
        self._swept = True
        self._dice = Random(seed)  # noqa: S311 - it shall be the same each time
        self.memory = Memory()
        self.judge = Judge()
        self.log = Log()
        self.outcome = Outcome(seed)
        self.last: tuple[Request, list[Answer]] | None = None
        self.server = MemoryServer(api)

    def stop_after(self, number: int) -> None:
        """Go no further than this request."""
        self._length, self._swept = number + 1, False

    def run(self) -> Outcome:
        """All of it."""
        signal.signal(signal.SIGPROF, _frozen)
        with self.log.listening():
            self.server.start()
            self._prepare()
            generator = Generator(self._dice, self.memory, applies=100 if self._seed.startswith("apply") else 15)
            try:
                for number in range(self._length):
                    self._one(number, generator.request())
                if self._swept:
                    self._sweep()
            except Frozen:
                pass  # the server is in no state to go on with; what it was is among the findings
            else:
                self.server.stop()
        self.outcome.statuses = self.judge.statuses
        self.outcome.rss = int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return self.outcome

    def _prepare(self) -> None:
        """What pizzas need."""
        inspection = Inspection(self.server, self.judge)
        for name in ("tomato", "mozzarella", "salami"):
            inspection.make_topping(name)
        self.log.take()

    def _one(self, number: int, request: Request) -> None:
        self.outcome.requests += 1
        judge, before = self.judge, self._revision()
        answers: list[Answer] = []
        began = time.process_time()
        try:
            with bounded():
                answers, complete = self.server.send(
                    request.peer, request.data, [request.method], patient=request.mangled is None
                )
            judge.answers(request, answers, complete=complete)
        except Frozen:
            judge.add("more than a second of CPU", f"more than {ALARM} s: broken off: {request.short()}")
            self._note(number, request)
            raise
        except Malformed as error:
            judge.add("a malformed answer", f"{error} to {request.short()}")
        except Exception as error:  # noqa: BLE001 - whatever gets out of the server is what is looked for
            judge.add("raised out of the listener", f"{error!r} for {request.short()}")
        spent = time.process_time() - began
        self.outcome.cpu += spent
        if spent > self.outcome.slowest:
            self.outcome.slowest, self.outcome.slowest_request = spent, request.short()
        judge.cpu(spent, request.short())
        judge.logged(self.log.take())
        self.last = (request, answers)
        if request.mangled is None and len(answers) == 1:
            self._after(request, answers[0], before)
        self._note(number, request)

    def _after(self, request: Request, answer: Answer, before: int) -> None:
        """Whether the store is as the answer says; and what the answer teaches."""
        now = self._revision()
        refused = answer.status >= 400 and not (request.method == "DELETE" and request.target.count("/") < 7)
        if now != before and (refused or request.method in ("GET", "HEAD", "OPTIONS")):
            self.judge.add(
                "a request that was refused, or reads, changed something", f"{answer.status} {request.short()}"
            )
        dry = re.search(r"[?&]dryRun=All(&|$)", request.target) and not (request.method == "DELETE" and request.body)
        if now != before and dry:
            self.judge.add("a dry run changed something", f"{answer.status} {request.short()}")
        self.memory.revision = str(now)
        inspection = Inspection(self.server, self.judge)
        inspection.learn(request, answer, self.memory)
        if now != before and answer.status in (200, 201) and request.method != "DELETE" and self._dice.random() < 0.2:
            with bounded():
                inspection.everywhere(request.served, answer)
            self.judge.logged(self.log.take())

    def _note(self, number: int, request: Request) -> None:
        found, self.judge.findings = self.judge.findings, []
        self.outcome.found += [(number, finding, described(request)) for finding in found]

    def _sweep(self) -> None:
        """Read and delete all that is there."""
        try:
            with bounded():
                Inspection(self.server, self.judge).sweep()
        except Frozen:
            self.judge.add("more than a second of CPU", "the sweep was broken off")
        self.judge.logged(self.log.take())
        found, self.judge.findings = self.judge.findings, []
        self.outcome.found += [(self._length, finding, {}) for finding in found]

    def _revision(self) -> int:
        results: list[Any] = []
        Deferred.fromCoroutine(self.server.revision()).addBoth(results.append)
        revision: int = results[0]
        return revision
