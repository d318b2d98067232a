"""One request and its response: runs the handler, enforces the deadline, writes what the handler returns.

Coroutines are driven directly: most responses are ready without waiting, and cost neither a Deferred nor a timer. The
work for a method that may change something is never cancelled: it runs to its end, and its response is dropped if the
peer has left. A long-running request is nothing but its connection, and is cancelled whatever its method.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from types import CoroutineType
from typing import Any, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.errors import BadRequest, Timeout
from extapi.http.request import NoBody, Peer, Request
from extapi.http.response import Response, Streaming, Upgraded, http_error
from extapi.listener.body import RequestBody
from extapi.listener.parsing import Head
from extapi.listener.request import BadTarget, audit_id, make_request
from extapi.listener.requestinfo import NoRequestInfo
from extapi.listener.sink import DuplexSink, StreamSink
from extapi.listener.state import ListenerState
from extapi.listener.stream import TLSStream
from extapi.listener.writing import (
    LAST_CHUNK,
    PANIC,
    TIMED_OUT,
    framed,
    in_pieces,
    json_response,
    timed_out,
)

HIGH = 256 * 1024
"""Bytes queued on a connection above which no more pieces are written."""
JOINED = 12 * 1024
"""Bytes of a body that is still joined with its head, so that both leave in one TLS record."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_NO_BODY = NoBody()


class ExchangeConnection(Protocol):
    """What an exchange needs of the connection it is on."""

    shared: ListenerState
    peer: Peer
    stream: TLSStream

    def lasts(self, *, streams: bool = False) -> bool:
        """Whether the connection stays open after the response that is about to be written."""
        ...

    def finished(self, *, keep_alive: bool) -> None:
        """The response is written; the next request may have its turn."""
        ...

    def discard(self, body: RequestBody) -> None:
        """The rest of this body will not be read."""
        ...

    def divert(self, receiver: Callable[[bytes], None]) -> None:
        """Call ``receiver`` with what arrives from now on, which is not HTTP any more."""
        ...


