"""GET with ``watch``: a stream of events, chunked or over a WebSocket (behaviour F)."""

from __future__ import annotations

from dataclasses import replace

from extapi.clock import Clock
from extapi.codec.negotiation import negotiate, negotiate_stream
from extapi.codec.options import include_object, list_options
from extapi.http.request import Request
from extapi.http.response import Duplex, Response, Streaming, Upgraded
from extapi.http.websocket import HandshakeRefused, check_origin, handshake, is_websocket
from extapi.registry.base import ResourceWatcher, WatchEncoding, WatchQuery
from extapi.verbs.list import query
from extapi.verbs.request import ResourceRequest

_TRANSFORMS = frozenset({"Table", "PartialObjectMetadata"})
"""Those of one object: an event never holds a list."""


async def watch(request: ResourceRequest[ResourceWatcher]) -> Response:
    """The stream of events. All refusals come before it begins."""
    accept, protobuf = request.http.header("accept"), request.protobuf is not None
    negotiate(
        accept, protobuf=protobuf
    )  # refuses what no answer can have; the refusal of what no stream can have comes later
    options = list_options(request.http.query, request.http.selectors, watch_path=_deprecated(request.http.info.path))
    wanted = query(request, options)
    accepted = negotiate_stream(accept, transforms=_TRANSFORMS, protobuf=protobuf)
    websocket = is_websocket(request.http)
    encoding = WatchEncoding(protobuf=accepted.format == "protobuf", websocket=websocket)
    if accepted.transform is not None:
        encoding = replace(encoding, transform=accepted.transform, include=include_object(request.http.query))
    seconds = max(float(options.timeout_seconds), 0.0) if options.timeout_seconds else None
    asks = bool(request.http.first("sendInitialEvents"))
    watched = WatchQuery(wanted, options.send_initial_events, options.allow_watch_bookmarks, seconds, asks)
    stream = await request.resource.watch(request.scope, watched, encoding)
    if websocket:
        return _websocket(request.http, stream, request.clock)
    return Response(200, [("Content-Type", accepted.stream_type)], stream)


def _websocket(request: Request, stream: Streaming, clock: Clock) -> Response:
    """The same events as messages. What the client sends is ignored, until it closes.

    Source: ``k8s.io/apiserver/pkg/endpoints/handlers`` WatchServer.HandleWS; ``golang.org/x/net/websocket`` newServerConn.
    """
    from extapi.http.messages import MessageConnection  # noqa: PLC0415 - the library is only loaded where used

    async def run(connection: Duplex) -> None:
        messages = MessageConnection(connection)
        messages.start()
        await stream(connection)
        messages.close()
        await messages.parted(clock)

    def choose(offered: list[str]) -> str | None:
        check_origin(request)
        if len(offered) > 1:
            raise HandshakeRefused(400)  # any one will do, since it changes nothing
        return offered[0] if offered else ""

    try:
        headers = handshake(request, choose)
    except HandshakeRefused as refused:
        return refused.response
    return Response(101, headers, Upgraded(run))


def _deprecated(path: str) -> bool:
    """Whether the path is below ``/apis/G/V/watch/`` or ``/api/V/watch/`` (behaviour B3, F15)."""
    parts = path.strip("/").split("/", 4)
    return parts[3 if parts[0] == "apis" else 2] == "watch"
