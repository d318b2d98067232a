"""One request and its answer: runs the handler, keeps the deadline, writes what comes back.

Coroutines are driven directly: most answers are there without waiting, and cost no Deferred and no timer. What was
started by a method that may change something is never cancelled: it runs to its end, and its answer is dropped if
nobody is there to take it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.errors import BadRequest, Timeout
from extapi.listener.body import NoBody, RequestBody
from extapi.listener.call import PIECE, Call, Response, Streaming, Upgraded
from extapi.listener.calling import audit_id, make_call
from extapi.listener.parsing import Head
from extapi.listener.requestinfo import NoRequestInfo
from extapi.listener.sink import DuplexSink, StreamSink
from extapi.listener.target import BadTarget
from extapi.listener.writing import (
    LAST_CHUNK,
    PANIC,
    TIMED_OUT,
    json_response,
    text_response,
    timed_out,
)

if TYPE_CHECKING:
    from extapi.listener.connection import Connection

HIGH = 256 * 1024
"""Bytes queued on a connection from which on no more pieces are written."""
JOINED = 12 * 1024
"""Bytes of a body up to which it is joined with its head, so that both leave in one record."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_NO_BODY = NoBody()


class Exchange:
    """``connection`` is told by its ``finished`` when the next request may have its turn."""

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
        "call",
        "connection",
        "head",
    )

    _log = Logger()

    def __init__(self, connection: Connection, head: Head, body: RequestBody | None) -> None:
        self.connection = connection
        self.head = head
        self.body = body
        self.audit_id = ""
        self.call: Call | None = None
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
        """Hand the request to the handler, and write the answer if it is there at once."""
        connection, head = self.connection, self.head
        service = connection.service
        received = service.reactor.seconds()
        self.audit_id = audit_id(head.headers)
        try:
            self.call = call = make_call(
                head,
                self.body or _NO_BODY,
                connection.peer,
                identity=self.audit_id,
                received=received,
                longest=service.limits.request,
            )
        except BadTarget as error:
            return self._respond(text_response(400, f"400 Bad Request: {error}", close=True))
        except NoRequestInfo as error:
            # kube-apiserver answers 500 (WithRequestInfo): it is the client's mistake.
            return self._respond(json_response(400, BadRequest(str(error)).status()))
        except BadRequest as error:
            return self._respond(json_response(400, error.status()))
        return self._drive(service.handler(call), self._respond, self._panicked)

    def written(self) -> None:
        """The socket took all that was queued: go on."""
        if self._sink is not None:
            self._sink.taken()
        elif self._pieces is not None:
            self._pump()

    def end_stream(self) -> None:
        """The server is about to end: have the producer of a stream return, so that the body ends properly."""
        if self._sink is not None:
            self._sink.close()

    def gone(self) -> None:
        """The peer is gone."""
        if self._over:
            return
        self._over = True
        self._stop_timer()
        self._let_go(BadRequest("unexpected EOF"))
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
            # It waits. The pending Deferred that it yielded yields itself again to whoever resumes the coroutine.
            service = self.connection.service
            service.working.add(self)
            self._work = waiting = Deferred.fromCoroutine(coroutine)
            self._start_timer()
            waiting.addBoth(self._worked)
            waiting.addCallbacks(done, failed)
            waiting.addErrback(self._broken)
            return None
        return done(result)

    def _worked(self, result: Any) -> Any:
        self._work = None
        self.connection.service.worked(self)
        return result

    def _panicked(self, failure: Failure) -> None:
        if self._over and isinstance(failure.value, CancelledError):
            return
        target = self.head.target.decode("ascii")
        self._log.failure("the handler failed on {method} {target}", failure, method=self.head.method, target=target)
        describe, error = self.connection.service.describe, failure.value
        why = "" if describe is None or error is None else f" {describe(error)}"
        self._respond(text_response(500, PANIC + why))

    def _broken(self, failure: Failure) -> None:
        """Something in writing the answer failed: the peer must not take what it got for all."""
        self._log.failure("an answer could not be written", failure)
        self.connection.stream.abort()

    def _let_go(self, error: BadRequest | Timeout) -> None:
        """Nobody waits for the answer any more."""
        if self.body is not None:
            self.body.fail(error)
            self.body.poke()
        sink, pieces, self._pieces = self._sink, self._pieces, None
        watched = False
        if sink is not None:
            watched = sink.watched
            sink.close()
        _close(pieces)
        # A producer that asked to be told of the end has been told. It may have to clean up, and ends by itself.
        if self._work is not None and not watched and self.head.method in _SAFE:
            self._work.cancel()

    # -- the deadline

    def _start_timer(self) -> None:
        call = self.call
        if self._timer is None and call is not None and call.deadline != float("inf") and not self._over:
            reactor = self.connection.service.reactor
            self._timer = reactor.callLater(max(0.0, call.deadline - reactor.seconds()), self._expired)

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _expired(self) -> None:
        self._timer = None
        if self._status:
            self.connection.stream.abort()
        else:
            # In this order: what the handler answers to being let go is too late.
            self._respond(timed_out())
            self._let_go(Timeout(TIMED_OUT))

    # -- answering

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
        keep_alive = head.keep_alive and arrived and not response.close and self.connection.lasts()
        bodiless = head.method == "HEAD" or status in (204, 304) or status < 200
        length = len(body) if isinstance(body, bytes) else response.length
        if status in (204, 304) or status < 200:
            length = None
        if not bodiless and length is None:
            self._chunked = not head.http10
            keep_alive = keep_alive and self._chunked
        self._keep_alive = keep_alive
        start = self.connection.service.writer.head(
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
            write(start)
            if not arrived and self.body is not None:
                self.connection.discard(self.body)
            self._left = length
            if callable(body):
                self._stream(body)
            else:
                self._pieces = _pieces(body) if isinstance(body, bytes) else iter(body)
                self._pump()

    def _pump(self) -> None:
        """Write pieces until there are no more, or the peer is behind."""
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
                stream.write(_framed(piece) if self._chunked else piece)
                if stream.ending:
                    return
                if stream.pending > HIGH:
                    self._start_timer()
                    return
        except Exception:  # noqa: BLE001 - the head is out: all that can be said is that the body is not whole
            self._broken(_caught())
            return
        self._pieces = None
        _close(pieces)
        self._end_body()

    def _stream(self, producer: Streaming) -> None:
        self._sink = sink = StreamSink(self.connection.stream, chunked=self._chunked)
        self._drive(producer(sink), self._produced, self._not_produced)

    def _upgrade(self, response: Response, body: Upgraded) -> None:
        """Hand the connection over; no deadline from now on, and nothing follows."""
        connection = self.connection
        self._stop_timer()
        if self.call is not None:
            self.call.deadline = float("inf")
        start = connection.service.writer.head(
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
            self._log.failure("a stream's producer failed after its peer was gone", failure)

    def _end_body(self) -> None:
        if self._left is not None and self._sent != self._left:
            self._log.error(
                "{target}: a body of {sent} bytes, but {length} were announced",
                target=self.head.target.decode("ascii"),
                sent=self._sent,
                length=self._left,
            )
            self.connection.stream.abort()
            return
        if self._chunked:
            self.connection.stream.write(LAST_CHUNK)
        self._finish()

    def _finish(self) -> None:
        self._over = True
        self._stop_timer()
        self._report()
        self.connection.finished(keep_alive=self._keep_alive)

    def _report(self) -> None:
        service = self.connection.service
        report, call = service.on_finished, self.call
        if report is None or call is None:
            return
        sent = self._sent if self._sink is None else self._sink.sent
        try:
            report(call, self._status, sent, service.reactor.seconds() - call.received)
        except Exception:  # noqa: BLE001 - a log line is no reason to lose an answer
            self._log.failure("the access log failed")


async def _awaited(work: Awaitable[Any]) -> Any:
    """A coroutine of anything that can be awaited."""
    return await work


def _caught() -> Failure:
    """The exception being handled."""
    return Failure()  # type: ignore[no-untyped-call]  # Twisted's Failure is not annotated


def _framed(piece: bytes | memoryview) -> bytes:
    """A piece as a chunk (RFC 9112, 7.1)."""
    return b"".join((b"%x\r\n" % len(piece), piece, b"\r\n"))


def _pieces(body: bytes) -> Iterator[memoryview]:
    view = memoryview(body)
    for at in range(0, len(body), PIECE):
        yield view[at : at + PIECE]


def _close(body: bytes | Iterable[bytes | memoryview] | Streaming | None) -> None:
    """Have a generator that is not used up release what it holds."""
    close = getattr(body, "close", None)
    if close is not None:
        close()
