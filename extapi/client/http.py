"""The transport over the network: treq on a pool of kept-alive TLS connections to one server.

Adds the token, bounds time and size, and puts errors into one sentence. Must not know Kubernetes' objects.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit

from twisted.internet import error as network
from twisted.internet.defer import CancelledError, Deferred
from twisted.web.client import ResponseNeverReceived

from extapi.client.body import BodyError, BodyTooLong, ResponseBody, innermost
from extapi.client.clientpair import Pair
from extapi.client.credentials import Credentials, CredentialsError, TokenSource
from extapi.client.tls import TlsPolicy, sentence
from extapi.client.transport import (
    LONGEST,
    AnswerTooLong,
    ClientRequest,
    ConnectionLost,
    ProxyBusy,
    TransportError,
    Unreachable,
)
from extapi.client.tunnel import TunnelBusy, TunnelError
from extapi.client.tunnelqueue import TunnelQueue
from extapi.clock import Late, in_time, stop_timer

SILENCE = 5.0
"""Seconds without a line after which the connection of a stream that is given up may be dead: a watch that has not ended in time
has said nothing for six."""


class HttpReply:
    """An answer whose body is still on the connection (:class:`extapi.client.transport.ClientResponse`)."""

    def __init__(self, transport: HttpTransport, response: Any, request: ClientRequest, sent: float) -> None:
        self._transport = transport
        self._response = response
        self._request = request
        self._sent = sent
        """When the request was sent."""
        self._body: ResponseBody | None = None
        self._headers: dict[str, str] | None = None
        self._counted = True
        self._heard: float | None = None
        """When the last line of a stream arrived; None: it is none."""

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
        body = self._deliver()
        patience = _Patience(self._transport.clock, body, self._request, self._sent)
        try:
            return await body.whole(limit)
        except BodyTooLong as error:
            raise AnswerTooLong(f"{self._transport.server}: {error}") from error
        except BodyError as error:
            raise TransportError(f"{self._transport.server}: {error}") from error
        finally:
            patience.end()
            self.close()

    async def lines(self) -> AsyncIterator[bytes]:
        """The body line by line as it arrives.

        Raises:
            TransportError: It breaks off, or a line is too long.
        """
        self._heard = self._transport.clock.seconds()
        self._uncount()
        try:
            async for line in self._deliver().lines():
                self._heard = self._transport.clock.seconds()
                yield line
        except BodyError as error:
            raise TransportError(f"{self._transport.server}: {error}") from error
        finally:
            self.close()

    def close(self) -> None:
        """Drop what has not been read, and the connection with it."""
        self._transport.replies.discard(self)
        body = self._deliver()
        silent = self._heard is not None and self._transport.clock.seconds() - self._heard >= SILENCE
        if silent and not body.ended:
            self._transport.drop_idle()
        body.close()
        self._uncount()

    def _uncount(self) -> None:
        """It holds up no other request: it has ended, or it is a stream and keeps its connection."""
        counted, self._counted = self._counted, False
        if counted and self._transport.tunnels is not None:
            self._transport.tunnels.done()

    def _deliver(self) -> ResponseBody:
        if self._body is None:
            self._body = ResponseBody()
            self._response.deliverBody(self._body)
        return self._body


class _Patience:
    """Closes a body that takes too long."""

    def __init__(self, clock: Any, body: ResponseBody, request: ClientRequest, sent: float) -> None:
        self._clock = clock
        self._body = body
        self._end = sent + (LONGEST if request.long else request.timeout)
        self._step = request.timeout
        self._arrived = 0
        self._timer: Any = None
        self._wait()

    def end(self) -> None:
        """The body has ended."""
        stop_timer(self._timer)

    def _wait(self) -> None:
        left = max(0.0, self._end - self._clock.seconds())
        self._arrived = self._body.arrived
        self._timer = self._clock.callLater(min(left, self._step), self._look)

    def _look(self) -> None:
        if self._clock.seconds() < self._end and self._body.arrived > self._arrived:
            self._wait()
        else:
            self._body.close(BodyTooLong("the answer took too long"))


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
        self.tunnels = None if credentials.proxy is None else TunnelQueue(reactor)
        """Where requests wait for a tunnel; None: there is no proxy."""
        self._credentials = credentials
        self._token = credentials.token
        self._pair: Pair | None = None
        """The certificate that the agent shows, where the token's source issues one."""
        self._base_path = urlsplit(credentials.server).path.rstrip("/")
        self._origin = credentials.server[: len(credentials.server.rstrip("/")) - len(self._base_path)].rstrip("/")
        self._connect = partial(ServerAgent, reactor)
        self._agent = self._connect(TlsPolicy(credentials), credentials.proxy)

    async def send(self, request: ClientRequest) -> HttpReply:
        """The answer, whatever its status; redirects are not followed.

        Raises:
            TransportError: There is none.
        """
        url = f"{self._origin}{self._base_path}{request.path}"
        if request.query:
            url += "?" + "&".join(f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in request.query)
        headers = dict(request.headers)
        sent = self.clock.seconds()
        shown: str | None = None
        if self._token is not None and "Authorization" not in headers:
            shown = await self._authorization(self._token, request.timeout)
            if shown:
                headers["Authorization"] = shown
        refusals: list[TunnelError] = []
        if self.tunnels is None:
            sending = self._agent.request(request.method, url, headers, request.body)
        else:
            sending = Deferred.fromCoroutine(self._through(self.tunnels, request, url, headers, refusals))
        timer = self.clock.callLater(max(0.0, sent + request.timeout - self.clock.seconds()), sending.cancel)
        try:
            response = await sending
        except Exception as error:  # noqa: BLE001 - Agent's errors have no common ancestor
            timed_out = not timer.active()
            if timed_out:
                self.drop_idle()
            self._fail(request, refusals[0] if timed_out and refusals else error, timed_out=timed_out)
        finally:
            stop_timer(timer)
        if self._token is not None and shown is not None and response.code == 401:
            self._token.refused(shown)
        reply = HttpReply(self, response, request, sent)
        self.replies.add(reply)
        return reply

    async def _through(
        self,
        tunnels: TunnelQueue,
        request: ClientRequest,
        url: str,
        headers: Mapping[str, str],
        refusals: list[TunnelError],
    ) -> Any:
        """The answer, through a proxy. As long as that gives no tunnel, and others use some, wait for one of theirs.

        Args:
            tunnels: Where to wait.
            request: The request.
            url: Where it goes.
            headers: Its headers.
            refusals: Gets why there is no tunnel.
        """
        number = await tunnels.turn()
        while True:
            try:
                return await self._agent.request(request.method, url, headers, request.body)
            except TunnelError as error:
                refusals[:] = [error]
                if not tunnels.shared:
                    tunnels.done()
                    raise
            except BaseException:
                tunnels.done()
                raise
            await tunnels.again(number)

    async def close(self) -> None:
        """Drop every connection, idle or not."""
        if self._token is not None:
            self._token.stop()
        for reply in list(self.replies):
            reply.close()
        await self._agent.close()

    def drop_idle(self) -> None:
        """Let the next requests have new connections: a way on which one is dead may have lost all of them, and none would tell.

        client-go has one connection, and a ping tells (``http2.Transport.ReadIdleTimeout``).
        """
        _forget(self._agent)

    async def _authorization(self, token: TokenSource, seconds: float) -> str:
        """The header; the time for it is the request's. Sees to it that the agent shows the certificate that goes with it.

        Raises:
            TransportError: There is none, or not in time.
        """
        try:
            asking = Deferred.fromCoroutine(token.authorization())
            # Nearly always it is there: no timer for that.
            shown = await (asking if asking.called else in_time(self.clock, seconds, asking))
            if token.pair != self._pair:
                self._show(token.pair)
        except Late:
            raise TransportError(
                f"{self.server}: no credentials within {seconds:g} seconds: {token.source} still runs"
            ) from None
        except CredentialsError as error:
            raise TransportError(f"{self.server}: {error}") from error
        return shown

    def _show(self, pair: Pair | None) -> None:
        """Make new connections, with another certificate. What runs on the old ones may go on to its end."""
        certificate, key = (self._credentials.certificate, self._credentials.key) if pair is None else pair
        credentials = replace(self._credentials, certificate=certificate, key=key)
        agent = self._connect(TlsPolicy(credentials), credentials.proxy)
        retired, self._agent, self._pair = self._agent, agent, pair
        # Those that are busy time out once they are idle.
        _forget(retired)

    def _fail(self, request: ClientRequest, error: Exception, *, timed_out: bool) -> NoReturn:
        if timed_out and not isinstance(error, TunnelError):
            raise TransportError(f"{self.server}: no answer within {request.timeout:g} seconds") from error
        reasons = innermost(error)
        if any(isinstance(reason, CancelledError | network.ConnectingCancelledError) for reason in reasons):
            # The task that waits was cancelled, not the request for its time.
            raise CancelledError from error
        text = f"{self.server}: {', '.join(dict.fromkeys(sentence(reason) for reason in reasons))}"
        lost = isinstance(error, ResponseNeverReceived) and any(
            isinstance(reason, network.ConnectionLost | network.ConnectionDone) for reason in reasons
        )
        if lost:
            raise ConnectionLost(text) from error
        if isinstance(error, TunnelBusy):
            raise ProxyBusy(text) from error
        away = (network.ConnectError, network.DNSLookupError, network.TimeoutError, TunnelError)
        raise (Unreachable(text) if isinstance(error, away) else TransportError(text)) from error


def _forget(agent: Any) -> None:
    """Close an agent's idle connections; nobody waits for that."""
    Deferred.fromCoroutine(agent.close()).addErrback(lambda _: None)
