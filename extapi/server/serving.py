"""A server behind its listener, from the first connection to the last (behaviour H12, H15).

Stops in order when it is told to, and when the listener dies. Must not know the cluster.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from extapi.authentication.trust import TrustSettings
from extapi.clock import sleep
from extapi.http.request import Request
from extapi.http.response import Handler
from extapi.listener.listener import Listener
from extapi.listener.state import Describe, Limits, OnFinished
from extapi.listener.tls import ServingCertificate
from extapi.server.shutdown import Shutdown
from extapi.server.structuredlog import structlog

DRAIN = 60.0
"""Seconds for which requests in flight may go on at the end (behaviour H12)."""
JOINING = 10.0
"""Seconds for which one of several processes leaves connections to the others until it is ready. Then it listens, to say why."""
_YOUNG = 2_500
"""New objects before the garbage collector looks at them. A write makes more than Python's 700, and lets them go when it ends."""


def name_authorities(tls: ServingCertificate, settings: TrustSettings) -> None:
    """Send clients the names of trusted authorities in TLS from now on: they choose a certificate by these (behaviour A11)."""

    def changed() -> None:
        bundles = [bundle for bundle in (settings.client_ca, settings.proxy_ca) if bundle is not None]
        tls.set_client_ca_names(ca for bundle in bundles for ca in bundle.certificates)

    settings.observers.append(changed)


class Servable(Protocol):
    """What is behind the listener, such as :class:`extapi.server.server.Server`."""

    shutdown: Shutdown
    handler: Handler

    @property
    def requests(self) -> OnFinished:
        """Is called after each request, to count it."""
        ...

    async def start(self) -> None:
        """Start, while the listener already accepts."""
        ...

    async def stop(self) -> None:
        """Stop, after the last request."""
        ...


class Serving:
    """Serves over TLS: :meth:`run` starts it and returns after :meth:`stop`.

    Args:
        server: What to serve.
        reactor: The reactor.
        tls: The serving certificate.
        interface: The address to listen on.
        port: The port to listen on; 0 for a free one.
        access_log: Is called after each request.
        limits: The listener's limits.
        random: Spreads the ends of connections.
        shared: Listen on the port beside other processes, and only once the server has started and is ready: the kernel gives
            each its part of the connections.
        ready: Whether it is ready, with ``shared``; after :data:`JOINING` seconds it listens all the same.
        delay: Seconds to go on serving after :meth:`stop`, with readiness off.
        describe: Describes an author's exception to the client; for development only.
        started: Called once the server has started.
    """

    def __init__(
        self,
        server: Servable,
        reactor: Any,
        *,
        tls: ServingCertificate,
        interface: str,
        port: int,
        access_log: OnFinished,
        limits: Limits | None = None,
        random: Random | None = None,
        shared: bool = False,
        ready: Callable[[], bool] = lambda: True,
        delay: float = 0.0,
        describe: Describe | None = None,
        started: Callable[[], None] = lambda: None,
    ) -> None:
        self._log = structlog.get_logger("extapi.server")
        self._server = server
        self._reactor = reactor
        self._delay = delay
        self._started = started
        self._is_shared = shared
        self._ready = ready
        self._count, self._access_log = server.requests, access_log
        self._starting: Deferred[None] | None = None
        self._ended: Deferred[int] = Deferred()
        self._listener = Listener(
            reactor,
            server.handler,
            tls=tls,
            interface=interface,
            port=port,
            shared=shared,
            limits=limits or Limits(),
            on_died=self._died,
            on_finished=self._finished,
            describe=describe,
            random=random,
        )

    async def run(self) -> int:
        """Serve until stopped.

        Returns:
            The exit status: 0, or 1 if the listener died.

        Raises:
            BindError: The address cannot be listened on.
            Exception: What the server raises when it starts.
        """
        if self._is_stopping():
            return await self._ended
        address, port = ("", 0) if self._is_shared else self._listener.start()
        self._starting = Deferred.fromCoroutine(self._server.start())
        try:
            await self._starting
        except Exception:
            if not self._is_stopping():
                raise
            return await self._ended  # stopped before it had started
        if self._is_shared:
            begun = self._reactor.seconds()
            while not self._is_stopping() and not self._ready() and self._reactor.seconds() - begun < JOINING:
                await sleep(self._reactor, 0.05)
            if self._is_stopping():
                return await self._ended
            address, port = self._listener.start()
        # The objects that exist now stay until the end: the garbage collector need not scan them again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
        self._log.info("serving", address=address, port=port)
        self._started()
        return await self._ended

    def stop(self) -> None:
        """Begin to stop: readiness off, then no new connections, then requests in flight end, then watches and the store."""
        if self._is_stopping():
            return
        self._server.shutdown.requested = True
        self._log.info("stopping")
        self._reactor.callLater(self._delay, self._end, 0)

    def _finished(self, request: Request, status: int, size: int, seconds: float) -> None:
        self._count(request, status, size, seconds)
        self._access_log(request, status, size, seconds)

    def _is_stopping(self) -> bool:
        return self._server.shutdown.requested

    def _died(self, reason: BaseException) -> None:
        self._log.error("the listener has died", reason=str(reason))
        self._server.shutdown.requested = True
        self._end(1)

    def _end(self, status: int) -> None:
        self._server.shutdown.refusing = True
        if self._starting is not None:
            self._starting.cancel()  # no effect if it has started
        ending = Deferred.fromCoroutine(self._drain())
        ending.addBoth(lambda _: self._ended.callback(status))

    async def _drain(self) -> None:
        await self._listener.drain(DRAIN)
        await self._server.stop()
