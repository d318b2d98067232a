"""One TLS connection to a server, one HTTP/1.1 request at a time; after 101 it carries whatever its owner likes.

Holds up a server whose answer is not taken. What a connection is for, and how many there are, is its origin's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httptools
from service_identity import CertificateError, VerificationError
from service_identity.pyopenssl import verify_hostname
from twisted.internet import error as network
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IHandshakeListener
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure
from zope.interface import implementer

from extapi.client.answer import Answer
from extapi.client.base import ConnectionLost, TransportError

if TYPE_CHECKING:
    from extapi.client.origin import Origin

HEAD = 1 << 20
"""Bytes of an answer's head, interim answers included."""
LINGER = 5.0
"""Seconds an upgraded connection has to take what was still written, and to say that it is over."""


@implementer(IHandshakeListener)
class Wire(Protocol):
    """One connection: one request at a time."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._answer: Answer | None = None
        self._paused = False
        self._head = 0
        self.secured: Deferred[None] = Deferred(lambda _: self.abort())
        self.since = 0.0
        self._linger: Any = None
        self.receiver: Callable[[bytes | None], None] | None = None
        """Of an upgraded connection: gets what arrives, and None at its end."""

    def handshakeCompleted(self) -> None:  # noqa: N802 - Twisted's name
        """TLS is there; whose certificate it is was not looked at yet."""
        tls = self._origin.tls
        if not tls.insecure:
            try:
                verify_hostname(self._transport().getHandle(), tls.server_name)
            except (CertificateError, VerificationError):
                leaf = self._transport().getHandle().get_peer_certificate(as_cryptography=True)
                self._broken(f"tls: failed to verify certificate: x509: {tls.mismatch(leaf)}")
                return
        if not self.secured.called:
            self.secured.callback(None)

    async def ask(self, method: str, request: bytes, *, alone: bool = False) -> Answer:
        """Send a request and wait for the head of the answer. Raises :class:`TransportError`."""
        self._answer = answer = Answer(self, method, alone=alone)
        self._head = 0
        self._transport().write(request)
        while not answer.started:
            answer.waiting = Deferred()
            try:
                await answer.waiting
            except CancelledError:
                self.abort()
                raise
            answer.check()
        return answer

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Feed the answer; a reader that is behind holds up the server."""
        if self.receiver is not None:
            self.receiver(data)
            return
        answer = self._answer
        if answer is None:
            self.abort()  # nobody asked
            return
        rest = b""
        try:
            if answer.status == 101:
                rest = data
            else:
                answer.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            if not answer.complete:
                cause = error.__context__
                text = str(cause if isinstance(cause, TransportError) else error)
                self._broken(f"malformed HTTP response: {text}")
                return
            answer.reusable = False
        if not answer.started:
            self._head += len(data)
            if self._head > HEAD:
                self._broken("the head of the answer is too large")
            return
        if answer.complete:
            self._done(answer)
        elif answer.full and not self._paused:
            self._paused = True
            self._transport().pauseProducing()
        if rest:
            answer.on_body(rest)
        answer.wake()

    def connectionLost(self, reason: Failure | None = None) -> None:  # noqa: N802 - Twisted's name
        """The end."""
        self._origin.forget(self)
        if self._linger is not None and self._linger.active():
            self._linger.cancel()
        cause = reason.value if reason is not None else None
        answer = self._answer
        if answer is not None and answer.started and answer.until_close and isinstance(cause, network.ConnectionDone):
            answer.complete = True
        plain = isinstance(cause, network.ConnectionDone | network.ConnectionLost | network.ConnectionAborted)
        self._lost(ConnectionLost("EOF") if plain else TransportError(self._origin.sentence(cause)))
        receiver, self.receiver = self.receiver, None
        if receiver is not None:
            receiver(None)

    def write(self, data: bytes) -> None:
        """Of an upgraded connection: send."""
        self._transport().write(data)

    def pause(self) -> None:
        """Have the server wait."""
        if not self._paused:
            self._paused = True
            self._transport().pauseProducing()

    def resume(self) -> None:
        """Go on reading."""
        if self._paused:
            self._paused = False
            self._transport().resumeProducing()

    def regulated(self, producer: Any) -> None:
        """Have ``producer`` (IPushProducer) told when what was written waits for the server."""
        self._transport().registerProducer(producer, True)

    def end(self) -> None:
        """Of an upgraded connection: end after what was written."""
        self.receiver = _nobody
        self._transport().unregisterProducer()
        self._transport().loseConnection()
        # TLS waits for the server's own end.
        self._linger = self._origin.later(LINGER, self.abort)

    def abort(self) -> None:
        """End it now."""
        self._origin.forget(self)
        if self.transport is not None:
            self._transport().abortConnection()

    def _done(self, answer: Answer) -> None:
        self._answer = None
        answer.finish()
        self.resume()
        if answer.reusable:
            self._origin.keep(self)
        else:
            self.abort()

    def _broken(self, why: str) -> None:
        self.abort()
        self._lost(TransportError(why))

    def _lost(self, error: TransportError) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.fail(error)
            answer.finish()
        if not self.secured.called:
            self.secured.errback(error)

    def _transport(self) -> Any:
        return self.transport


def _nobody(_data: bytes | None) -> None:
    """Takes what comes after the end."""
