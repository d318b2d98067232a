"""GET with ``watch``: a stream of events (behaviour F)."""

from __future__ import annotations

from dataclasses import replace

from extapi.codec.negotiation import negotiate, negotiate_stream
from extapi.codec.options import include_object, list_options
from extapi.http.response import Response
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
    encoding = WatchEncoding(protobuf=accepted.format == "protobuf")
    if accepted.transform is not None:
        encoding = replace(encoding, transform=accepted.transform, include=include_object(request.http.query))
    seconds = max(float(options.timeout_seconds), 0.0) if options.timeout_seconds else None
    watched = WatchQuery(wanted, options.send_initial_events, options.allow_watch_bookmarks, seconds)
    stream = await request.resource.watch(request.scope, watched, encoding)
    return Response(200, [("Content-Type", accepted.stream_type)], stream)


def _deprecated(path: str) -> bool:
    """Whether the path is below ``/apis/G/V/watch/`` or ``/api/V/watch/`` (behaviour B3, F15)."""
    parts = path.strip("/").split("/", 4)
    return parts[3 if parts[0] == "apis" else 2] == "watch"
