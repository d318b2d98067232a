"""Conversion by a webhook: one HTTPS request per call, as kube-apiserver makes it (behaviour J47, J48).

Responsible for the way to the webhook: its address and TLS, the time and the size of its answer, and what an operator is told
of failures. Must not know what is in a ConversionReview, nor how many calls may run at a time
(:mod:`extapi.watch.conversioncalls`).

Source: ``apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go``, ``apiserver/pkg/util/webhook/client.go``.
"""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from uuid import uuid4

from twisted.internet.defer import Deferred, TimeoutError as TimedOut

from extapi.api.types import Obj
from extapi.client.clientpair import Pair
from extapi.client.credentials import CredentialsError
from extapi.client.tls import UpstreamTls
from extapi.client.transport import ConnectionLost, TransportError
from extapi.client.upstream import Upstream
from extapi.client.upstreamresponse import UpstreamResponse
from extapi.crd.conversionreview import RefusedError, ReviewError, converted, read_object, request, review_version
from extapi.crd.failurelog import FailureLog
from extapi.crd.services import Resolve
from extapi.crd.webhookreply import Reply, body_of
from extapi.errors import ApiError, StorageError

SECONDS = 30.0
"""Seconds per call, connecting and reading included (``setGlobalDefaults`` in ``apiserver/pkg/util/webhook``)."""
ANSWER, GROWTH, LARGEST = 1024 * 1024, 4, 8 * 1024 * 1024
"""Bytes that an answer may always have, how many times as large as its request it may be, and the most that any may have.

kube-apiserver has no limit. It takes the longer to read an answer, the more it has, and meanwhile nobody is served."""

_LATE = "net/http: request canceled (Client.Timeout or context cancellation while reading body)"


