"""One connection: requests in, responses out, in order and one at a time.

Connects the TLS stream with the parser, makes a peer wait that sends faster than it is served, and ends a connection
that is idle, too slow or refused. Each request and its response are handled by an
:class:`~extapi.listener.exchange.Exchange`.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from typing import Any

from OpenSSL import SSL
from twisted.logger import Logger

from extapi.errors import BadRequest, RequestTimeout
from extapi.http.request import Peer
from extapi.http.response import http_error
from extapi.listener.body import AHEAD, RATE, RequestBody
from extapi.listener.exchange import HIGH, Exchange
from extapi.listener.parsing import Head, Refused, RequestParser
from extapi.listener.proxyprotocol import ProxyHeader
from extapi.listener.request import audit_id
from extapi.listener.state import ListenerState
from extapi.listener.stream import FLUSH, TLSStream
from extapi.listener.writing import CONTINUE

_NEVER = float("inf")
_TURN = 0.01
"""Seconds for one turn of the reactor."""


class Connection:
    """Driven by its stream (as its ``Application``), its parser (as its ``Receiver``) and its exchanges."""

    _log = Logger()

    def __init__(self, shared: ListenerState, context: SSL.Context, sock: socket.socket, address: str) -> None:
        self.shared = shared
        self.peer = Peer(address)
        self._parser = RequestParser(self, shared.names)
        self._queue: deque[Exchange | Refused] = deque()
        self._current: Exchange | None = None
        self._incoming: Exchange | None = None  # the exchange whose body is arriving
        self._advancing = False
        self._closing = False
        self._early = b""  # what arrived before the response to a request to upgrade
        self._diverted: Callable[[bytes], None] | None = None
        self._fresh = True  # no request has been answered yet
        self._since: float = shared.reactor.seconds()
        """When the connection was accepted or became idle, or the head of a request began to arrive."""
        self._in_head = False
        self._requests_left, self._until = shared.life()
        self._last_call = float("inf")  # during shutdown: until when further requests are answered
        self._timer: Any = None
        self.stream = TLSStream(shared.reactor, context, sock, self, handshake=shared.limits.handshake)
        shared.connections.add(self)
        if shared.draining:
            self.drain()

    # -- called by the stream

    def secured(self) -> None:
        """The handshake is done: the first request is due."""
        self.peer.certificates = self.stream.certificates()
        limits = self.shared.limits
        self._since = self.shared.reactor.seconds()
        self._arm(self._since + (limits.farewell if self.shared.draining else limits.head))

    def received(self, data: bytes) -> None:
        """Parse, answer complete requests, and make the peer wait if it is ahead of us."""
        if self._diverted is not None:
            self._diverted(data)
            return
        if self._parser.upgrading:
            self._early += data
        else:
            self._parser.feed(data)
            self._early = self._parser.rest
        # Not from within the parser's callbacks: the reader may respond, and end the connection.
        incoming = self._incoming
        if incoming is not None and incoming.body is not None:
            self.shared.bodies.hold(incoming.body, self.shared.reactor.seconds())
        current = self._current
        if current is not None and current.body is not None:
            current.body.poke()
        self._advance()

    def drained(self) -> None:
        """The socket has taken everything that was queued."""
        if self._current is not None:
            self._current.written()
        if self._queue:
            self._advance()

    def disconnected(self, reason: BaseException) -> None:
        """The peer has left, or we have ended the connection."""
        if isinstance(reason, ProxyHeader):
            self.shared.proxy_headers.seen(self.peer.address)
        self._closing = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._parser.close()
        self._queue.clear()
        current, self._current = self._current, None
        incoming, self._incoming = self._incoming, None
        if incoming is not None:
            self._release(incoming.body)
        if current is not None:
            current.gone()
        self.shared.disconnected(self)

    # -- called by the parser

    def request(self, head: Head) -> None:
        """A head is complete."""
        body = None
        if head.chunked or head.length:
            body = RequestBody(head.length, self._wanted)
        self._incoming = exchange = Exchange(self, head, body)
        self._queue.append(exchange)

    def data(self, data: bytes) -> None:
        """A piece of the last request's body."""
        incoming = self._incoming
        if incoming is not None and incoming.body is not None:
            incoming.body.feed(data)

    def complete(self) -> None:
        """The last request has arrived completely."""
        incoming, self._incoming = self._incoming, None
        if incoming is not None and incoming.body is not None:
            self._release(incoming.body)
            incoming.body.finish()

    def refused(self, refusal: Refused) -> None:
        """What arrived is not a valid request."""
        incoming, self._incoming = self._incoming, None
        if incoming is None:
            self._queue.append(refusal)
        elif incoming.body is not None:
            # The request is valid, its body is not: reading the body fails, and the connection ends.
            incoming.head.keep_alive = False
            self._release(incoming.body)
            incoming.body.fail(BadRequest(refusal.text))

    # -- called by an exchange

    def finished(self, *, keep_alive: bool) -> None:
        """The response to the current request is written."""
        self._current = None
        self._fresh = False
        self._in_head = False
        self._since = self.shared.reactor.seconds()
        if not keep_alive:
            self._end()
            return
        if self.shared.draining:
            self._arm(self._since + self.shared.limits.farewell)
        if not self._advancing:
            self._advance()

    def lasts(self, *, streams: bool = False) -> bool:
        """Whether the connection stays open after the response that is about to be written.

        During shutdown, and at the end of its life, only if a further request has begun to arrive: the response before it
        must not say ``Connection: close``, because a client reads no response after that (RFC 9112, section 9.6). During
        shutdown the time for this is bounded. A stream is not announced to be the last response of a long life: when it ends
        is unknown, and the next response tells as well.
        """
        self._requests_left -= 1
        if not self.shared.draining:
            if self._requests_left > 0 and (self._until == _NEVER or self.shared.reactor.seconds() < self._until):
                return True
            return streams or self._goes_on()
        now = self.shared.reactor.seconds()
        self._last_call = min(self._last_call, now + self.shared.limits.farewell)
        return now < self._last_call and self._goes_on()

    def _goes_on(self) -> bool:
        """Whether a further request has begun to arrive."""
        return bool(self._queue) or self._parser.in_head or self.stream.readable

    def discard(self, body: RequestBody) -> None:
        """The rest of this body will not be read; it may arrive while the response is being written."""
        self._release(body)
        body.discard()
        self._regulate()

    def divert(self, receiver: Callable[[bytes], None]) -> None:
        """The connection has changed to another protocol: ``receiver`` gets what arrives."""
        self._diverted = receiver
        early, self._early = self._early, b""
        if early:
            receiver(early)
        self._regulate()

    # -- called by the listener

    @property
    def idle_since(self) -> float | None:
        """Since when there has been no request, including the handshake and the head of a request; None while there is one."""
        if self._current is not None or self._queue or self._closing:
            return None
        return self._since

    def drain(self) -> None:
        """Finish what is under way, answer what is on its way, and end."""
        self._since = max(self._since, self.shared.reactor.seconds()) if not self._in_head else self._since
        self._arm(self.shared.reactor.seconds() + self.shared.limits.farewell)
        if self._current is not None:
            self._current.end_stream()

    # -- within

    def _advance(self) -> None:
        """Serve waiting requests, as long as each is answered at once."""
        if self._advancing:
            return
        self._advancing = True
        try:
            while self._queue and self._current is None and not self._closing and self.stream.pending <= HIGH:
                waiting = self._queue.popleft()
                if isinstance(waiting, Refused):
                    self._refuse(waiting)
                else:
                    self._current = waiting
                    waiting.start()
        finally:
            self._advancing = False
        if not self._closing:
            self._regulate()
            self._watch_head()

    def _regulate(self) -> None:
        """Continue or stop reading: at most one read's worth of requests waits, and :data:`.body.AHEAD` bytes of a body."""
        incoming = self._incoming
        full = incoming is not None and incoming.body is not None and incoming.body.full
        if self._queue or full or len(self._early) > AHEAD:
            self.stream.pause()
        else:
            self.stream.resume()

    def _wanted(self) -> None:
        """The handler waits for the body of the current request."""
        current = self._current
        if current is None or self._closing:
            return
        if current.head.expects_continue:
            current.head.expects_continue = False
            if current.body is not None and current.body.empty:
                self.stream.write(CONTINUE)
        if current.body is not None:
            current.body.expect(self.shared.reactor.seconds())
            self._arm(current.body.due)
        self._regulate()

    def _release(self, body: RequestBody | None) -> None:
        if body is not None:
            self.shared.bodies.release(body)

    def _refuse(self, refusal: Refused) -> None:
        self._log.info("refused a request from {peer}: {why}", peer=self.peer.address, why=refusal.text)
        response = http_error(refusal.status, refusal.text)
        body = response.body if isinstance(response.body, bytes) else b""
        head = self.shared.writer.head(
            response, audit_id({}), length=len(body), chunked=False, keep_alive=False, http10=False
        )
        self.stream.write(head + body)
        self._end()

    def _end(self) -> None:
        self._closing = True
        self._parser.close()
        self._queue.clear()
        self.stream.close()

    # -- the clock

    def _watch_head(self) -> None:
        """Note when the head of a request begins to arrive and is not complete at once."""
        in_head = self._parser.in_head and self._current is None
        if in_head and not self._in_head:
            if not self._fresh:  # the time for the first request runs from the handshake
                self._since = self.shared.reactor.seconds()
            self._arm(self._since + self.shared.limits.head)
        self._in_head = in_head

    def _arm(self, at: float) -> None:
        """Have the timer fire no later than ``at``. It is moved as rarely as possible: not with each request."""
        timer = self._timer
        if timer is not None:
            if timer.getTime() <= at:
                return
            timer.cancel()
        reactor = self.shared.reactor
        self._timer = reactor.callLater(max(0.0, at - reactor.seconds()), self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._closing:
            return
        now = self.shared.reactor.seconds()
        if self._current is not None:
            self._tick_body(self._current, now)
            return
        if not self.stream.secured:
            if not self.stream.heard:
                self.stream.abort()  # once begun, the handshake has its own limit
            return
        due = self._since + self._patience()
        if now < due:
            self._arm(due)
        elif self.stream.pending:
            self.stream.abort()  # the peer does not even read its last responses
        elif self.stream.readable:
            self._arm(now + _TURN)  # it arrived at the last moment: the next turn of the reactor reads it
        else:
            self._end()

    def _patience(self) -> float:
        """Seconds a peer has for what is due now: the rest of a head, a request, or reading responses."""
        limits = self.shared.limits
        if self._in_head or (self._fresh and not self.shared.draining):
            return limits.head
        if self.shared.draining:
            return FLUSH if self.stream.pending else limits.farewell
        return limits.idle

    def _tick_body(self, current: Exchange, now: float) -> None:
        """Refuse a body that arrives too slowly; otherwise look again when it may be too late."""
        body = current.body
        due = now + self.shared.limits.head
        if body is not None:
            if body.due <= now:
                self._release(body)
                body.fail(RequestTimeout(f"the body comes too slowly: at least {RATE} bytes per second are expected"))
                body.poke()
                if self._closing:
                    return
            else:
                due = min(due, body.due)
        self._arm(due)
