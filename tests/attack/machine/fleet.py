"""The servers: one in memory, or processes with SQLite, one after the other.

Both take calls of several clients at the same time, and have watchers whose ``told`` grows.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlencode

import msgspec
from twisted.internet.defer import Deferred, gatherResults

from extapi.client.transport import ClientRequest
from extapi.testing import InMemoryServer, Stream
from tests.attack.cluster import Cluster
from tests.attack.machine.api import api
from tests.attack.machine.calls import NAMESPACES, Request
from tests.attack.machine.mirror import Told, told
from tests.attack.serve import COMMAND
from tests.attack.watching import Follower, Relist
from tests.conformance.serving import HEADERS, Serving
from tests.waiting import until

TARGET: Final = "tests.attack.machine.api:api"


class Answer(NamedTuple):
    """``status`` 0: none came."""

    status: int
    body: Any


NO_ANSWER: Final = Answer(0, None)


class Watching(Protocol):
    """A watcher, that lists when it is told that it is too late."""

    told: list[Told | Relist[Told]]
    failures: list[str]

    def hold(self) -> None:
        """Break off, and stay away."""

    def go_on(self) -> None:
        """Come back, where it was."""

    def end(self) -> None:
        """Break off for good."""


class Fleet(Protocol):
    """What a simulation needs of its servers."""

    def ask(self, path: str, query: Mapping[str, str]) -> Answer:
        """GET."""
        ...

    def send(self, requests: Sequence[Request]) -> list[Answer]:
        """Requests of several clients, at the same time."""
        ...

    def follow(self, path: str, query: Mapping[str, str], seen: int) -> Watching:
        """Watch, from after a revision on."""
        ...

    def await_(self, done: Callable[[], bool]) -> bool:
        """Give watchers time until it is so; whether it is."""
        ...

    def age(self) -> None:
        """Forget the past, so that whoever was away for long is too late."""

    def restart(self) -> None:
        """End the server in order, and start another one on its store, if it is durable."""

    def kill(self, requests: Sequence[Request], answers: int, delay: float) -> list[Answer]:
        """Send requests, end the server with SIGKILL after so many answers and seconds, and start another one."""
        ...

    def close(self) -> None:
        """The end."""


_PUMPS: Final = 4
"""A watcher that comes back too late watches, lists and watches again."""


class MemoryFleet:
    """A server in this process, with its store in memory; the same plan gives the same story."""

    def __init__(self) -> None:
        self._server = InMemoryServer(api)
        self._server.start()
        self._watchers: list[MemoryWatcher] = []

    def ask(self, path: str, query: Mapping[str, str]) -> Answer:
        """See :class:`Fleet`."""
        found = self._server.request("GET", path, query)
        return Answer(found.status, found.json())

    def send(self, requests: Sequence[Request]) -> list[Answer]:
        """See :class:`Fleet`."""
        return self._server.run(self._all(requests))

    async def _all(self, requests: Sequence[Request]) -> list[Answer]:
        return list(await gatherResults([Deferred.fromCoroutine(self._one(each)) for each in requests]))

    async def _one(self, request: Request) -> Answer:
        headers = {"content-type": request.content_type}
        asked = ClientRequest(request.method, request.path, tuple(request.query.items()), headers, request.body)
        reply = await self._server.server.transport().send(asked)
        return Answer(reply.status, msgspec.json.decode(await reply.read()))

    def follow(self, path: str, query: Mapping[str, str], seen: int) -> MemoryWatcher:
        """See :class:`Fleet`."""
        made = MemoryWatcher(self._server, path, query, seen)
        self._watchers.append(made)
        return made

    def await_(self, done: Callable[[], bool]) -> bool:
        """See :class:`Fleet`."""
        for _ in range(_PUMPS):
            self._server.advance(0.02)
            for each in self._watchers:
                each.pump()
            if done():
                return True
        return False

    def age(self) -> None:
        """Events are kept for 75 s, and a hundred of them in any case; the store keeps what is newer than a revision."""
        server = self._server
        server.clock.advance(76)
        revision = server.run(server.backend.revision())
        server.run(_compacted(server, revision))

    def restart(self) -> None:
        """What is in memory would be gone."""

    def kill(self, requests: Sequence[Request], answers: int, delay: float) -> list[Answer]:
        """As above: they are sent, and that is all."""
        del answers, delay
        return self.send(requests)

    def close(self) -> None:
        """See :class:`Fleet`."""
        for each in self._watchers:
            each.end()
        self._server.stop()


async def _compacted(server: InMemoryServer, revision: int) -> None:
    await server.backend.compact(revision, expected=await server.backend.oldest())


class MemoryWatcher:
    """See :class:`Watching`."""

    def __init__(self, server: InMemoryServer, path: str, query: Mapping[str, str], seen: int) -> None:
        self._server = server
        self._path = path
        self._query = dict(query)
        self.seen = seen
        self.told: list[Told | Relist[Told]] = []
        self.failures: list[str] = []
        self._stream: Stream | None = None
        self._read = 0
        self._may = True

    def hold(self) -> None:
        """See :class:`Watching`."""
        self.end()

    def go_on(self) -> None:
        """See :class:`Watching`."""
        self._may = True

    def end(self) -> None:
        """See :class:`Watching`."""
        self._may = False
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def pump(self) -> None:
        """Read what has come; watch again if there is no watch."""
        if not self._may:
            return
        if self._stream is None:
            self._stream = self._server.watch(self._path, {**self._query, "resourceVersion": str(self.seen)})
            self._read = 0
        lines = self._stream.lines
        for line in lines[self._read :]:
            event = msgspec.json.decode(line)
            if event["type"] == "ERROR" or "type" not in event:
                self._expired(event.get("object", event))
                return
            found = told(event["type"], event["object"])
            if found.revision <= self.seen:
                self.failures.append(f"{found} after {self.seen}")
            self.seen = found.revision
            self.told.append(found)
        self._read = len(lines)
        if self._stream.ended:
            self._stream = None

    def _expired(self, status: Any) -> None:
        self._stream = None
        if status.get("code") != 410:
            self.failures.append(f"watch after {self.seen}: {status}")
            return
        found = self._server.request("GET", self._path, self._query).json()
        revision = int(found["metadata"]["resourceVersion"])
        self.told.append(Relist(self.seen, revision, [told("LISTED", item) for item in found["items"]]))
        self.seen = revision


_COMPACTION: Final = ("0.05", "0.5", "300")
"""Seconds between two compactions: all the time, often, as in the product."""
_PATIENCE: Final = 30.0


class ProcessFleet:
    """``extapi serve`` with SQLite, over TLS. ``dice``: how often a server compacts."""

    def __init__(self, directory: Path, cluster: Cluster, dice: Random) -> None:
        cluster.namespaces = NAMESPACES
        self._dice = dice
        self.serving = Serving(directory, cluster.kubeconfig(directory / "kubeconfig"), target=TARGET)
        self._connections: list[http.client.HTTPSConnection] = []
        self._watchers: list[Follower[Told]] = []
        self.kills = self.restarts = 0
        self._start()

    def _start(self) -> None:
        for each in self._connections:
            each.close()
        self._connections = []
        self.serving.command = (*COMMAND, self._dice.choice(_COMPACTION))
        self.serving.start()

    def _connection(self, number: int) -> http.client.HTTPSConnection:
        while number >= len(self._connections):
            self._connections.append(self.serving.connect())
        return self._connections[number]

    def ask(self, path: str, query: Mapping[str, str]) -> Answer:
        """See :class:`Fleet`."""
        connection = self._connection(0)
        connection.request("GET", f"{path}?{urlencode(query)}", headers=HEADERS)
        return _answer(connection)

    def send(self, requests: Sequence[Request]) -> list[Answer]:
        """See :class:`Fleet`."""
        for number, request in enumerate(requests):
            _ask(self._connection(number), request)
        return [_answer(self._connection(number)) for number in range(len(requests))]

    def follow(self, path: str, query: Mapping[str, str], seen: int) -> Watching:
        """See :class:`Fleet`."""
        made = Follower(self.serving, seen, path, told, "".join(f"&{urlencode({k: v})}" for k, v in query.items()))
        self._watchers.append(made)
        made.start()
        return made

    def await_(self, done: Callable[[], bool]) -> bool:
        """See :class:`Fleet`."""
        try:
            return until(done, _PATIENCE, interval=0.001)  # ten thousand steps wait here
        except AssertionError:
            return False

    def age(self) -> None:
        """A server with short intervals does so anyway."""

    def restart(self) -> None:
        """See :class:`Fleet`."""
        self.restarts += 1
        self.serving.end(signal.SIGTERM)
        self._start()

    def kill(self, requests: Sequence[Request], answers: int, delay: float) -> list[Answer]:
        """See :class:`Fleet`."""
        self.kills += 1
        for number, request in enumerate(requests):
            _ask(self._connection(number), request)
        found = [_answer(self._connection(number)) for number in range(min(answers, len(requests)))]
        begun = time.perf_counter()
        while time.perf_counter() - begun < delay:
            pass  # a sleep is too coarse: a write takes less than a millisecond
        self.serving.end(signal.SIGKILL)
        for number in range(len(found), len(requests)):
            answer = NO_ANSWER
            with contextlib.suppress(OSError, http.client.HTTPException):
                answer = _answer(self._connection(number))  # what had left before
            found.append(answer)
        self._start()
        return found

    def close(self) -> None:
        """See :class:`Fleet`."""
        for watcher in self._watchers:
            watcher.end()
        for each in self._connections:
            each.close()
        self.serving.close()


def _ask(connection: http.client.HTTPSConnection, request: Request) -> None:
    path = f"{request.path}?{urlencode(request.query)}"
    connection.request(request.method, path, request.body, {**HEADERS, "Content-Type": request.content_type})


def _answer(connection: http.client.HTTPSConnection) -> Answer:
    with connection.getresponse() as answer:
        return Answer(answer.status, json.loads(answer.read()))
