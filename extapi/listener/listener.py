"""The listener: a socket, its connections, and their end.

Everything a server needs of this stage: hand it a handler, :meth:`Listener.start` it, :meth:`Listener.drain` it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.listener.acceptor import Acceptor, bind
from extapi.listener.call import Handler
from extapi.listener.connection import Connection
from extapi.listener.crowd import superfluous
from extapi.listener.service import Describe, Limits, OnFinished, Service
from extapi.listener.tls import ServingCertificate

GRACE = 60.0
"""Seconds that what is under way gets to finish (spec H12)."""


class Listener:
    """Serves ``handler`` over TLS on one address.

    ``adopt`` is an already listening socket to use instead of ``interface`` and ``port`` (0: any free one).
    ``on_died(reason)`` is called once if the listening socket fails for good: what was accepted is still served.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        handler: Handler,
        *,
        tls: ServingCertificate,
        interface: str = "0.0.0.0",  # noqa: S104 - the default of --bind-address (spec L)
        port: int = 443,
        adopt: socket.socket | None = None,
        limits: Limits | None = None,
        on_died: Callable[[BaseException], None] | None = None,
        on_finished: OnFinished | None = None,
        describe: Describe | None = None,
    ) -> None:
        self._reactor = reactor
        self._tls = tls
        self._interface = interface
        self._port = port
        self._adopt = adopt
        self._on_died = on_died
        self._service = Service(reactor, handler, limits or Limits(), on_finished, describe)
        self._acceptor: Acceptor | None = None

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._service.connections)

    @property
    def working(self) -> int:
        """How many requests wait for something, in the handler or as a stream."""
        return len(self._service.working)

    def start(self) -> tuple[str, int]:
        """Listen; returns address and port. Raises :class:`~extapi.listener.acceptor.BindError`."""
        if self._acceptor is not None:
            raise RuntimeError("a listener is started once")
        sock = self._adopt or bind(self._interface, self._port)
        self._acceptor = Acceptor(
            self._reactor,
            sock,
            accepted=self._accepted,
            died=self._died,
            crowded=self._make_room,
            limit=self._service.limits.connections,
        )
        self._service.released = self._acceptor.released
        self._tls.start(self._reactor)
        return self._acceptor.address

    def stop(self) -> None:
        """Close the listening socket at once. Connections live on."""
        if self._acceptor is not None:
            self._acceptor.stop()
        self._tls.stop()

    async def drain(self, timeout: float = GRACE) -> None:  # noqa: ASYNC109 - on the reactor's clock, not asyncio's
        """Answer everything that has begun, end everything: returns when no connection and no handler is left.

        Connections that wait to be accepted are accepted first. Requests in flight finish, streams are told to end
        (their sinks close). What still comes goes to the handler; a connection on which nothing comes for
        :attr:`~extapi.listener.service.Limits.farewell` seconds is closed. What is not done after ``timeout`` seconds
        is aborted.
        """
        self._tls.stop()
        service = self._service
        service.draining = True
        for connection in list(service.connections):
            connection.drain()
        done: Deferred[None] = Deferred()
        accepting = self._acceptor is not None

        def changed() -> None:
            if not accepting and not service.connections and not service.working:
                service.changed = None
                late.cancel()
                done.callback(None)

        def closed() -> None:
            nonlocal accepting
            accepting = False
            if service.changed is not None:
                service.changed()

        def abort() -> None:
            self._log.warn(
                "ending {connections} connections and {working} requests that did not finish in time",
                connections=len(service.connections),
                working=len(service.working),
            )
            service.changed = None
            self.stop()
            for connection in list(service.connections):
                connection.stream.connectionLost(TimeoutError())
            done.callback(None)

        late = self._reactor.callLater(timeout, abort)
        service.changed = changed
        if self._acceptor is not None:
            self._acceptor.finish(closed)
        if not done.called:
            changed()
        await done

    def _accepted(self, sock: socket.socket, address: str) -> None:
        try:
            Connection(self._service, self._tls.context, sock, address)
        except Exception:  # noqa: BLE001 - one connection's trouble must not end the listener
            self._log.failure("a connection could not be set up")
            sock.close()
            if self._service.released is not None:
                self._service.released()

    def _make_room(self) -> None:
        for connection in superfluous(self._service.connections, self._service.limits.connections):
            connection.stream.abort()

    def _died(self, reason: BaseException) -> None:
        self._log.error("the listening socket has died: {reason}", reason=reason)
        if self._on_died is not None:
            self._on_died(reason)
