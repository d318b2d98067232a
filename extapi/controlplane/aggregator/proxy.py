"""Passes requests on to backends, and their responses back: streamed, never joined, and broken off on both sides or neither.

Source: ``k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go``,
``k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go`` (behaviour D6-D10).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred, TimeoutError as TimedOut

from extapi import TransportError, User
from extapi.client.upstream import Upstream
from extapi.client.upstreamresponse import HIGH, UpstreamResponse
from extapi.clock import stop_timer
from extapi.controlplane.aggregator.headers import (
    identity,
    request_bytes,
    request_headers,
    request_target,
    response_headers,
)
from extapi.controlplane.aggregator.upload import Upload
from extapi.http.request import Request
from extapi.http.response import PIECE, Chunk, Duplex, Response, Sink, Upgraded, http_error

T = TypeVar("T")

BODY = 3 * 1024 * 1024
"""Bytes of a request's body (behaviour G9)."""
DISCOVERY = 5.0
"""Seconds for a request to ``/apis/G/V`` (behaviour D8)."""
PATIENCE = 1.0
"""Seconds that the aggregator's own requests wait for a connection before they open one: hundreds of probes begin at once."""
IDLE = 4 * 3600.0
"""Seconds without traffic after which an upgraded connection is closed."""
SWITCHING = 101
DOCUMENT = 64 * 1024 * 1024
"""Bytes per document that the aggregator reads for itself."""

REDIRECT = b"the backend attempted to redirect this request, which is not permitted"


class Relay:
    """The body of a response that is still arriving; a :class:`~extapi.http.response.Streaming`."""

    def __init__(self, response: UpstreamResponse, *, watch: bool) -> None:
        self._response = response
        self._watch = watch

    async def __call__(self, sink: Sink) -> None:
        """Pass on what arrives. If the body breaks off, it does so for the client, too; if the client leaves, the body is closed."""
        response = self._response
        sink.on_closed(response.close)
        try:
            while piece := await response.more():
                for at in range(0, len(piece), PIECE):
                    sink.write(Chunk(piece[at : at + PIECE]))
                if sink.pending > HIGH:
                    await sink.drained()
        except TransportError:
            # A watch may end between any two events, and does when this server shuts down.
            if not (sink.closed and self._watch):
                sink.abort()

    def close(self) -> None:
        """Drop the body: there is no reader."""
        self._response.close()


class Splice(Upgraded):
    """Passes on bytes both ways until one side ends."""

    def __init__(self, response: UpstreamResponse, reactor: Any) -> None:
        super().__init__(self._splice)
        self._response = response
        self._reactor = reactor

    def close(self) -> None:
        """End the upstream connection: the client has left already."""
        self._response.close()

    async def _splice(self, client: Duplex) -> None:
        try:
            backend = self._response.upgraded()
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
            backend.register_producer(_Regulator(client, end))
            if early := self._response.taken():
                from_backend(early)
            client.receive(from_client)
            await over
        finally:
            stop_timer(idle)
            backend.end()


class _Regulator:
    """What Twisted tells when a backend does not take what it is sent (IPushProducer)."""

    def __init__(self, client: Duplex, end: Callable[[], None]) -> None:
        self.pauseProducing = client.pause
        self.resumeProducing = client.resume
        # Said of every connection that has ended, well or not: the client still gets what was written.
        self.stopProducing = end


class BackendProxy:
    """Passes requests on to upstream servers."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor

    async def pass_on(self, request: Request, upstream: Upstream, failed: Callable[[], None]) -> Response:
        """The backend's response, or one that says why there is none.

        Args:
            request: The client's request.
            upstream: The backend's server.
            failed: Called if the backend could not be reached.

        Raises:
            RequestTooLarge: The body has more than :data:`BODY` bytes.
        """
        upgrade = _wants_upgrade(request)
        host = f"{upstream.host}:{upstream.port}"
        # Bodies of objects are whole before they are worth a connection; what goes to a subresource may have no end.
        upload = Upload(request) if request.info.subresource and not (upgrade or request.body.complete) else None
        body = b"" if upgrade or upload is not None else await request.body.read(BODY)
        what = "error dialing backend" if upgrade else "error trying to reach service"
        try:
            headers = request_headers(request, host, upgrade=upgrade)
            if upload is not None:
                headers.append(upload.framing)
            head = request_bytes(request.method, request_target(request), headers, body if upload is None else None)
            asking = upstream.send(request.method, head, dedicated=bool(upgrade), upload=upload)
            response = await within(self._reactor, self._seconds(request), asking)
        except TransportError as error:
            failed()
            return http_error(503, f"{what}: {error}")
        except TimedOut:
            return http_error(503, f"{what}: context deadline exceeded")
        if upgrade:
            return self._upgraded(response)
        if response.status == SWITCHING:  # nobody has asked for that
            response.close()
            failed()
            return http_error(503, f"{what}: unsolicited response: status code {SWITCHING}")
        if 300 <= response.status < 400 and response.header("location"):
            response.close()
            return Response(502, [("Content-Type", "text/plain; charset=utf-8")], REDIRECT)
        return _relayed(request, response)

    async def fetch(
        self, upstream: Upstream, path: str, user: User, *headers: tuple[str, str], seconds: float = DISCOVERY
    ) -> tuple[int, UpstreamResponse, bytes]:
        """Send a GET of the aggregator itself.

        Returns:
            Status, response and body.

        Raises:
            TransportError: There was no response in time.
        """
        sent = [("Host", f"{upstream.host}:{upstream.port}"), *headers, *identity(user)]

        async def get() -> tuple[int, UpstreamResponse, bytes]:
            response = await upstream.send("GET", request_bytes("GET", path, sent), patience=PATIENCE)
            try:
                return response.status, response, await response.read(DOCUMENT)
            except CancelledError:
                response.close()
                raise

        try:
            return await within(self._reactor, seconds, get())
        except TimedOut:
            raise TransportError("context deadline exceeded (Client.Timeout exceeded while awaiting headers)") from None

    def _upgraded(self, response: UpstreamResponse) -> Response:
        if response.status == SWITCHING:
            return Response(101, response_headers(response.headers, upgraded=True), Splice(response, self._reactor))
        if response.status < 400:
            response.close()
            return http_error(503, f"invalid upgrade response: status code {response.status}")
        relay = Relay(response, watch=False)
        return Response(response.status, response_headers(response.headers), relay, length=response.length, close=True)

    def _seconds(self, request: Request) -> float:
        left: float = request.deadline - self._reactor.seconds()
        info = request.info
        if not info.is_resource and info.path.strip("/").count("/") == 2:
            left = min(left, DISCOVERY)
        return max(left, 0.0)


async def within(reactor: Any, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` returns; after ``seconds`` it is cancelled.

    Raises:
        TimeoutError: Twisted's: the time is over.
    """
    if seconds == float("inf"):
        return await work
    running = Deferred.fromCoroutine(work)
    running.addTimeout(seconds, reactor)
    return await running


def _relayed(request: Request, response: UpstreamResponse) -> Response:
    headers = response_headers(response.headers)
    if request.method == "HEAD":
        return Response(response.status, headers, (), length=response.length)
    if response.complete:
        return Response(response.status, headers, response.taken())
    return Response(
        response.status, headers, Relay(response, watch=request.info.verb == "watch"), length=response.length
    )


def _wants_upgrade(request: Request) -> str:
    """The protocol that the request asks to upgrade to; empty if none."""
    asks = any("upgrade" in value.lower() for value in request.headers.get("connection", ()))
    return request.header("upgrade") if asks else ""
