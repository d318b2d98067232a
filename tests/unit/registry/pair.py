"""Two servers on one store: one that a story asks, and one where it has written before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi.authentication.loopback import APISERVER
from extapi.client.transport import ClientRequest
from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend
from extapi.storage.sqlite import SqliteBackend
from extapi.testing import InMemoryServer, ServerResponse, Stream
from extapi.testing.memory import START
from tests.lagging import VirtualTime
from tests.laggingserver import LaggingServer
from tests.unit.verbs.sample import WIDGETS, Plugin, shop, widget

MERGE = {"Content-Type": "application/merge-patch+json"}
Answers = list[ServerResponse]


def opened(kind: str, clock: VirtualTime, path: Path) -> Backend:
    return MemoryBackend(clock) if kind == "memory" else SqliteBackend(clock, path / "store.db")


class Pair:
    """Two servers: what ``here`` is asked, and what was written ``there``."""

    def __init__(self, backend: Backend, clock: VirtualTime, plugin: Plugin) -> None:
        self.plugin = plugin
        self.server = LaggingServer(shop(plugin), backend=backend, clock=clock)
        self.server.alone = True
        self.near = self.server.near
        self.here = self.server.request
        self.there = self.server.other.request
        self.advance = self.server.advance

    def create(self, name: str = "w", **rest: Any) -> dict[str, Any]:
        """Create a widget there."""
        return self.made(self.there("POST", WIDGETS, body=widget(name, **rest)), 201)

    def patch(self, patch: Any, name: str = "w") -> dict[str, Any]:
        """Patch a widget there."""
        return self.made(self.there("PATCH", f"{WIDGETS}/{name}", headers=MERGE, body=patch))

    def made(self, answer: ServerResponse, status: int = 200) -> dict[str, Any]:
        assert answer.status == status, answer
        made: dict[str, Any] = answer.json()
        return made

    def known(self, name: str = "w", **rest: Any) -> dict[str, Any]:
        """A widget that was created there, and is in the cache here."""
        made = self.create(name, **rest)
        assert self.here("GET", f"{WIDGETS}/{name}").json() == made
        return made

    def asked(self, path: str, query: dict[str, str] | None = None) -> Answers:
        """Ask here, without waiting: where the answer will be."""
        answers: Answers = []
        self.begun(self.server, ClientRequest("GET", path, query=tuple((query or {}).items())), answers)
        return answers

    def begun(self, server: InMemoryServer, request: ClientRequest, answers: Answers) -> None:
        """Send a request without waiting."""
        Deferred.fromCoroutine(server._answer(request, APISERVER)).addCallback(answers.append)

    def watched(self, query: dict[str, str] | None = None) -> Stream:
        return self.server.watch(WIDGETS, query)


@pytest.fixture(params=["memory", "sqlite"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    clock = VirtualTime(START)
    pair = Pair(opened(request.param, clock, tmp_path), clock, Plugin())
    pair.server.start()
    yield pair
    pair.server.stop()


def revision(obj: dict[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])


def told(stream: Stream) -> list[tuple[str, str, int]]:
    return [(kind, obj["metadata"].get("name", ""), revision(obj)) for kind, obj in stream.events]


def names(answer: ServerResponse) -> list[str]:
    return [item["metadata"]["name"] for item in answer.json()["items"]]
