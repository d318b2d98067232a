"""One HTTPS request to a webhook, as kube-apiserver makes it (behaviour I9, J47).

Responsible for the way there: address and TLS, the time and the size of the answer, and client-go's words for what fails.
Must not know what is in a review, or who is to be told.

Source: ``apiserver/pkg/util/webhook/client.go``, ``client-go/rest/request.go``, ``client-go/transport/cache.go``.
"""

from __future__ import annotations

import base64
import os
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from twisted.internet.defer import Deferred, TimeoutError as TimedOut

from extapi.client.authority import authority
from extapi.client.clientpair import Pair
from extapi.client.credentials import Credentials, CredentialsError
from extapi.client.proxy import ProxyError, ProxyURL
from extapi.client.proxyenvironment import environment_proxy
from extapi.client.services import Resolve
from extapi.client.tls import TlsPolicy, UpstreamTls
from extapi.client.transport import ConnectionLost, TransportError
from extapi.client.tunnel import TunnelEndpoint, tunnel_endpoint
from extapi.client.upstream import Upstream
from extapi.client.upstreamresponse import UpstreamResponse
from extapi.client.webhookreply import Reply, WebhookError
from extapi.client.webhookusers import NOBODY, Header, WebhookUsers
from extapi.errors import ApiError

ANSWER, GROWTH, LARGEST = 1024 * 1024, 4, 8 * 1024 * 1024
"""Bytes that an answer may always have, how many times as large as its request it may be, and the most that any may have.

kube-apiserver has no limit. It takes the longer to read an answer, the more it has, and meanwhile nobody is served."""
DEADLINE = "context deadline exceeded"