class Exchange:
    """A request on ``connection``, from its head to the end of its response; then it calls ``connection.finished``."""

    __slots__ = (
        "_chunked",
        "_keep_alive",
        "_left",
        "_over",
        "_pieces",
        "_sent",
        "_sink",
        "_status",
        "_timer",
        "_work",
        "audit_id",
        "body",
        "connection",
        "head",
        "request",
    )

    _log = Logger()

    def __init__(self, connection: ExchangeConnection, head: Head, body: RequestBody | None) -> None:
        self.connection = connection
        self.head = head
        self.body = body
        self.audit_id = ""
        self.request: Request | None = None
        self._work: Deferred[Any] | None = None
        self._timer: Any = None
        self._sink: StreamSink | None = None
        self._pieces: Iterator[bytes | memoryview] | None = None
        self._left: int | None = None  # bytes of a declared length still to be written
        self._chunked = False
        self._keep_alive = False
        self._status = 0  # set as soon as the head is written
        self._sent = 0
        self._over = False  # nothing is written any more

    def start(self) -> None:
        """Call the handler, and write the response if it is ready at once."""
        connection, head = self.connection, self.head
        shared = connection.shared
        received = shared.reactor.seconds()
        self.audit_id = audit_id(head.headers)
        try:
            self.request = request = make_request(
                head,
                self.body or _NO_BODY,
                connection.peer,
                identity=self.audit_id,
                received=received,
                longest=shared.limits.request,
            )
        except BadTarget as error:
            return self._respond(http_error(400, f"400 Bad Request: {error}", close=True))
        except NoRequestInfo as error:
            # kube-apiserver responds with 500 (WithRequestInfo), but it is the client's mistake.
            return self._respond(json_response(400, BadRequest(str(error)).status()))
        except BadRequest as error:
            return self._respond(json_response(400, error.status()))
        return self._drive(shared.handler(request), self._respond, self._panicked)

    def written(self) -> None:
        """The socket has taken everything that was queued: continue."""
        if self._sink is not None:
            self._sink.taken()
        elif self._pieces is not None:
            self._pump()

    def end_stream(self) -> None:
        """The server is shutting down: have the producer of a stream return, so that the body ends properly."""
        if self._sink is not None:
            self._sink.close()

    def gone(self) -> None:
        """The peer has left."""
        if self._over:
            return
        self._over = True
        self._stop_timer()
        self._let_go(BadRequest("unexpected EOF"))
        if isinstance(self._sink, DuplexSink):
            self._sink.left()
        self._report()

    # -- running

    def _drive(self, work: Awaitable[Any], done: Callable[[Any], None], failed: Callable[[Failure], None]) -> None:
        coroutine: Coroutine[Any, Any, Any] = work if type(work) is CoroutineType else _awaited(work)
        try:
            coroutine.send(None)
        except StopIteration as stop:
            result = stop.value
        except Exception:  # noqa: BLE001 - whatever a handler raises, the process and the connection go on
            return failed(_caught())
        else:
            # It waits. The pending Deferred that it yielded is yielded again when the coroutine is resumed.
            shared = self.connection.shared
            shared.working.add(self)
            self._work = waiting = Deferred.fromCoroutine(coroutine)
            self._start_timer()
            waiting.addBoth(self._worked)
            waiting.addCallbacks(done, failed)
            waiting.addErrback(self._broken)
            return None
        return done(result)

    def _worked(self, result: Any) -> Any:
        self._work = None
        self.connection.shared.worked(self)
        return result

    def _panicked(self, failure: Failure) -> None:
        if self._over and isinstance(failure.value, CancelledError):
            return
        target = self.head.target.decode("ascii")
        self._log.failure("the handler failed on {method} {target}", failure, method=self.head.method, target=target)
        describe, error = self.connection.shared.describe, failure.value
        why = "" if describe is None or error is None else f" {describe(error)}"
        self._respond(http_error(500, PANIC + why))

    def _broken(self, failure: Failure) -> None:
        """Writing the response failed: the peer must not take what it got for the whole."""
        self._log.failure("a response could not be written", failure)
        self.connection.stream.abort()

    def _let_go(self, error: BadRequest | Timeout) -> None:
        """The response is not wanted any more."""
        if self.body is not None:
            self.body.fail(error)
            self.body.poke()
        sink, pieces, self._pieces = self._sink, self._pieces, None
        watched = False
        if sink is not None:
            watched = sink.watched
            sink.close()
        _close(pieces)
        # A producer with an on_closed callback has been told. It may have to clean up, and ends by itself.
        harmless = self.head.method in _SAFE or (self.request is not None and self.request.long_running)
        if self._work is not None and not watched and harmless:
            self._work.cancel()

    # -- the deadline

    def _start_timer(self) -> None:
        request = self.request
        if self._timer is None and request is not None and request.deadline != float("inf") and not self._over:
            reactor = self.connection.shared.reactor
            self._timer = reactor.callLater(max(0.0, request.deadline - reactor.seconds()), self._expired)

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _expired(self) -> None:
        self._timer = None
        if self.request is not None and self.request.long_running:
            return  # that came out after the timer was set
        if self._status:
            self.connection.stream.abort()
        else:
            # In this order: what the handler responds to its cancellation is too late.
            self._respond(timed_out())
            self._let_go(Timeout(TIMED_OUT))

    # -- responding

    def _respond(self, response: Response) -> None:
        body = response.body
        if self._over:
            _close(body)
            return
        head, status = self.head, response.status
        self._status = status
        if isinstance(body, Upgraded):
            self._upgrade(response, body)
            return
        arrived = self.body is None or self.body.complete
        keep_alive = (
            head.keep_alive and arrived and not response.close and self.connection.lasts(streams=callable(body))
        )
        bodiless = head.method == "HEAD" or status in (204, 304) or status < 200
        length = len(body) if isinstance(body, bytes) else response.length
        if status in (204, 304) or status < 200:
            length = None
        if not bodiless and length is None:
            self._chunked = not head.http10
            keep_alive = keep_alive and self._chunked
        self._keep_alive = keep_alive
        start = self.connection.shared.writer.head(
            response,
            self.audit_id,
            length=length,
            chunked=self._chunked,
            keep_alive=keep_alive,
            http10=head.http10,
        )
        write = self.connection.stream.write
        if bodiless:
            write(start)
            _close(body)
            self._finish()
        elif isinstance(body, bytes) and len(body) <= JOINED:
            write(start + body)
            self._sent = len(body)
            self._finish()
        else:
            write(start, more=not callable(body))
            if not arrived and self.body is not None and not (self.request is not None and self.request.long_running):
                self.connection.discard(self.body)
            self._left = length
            if callable(body):
                self._stream(body)
            else:
                self._pieces = in_pieces(body) if isinstance(body, bytes) else iter(body)
                self._pump()

    def _pump(self) -> None:
        """Write pieces until there are no more or the peer is behind."""
        stream, pieces = self.connection.stream, self._pieces
        if pieces is None:
            return
        try:
            for piece in pieces:
                if not piece:
                    continue
                self._sent += len(piece)
                if self._left is not None and self._sent > self._left:
                    break
                stream.write(framed(piece) if self._chunked else piece, more=True)
                if stream.pending > HIGH:
                    stream.flush()
                if stream.ending:
                    return
                if stream.pending > HIGH:
                    self._start_timer()
                    return
        except Exception:  # noqa: BLE001 - the head is sent: all that can be shown is that the body is incomplete
            stream.flush()
            self._broken(_caught())
            return
        self._pieces = None
        _close(pieces)
        self._end_body()

    def _stream(self, producer: Streaming) -> None:
        self._sink = sink = StreamSink(self.connection.stream, chunked=self._chunked)
        self._drive(producer(sink), self._produced, self._not_produced)

    def _upgrade(self, response: Response, body: Upgraded) -> None:
        """Hand the connection over: there is no deadline any more, and no further request."""
        connection = self.connection
        self._stop_timer()
        if self.request is not None:
            self.request.deadline = float("inf")
        start = connection.shared.writer.head(
            response, self.audit_id, length=None, chunked=False, keep_alive=True, http10=False
        )
        connection.stream.write(start)
        self._sink = sink = DuplexSink(connection.stream, connection.divert)
        self._drive(body(sink), self._produced, self._not_produced)

    def _produced(self, _result: None) -> None:
        sink = self._sink
        if sink is None or self._over:
            return
        self._sent = sink.sent
        if not sink.aborted:
            self._end_body()

    def _not_produced(self, failure: Failure) -> None:
        if not self._over:
            self._broken(failure)
        elif not isinstance(failure.value, CancelledError):
            self._log.failure("a stream's producer failed after its peer had left", failure)

    def _end_body(self) -> None:
        if self._left is not None and self._sent != self._left:
            self._log.error(
                "{target}: the body has {sent} bytes, but {length} were announced",
                target=self.head.target.decode("ascii"),
                sent=self._sent,
                length=self._left,
            )
            self.connection.stream.abort()
            return
        if self._chunked:
            self.connection.stream.write(LAST_CHUNK, more=True)
        self.connection.stream.flush()
        self._finish()

    def _finish(self) -> None:
        self._over = True
        self._stop_timer()
        self._report()
        self.connection.finished(keep_alive=self._keep_alive)

    def _report(self) -> None:
        shared = self.connection.shared
        report, request = shared.on_finished, self.request
        if report is None or request is None:
            return
        sent = self._sent if self._sink is None else self._sink.sent
        try:
            report(request, self._status, sent, shared.reactor.seconds() - request.received)
        except Exception:  # noqa: BLE001 - a response must not be lost for a log line
            self._log.failure("the access log failed")


async def _awaited(work: Awaitable[Any]) -> Any:
    """A coroutine that awaits ``work``."""
    return await work


def _caught() -> Failure:
    """The exception being handled."""
    return Failure()  # type: ignore[no-untyped-call]  # Twisted's Failure is not annotated


def _close(body: bytes | Iterable[bytes | memoryview] | Streaming | None) -> None:
    """Have a generator that is not exhausted release what it holds."""
    close = getattr(body, "close", None)
    if close is not None:
        close()
