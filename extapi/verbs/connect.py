"""Any method on a subresource that takes the connection over (``Subresource.connects``), and on the paths below it.

Source: ``k8s.io/apiserver/pkg/endpoints/handlers/rest.go`` ConnectResource and getRequestOptions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from extapi.admission.audit import add_audit_annotation
from extapi.api.connect import (
    ConnectRequest,
    ConnectResponse,
    StreamingResponse,
    UpgradeResponse,
    WebSocketResponse,
)
from extapi.api.user import ANONYMOUS, User
from extapi.errors import BadRequest, InternalError
from extapi.http.request import Body, Request, RequestInfo
from extapi.http.response import Response, Upgraded
from extapi.http.websocket import HandshakeRefused, handshake, is_upgrade, is_websocket
from extapi.registry.base import Admission
from extapi.registry.connecting import ConnectResource
from extapi.verbs.decoding import MAX_BODY
from extapi.verbs.request import ResourceRequest
from extapi.verbs.sessions import BodyStream, UpgradedSession, WebSocketSession

_NO_UPGRADE = "Upgrade request required"
_OWN = frozenset({"upgrade", "connection", "content-length", "transfer-encoding"})


async def connect(request: ResourceRequest[ConnectResource]) -> Response:
    """What the connecter answers. All refusals come before it begins."""
    http, resource = request.http, request.resource
    if http.method not in resource.methods:
        raise resource.behaviour.routing.no_verb(resource.group, resource.plural, http.info.verb)
    if "dryRun" in http.query:
        raise BadRequest("dryRun is not supported")
    user = http.user or User(ANONYMOUS)
    # Kubernetes makes the options of its own subresources of the query: here they are the query.
    options = {name: list(values) for name, values in http.query.items()}
    admission = Admission(
        request.chain,
        user,
        options=options,
        warn=http.warnings.append,
        annotate=partial(add_audit_annotation, http.audit_annotations),
        deadline=http.deadline,
    )
    await resource.admitted(request.scope, request.name, admission)
    asked = ConnectRequest(
        user=user,
        version=request.scope.version,
        namespace=request.scope.namespace,
        name=request.name,
        object=await resource.found(request.scope, request.name),
        method=http.method,
        path=subpath(http.info),
        query=http.query,
        headers=http.headers,
        body=BodyPieces(http.body),
    )
    answer: ConnectResponse = await resource.connecter(asked)
    return _answered(request, answer)


def subpath(info: RequestInfo) -> str:
    """What follows the subresource: empty, or with a slash first, and with one last if the path ends so."""
    path = "/".join(info.parts[3:])
    if path and not path.startswith("/"):
        path = f"/{path}"
    return f"{path}/" if info.path.endswith("/") and not path.endswith("/") else path


class BodyPieces:
    """:class:`extapi.api.connect.BodyReader` of a request's body."""

    def __init__(self, body: Body) -> None:
        self._body = body

    async def read(self, limit: int = MAX_BODY) -> bytes:
        """See :class:`extapi.api.connect.BodyReader`."""
        return await self._body.read(limit)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """See :class:`extapi.api.connect.BodyReader`."""
        while piece := await self._body.more():
            yield piece


def _answered(request: ResourceRequest[ConnectResource], answer: Any) -> Response:
    if isinstance(answer, StreamingResponse):
        return _streamed(request, answer)
    if isinstance(answer, WebSocketResponse):
        return _websocket(request, answer)
    if isinstance(answer, UpgradeResponse):
        return _upgraded(request, answer)
    what = f"{request.resource.plural}/{request.resource.subresource}"
    raise InternalError.because(f"what serves {what} returned {type(answer).__name__} and no ConnectResponse")


def _streamed(request: ResourceRequest[ConnectResource], answer: StreamingResponse) -> Response:
    if not 200 <= answer.status <= 599:
        raise InternalError.because(f"what serves {request.resource.plural} returned the status {answer.status}")
    headers = [("Content-Type", answer.content_type), *_headers(answer.headers)]
    body = answer.body
    if isinstance(body, str):
        body = body.encode()
    return Response(answer.status, headers, body if isinstance(body, bytes) else BodyStream(body, request.clock))


def _websocket(request: ResourceRequest[ConnectResource], answer: WebSocketResponse) -> Response:
    http = request.http
    if not is_websocket(http):
        raise BadRequest(_NO_UPGRADE)
    try:
        headers = handshake(http, _chooser(answer))
    except HandshakeRefused as refused:
        return refused.response
    chosen = dict(headers).get("Sec-WebSocket-Protocol", "")
    return Response(101, headers, Upgraded(WebSocketSession(answer.session, chosen, request.clock, _what(http))))


def _chooser(answer: WebSocketResponse) -> Callable[[list[str]], str | None]:
    """Chooses the first subprotocol that both speak (``k8s.io/streaming/pkg/httpstream/wsstream`` handshake)."""

    def choose(offered: list[str]) -> str | None:
        if not offered:
            return ""
        spoken = [name for name in offered if not answer.protocols or name in answer.protocols]
        return spoken[0] if spoken else None

    return choose


def _upgraded(request: ResourceRequest[ConnectResource], answer: UpgradeResponse) -> Response:
    http = request.http
    if not is_upgrade(http) or http.header("upgrade").lower() != answer.protocol.lower():
        raise BadRequest(_NO_UPGRADE)
    headers = [("Upgrade", answer.protocol), *_headers(answer.headers)]
    return Response(101, headers, Upgraded(UpgradedSession(answer.session, request.clock, _what(http))))


def _headers(given: Any) -> list[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in given.items() if str(name).lower() not in _OWN]


def _what(http: Request) -> str:
    """The request, for the log; the query may hold secrets."""
    return f"{http.method} {http.info.path}"
