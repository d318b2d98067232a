"""In-process requests through the whole chain, for admission plugins, controllers and tests (behaviour A13, step 0).

A :class:`LoopbackTransport` carries the requests of :class:`extapi.client.kube.Client` and of informers without a network.
They pass every stage: authentication (by a secret of this process), authorization, admission.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from urllib.parse import urlencode

from twisted.internet.defer import Deferred

from extapi.api.percent import unescaped_leniently
from extapi.api.user import User
from extapi.authentication.loopback import APISERVER, USER
from extapi.client.transport import ClientRequest, TransportError
from extapi.clock import Clock
from extapi.errors import RequestTooLarge
from extapi.http.request import Peer, Request
from extapi.http.response import Chunk, Handler, Response, Streaming
from extapi.listener.requestinfo import request_info
from extapi.listener.state import OnFinished

MAX_QUEUED = 64 * 1024 * 1024
"""Bytes of a stream that may wait for an in-process reader; with more, the stream is aborted."""


class BodyBytes:
    """A request body in memory."""

    complete = True

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def read(self, limit: int) -> bytes:
        """See :class:`extapi.http.request.Body`."""
        if len(self._data) > limit:
            raise RequestTooLarge(f"limit is {limit}")
        return self._data

    async def more(self) -> bytes:
        """See :class:`extapi.http.request.Body`."""
        data, self._data = self._data, b""
        return data


class LoopbackTransport:
    """Carries in-process requests.

    Args:
        handler: The whole chain.
        clock: The time.
        secret: What the authenticator accepts from in-process clients.
        user: As whom the requests are made.
        finished: Is called after each request, as the listener does after one of the network.
    """

    def __init__(
        self,
        handler: Handler,
        clock: Clock,
        secret: str,
        user: User = APISERVER,
        finished: OnFinished | None = None,
    ) -> None:
        self._handler = handler
        self._finished = finished
        self._clock = clock
        self._secret = secret
        self._user = user
        self._count = 0

    def acting_as(self, user: User) -> LoopbackTransport:
        """The same transport, for another user."""
        return LoopbackTransport(self._handler, self._clock, self._secret, user, self._finished)

    async def send(self, request: ClientRequest) -> LoopbackReply:
        """See :class:`extapi.client.transport.Transport`; there is no network that could fail."""
        received = self._received(request)
        response = await self._handler(received)
        finished = self._finished
        if finished is None:
            return LoopbackReply(response)
        clock, body = self._clock, response.body
        if callable(body):
            # A watch ends when its reader lets it go, or when it is over.
            return LoopbackReply(
                response, lambda size: finished(received, response.status, size, clock.seconds() - received.received)
            )
        size = len(body) if isinstance(body, bytes) else response.length or 0
        finished(received, response.status, size, clock.seconds() - received.received)
        return LoopbackReply(response)

    def _received(self, request: ClientRequest) -> Request:
        """The request as a listener would have received it."""
        query: dict[str, list[str]] = {}
        for name, value in request.query:
            query.setdefault(name, []).append(value)
        info = request_info(request.method, unescaped_leniently(request.path), query)
        now = self._clock.seconds()
        self._count += 1
        target = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
        return Request(
            method=request.method,
            target=target,
            info=info,
            query=query,
            headers={name.lower(): [value] for name, value in request.headers.items()},
            body=BodyBytes(request.body or b""),
            peer=Peer(address="loopback", loopback=self._secret, verdicts={USER: self._user}),
            audit_id=f"loopback-{self._count}",
            received=now,
            deadline=float("inf") if info.verb == "watch" else now + request.timeout,
        )


class LoopbackReply:
    """The response to an in-process request: a body in memory, or a stream that runs while it is read."""

    def __init__(self, response: Response, ended: Callable[[int], None] | None = None) -> None:
        self._response = response
        self._sink = LoopbackSink()
        self._ended = ended

    @property
    def status(self) -> int:
        """See :class:`extapi.client.transport.ClientResponse`."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """See :class:`extapi.client.transport.ClientResponse`."""
        found: dict[str, str] = {}
        for name, value in self._response.headers:
            key = name.lower()
            found[key] = f"{found[key]}, {value}" if key in found else value
        return found

    async def read(self, limit: int = 64 * 1024 * 1024) -> bytes:
        """See :class:`extapi.client.transport.ClientResponse`."""
        body = self._response.body
        if callable(body):
            data = b"".join([piece async for piece in self._pieces(body)])
        else:
            data = body if isinstance(body, bytes) else b"".join(body)
        if len(data) > limit:
            raise TransportError(f"the answer is larger than {limit} bytes")
        return data

    async def lines(self) -> AsyncIterator[bytes]:
        """See :class:`extapi.client.transport.ClientResponse`."""
        producer = self._response.body
        if not callable(producer):
            for line in (await self.read()).splitlines():
                yield line
            return
        buffer = b""
        async for data in self._pieces(producer):
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                yield line
        if buffer:
            yield buffer

    def _pieces(self, producer: Streaming) -> AsyncIterator[bytes]:
        """Start a stream; its pieces."""
        running: Deferred[None] = Deferred.fromCoroutine(_run(producer, self._sink))
        running.addBoth(self._sink.finish)
        running.addBoth(lambda _: self._end())
        return aiter(self._sink)

    def close(self) -> None:
        """See :class:`extapi.client.transport.ClientResponse`."""
        self._sink.abort()
        self._end()  # it may never have begun

    def _end(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(self._sink.sent)


async def _run(producer: Streaming, sink: LoopbackSink) -> None:
    await producer(sink)


class LoopbackSink:
    """A :class:`~extapi.http.response.Sink` in memory: iterate over it to read what is written."""

    def __init__(self) -> None:
        self._queue: deque[bytes] = deque()
        self._waiting: Deferred[None] | None = None
        self._drainers: list[Deferred[None]] = []
        self._callbacks: list[Callable[[], None]] = []
        self._ended = False
        self.closed = False
        self.pending = 0
        self.sent = 0
        """Bytes."""

    def write(self, chunk: Chunk) -> None:
        """See :class:`extapi.http.response.Sink`."""
        if self.closed:
            return
        self._queue.append(chunk.data)
        self.pending += len(chunk.data)
        self.sent += len(chunk.data)
        if self.pending > MAX_QUEUED:
            self.abort()
            return
        self._wake()

    def on_closed(self, callback: Callable[[], None]) -> None:
        """See :class:`extapi.http.response.Sink`."""
        if self.closed:
            callback()
        else:
            self._callbacks.append(callback)

    async def drained(self) -> None:
        """See :class:`extapi.http.response.Sink`."""
        while self._queue and not self.closed:
            waiter: Deferred[None] = Deferred()
            self._drainers.append(waiter)
            await waiter

    def abort(self) -> None:
        """See :class:`extapi.http.response.Sink`."""
        if self.closed:
            return
        self._queue.clear()
        self.pending = 0
        self.close()

    def close(self) -> None:
        """See :class:`extapi.http.response.Sink`."""
        if self.closed:
            return
        self.closed = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
        self._release()
        self._wake()

    def finish(self, _result: object) -> None:
        """The producer has returned; the stream ends after what is queued."""
        self._ended = True
        self._wake()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, until the producer has returned or the stream was aborted."""
        while True:
            while self._queue:
                data = self._queue.popleft()
                self.pending -= len(data)
                yield data
            self._release()
            if self._queue:
                continue  # a producer that waited for the sink to drain has written more
            if self.closed or self._ended:
                return
            self._waiting = Deferred()
            await self._waiting

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def _release(self) -> None:
        drainers, self._drainers = self._drainers, []
        for waiter in drainers:
            waiter.callback(None)