class WebhookConverter:
    """The webhook of one definition (:class:`extapi.conversion.converter.Converter`). Call :meth:`close` at the end.

    Args:
        crd: The name of the CustomResourceDefinition, for the log.
        conversion: Its ``spec.conversion``, valid and with defaults.
        resolve: Finds the Service that it may name.
        reactor: Provides IReactorTCP, IReactorTime and host name resolution.
        certificate: The certificate that is shown to a webhook that asks for one, asked for with each call. None: none,
            as kube-apiserver does it: its webhook kubeconfigs are for admission alone.
    """

    name = "conversion webhook"

    def __init__(
        self,
        crd: str,
        conversion: Mapping[str, Any],
        resolve: Resolve,
        reactor: Any,
        *,
        certificate: Callable[[], Pair] | None = None,
    ) -> None:
        webhook = conversion["webhook"]
        self._target = Target(webhook["clientConfig"])
        self._version = review_version(webhook["conversionReviewVersions"])
        self._resolve = resolve
        self._reactor = reactor
        self._certificate = certificate
        self._failures = FailureLog(f"CustomResourceDefinition {crd}", self._target.url, reactor)
        self._upstream: Upstream | None = None
        self._reached: tuple[str, int, Pair] | None = None
        self._closed = False

    async def convert(self, objects: Sequence[Obj], api_version: str) -> Sequence[Obj | ApiError]:
        """Ask the webhook; for each object what it has become, or kube-apiserver's text why it is not converted.

        kube-apiserver asks for each object by itself, so that one which the webhook refuses fails no other. Here the
        objects of a refused call are sent again, in halves.
        """
        try:
            raw = await self._asked(objects, api_version)
        except RefusedError as error:
            half = len(objects) // 2
            if half:
                first = await self.convert(objects[:half], api_version)
                return [*first, *await self.convert(objects[half:], api_version)]
            return self._failed(objects, error)
        except ReviewError as error:
            return self._failed(objects, error)
        made = [read_object(each) for each in raw]
        broken = next((each for each in made if isinstance(each, ApiError)), None)
        if broken is None:
            self._failures.succeeded()
        else:
            self._failures.failed(broken.message)
        return made

    @property
    def closed(self) -> bool:
        """Whether it converts no more."""
        return self._closed

    def close(self) -> None:
        """End all connections; calls that still run fail, and so do later ones."""
        self._closed = True
        if self._upstream is not None:
            self._upstream.close()

    def _failed(self, objects: Sequence[Obj], error: ReviewError) -> list[Obj | ApiError]:
        failures: list[Obj | ApiError] = [
            StorageError(f"{self.name} for {each['apiVersion']}, Kind={each['kind']} {error}") for each in objects
        ]
        self._failures.failed(str(failures[0]))
        return failures

    async def _asked(self, objects: Sequence[Obj], api_version: str) -> list[bytes]:
        """The converted objects as JSON, as many as were sent.

        Raises:
            ReviewError: There are none.
        """
        if self._version is None:
            raise ReviewError("failed: no supported conversion review versions")
        uid = str(uuid4())
        reply = await self._call(request(self._version, uid, objects, api_version))
        return converted(body_of(reply), self._version, uid, len(objects))

    async def _call(self, body: bytes) -> Reply:
        """Send a review.

        Raises:
            ReviewError: There is no answer, in time.
        """
        if self._closed:
            raise ReviewError("failed: the webhook is closed")
        begun: list[UpstreamResponse] = []
        calling = Deferred.fromCoroutine(self._exchange(body, begun))
        calling.addTimeout(SECONDS, self._reactor)
        try:
            return await calling
        except TimedOut:
            raise self._unread(_LATE) if begun else self._unsent("context deadline exceeded") from None

    async def _exchange(self, body: bytes, begun: list[UpstreamResponse]) -> Reply:
        """Send a review, and read the answer. ``begun`` gets the answer once its head is there."""
        try:
            response = await self._server().send("POST", self._target.head(len(body)) + body)
        except (TransportError, ApiError) as error:
            raise self._unsent(str(error)) from None
        begun.append(response)
        try:
            content = await response.read(min(LARGEST, max(ANSWER, GROWTH * len(body))))
        except ConnectionLost:
            raise self._unread("unexpected EOF") from None
        except TransportError as error:
            raise self._unread(str(error)) from None
        finally:
            if not response.complete:
                response.close()
        return Reply(response.status, response.header("content-type"), content)

    def _unsent(self, why: str) -> ReviewError:
        return ReviewError(f'failed: Post "{self._target.url}": {why}')

    def _unread(self, why: str) -> ReviewError:
        return ReviewError(f"failed: unexpected error when reading response body. Please retry. Original error: {why}")

    def _server(self) -> Upstream:
        """The server of the webhook, with the connections that are open; a new one once it is reached in another way.

        Raises:
            ApiError: The Service cannot be found.
            TransportError: The definition's or the client's certificates cannot be used.
        """
        host, port = self._target.address(self._resolve)
        pair = Pair(b"", b"") if self._certificate is None else self._certificate()
        if self._upstream is None or self._reached != (host, port, pair):
            if self._upstream is not None:
                self._upstream.retire()
            self._upstream, self._reached = self._connected(host, port, pair), (host, port, pair)
        return self._upstream

    def _connected(self, host: str, port: int, pair: Pair) -> Upstream:
        certificate, key = pair
        try:
            tls = UpstreamTls(
                self._target.server_name, ca=self._target.ca, certificate=certificate, key=key, clock=self._reactor
            )
        except CredentialsError as error:
            raise TransportError(str(error)) from error
        return Upstream(self._reactor, host, port, tls)


class Target:
    """Where a ``clientConfig`` points.

    Attributes:
        url: Where the requests go, as errors show it.
        server_name: The name, or the address, that the webhook's certificate has to be for.
        ca: The PEM of the only roots; None: the system's.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        service = config.get("service")
        if service is None:
            parts = urlsplit(config["url"])
            self.server_name, self._port = parts.hostname or "", parts.port or 443
            authority, path = parts.netloc.rpartition("@")[2], unquote(parts.path)
            self._service: tuple[str, str] | None = None
        else:
            namespace, name, self._port = service["namespace"], service["name"], int(service.get("port") or 443)
            self.server_name = f"{name}.{namespace}.svc"
            authority, path = f"{self.server_name}:{self._port}", service.get("path") or ""
            self._service = namespace, name
        # Go's path.Join
        target = quote("/" + posixpath.normpath(f"/{path}").lstrip("/"), safe="/$&+,:;=@") + f"?timeout={SECONDS:g}s"
        self.url = f"https://{authority}{target}"
        self.ca = base64.b64decode(config["caBundle"]) if config.get("caBundle") else None
        self._head = (
            f"POST {target} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: extapi\r\nAccept: application/json, */*\r\n"
            f"Content-Type: application/json\r\nContent-Length: "
        )

    def address(self, resolve: Resolve) -> tuple[str, int]:
        """The host and port to connect to.

        Raises:
            ApiError: The Service cannot be found.
        """
        if self._service is None:
            return self.server_name, self._port
        return resolve(*self._service, self._port)

    def head(self, length: int) -> bytes:
        """The head of a request with a body of that length."""
        return f"{self._head}{length}\r\n\r\n".encode("latin-1", "replace")
