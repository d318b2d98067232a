"""One TLS connection to an upstream server: one HTTP/1.1 request at a time; after 101 any protocol.

Makes the server wait while the response is not read. Which requests a connection carries, and how many connections
there are, is the business of its :class:`ConnectionPool`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol as Interface

import httptools
from twisted.internet import error as network
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IHandshakeListener
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure
from zope.interface import implementer

from extapi.client.tls import UpstreamTls
from extapi.client.transport import ConnectionLost, TransportError
from extapi.client.upstreamresponse import UpstreamResponse
from extapi.clock import stop_timer

HEAD = 1 << 20
"""Bytes of a response's head, including interim responses."""
LINGER = 5.0
"""Seconds for an upgraded connection to send what was written and to close cleanly."""


class ArrivingBody(Interface):
    """The body of a request that is sent while it arrives."""

    def start(self, connection: UpstreamConnection) -> None:
        """Begin to write it, after the head of the request."""
        ...

    def stop(self) -> None:
        """Write nothing more: the connection has ended."""
        ...


class ConnectionPool(Interface):
    """What a connection needs of the upstream server that it belongs to."""

    tls: UpstreamTls

    def keep(self, connection: UpstreamConnection) -> None:
        """Take back a connection that is free for another request."""
        ...

    def forget(self, connection: UpstreamConnection) -> None:
        """Drop a connection that has ended; may be called more than once."""
        ...

    def describe(self, error: BaseException | None) -> str:
        """Describe a network error in Go's words."""
        ...

    def call_later(self, seconds: float, call: Callable[[], None]) -> Any:
        """Call in ``seconds`` seconds."""
        ...


@implementer(IHandshakeListener)
class UpstreamConnection(Protocol):
    """One connection: one request at a time.

    Attributes:
        secured: Fires when TLS is established and the server's name verified.
        since: When the connection became idle, on the reactor's clock.
        receiver: Of an upgraded connection: called with what arrives, and with None at the end.
    """

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._response: UpstreamResponse | None = None
        self._paused = False
        self._head = 0
        self.secured: Deferred[None] = Deferred(lambda _: self.abort())
        self.since = 0.0
        self._linger: Any = None
        self._upload: ArrivingBody | None = None
        self.receiver: Callable[[bytes | None], None] | None = None

    def connectionMade(self) -> None:  # noqa: N802 - Twisted's name
        """What is written is sent at once, as by Go (``net.TCPConn.SetNoDelay``): a keystroke in a shell does not wait for the last."""
        self._transport().setTcpNoDelay(True)

    def handshakeCompleted(self) -> None:  # noqa: N802 - Twisted's name
        """TLS is established; now check the name in the server's certificate."""
        tls = self._pool.tls
        connection = self._transport().getHandle()
        if not tls.names_server(connection):
            leaf = connection.get_peer_certificate(as_cryptography=True)
            self._broken(f"tls: failed to verify certificate: x509: {tls.mismatch(leaf)}")
            return
        if not self.secured.called:
            self.secured.callback(None)

    async def send(
        self, method: str, request: bytes, *, dedicated: bool = False, upload: ArrivingBody | None = None
    ) -> UpstreamResponse:
        """Send a request and wait for the head of the response, while ``upload``, its body, goes on.

        Raises:
            TransportError: No response arrived.
        """
        self._response = response = UpstreamResponse(self, method, dedicated=dedicated or upload is not None)
        self._head = 0
        self._transport().write(request)
        if upload is not None:
            self._upload = upload
            upload.start(self)
        while not response.started:
            response.waiting = Deferred()
            try:
                await response.waiting
            except CancelledError:
                self.abort()
                raise
            response.check()
        return response

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Feed the response; if its reader is behind, stop reading."""
        if self.receiver is not None:
            self.receiver(data)
            return
        response = self._response
        if response is None:
            self.abort()  # nothing was asked
            return
        rest = b""
        try:
            if response.status == 101:
                rest = data
            else:
                response.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            if not response.complete:
                cause = error.__context__
                text = str(cause if isinstance(cause, TransportError) else error)
                self._broken(f"malformed HTTP response: {text}")
                return
            response.reusable = False
        if not response.started:
            self._head += len(data)
            if self._head > HEAD:
                self._broken("the head of the answer is too large")
            return
        if response.complete:
            self._done(response)
        elif response.full and not self._paused:
            self._paused = True
            self._transport().pauseProducing()
        if rest:
            response.on_body(rest)
        response.wake()

    def connectionLost(self, reason: Failure | None = None) -> None:  # noqa: N802 - Twisted's name
        """The connection has ended."""
        self._pool.forget(self)
        if self._upload is not None:
            self._upload.stop()
        stop_timer(self._linger)
        cause = reason.value if reason is not None else None
        response = self._response
        if (
            response is not None
            and response.started
            and response.until_close
            and isinstance(cause, network.ConnectionDone)
        ):
            response.complete = True
        plain = isinstance(cause, network.ConnectionDone | network.ConnectionLost | network.ConnectionAborted)
        self._lost(ConnectionLost("EOF") if plain else TransportError(self._pool.describe(cause)))
        receiver, self.receiver = self.receiver, None
        if receiver is not None:
            receiver(None)

    def write(self, data: bytes) -> None:
        """Send data; only on an upgraded connection, or of a request's body."""
        self._transport().write(data)

    def pause(self) -> None:
        """Stop reading, so that the server has to wait."""
        if not self._paused:
            self._paused = True
            self._transport().pauseProducing()

    def resume(self) -> None:
        """Continue reading."""
        if self._paused:
            self._paused = False
            self._transport().resumeProducing()

    def register_producer(self, producer: Any) -> None:
        """Pause and resume ``producer`` (IPushProducer) as the server takes what was written."""
        self._transport().registerProducer(producer, True)

    def unregister_producer(self) -> None:
        """Pause and resume it no more."""
        if self.transport is not None:
            self._transport().unregisterProducer()

    def end(self) -> None:
        """End an upgraded connection after what was written."""
        self.receiver = _discard
        self._transport().unregisterProducer()
        self._transport().loseConnection()
        # TLS waits for the server's close_notify.
        self._linger = self._pool.call_later(LINGER, self.abort)

    def abort(self) -> None:
        """End the connection now."""
        self._pool.forget(self)
        if self.transport is not None:
            self._transport().abortConnection()

    def _done(self, response: UpstreamResponse) -> None:
        self._response = None
        response.finish()
        self.resume()
        if response.reusable:
            self._pool.keep(self)
        else:
            self.abort()

    def _broken(self, why: str) -> None:
        self.abort()
        self._lost(TransportError(why))

    def _lost(self, error: TransportError) -> None:
        response, self._response = self._response, None
        if response is not None:
            response.fail(error)
            response.finish()
        if not self.secured.called:
            self.secured.errback(error)

    def _transport(self) -> Any:
        return self.transport


def _discard(_data: bytes | None) -> None:
    """Drop what arrives after the end."""
