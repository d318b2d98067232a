"""GET with ``watch``: a stream of events (spec F)."""

from __future__ import annotations

from extapi.codec.negotiation import negotiate, negotiate_stream
from extapi.codec.options import include_object, list_options
from extapi.listener.call import Response
from extapi.registry.base import Watcher, WatchForm, WatchQuery
from extapi.verbs.list import query
from extapi.verbs.target import Target

MIN_SECONDS = 1800.0
"""Without ``timeoutSeconds`` a watch lasts between this and twice this (``--min-request-timeout``, spec F3)."""

_FORMS = {"Table": "table", "PartialObjectMetadata": "metadata"}


async def watch(target: Target[Watcher]) -> Response:
    """Open the stream; what is wrong with the request is said before it begins."""
    accept, native = target.call.header("accept"), target.messages is not None
    negotiate(accept, protobuf=native)  # what no answer can have is told first, what no stream can have later
    options = list_options(target.call.query, target.call.selectors, watch_path=_deprecated(target.call.info.path))
    wanted = query(target, options)
    accepted = negotiate_stream(accept, transforms=frozenset(_FORMS), protobuf=native)
    protobuf = accepted.format == "protobuf"
    form = WatchForm(protobuf=protobuf)
    if accepted.transform is not None:
        kind, api_version = _FORMS[accepted.transform.kind], accepted.transform.api_version
        form = WatchForm(kind, api_version, include_object(target.call.query), protobuf)
    seconds = float(options.timeout_seconds or 0)
    if not seconds:
        # Spread, so that the watches of one moment do not all come back in one moment. The audit id is random enough.
        seconds = MIN_SECONDS * (1 + (hash(target.call.audit_id) & 0xFFFF) / 0x10000)
    watched = WatchQuery(wanted, options.send_initial_events, options.allow_watch_bookmarks, max(seconds, 0.0))
    stream = await target.resource.watch(target.at, watched, form)
    return Response(200, [("Content-Type", accepted.stream_type)], stream)


def _deprecated(path: str) -> bool:
    """Whether this is one of the paths below ``/apis/G/V/watch/`` or ``/api/V/watch/`` (spec B3, F15)."""
    parts = path.strip("/").split("/", 4)
    return parts[3 if parts[0] == "apis" else 2] == "watch"
