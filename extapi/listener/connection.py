"""One connection: requests in, answers out, in order and one at a time.

Pairs the TLS stream with the parser, holds back a peer that sends faster than it is served, and ends a connection that
is idle, too slow or refused. What happens with a request is its exchange's business.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Callable
from typing import Any

from OpenSSL import SSL
from twisted.logger import Logger

from extapi.errors import BadRequest, RequestTimeout
from extapi.listener.body import AHEAD, RATE, RequestBody
from extapi.listener.call import Peer
from extapi.listener.calling import audit_id
from extapi.listener.exchange import HIGH, Exchange
from extapi.listener.parsing import Head, Refused, RequestParser
from extapi.listener.service import Service
from extapi.listener.stream import FLUSH, TLSStream
from extapi.listener.writing import CONTINUE, text_response

_TURN = 0.01
"""Seconds in which the reactor has come round."""


class Connection:
    """Lives on its stream's calls (``Application``) and its parser's (``Receiver``)."""

    _log = Logger()

    def __init__(self, service: Service, context: SSL.Context, sock: socket.socket, address: str) -> None:
        self.service = service
        self.peer = Peer(address)
        self._parser = RequestParser(self)
        self._queue: deque[Exchange | Refused] = deque()
        self._current: Exchange | None = None
        self._incoming: Exchange | None = None  # whose body is arriving
        self._advancing = False
        self._closing = False
        self._early = b""  # what came before the answer to a request to upgrade
        self._diverted: Callable[[bytes], None] | None = None
        self._fresh = True  # no request has been answered yet
        self._since: float = service.reactor.seconds()
        """When it was accepted, became idle, or the head of a request began to arrive."""
        self._in_head = False
        self._last_call = float("inf")  # when the server drains: until when further requests are answered
        self._timer: Any = None
        self.stream = TLSStream(service.reactor, context, sock, self, handshake=service.limits.handshake)
        service.connections.add(self)
        if service.draining:
            self.drain()

    # -- what the stream tells

    def secured(self) -> None:
        """The handshake is done: a first request is due."""
        self.peer.certificates = self.stream.certificates()
        limits = self.service.limits
        self._since = self.service.reactor.seconds()
        self._arm(self._since + (limits.farewell if self.service.draining else limits.head))

    def received(self, data: bytes) -> None:
        """Parse, answer what is complete, and hold the peer back if it is ahead of us."""
        if self._diverted is not None:
            self._diverted(data)
            return
        if self._parser.upgrading:
            self._early += data
        else:
            self._parser.feed(data)
            self._early = self._parser.rest
        # Not from within the parser's callbacks: the reader may answer, and end the connection.
        incoming = self._incoming
        if incoming is not None and incoming.body is not None:
            self.service.bodies.hold(incoming.body, self.service.reactor.seconds())
        current = self._current
        if current is not None and current.body is not None:
            current.body.poke()
        self._advance()

    def drained(self) -> None:
        """The socket took all that was queued."""
        if self._current is not None:
            self._current.written()
        if self._queue:
            self._advance()

    def disconnected(self, _reason: BaseException) -> None:
        """The peer is gone, or we ended it."""
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
        self.service.disconnected(self)

    # -- what the parser tells

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
        """The last request has arrived wholly."""
        incoming, self._incoming = self._incoming, None
        if incoming is not None and incoming.body is not None:
            self._release(incoming.body)
            incoming.body.finish()

    def refused(self, refusal: Refused) -> None:
        """No request can be made of what came."""
        incoming, self._incoming = self._incoming, None
        if incoming is None:
            self._queue.append(refusal)
        elif incoming.body is not None:
            # The request stands, its body does not: whoever reads it says so, and the connection ends.
            incoming.head.keep_alive = False
            self._release(incoming.body)
            incoming.body.fail(BadRequest(refusal.text))

    # -- what an exchange tells

    def finished(self, *, keep_alive: bool) -> None:
        """The current request is answered."""
        self._current = None
        self._fresh = False
        self._in_head = False
        self._since = self.service.reactor.seconds()
        if not keep_alive:
            self._end()
            return
        if self.service.draining:
            self._arm(self._since + self.service.limits.farewell)
        if not self._advancing:
            self._advance()

    def lasts(self) -> bool:
        """Whether the connection stays open after the answer that is about to be written.

        When the server drains, only for a further request that has begun to come: the answer before it must not say
        ``Connection: close``, for then a client reads no other (RFC 9112, 9.6). Nobody can go on so for long.
        """
        if not self.service.draining:
            return True
        now = self.service.reactor.seconds()
        self._last_call = min(self._last_call, now + self.service.limits.farewell)
        return now < self._last_call and (bool(self._queue) or self._parser.in_head or self.stream.readable)

    def discard(self, body: RequestBody) -> None:
        """Nobody will read the rest of this body; it may come while the answer is on its way."""
        self._release(body)
        body.discard()
        self._regulate()

    def divert(self, receiver: Callable[[bytes], None]) -> None:
        """The connection speaks another protocol now: ``receiver`` gets what comes."""
        self._diverted = receiver
        early, self._early = self._early, b""
        if early:
            receiver(early)
        self._regulate()

    # -- what the listener asks and tells

    @property
    def idle_since(self) -> float | None:
        """Since when nothing is asked for, the handshake and the head of a request included; None: there is something."""
        if self._current is not None or self._queue or self._closing:
            return None
        return self._since

    def drain(self) -> None:
        """Finish what is under way, answer what is on its way, and end."""
        self._since = max(self._since, self.service.reactor.seconds()) if not self._in_head else self._since
        self._arm(self.service.reactor.seconds() + self.service.limits.farewell)
        if self._current is not None:
            self._current.end_stream()

    # -- within

    def _advance(self) -> None:
        """Serve the requests that are waiting, as far as each is answered at once."""
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
        """Read on, or not: at most one read's worth of requests waits, and :data:`.body.AHEAD` of a body."""
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
            current.body.expect(self.service.reactor.seconds())
            self._arm(current.body.due)
        self._regulate()

    def _release(self, body: RequestBody | None) -> None:
        if body is not None:
            self.service.bodies.release(body)

    def _refuse(self, refusal: Refused) -> None:
        self._log.info("refused a request from {peer}: {why}", peer=self.peer.address, why=refusal.text)
        response = text_response(refusal.status, refusal.text)
        body = response.body if isinstance(response.body, bytes) else b""
        head = self.service.writer.head(
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
        """Note when the head of a request begins to arrive and does not come at once."""
        in_head = self._parser.in_head and self._current is None
        if in_head and not self._in_head:
            if not self._fresh:  # the first request's time runs since the handshake
                self._since = self.service.reactor.seconds()
            self._arm(self._since + self.service.limits.head)
        self._in_head = in_head

    def _arm(self, at: float) -> None:
        """Have the timer fire at ``at`` at the latest. It is moved as rarely as possible: not with each request."""
        timer = self._timer
        if timer is not None:
            if timer.getTime() <= at:
                return
            timer.cancel()
        reactor = self.service.reactor
        self._timer = reactor.callLater(max(0.0, at - reactor.seconds()), self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._closing:
            return
        now = self.service.reactor.seconds()
        if self._current is not None:
            self._tick_body(self._current, now)
            return
        if not self.stream.secured:
            if not self.stream.heard:
                self.stream.abort()  # the handshake has a limit of its own, if it has begun
            return
        due = self._since + self._patience()
        if now < due:
            self._arm(due)
        elif self.stream.pending:
            self.stream.abort()  # it does not even read its last answers
        elif self.stream.readable:
            self._arm(now + _TURN)  # it came at the last moment: the next turn of the reactor reads it
        else:
            self._end()

    def _patience(self) -> float:
        """Seconds that a peer may take for what is due now: the rest of a head, a request, or the reading of answers."""
        limits = self.service.limits
        if self._in_head or (self._fresh and not self.service.draining):
            return limits.head
        if self.service.draining:
            return FLUSH if self.stream.pending else limits.farewell
        return limits.idle

    def _tick_body(self, current: Exchange, now: float) -> None:
        """End a body that comes too slowly; look again when the next may be too late."""
        body = current.body
        due = now + self.service.limits.head
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
