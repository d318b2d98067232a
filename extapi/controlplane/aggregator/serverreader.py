"""What one server serves, read once for all its APIServices: discovery, the index of OpenAPI v3, OpenAPI v2 (behaviour D12-D15).

A server has one document of each for all its groups. So the reads of its APIServices are one read, and they share what comes
of it; hundreds of them that become available one after the other are few reads, of which one brings a body.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from twisted.logger import Logger

from extapi import TransportError
from extapi.client.upstream import Upstream
from extapi.clock import Clock, in_slices
from extapi.controlplane.aggregator import discovery, openapi
from extapi.controlplane.aggregator.coalescing import CoalescedWork, Stopped
from extapi.controlplane.aggregator.discovery import ServersDiscovery
from extapi.controlplane.aggregator.proxy import BackendProxy
from extapi.controlplane.aggregator.remote import Remote
from extapi.controlplane.aggregator.swagger import ServersSwagger, checks

REFRESH = 60.0
"""Seconds until a server's discovery and OpenAPI are read again (behaviour D12, D14)."""
SLICE = 0.02
"""Seconds of work on a document before others have their turn."""


class ServerReader:
    """Reads one server.

    Args:
        upstream: The server.
        proxy: Sends the requests.
        remotes: Returns the available APIServices of the server.
        changed: Called when something served has changed.
        clock: The reactor.
    """

    _log = Logger()

    def __init__(
        self,
        upstream: Upstream,
        proxy: BackendProxy,
        remotes: Callable[[], Sequence[Remote]],
        changed: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._upstream = upstream
        self._proxy = proxy
        self._remotes = remotes
        self._changed = changed
        self._clock = clock
        self._discovery: ServersDiscovery | None = None
        self._swagger: ServersSwagger | None = None
        self._age = 0
        # Apart: a large document holds up nobody's discovery.
        self._lists = CoalescedWork(self._read_lists, clock)
        self._document = CoalescedWork(self._read_swagger, clock)

    async def read(self) -> None:
        """Read everything that the server's APIServices need; what fails is logged."""
        with suppress(Stopped):
            if await self._lists.run():
                await self._document.run()

    def stop(self) -> None:
        """End reading."""
        self._lists.stop()
        self._document.stop()

    async def _read_lists(self) -> bool:
        """Read discovery and the index of OpenAPI v3.

        Returns:
            Whether the server has answered.
        """
        remotes = self._remotes()
        if any(remote.anew for remote in remotes):
            for remote in remotes:
                remote.anew = False
            self._age += 1
            self._discovery = self._swagger = None
        return await self._done("/apis", remotes, self._read_discovery(remotes)) and await self._done(
            "/openapi/v3", (), self._read_index(remotes)
        )

    async def _read_discovery(self, remotes: Sequence[Remote]) -> None:
        found = await discovery.read(self._proxy, self._upstream, self._discovery)
        self._discovery = found
        changed = False
        for remote in remotes:
            if found is not None:
                changed = remote.served(found.version(remote.service)) or changed
            else:
                await self._done(remote.service.path, [remote], self._read_version(remote))
        if changed:
            self._changed()

    async def _read_version(self, remote: Remote) -> None:
        if remote.served(await discovery.read_version(self._proxy, self._upstream, remote.service)):
            self._changed()

    async def _read_index(self, remotes: Sequence[Remote]) -> None:
        found = await openapi.read_index(self._proxy, self._upstream)
        before = [remote.schemas for remote in remotes]
        for remote in remotes:
            remote.schemas = openapi.entry(found, remote.service)
        if before != [remote.schemas for remote in remotes]:
            self._changed()

    async def _read_swagger(self) -> bool:
        return await self._done("/openapi/v2", (), self._read_document(self._remotes()))

    async def _read_document(self, remotes: Sequence[Remote]) -> None:
        age, found = self._age, self._swagger
        status, etag, body = await openapi.read_swagger(self._proxy, self._upstream, found.etag if found else "")
        if status == 404:
            found = None
        elif status == 200 and await self._checked(body):
            found = ServersSwagger(body, etag)
        del body
        if age != self._age:
            return  # it may be another server now; who has noticed waits for the next run
        self._swagger = found
        before = [remote.swagger for remote in remotes]
        for remote in remotes:
            if found is not None or status == 404:
                remote.swagger = found
            if remote.fresh and not remote.anew:
                remote.due = self._clock.seconds() + REFRESH
        if before != [remote.swagger for remote in remotes]:
            self._changed()

    async def _checked(self, body: bytes) -> bool:
        """Whether a document can be merged; others have their turn meanwhile."""
        try:
            await in_slices(self._clock, SLICE, checks(body))
        except (ValueError, RecursionError) as error:
            where = f"{self._upstream.host}:{self._upstream.port}"
            self._log.warn("the OpenAPI document of {where} is left out: {error}", where=where, error=str(error))
            return False
        return True

    async def _done(self, path: str, stale: Sequence[Remote], work: Awaitable[None]) -> bool:
        """Whether something was read; else ``stale`` are not fresh any more, and the next probe tries again."""
        try:
            await work
        except TransportError as error:
            self._log.info("{path} was not read: {error}", path=path, error=str(error))
            fresh = [remote for remote in stale if remote.fresh]
            for remote in fresh:
                remote.fresh = False
            if fresh:
                self._changed()
            return False
        return True
