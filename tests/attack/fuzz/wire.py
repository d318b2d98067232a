"""The same requests over TLS to a real process: many on a connection before the first is answered, odd ones alone.

One server serves all episodes of a process; each begins with nothing in it.
"""

from __future__ import annotations

import atexit
import re
import ssl
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote

from tests.attack.cluster import Cluster
from tests.attack.fuzz.answers import Answer, Malformed, Reader
from tests.attack.fuzz.episode import LENGTH, Outcome
from tests.attack.fuzz.generator import Generator
from tests.attack.fuzz.inspection import Inspection
from tests.attack.fuzz.judge import CPU, Judge
from tests.attack.fuzz.requests import Memory, Request, described
from tests.attack.server import ServerProcess

BATCH = 16
"""Requests that are sent before the first answer is read."""
IDLE = 0.15
"""Seconds after which nothing more is expected of a request whose answer may never end."""
_SLOW = re.compile(r"watch|timeout|Upgrade|Expect|[Cc]onnection", re.ASCII)


@contextmanager
def serving() -> Iterator[ServerProcess]:
    """A server for a ``with`` block."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as directory:
        cluster = Cluster(("a", "b", "default", "ending"), {"ending": "Terminating"})
        cluster.tokens["good"] = {"username": "token-user"}
        try:
            server = ServerProcess(Path(directory), "tests.attack.fuzz.api:api", cluster)
            try:
                yield server
            finally:
                server.stop()
        finally:
            cluster.stop()


@cache
def process_server() -> ServerProcess:
    """The server of this process, started when it is needed, stopped at its end."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(serving())


class Wire:
    """Sends requests; with the method that :class:`~tests.attack.fuzz.inspection.Inspection` needs."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._open: dict[str, ssl.SSLSocket] = {}

    def send(self, peer: str, data: bytes, methods: list[str], *, patient: bool = True) -> tuple[list[Answer], bool]:
        """See :meth:`tests.attack.fuzz.memory.MemoryServer.send`. Of a stream only what comes at once is read."""
        sock = self._open.pop(peer, None) if patient else None
        sock = sock or self._server.connect(peer)
        reader, received, answers, ended = Reader(methods), bytearray(), list[Answer](), False
        try:
            sock.sendall(data)
            while not ended and (len(answers) < len(methods) or not all(answer.whole for answer in answers)):
                sock.settimeout(30 if patient and not reader.streaming else IDLE)
                piece = sock.recv(1 << 16)
                ended = not piece
                received += piece
                answers = reader.read(received, ended=ended)
        except TimeoutError:
            ended = True
        except (ssl.SSLError, OSError):
            ended = True
            answers = reader.read(received, ended=True)
        whole = len(answers) == len(methods) and all(answer.whole for answer in answers)
        if (
            not patient
            or ended
            or not whole
            or answers[-1].status == 101
            or answers[-1].header("connection") == "close"
        ):
            sock.close()
        else:
            self._open[peer] = sock
        return answers, whole

    def close(self) -> None:
        """End all connections."""
        for sock in self._open.values():
            sock.close()


class WireEpisode:
    """An episode over TLS."""

    def __init__(self, seed: str, server: ServerProcess, *, length: int = LENGTH) -> None:
        self._dice = Random(seed)  # noqa: S311 - it shall be the same each time
        self._length = length
        self._memory = Memory()
        self._judge = Judge()
        self._server = server
        self._wire = Wire(self._server)
        self.outcome = Outcome(seed)

    def run(self) -> Outcome:
        """All of it."""
        inspection: Any = Inspection(self._wire, self._judge)  # type: ignore[arg-type]  # it has the method that is needed
        for name in ("tomato", "mozzarella", "salami"):
            inspection.make_topping(name)
        generator = Generator(self._dice, self._memory)
        number = 0
        while number < self._length:
            batch = [
                request
                for request in (generator.request() for _ in range(min(BATCH, self._length - number)))
                if not self._waits(request)
            ]
            number += BATCH
            self._batch(batch, number, inspection)
        inspection.sweep()
        self._note(self._length, None)
        self._wire.close()
        if not self._server.alive:
            self._judge.add("the server died", self._server.log.read_text()[-2000:])
            self._note(self._length, None)
        self.outcome.statuses = self._judge.statuses
        self.outcome.rss = self._server.rss()
        return self.outcome

    def _waits(self, request: Request) -> bool:
        """Whether it names a revision that is not there yet: it is answered after seconds."""
        found = re.search(r"resourceVersion=(\d+)", unquote(request.target))
        return found is not None and int(found[1][:19]) > int(self._memory.revision)

    def _batch(self, batch: list[Request], number: int, inspection: Any) -> None:
        began, cpu = time.monotonic(), self._server.cpu()
        together: dict[str, list[Request]] = {}
        for request in batch:
            if request.mangled is not None or _SLOW.search(unquote(request.target) + repr(request.headers)):
                self._alone(request)
            else:
                together.setdefault(request.peer, []).append(request)
        for peer, requests in together.items():
            self._together(peer, requests, inspection)
        self.outcome.requests += len(batch)
        spent = self._server.cpu() - cpu
        self.outcome.cpu += spent
        for line in self._server.failures():
            self._judge.logged([line])
        if spent > CPU:
            self._slow(batch)
        if time.monotonic() - began > 25:
            self._judge.add("an answer took very long", " | ".join(request.short() for request in batch))
        self._note(number, batch[-1] if batch else None)

    def _slow(self, batch: list[Request]) -> None:
        """Find the one that took so long."""
        for request in batch:
            cpu = self._server.cpu()
            self._wire.send(request.peer, request.data, [request.method], patient=False)
            self._judge.cpu(self._server.cpu() - cpu, request.short())

    def _alone(self, request: Request) -> None:
        try:
            answers, complete = self._wire.send(
                request.peer, request.data, [request.method], patient=request.mangled is None
            )
        except Malformed as error:
            self._judge.add("a malformed answer", f"{error} to {request.short()}")
            return
        if answers or request.mangled is None:
            streams = bool(answers) and answers[0].chunked
            self._judge.answers(request, answers, complete=complete or streams)

    def _together(self, peer: str, requests: list[Request], inspection: Any) -> None:
        while requests:
            try:
                answers, _ = self._wire.send(
                    peer, b"".join(request.data for request in requests), [request.method for request in requests]
                )
            except Malformed as error:
                self._judge.add("a malformed answer", f"{error} to one of {[request.short() for request in requests]}")
                return
            answered = [answer for answer in answers if answer.whole]
            if not answered:
                self._judge.add("no answer", requests[0].short())
                requests = requests[1:]
                continue
            for request, answer in zip(requests, answered, strict=False):
                self._judge.answers(request, [answer], complete=True)
                inspection.learn(request, answer, self._memory)
                found = re.search(rb'"resourceVersion":"(\d{1,18})"', answer.body[:500])
                if found and answer.status < 300:
                    self._memory.revision = str(max(int(found[1]), int(self._memory.revision)))
            if len(answered) < len(requests) and answered[-1].header("connection") != "close":
                self._judge.add("no answer", requests[len(answered)].short())
                requests = requests[1:]
            requests = requests[len(answered) :]

    def _note(self, number: int, request: Request | None) -> None:
        found, self._judge.findings = self._judge.findings, []
        shown = described(request) if request is not None else {}
        self.outcome.found += [(number, finding, shown) for finding in found]
