"""Kinds that show by which declaration an object was made, plugins that hold a write, and a store that holds a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi import NAMESPACED, Api, Column, Group, Kind, Review, Version
from extapi.api.behaviour import CUSTOM_RESOURCE, StoredAs
from extapi.api.definition import Scope
from extapi.api.protocols import RESTRequest
from extapi.client.transport import ClientRequest
from extapi.storage.base import Backend, Page, Tail
from extapi.storage.memory import MemoryBackend
from extapi.testing import InMemoryServer, ServerResponse

A, B = "a.example.com", "b.example.com"


def schema(generation: int) -> Mapping[str, Any]:
    """A size, and one field that every object has by default, and only objects of this generation."""
    own = {f"gen{generation}": {"type": "integer", "default": generation}}
    spec = {"type": "object", "default": {}, "properties": {"size": {"type": "integer"}, **own}}
    return {"type": "object", "properties": {"spec": spec}}


def kind(
    name: str,
    generation: int = 1,
    *,
    versions: Sequence[str] = ("v1",),
    storage: str = "v1",
    scope: Scope = NAMESPACED,
    **more: Any,
) -> Kind:
    """A kind of a generation, which also is a short name and a column."""
    return Kind(
        name,
        versions={version: Version(schema(generation)) for version in versions},
        storage=storage,
        scope=scope,
        status=False,
        short_names=[f"gen{generation}"],
        columns=[Column(f"Gen{generation}", f".spec.gen{generation}", "integer")],
        **more,
    )


def twin(name: str, generation: int, group: str, of: str, **more: Any) -> Kind:
    """A kind that is stored as kind ``of`` of ``group``; its size is the same."""

    def size(obj: Mapping[str, Any]) -> dict[str, Any]:
        found = obj.get("spec", {}).get("size")
        return {"spec": {} if found is None else {"size": found}}

    storing = replace(CUSTOM_RESOURCE.storing, stored_as=StoredAs(group=group, kind=of, write=size, read=size))
    return kind(name, generation, behaviour=replace(CUSTOM_RESOURCE, storing=storing), **more)


class Echo:
    """REST storage that gives back what it is sent."""

    async def create(self, request: RESTRequest, obj: Any) -> Any:
        """The very object."""
        del request
        return obj


class Holding:
    """An admission plugin in which the next write waits, if a test says so."""

    def __init__(self) -> None:
        self.hold = False
        self.held: list[Deferred[None]] = []

    async def mutate(self, review: Review) -> None:
        """Wait, once."""
        del review
        if self.hold:
            self.hold = False
            waiting: Deferred[None] = Deferred()
            self.held.append(waiting)
            await waiting

    def release(self) -> None:
        """Let the oldest write that waits go on."""
        self.held.pop(0).callback(None)


class PausedBackend:
    """A store in front of another one whose pages wait while ``paused``, and fail while ``broken``."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.paused = False
        self.broken: Exception | None = None
        self.waiting: list[Deferred[None]] = []
        self.tails: list[Tail] = []
        self.get = backend.get
        self.commit = backend.commit
        self.compact = backend.compact
        self.progress = backend.progress
        self.revision = backend.revision
        self.oldest = backend.oldest
        self.close = backend.close

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        """See :meth:`extapi.storage.base.Backend.page`."""
        if self.paused:
            waiting: Deferred[None] = Deferred()
            self.waiting.append(waiting)
            await waiting
        if self.broken is not None:
            raise self.broken
        return await self._backend.page(prefix, at=at, after=after, limit=limit)

    def tail(self, after: int) -> Tail:
        """See :meth:`extapi.storage.base.Backend.tail`."""
        tail = self._backend.tail(after)
        self.tails.append(tail)
        return tail

    def release(self) -> None:
        """Let all pages that wait come."""
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            if not each.called:
                each.callback(None)


class Place:
    """A server whose catalogue is replaced, with requests that need not be over when they return."""

    def __init__(self, *groups: Group, clock: Clock | None = None, backend: Backend | None = None) -> None:
        if clock is None:
            clock = Clock()
            clock.advance(1_700_000_000)
        self.backend = PausedBackend(backend or MemoryBackend(clock))
        self.plugin = Holding()
        self.server = InMemoryServer(
            Api(*groups, admission=[self.plugin]), clock=clock, backend=self.backend, lifecycle=False
        )
        self.server.start()
        self.request, self.watch, self.advance = self.server.request, self.server.watch, self.server.advance

    def replace(self, *groups: Group) -> None:
        """Serve these groups from now on."""
        self.server.run(self.server.server.replace(groups))

    def begin(self, *groups: Group) -> Deferred[None]:
        """The same, while other things happen."""
        return Deferred.fromCoroutine(self.server.server.replace(groups))

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> list[ServerResponse]:
        """Where the response will be."""
        data = None if body is None else msgspec.json.encode(body)
        request = ClientRequest(method, path, tuple((query or {}).items()), headers or {}, data)

        async def answer() -> ServerResponse:
            reply = await self.server.server.transport().send(request)
            return ServerResponse(reply.status, reply.headers, await reply.read())

        got: list[ServerResponse] = []
        Deferred.fromCoroutine(answer()).addCallback(got.append)
        return got

    def create(self, path: str, name: str, size: int = 1) -> ServerResponse:
        """Create an object in the version of the path."""
        return self.request("POST", path, body=new(path, name, size))

    def specs(self, path: str) -> dict[str, dict[str, Any]]:
        """The specs of all objects, by name."""
        answer = self.request("GET", path)
        assert answer.status == 200, answer
        return {item["metadata"]["name"]: item["spec"] for item in answer.json()["items"]}

    def stop(self) -> None:
        """Stop the server."""
        self.server.stop()


def new(path: str, name: str, size: int = 1) -> dict[str, Any]:
    """An object as a client sends it to a path."""
    parts = path.strip("/").split("/")
    group_version = "/".join(parts[1:3]) if parts[0] == "apis" else parts[1]
    kind_name = parts[-1].removesuffix("s").capitalize()
    return {"apiVersion": group_version, "kind": kind_name, "metadata": {"name": name}, "spec": {"size": size}}
