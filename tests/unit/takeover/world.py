"""A live definition and the way to it: its objects are served in memory, as kube-apiserver would serve them."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from extapi.client.kube import Client, ResourceName
from extapi.clock import sleep
from extapi.privatereactor import drive
from extapi.storage.sqlite import SqliteBackend
from extapi.takeover.cluster import Cluster
from extapi.takeover.moved import MovedKind, moved
from extapi.testing.memory import InMemoryServer
from tests.kubernetes.moving import DEFINITION, GROUP, PLURAL, VERSIONS, api, crate

T = TypeVar("T")
LIVE: dict[str, Any] = {
    **DEFINITION,
    "metadata": {**DEFINITION["metadata"], "uid": "definition-1", "resourceVersion": "7"},
    "status": {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1"]},
}
"""The definition as kube-apiserver has it."""
CRATES = ResourceName(GROUP, VERSIONS[0], PLURAL)


class World:
    """A server of the definition's objects, a store to be filled, and the reactor of both."""

    def __init__(self, reactor: Any, path: Path) -> None:
        self.reactor = reactor
        self.path = path
        self.live = InMemoryServer(api, clock=reactor)
        self.kind: MovedKind = moved(LIVE)
        self.run(self.live.server.start())
        self._store: SqliteBackend | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine."""
        return drive(self.reactor, coroutine, timeout=30)

    @property
    def client(self) -> Client:
        """The live server's."""
        return self.live.client

    @property
    def cluster(self) -> Cluster:
        """The live server, as the commands see it."""
        return Cluster(self.live.client, self.reactor)

    @property
    def store(self) -> SqliteBackend:
        """The store to be filled, open."""
        if self._store is None:
            self._store = SqliteBackend(self.reactor, self.path)
        return self._store

    def close_store(self) -> None:
        """Close the store, as if the command had ended."""
        if self._store is not None:
            self.run(self._store.close())
            self._store = None

    def close(self) -> None:
        """End everything."""
        self.close_store()
        self.run(self.live.server.stop())

    def create(self, name: str, step: int = 1, **metadata: Any) -> dict[str, Any]:
        """Create a crate."""
        return self.run(self.client.create(CRATES, crate(name, step, **metadata), namespace="default"))

    def patch(self, name: str, patch: Any, **options: Any) -> dict[str, Any]:
        """Change a crate."""
        return self.run(self.client.patch(CRATES, name, patch, namespace="default", **options))

    def delete(self, name: str) -> None:
        """Delete a crate."""
        self.run(self.client.delete(CRATES, name, namespace="default"))

    def get(self, name: str) -> dict[str, Any]:
        """Read a crate."""
        return self.run(self.client.get(CRATES, name, namespace="default"))

    async def _bytes(self, backend: Any) -> dict[bytes, bytes]:
        page = await backend.page(self.kind.served.layout.prefix, at=None, after=b"", limit=0)
        return {entry.key: entry.value for entry in page.entries}

    async def same(self) -> None:
        """Until the store has what the live server has."""
        while await self._bytes(self.live.backend) != await self._bytes(self.store):
            await sleep(self.reactor, 0.01)

    def live_bytes(self) -> dict[bytes, bytes]:
        """What the live server itself has stored."""
        return self.run(self._bytes(self.live.backend))

    def copied_bytes(self) -> dict[bytes, bytes]:
        """What is in the store that is filled."""
        return self.run(self._bytes(self.store))
