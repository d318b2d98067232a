"""One request on its way to a backend, and the answer back: streamed, never joined, ended on both sides or on none.

Source: ``kube-aggregator/pkg/apiserver/handler_proxy.go``, ``apimachinery/pkg/util/proxy/upgradeaware.go`` (spec D6-D10).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred, TimeoutError as TimedOut

from extapi.api.user import User
from extapi.client.answer import HIGH, Answer
from extapi.client.base import TransportError
from extapi.client.origin import Origin
from extapi.controlplane.aggregator.headers import (
    answer_headers,
    identity,
    request_bytes,
    request_headers,
    request_target,
)
from extapi.listener.call import PIECE, Call, Chunk, Duplex, Response, Sink, Upgraded
from extapi.listener.writing import text_response

T = TypeVar("T")

BODY = 3 * 1024 * 1024
"""Bytes of a request's body (spec G9)."""
DISCOVERY = 5.0
"""Seconds for ``/apis/G/V`` (spec D8)."""
IDLE = 4 * 3600.0
"""Seconds without a byte in either direction after which an upgraded connection ends."""
DOCUMENT = 64 * 1024 * 1024
"""Bytes of a document that the aggregator asks for itself."""

REDIRECT = b"the backend attempted to redirect this request, which is not permitted"


class Relay:
    """The body of an answer that is still arriving; :class:`~extapi.listener.call.Streaming`."""

    def __init__(self, answer: Answer, *, watch: bool) -> None:
        self._answer = answer
        self._watch = watch

    async def __call__(self, sink: Sink) -> None:
        """Pass on what comes. A body that breaks off does so for the client as well, and a client that goes ends it."""
        answer = self._answer
        sink.on_closed(answer.close)
        try:
            while piece := await answer.more():
                for at in range(0, len(piece), PIECE):
                    sink.write(Chunk(piece[at : at + PIECE]))
                if sink.pending > HIGH:
                    await sink.drained()
        except TransportError:
            # A watch may end anywhere between two events, and does when this server is about to end.
            if not (sink.closed and self._watch):
                sink.abort()

    def close(self) -> None:
        """Nobody is there to read it."""
        self._answer.close()


class Splice(Upgraded):
    """Bytes both ways until one side ends."""

    def __init__(self, answer: Answer, reactor: Any) -> None:
        super().__init__(self._splice)
        self._answer = answer
        self._reactor = reactor

    def close(self) -> None:
        """The client is gone already."""
        self._answer.close()

    async def _splice(self, client: Duplex) -> None:
        try:
            backend = self._answer.upgraded()
        except TransportError:
            client.abort()
            return
        over: Deferred[None] = Deferred()

        def end() -> None:
            if not over.called:
                over.callback(None)

        idle = self._reactor.callLater(IDLE, end)

        async def relieve() -> None:
            await client.drained()
            backend.resume()

        def from_backend(data: bytes | None) -> None:
            if data is None:
                end()
                return
            idle.reset(IDLE)
            client.write(Chunk(data))
            if client.pending > HIGH:
                backend.pause()
                Deferred.fromCoroutine(relieve())

        def from_client(data: bytes) -> None:
            idle.reset(IDLE)
            backend.write(data)

        try:
            client.on_closed(end)
            backend.receiver = from_backend
            backend.regulated(_Regulator(client))
            if early := self._answer.taken():
                from_backend(early)
            client.receive(from_client)
            await over
        finally:
            if idle.active():
                idle.cancel()
            backend.end()


class _Regulator:
    """What Twisted tells when a backend does not take what it is sent (IPushProducer)."""

    def __init__(self, client: Duplex) -> None:
        self.pauseProducing = client.pause
        self.resumeProducing = client.resume
        self.stopProducing = client.abort


class Proxy:
    """Passes requests on. ``failed`` is called when a backend could not be reached."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor

    async def pass_on(self, call: Call, origin: Origin, failed: Callable[[], None]) -> Response:
        """The backend's answer, or one that says why there is none. Raises :class:`extapi.errors.RequestTooLarge`."""
        upgrade = _wants_upgrade(call)
        host = f"{origin.host}:{origin.port}"
        body = b"" if upgrade else await call.body.read(BODY)
        what = "error dialing backend" if upgrade else "error trying to reach service"
        try:
            headers = request_headers(call, host, upgrade=upgrade)
            request = request_bytes(call.method, request_target(call), headers, body)
            asking = origin.ask(call.method, request, alone=bool(upgrade))
            answer = await within(self._reactor, self._seconds(call), asking)
        except TransportError as error:
            failed()
            return text_response(503, f"{what}: {error}")
        except TimedOut:
            return text_response(503, f"{what}: context deadline exceeded")
        if upgrade:
            return self._upgraded(answer)
        if 300 <= answer.status < 400 and answer.header("location"):
            answer.close()
            return Response(502, [("Content-Type", "text/plain; charset=utf-8")], REDIRECT)
        return _answered(call, answer)

    async def fetch(
        self, origin: Origin, path: str, user: User, *headers: tuple[str, str], seconds: float = DISCOVERY
    ) -> tuple[int, Answer, bytes]:
        """GET for the aggregator itself: status, answer, body. Raises :class:`TransportError`."""
        sent = [("Host", f"{origin.host}:{origin.port}"), *headers, *identity(user)]

        async def get() -> tuple[int, Answer, bytes]:
            answer = await origin.ask("GET", request_bytes("GET", path, sent))
            try:
                return answer.status, answer, await answer.read(DOCUMENT)
            except CancelledError:
                answer.close()
                raise

        try:
            return await within(self._reactor, seconds, get())
        except TimedOut:
            raise TransportError("context deadline exceeded (Client.Timeout exceeded while awaiting headers)") from None

    def _upgraded(self, answer: Answer) -> Response:
        if answer.status == 101:
            return Response(101, answer_headers(answer.headers, upgraded=True), Splice(answer, self._reactor))
        if answer.status < 400:
            answer.close()
            return text_response(503, f"invalid upgrade response: status code {answer.status}")
        relay = Relay(answer, watch=False)
        return Response(answer.status, answer_headers(answer.headers), relay, length=answer.length, close=True)

    def _seconds(self, call: Call) -> float:
        left: float = call.deadline - self._reactor.seconds()
        info = call.info
        if not info.is_resource and info.path.strip("/").count("/") == 2:
            left = min(left, DISCOVERY)
        return max(left, 0.0)


async def within(reactor: Any, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` returns; it is cancelled, and Twisted's TimeoutError raised, when its time is over."""
    if seconds == float("inf"):
        return await work
    running = Deferred.fromCoroutine(work)
    running.addTimeout(seconds, reactor)
    return await running


def _answered(call: Call, answer: Answer) -> Response:
    headers = answer_headers(answer.headers)
    if call.method == "HEAD":
        return Response(answer.status, headers, (), length=answer.length)
    if answer.complete:
        return Response(answer.status, headers, answer.taken())
    return Response(answer.status, headers, Relay(answer, watch=call.info.verb == "watch"), length=answer.length)


def _wants_upgrade(call: Call) -> str:
    """The protocol that the request asks for instead of HTTP; empty if it does not."""
    asks = any("upgrade" in value.lower() for value in call.headers.get("connection", ()))
    return call.header("upgrade") if asks else ""
