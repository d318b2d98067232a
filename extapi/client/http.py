"""The transport over the network: treq on one pool of kept-alive TLS connections to one server.

Adds the token, bounds time and size, says in one sentence what went wrong. Must not know Kubernetes' objects.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit

from twisted.internet import error as network
from twisted.internet.defer import CancelledError, Deferred, maybeDeferred
from twisted.web.client import Agent, HTTPConnectionPool, ResponseNeverReceived

from extapi.client.base import ConnectionLost, Request, TransportError
from extapi.client.body import Body, BodyError
from extapi.client.credentials import Credentials, CredentialsError
from extapi.client.endpoint import BytesProducer, Endpoints
from extapi.client.sentence import innermost, sentence
from extapi.client.tls import TlsPolicy

IDLE_CONNECTIONS = 16
"""Connections kept open while nothing travels on them."""

IDLE_TIMEOUT = 60
"""Seconds after which an idle connection is closed; kube-apiserver closes it after 90."""


class HttpReply:
    """An answer whose body is still on the connection (:class:`extapi.client.base.Reply`)."""

    def __init__(self, transport: HttpTransport, response: Any, deadline: float) -> None:
        self._transport = transport
        self._response = response
        self._deadline = deadline
        self._body: Body | None = None
        self._headers: dict[str, str] | None = None

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return int(self._response.code)

    @property
    def headers(self) -> Mapping[str, str]:
        """Lower-case names to values; several values of a name are joined with ``, ``."""
        if self._headers is None:
            self._headers = {
                name.decode("latin-1").lower(): ", ".join(value.decode("utf-8", "replace") for value in values)
                for name, values in self._response.headers.getAllRawHeaders()
            }
        return self._headers

    async def read(self, limit: int = 64 * 1024 * 1024) -> bytes:
        """The whole body within the request's time and ``limit`` bytes, else :class:`TransportError`."""
        clock = self._transport.clock
        body = self._deliver()
        timer = clock.callLater(max(0.0, self._deadline - clock.seconds()), body.close, "the answer took too long")
        try:
            return await body.whole(limit)
        except BodyError as error:
            raise TransportError(f"{self._transport.server}: {error}") from error
        finally:
            if timer.active():
                timer.cancel()
            self.close()

    async def lines(self) -> AsyncIterator[bytes]:
        """The body line by line as it arrives."""
        try:
            async for line in self._deliver().lines():
                yield line
        except BodyError as error:
            raise TransportError(f"{self._transport.server}: {error}") from error
        finally:
            self.close()

    def close(self) -> None:
        """Drop what has not been read, and the connection with it."""
        self._transport.replies.discard(self)
        self._deliver().close()

    def _deliver(self) -> Body:
        if self._body is None:
            self._body = Body()
            self._response.deliverBody(self._body)
        return self._body


class HttpTransport:
    """Carries requests to the server of ``credentials`` (:class:`extapi.client.base.Transport`).

    ``reactor`` provides IReactorTCP, IReactorTime and host name resolution. Raises :class:`CredentialsError` if the
    certificates or the key are unusable. Call :meth:`close` at the end.
    """

    def __init__(self, reactor: Any, credentials: Credentials) -> None:
        from treq.client import HTTPClient  # noqa: PLC0415 - heavy, and not every process calls out

        from extapi.client.uri import ServerURL  # noqa: PLC0415 - the same

        self.clock = reactor
        self.server = credentials.server
        """Its URL, for messages; with the proxy on the way to it."""
        if credentials.proxy is not None:
            self.server += f" (through the proxy {credentials.proxy})"
        self.replies: set[HttpReply] = set()
        self._token = credentials.token
        self._base_path = urlsplit(credentials.server).path.rstrip("/")
        self._origin = credentials.server[: len(credentials.server.rstrip("/")) - len(self._base_path)].rstrip("/")
        self._pool = HTTPConnectionPool(reactor)  # type: ignore[no-untyped-call]  # Twisted leaves it untyped
        self._pool.maxPersistentPerHost = IDLE_CONNECTIONS
        self._pool.cachedConnectionTimeout = IDLE_TIMEOUT
        endpoints = Endpoints(reactor, TlsPolicy(credentials), credentials.proxy)
        agent = Agent.usingEndpointFactory(reactor, endpoints, pool=self._pool)  # type: ignore[no-untyped-call]  # Twisted leaves it untyped
        producer: Any = BytesProducer
        self._client = HTTPClient(agent, data_to_body_producer=producer)
        self._url = ServerURL.from_text

    async def send(self, request: Request) -> HttpReply:
        """The answer, whatever its status; redirects are not followed. Raises :class:`TransportError`."""
        url = f"{self._origin}{self._base_path}{request.path}"
        if request.query:
            url += "?" + "&".join(f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in request.query)
        headers: dict[bytes | str, bytes | str] = dict(request.headers.items())
        if self._token is not None and "Authorization" not in headers:
            try:
                headers["Authorization"] = await self._token.authorization()
            except CredentialsError as error:
                raise TransportError(f"{self.server}: {error}") from error
        deadline = self.clock.seconds() + request.timeout
        # A host that is no DNS name is found out at once: maybeDeferred makes a failure like others of it.
        sending: Deferred[Any] = maybeDeferred(
            self._client.request,
            request.method,
            self._url(url),
            headers=headers,
            data=request.body,
            allow_redirects=False,
            unbuffered=True,
            reactor=self.clock,
        )
        timer = self.clock.callLater(request.timeout, sending.cancel)
        try:
            response = await sending
        except Exception as error:  # noqa: BLE001 - Agent's errors have no common ancestor
            self._fail(request, error, timed_out=not timer.active())
        finally:
            if timer.active():
                timer.cancel()
        reply = HttpReply(self, response, deadline)
        self.replies.add(reply)
        return reply

    async def close(self) -> None:
        """Drop every connection, idle or not."""
        for reply in list(self.replies):
            reply.close()
        await self._pool.closeCachedConnections()  # type: ignore[no-untyped-call]  # Twisted leaves it untyped

    def _fail(self, request: Request, error: Exception, *, timed_out: bool) -> NoReturn:
        if timed_out:
            raise TransportError(f"{self.server}: no answer within {request.timeout:g} seconds") from error
        reasons = innermost(error)
        if any(isinstance(reason, CancelledError | network.ConnectingCancelledError) for reason in reasons):
            # The task that waits was cancelled, not the request for its time.
            raise CancelledError from error
        text = f"{self.server}: {', '.join(dict.fromkeys(sentence(reason) for reason in reasons))}"
        lost = isinstance(error, ResponseNeverReceived) and any(
            isinstance(reason, network.ConnectionLost | network.ConnectionDone) for reason in reasons
        )
        raise (ConnectionLost(text) if lost else TransportError(text)) from error
