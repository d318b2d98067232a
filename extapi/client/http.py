"""The transport over the network: treq on a pool of kept-alive TLS connections to one server.

Adds the token, bounds time and size, and puts errors into one sentence. Must not know Kubernetes' objects.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit

from twisted.internet import error as network
from twisted.internet.defer import CancelledError
from twisted.web.client import ResponseNeverReceived

from extapi.client.body import BodyError, ResponseBody, innermost
from extapi.client.credentials import Credentials, CredentialsError
from extapi.client.tls import TlsPolicy, sentence
from extapi.client.transport import ClientRequest, ConnectionLost, TransportError
from extapi.clock import stop_timer


class HttpReply:
    """An answer whose body is still on the connection (:class:`extapi.client.transport.ClientResponse`)."""

    def __init__(self, transport: HttpTransport, response: Any, deadline: float) -> None:
        self._transport = transport
        self._response = response
        self._deadline = deadline
        self._body: ResponseBody | None = None
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
        """The whole body.

        Raises:
            TransportError: It is larger than ``limit`` bytes, takes longer than the request may, or breaks off.
        """
        clock = self._transport.clock
        body = self._deliver()
        timer = clock.callLater(max(0.0, self._deadline - clock.seconds()), body.close, "the answer took too long")
        try:
            return await body.whole(limit)
        except BodyError as error:
            raise TransportError(f"{self._transport.server}: {error}") from error
        finally:
            stop_timer(timer)
            self.close()

    async def lines(self) -> AsyncIterator[bytes]:
        """The body line by line as it arrives.

        Raises:
            TransportError: It breaks off, or a line is too long.
        """
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

    def _deliver(self) -> ResponseBody:
        if self._body is None:
            self._body = ResponseBody()
            self._response.deliverBody(self._body)
        return self._body


class HttpTransport:
    """Carries requests to one server (:class:`extapi.client.transport.Transport`). Call :meth:`close` at the end.

    Args:
        reactor: Provides IReactorTCP and IReactorTime, and resolves names.
        credentials: The server, and who asks.

    Raises:
        CredentialsError: The certificates or the key are unusable.
    """

    def __init__(self, reactor: Any, credentials: Credentials) -> None:
        from extapi.client.agent import ServerAgent  # noqa: PLC0415 - heavy, and not every process calls out

        self.clock = reactor
        self.server = credentials.server
        """Its URL, for messages; with the proxy on the way to it."""
        if credentials.proxy is not None:
            self.server += f" (through the proxy {credentials.proxy})"
        self.replies: set[HttpReply] = set()
        self._token = credentials.token
        self._base_path = urlsplit(credentials.server).path.rstrip("/")
        self._origin = credentials.server[: len(credentials.server.rstrip("/")) - len(self._base_path)].rstrip("/")
        self._agent = ServerAgent(reactor, TlsPolicy(credentials), credentials.proxy)

    async def send(self, request: ClientRequest) -> HttpReply:
        """The answer, whatever its status; redirects are not followed.

        Raises:
            TransportError: There is none.
        """
        url = f"{self._origin}{self._base_path}{request.path}"
        if request.query:
            url += "?" + "&".join(f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in request.query)
        headers = dict(request.headers)
        if self._token is not None and "Authorization" not in headers:
            try:
                headers["Authorization"] = await self._token.authorization()
            except CredentialsError as error:
                raise TransportError(f"{self.server}: {error}") from error
        deadline = self.clock.seconds() + request.timeout
        sending = self._agent.request(request.method, url, headers, request.body)
        timer = self.clock.callLater(request.timeout, sending.cancel)
        try:
            response = await sending
        except Exception as error:  # noqa: BLE001 - Agent's errors have no common ancestor
            self._fail(request, error, timed_out=not timer.active())
        finally:
            stop_timer(timer)
        reply = HttpReply(self, response, deadline)
        self.replies.add(reply)
        return reply

    async def close(self) -> None:
        """Drop every connection, idle or not."""
        for reply in list(self.replies):
            reply.close()
        await self._agent.close()

    def _fail(self, request: ClientRequest, error: Exception, *, timed_out: bool) -> NoReturn:
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
