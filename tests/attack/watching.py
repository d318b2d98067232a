"""A client that follows objects across the ends of servers: it resumes at the last revision that it saw.

Where it is told that this is too long ago, it lists, as an informer does, and goes on from there.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tests.attack.writing import LINES
from tests.conformance.serving import HEADERS, Serving, exchange


class Versioned(Protocol):
    """What a follower keeps of an event."""

    @property
    def revision(self) -> int:
        """The resourceVersion."""
        ...


E = TypeVar("E", bound=Versioned)


class Event(NamedTuple):
    """A watch event, or what a list has (``kind`` is then LISTED)."""

    kind: str
    name: str
    uid: str
    revision: int
    step: int


class Relist(NamedTuple, Generic[E]):
    """What is not known: everything after one revision and up to another, at which these were there."""

    after: int
    revision: int
    items: list[E]


class Follower(threading.Thread, Generic[E]):
    """Follows until :meth:`end`; while it is held, it has no connection.

    ``path``: of the collection; ``query``: more of it, each with ``&`` before it.
    """

    def __init__(
        self, serving: Serving, seen: int, path: str, read: Callable[[str, dict[str, Any]], E], query: str = ""
    ) -> None:
        super().__init__(daemon=True)
        self._serving = serving
        self._path = path
        self._query = query
        self._read = read
        self.seen = seen
        self.told: list[E | Relist[E]] = []
        self.failures: list[str] = []
        self.watches = 0
        """How many have been open."""
        self.clean = 0
        """How many came to their proper end."""
        self._ended = False
        self._may = threading.Event()
        self._may.set()
        self._socket: socket.socket | None = None

    def hold(self) -> None:
        """Break off, and stay away."""
        self._may.clear()
        self._hang_up()

    def go_on(self) -> None:
        """Come back."""
        self._may.set()

    def end(self) -> None:
        """Break off for good."""
        self._ended = True
        self._may.set()
        self._hang_up()
        self.join(30)

    def _hang_up(self) -> None:
        open_ = self._socket
        if open_ is not None:
            try:
                open_.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _broken_off(self) -> bool:
        return self._ended or not self._may.is_set()

    def run(self) -> None:
        """Watch, and again when it ends."""
        while not self._ended:
            self._may.wait()
            connection = self._serving.connect()
            try:
                self._watch(connection)
            except (OSError, http.client.HTTPException, ValueError):
                threading.Event().wait(0.02)  # cut off, or nobody there yet
            finally:
                self._socket = None
                connection.close()

    def _watch(self, connection: http.client.HTTPSConnection) -> None:
        connection.request("GET", f"{self._path}?watch=1&resourceVersion={self.seen}{self._query}", headers=HEADERS)
        self._socket = connection.sock
        if self._broken_off():
            return  # whoever said so has found no connection to break
        with connection.getresponse() as answer:
            if answer.status == 200:
                self.watches += 1
                for text in answer:
                    # The last one may be cut off where the server was killed: it was not received.
                    if not text.endswith(b"\n") or self._broken_off():
                        return
                    event = json.loads(text)
                    if event["type"] == "ERROR":
                        self._expired(event["object"])
                        return
                    self._take(event)
                self.clean += 1
                return
            status = json.loads(answer.read())
        if answer.status == 410:
            self._expired(status)
        elif answer.status not in {429, 500, 503, 504}:
            self.failures.append(f"watch after {self.seen}: {answer.status} {status}")

    def _take(self, event: dict[str, Any]) -> None:
        found = self._read(event["type"], event["object"])
        if found.revision <= self.seen:
            self.failures.append(f"{found} after {self.seen}")
        self.seen = found.revision
        self.told.append(found)

    def _expired(self, status: dict[str, Any]) -> None:
        if status.get("code") != 410:
            self.failures.append(f"watch after {self.seen}: {status}")
            return
        connection = self._serving.connect()
        try:
            code, found = exchange(connection, "GET", f"{self._path}?limit=0{self._query}")
        finally:
            connection.close()
        if code != 200:
            return
        revision = int(found["metadata"]["resourceVersion"])
        if revision < self.seen:
            self.failures.append(f"a list at {revision} after {self.seen}")
        self.told.append(Relist(self.seen, revision, [self._read("LISTED", item) for item in found["items"]]))
        self.seen = revision


class Watcher(Follower[Event]):
    """Follows the lines."""

    def __init__(self, serving: Serving, seen: int) -> None:
        super().__init__(serving, seen, LINES, read)


def read(kind: str, found: dict[str, Any]) -> Event:
    """An event about a line."""
    metadata = found["metadata"]
    return Event(kind, metadata["name"], metadata["uid"], int(metadata["resourceVersion"]), found["spec"]["step"])