class WebhookCaller:
    """Calls the webhook that a ``clientConfig`` names, over connections that are kept. Call :meth:`close` at the end.

    Args:
        config: The ``clientConfig``.
        resolve: Finds the Service that it may name.
        reactor: Provides IReactorTCP, IReactorTime and host name resolution.
        certificate: The certificate that is shown to a webhook that asks for one, asked for with each call. None: none.
        users: Who to be to the webhook, in place of ``certificate``.
        environ: Names the proxy on the way, by ``HTTPS_PROXY`` and ``NO_PROXY``, as to kube-apiserver.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        resolve: Resolve,
        reactor: Any,
        *,
        certificate: Callable[[], Pair] | None = None,
        users: WebhookUsers | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.target = Target(config)
        self._environ = environ
        self.user = NOBODY if users is None else users.of(self.target.address_of_user)
        self._resolve = resolve
        self._reactor = reactor
        self._certificate = certificate
        self._upstream: Upstream | None = None
        self._reached: tuple[str, int, ProxyURL | None, Pair] | None = None
        self.closed = False
        """Whether it calls no more."""

    def close(self) -> None:
        """End all connections; calls that still run fail, and so do later ones."""
        self.closed = True
        if self._upstream is not None:
            self._upstream.close()

    def retire(self) -> None:
        """Keep no connections any more; calls that still run go on."""
        if self._upstream is not None:
            self._upstream.retire()

    async def call(self, body: bytes, seconds: float, *, announced: float | None = None, late: str = DEADLINE) -> Reply:
        """Send a review.

        Args:
            body: The review as JSON.
            seconds: How long the call may take, connecting and reading included.
            announced: What the query's ``timeout`` says, in whole seconds; None: ``seconds``.
            late: What is said of an answer that was not read in time.

        Raises:
            WebhookError: There is no answer, in time.
        """
        if self.closed:
            raise WebhookError("the webhook is closed")
        begun: list[UpstreamResponse] = []
        announced = seconds if announced is None else announced
        calling = Deferred.fromCoroutine(self._exchange(body, announced, begun))
        calling.addTimeout(seconds, self._reactor)
        try:
            return await calling
        except TimedOut:
            raise _unread(late) if begun else self._unsent(announced, DEADLINE) from None

    async def _exchange(self, body: bytes, announced: float, begun: list[UpstreamResponse]) -> Reply:
        """Send a review, and read the answer. ``begun`` gets the answer once its head is there."""
        try:
            head = self.target.head(len(body), announced, await self.user.headers())
            response = await self._server().send("POST", head + body)
        except (TransportError, ApiError, CredentialsError) as error:
            raise self._unsent(announced, str(error)) from None
        begun.append(response)
        if response.status == 401:
            self.user.refused()
        try:
            content = await response.read(min(LARGEST, max(ANSWER, GROWTH * len(body))))
        except ConnectionLost:
            raise _unread("unexpected EOF") from None
        except TransportError as error:
            raise _unread(str(error)) from None
        finally:
            if not response.complete:
                response.close()
        return Reply(response.status, response.header("content-type"), content)

    def _unsent(self, announced: float, why: str) -> WebhookError:
        return WebhookError(f'Post "{self.target.url(announced)}": {why}')

    def _server(self) -> Upstream:
        """The server of the webhook, with the connections that are open; a new one once it is reached in another way.

        Raises:
            ApiError: The Service cannot be found.
            CredentialsError: The user's certificate cannot be read.
            TransportError: The webhook's or the client's certificates cannot be used, or the environment names no proxy.
        """
        try:
            proxy = environment_proxy(self.target.origin, self._environ)
        except ProxyError as error:
            raise TransportError(str(error)) from error
        # A proxy is asked for the name in the URL: Go looks Services up when it dials them itself.
        host, port = self.target.named if proxy else self.target.address(self._resolve)
        pair = self.user.pair() if self._certificate is None else self._certificate()
        reached = host, port, proxy, pair
        if self._upstream is None or self._reached != reached:
            if self._upstream is not None:
                self._upstream.retire()
            self._upstream, self._reached = self._connected(host, port, proxy, pair), reached
        return self._upstream

    def _ca(self) -> bytes | None:
        """The roots: the webhook's, and the user's."""
        found = [each for each in (self.user.ca, self.target.ca) if each]
        return b"\n".join(found) or None

    def _connected(self, host: str, port: int, proxy: ProxyURL | None, pair: Pair) -> Upstream:
        certificate, key = pair
        try:
            tls = UpstreamTls(
                self.target.server_name, ca=self._ca(), certificate=certificate, key=key, clock=self._reactor
            )
            way = None if proxy is None else self._tunnel(host, port, proxy, pair)
        except CredentialsError as error:
            raise TransportError(str(error)) from error
        return Upstream(self._reactor, host, port, tls, way=way)

    def _tunnel(self, host: str, port: int, proxy: ProxyURL, pair: Pair) -> TunnelEndpoint:
        """The way through a proxy; an ``https`` one has to have a certificate by the webhook's roots, as in Go's net/http."""
        certificate, key = pair
        credentials = Credentials(self.target.origin, ca=self._ca(), certificate=certificate or None, key=key or None)
        return tunnel_endpoint(self._reactor, proxy, TlsPolicy(credentials).proxy_options, host, port)


def _unread(why: str) -> WebhookError:
    return WebhookError(f"unexpected error when reading response body. Please retry. Original error: {why}")


class Target:
    """Where a ``clientConfig`` points.

    Attributes:
        server_name: The name, or the address, that the webhook's certificate has to be for.
        ca: The PEM of the only roots; None: the system's.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        service = config.get("service")
        if service is None:
            parts = urlsplit(config["url"])
            self.server_name, self._port = parts.hostname or "", parts.port or 443
            self._authority, path = parts.netloc.rpartition("@")[2], unquote(parts.path)
            self._service: tuple[str, str] | None = None
        else:
            namespace, name, self._port = service["namespace"], service["name"], int(service.get("port") or 443)
            self.server_name = f"{name}.{namespace}.svc"
            self._authority, path = f"{self.server_name}:{self._port}", service.get("path") or ""
            self._service = namespace, name
        # Go's path.Join
        self._path = quote("/" + posixpath.normpath(f"/{path}").lstrip("/"), safe="/$&+,:;=@")
        self.ca = base64.b64decode(config["caBundle"]) if config.get("caBundle") else None

    @property
    def address_of_user(self) -> str:
        """Host and port, by which :class:`extapi.client.webhookusers.WebhookUsers` finds who is to call."""
        # Go joins an IPv6 address that is in brackets with the port, which makes two pairs of them.
        return self._authority if self._authority.endswith(f":{self._port}") else authority(self._authority, 443)

    @property
    def origin(self) -> str:
        """The URL of the server, by which the environment says whether there is a proxy on the way."""
        return f"https://{self._authority}"

    @property
    def named(self) -> tuple[str, int]:
        """The host and port as the configuration names them, before anything is looked up."""
        return self.server_name, self._port

    def url(self, seconds: float) -> str:
        """Where a request with that timeout goes, as errors show it."""
        return f"https://{self._authority}{self._path}?timeout={seconds:g}s"

    def address(self, resolve: Resolve) -> tuple[str, int]:
        """The host and port to connect to.

        Raises:
            ApiError: The Service cannot be found.
        """
        if self._service is None:
            return self.named
        return resolve(*self._service, self._port)

    def head(self, length: int, seconds: float, headers: Sequence[Header] = ()) -> bytes:
        """The head of a request with a body of that length, that timeout, and these headers besides those of all requests."""
        head = (
            f"POST {self._path}?timeout={seconds:g}s HTTP/1.1\r\nHost: {self._authority}\r\nUser-Agent: extapi\r\n"
            f"Accept: application/json, */*\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
        ).encode("latin-1", "replace")
        further = "".join(f"{name}: {value}\r\n" for name, value in headers)
        return head + further.encode() + b"\r\n"
