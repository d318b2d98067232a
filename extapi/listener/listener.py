"""The listener: a socket, its connections, and how they end.

All that a server needs of this package: give it a handler, :meth:`Listener.start` it, :meth:`Listener.drain` it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.http.response import Handler
from extapi.listener.acceptor import Acceptor, bind
from extapi.listener.connection import Connection
from extapi.listener.state import Describe, Limits, ListenerState, OnFinished
from extapi.listener.tls import ServingCertificate

GRACE = 60.0
"""Seconds for requests under way to finish (behaviour H12)."""


class Listener:
    """Serves ``handler`` over TLS on one address.

    Args:
        reactor: Provides IReactorFDSet and IReactorTime.
        handler: All stages that follow.
        tls: The serving certificate; the listener starts and stops its reloading.
        interface: The IP address to listen on.
        port: The port; 0 for any free one.
        adopt: A socket that is listening already, instead of ``interface`` and ``port``.
        shared: Listen on the port beside others; see :func:`extapi.listener.acceptor.bind`.
        limits: What bounds peers; the defaults if None.
        on_died: Called once if the listening socket fails for good. Accepted connections are still served.
        on_finished: Called after each response.
        describe: Puts a handler's unexpected error into words for the response.
        random: Spreads the ends of connections; needed with :attr:`~extapi.listener.state.Limits.requests`.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        handler: Handler,
        *,
        tls: ServingCertificate,
        interface: str = "0.0.0.0",  # noqa: S104 - the default of --bind-address (behaviour L)
        port: int = 443,
        adopt: socket.socket | None = None,
        shared: bool = False,
        limits: Limits | None = None,
        on_died: Callable[[BaseException], None] | None = None,
        on_finished: OnFinished | None = None,
        describe: Describe | None = None,
        random: Random | None = None,
    ) -> None:
        self._reactor = reactor
        self._tls = tls
        self._interface = interface
        self._port = port
        self._adopt = adopt
        self._is_shared = shared
        self._on_died = on_died
        random = random or Random()  # noqa: S311 - spreads load, nothing secret
        self._shared = ListenerState(reactor, handler, limits or Limits(), on_finished, describe, random)
        self._acceptor: Acceptor | None = None

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._shared.connections)

    @property
    def working(self) -> int:
        """The number of requests that wait for something, in the handler or as a stream."""
        return len(self._shared.working)

    def start(self) -> tuple[str, int]:
        """Listen.

        Returns:
            The address and port.

        Raises:
            BindError: The address cannot be listened on.
            RuntimeError: The listener was started before.
        """
        if self._acceptor is not None:
            raise RuntimeError("a listener is started once")
        sock = self._adopt or bind(self._interface, self._port, shared=self._is_shared)
        self._acceptor = Acceptor(
            self._reactor,
            sock,
            accepted=self._accepted,
            died=self._died,
            crowded=self._make_room,
            limit=self._shared.limits.connections,
        )
        self._shared.released = self._acceptor.released
        self._tls.start(self._reactor)
        return self._acceptor.address

    def stop(self) -> None:
        """Close the listening socket now. Connections live on."""
        if self._acceptor is not None:
            self._acceptor.stop()
        self._tls.stop()

    async def drain(self, timeout: float = GRACE) -> None:  # noqa: ASYNC109 - on the reactor's clock, not asyncio's
        """Shut down gracefully: return when there are no connections and no running handlers any more.

        Connections that wait to be accepted are accepted first. Requests in flight finish; streams are told to end
        (their sinks close). Requests that still arrive go to the handler. A connection without a request for
        :attr:`~extapi.listener.state.Limits.farewell` seconds is closed. Whatever is left after ``timeout`` seconds is
        aborted.
        """
        self._tls.stop()
        shared = self._shared
        shared.draining = True
        for connection in list(shared.connections):
            connection.drain()
        done: Deferred[None] = Deferred()
        accepting = self._acceptor is not None

        def changed() -> None:
            if not accepting and not shared.connections and not shared.working:
                shared.changed = None
                late.cancel()
                done.callback(None)

        def closed() -> None:
            nonlocal accepting
            accepting = False
            if shared.changed is not None:
                shared.changed()

        def abort() -> None:
            self._log.warn(
                "ending {connections} connections and {working} requests that did not finish in time",
                connections=len(shared.connections),
                working=len(shared.working),
            )
            shared.changed = None
            self.stop()
            for connection in list(shared.connections):
                connection.stream.connectionLost(TimeoutError())
            done.callback(None)

        late = self._reactor.callLater(timeout, abort)
        shared.changed = changed
        if self._acceptor is not None:
            self._acceptor.finish(closed)
        if not done.called:
            changed()
        await done

    def _accepted(self, sock: socket.socket, address: str) -> None:
        try:
            Connection(self._shared, self._tls.context, sock, address)
        except Exception:  # noqa: BLE001 - a failing connection must not end the listener
            self._log.failure("a connection could not be set up")
            sock.close()
            if self._shared.released is not None:
                self._shared.released()

    def _make_room(self) -> None:
        for connection in self._shared.to_shed():
            connection.stream.abort()

    def _died(self, reason: BaseException) -> None:
        self._log.error("the listening socket has died: {reason}", reason=reason)
        if self._on_died is not None:
            self._on_died(reason)
