"""Answers with objects, lists and Statuses, in the format and the transform that the client accepts (behaviour G1-G7).

Lists are sent in pieces of at most 64 KiB; a large one is never joined (behaviour E26).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from extapi.codec.negotiation import ALL_TRANSFORMS, Negotiated, Transform, negotiate
from extapi.codec.options import include_object
from extapi.codec.protobufmeta import status_bytes
from extapi.codec.strictjson import encode, encode_status, encode_typed, indented
from extapi.errors import NotAcceptable
from extapi.http.response import PIECE, Response
from extapi.registry.base import ListResult, ObjectResult, Resource, ResourceGetter
from extapi.registry.transforms import MetadataTransform, TableTransform
from extapi.verbs.request import ResourceRequest

_READS = frozenset({"get", "list"})

EAGER = 1024 * 1024
"""Bytes of a list up to which all pieces are made at once, which is faster as long as the allocator keeps the memory."""


def negotiated(request: ResourceRequest[Resource], *, listing: bool = False) -> Negotiated:
    """The format of the answer. It comes first, so that nothing is done for a client that could not read the answer.

    Two refusals come earlier than from kube-apiserver, which has written the object by then: partial metadata of an object
    for a list or the reverse (behaviour G6), and an unknown ``includeObject`` of a write.

    Args:
        request: The request.
        listing: Whether the answer is a list.

    Raises:
        NotAcceptable: The client accepts nothing that can be made.
        BadRequest: A write asks for a table with an unknown ``includeObject``.
    """
    accepted = _negotiate(request, ALL_TRANSFORMS)
    if accepted.transform is not None and accepted.transform.kind == "Table" and _has_no_table(request.resource):
        accepted = _negotiate(request, ALL_TRANSFORMS - {"Table"})
    transform = accepted.transform.kind if accepted.transform is not None else ""
    if listing and transform == "PartialObjectMetadata":
        raise NotAcceptable(
            f"you requested {transform}, but the requested object is a list ({request.resource.list_kind})"
        )
    if not listing and transform == "PartialObjectMetadataList":
        raise NotAcceptable(
            f"you requested {transform}, but the requested object is not a list ({request.resource.kind})"
        )
    if transform == "Table" and request.http.info.verb not in _READS:
        include_object(request.http.query)
    return accepted


def _negotiate(request: ResourceRequest[Resource], transforms: frozenset[str]) -> Negotiated:
    http = request.http
    return negotiate(
        http.header("accept"),
        pretty=http.first("pretty"),
        user_agent=http.header("user-agent"),
        transforms=transforms,
        protobuf=request.protobuf is not None,
    )


def _has_no_table(resource: Resource) -> bool:
    return resource.behaviour.answering.table_needs_get and not isinstance(resource, ResourceGetter)


def object_answer(
    request: ResourceRequest[Resource], accepted: Negotiated, obj: ObjectResult, status: int = 200
) -> Response:
    """The answer with one object."""
    transform = accepted.transform
    if transform is None:
        if accepted.format == "json":
            encoded = obj.encoded()
            return _answer(status, accepted, indented(encoded) if accepted.pretty else encoded + b"\n")
        if accepted.format == "protobuf" and request.protobuf is not None:
            return _answer(status, accepted, request.protobuf.encode(obj.decoded()))
        return _answer(status, accepted, _formatted(accepted, obj.decoded()))
    if transform.kind == "Table":
        metadata = {"resourceVersion": str(obj.revision)} if obj.revision else {}
        return _transformed(status, accepted, _table(request, transform).table([obj], metadata))
    return _transformed(status, accepted, [_metadata(accepted, transform).object(obj.decoded())])


def list_answer(request: ResourceRequest[Resource], accepted: Negotiated, listing: ListResult) -> Response:
    """The answer with a list, or a page of one."""
    transform = accepted.transform
    metadata: dict[str, Any] = {"resourceVersion": str(listing.revision or "")}
    if listing.continue_:
        metadata["continue"] = listing.continue_
    if listing.remaining is not None:
        metadata["remainingItemCount"] = listing.remaining
    if transform is None:
        return _list(request, accepted, listing, metadata)
    if transform.kind == "Table":
        return _transformed(200, accepted, _table(request, transform).table(listing.items, metadata))
    items = (item.decoded() for item in listing.items)
    return _transformed(200, accepted, [_metadata(accepted, transform).list(items, metadata)])


def status_answer(accepted: Negotiated, details: dict[str, Any]) -> Response:
    """The answer with the Status of a success, which has no transforms (behaviour E47, M11)."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    if accepted.format == "protobuf":
        return _answer(200, accepted, status_bytes(status))
    return _answer(200, accepted, _formatted(accepted, status, encode_status))


def _list(
    request: ResourceRequest[Resource], accepted: Negotiated, listing: ListResult, metadata: dict[str, Any]
) -> Response:
    resource, api_version = request.resource, request.api_version
    answering = resource.behaviour.answering
    head = {
        "apiVersion": api_version,
        "kind": resource.list_kind,
        "metadata": answering.list_metadata(metadata),
    }
    if accepted.format == "json" and not accepted.pretty:
        opening, end = _around_items(head, type_first=answering.type_first)
        items = answering.list_items(listing.items.encoded(), resource.kind, api_version)
        inside = sum(map(len, items)) + max(0, len(items) - 1)
        size = len(opening) + inside + len(end)
        pieces = _pieces(opening, items, end, inside)
        if size <= PIECE:
            body: bytes | Iterable[bytes] = b"".join(pieces)
        else:
            # Pieces of a large list are made as the socket takes them, so that each reuses the memory of the one before.
            body = list(pieces) if size <= EAGER else pieces
        return Response(200, [("Content-Type", accepted.content_type)], body, length=size)
    objects = (item.decoded() for item in listing.items)
    if accepted.format == "protobuf" and request.protobuf is not None:
        return _answer(200, accepted, request.protobuf.encode_list(head, resource.kind, objects))
    whole = {**head, "items": [answering.list_item(obj) for obj in objects]}
    return _answer(200, accepted, _formatted(accepted, whole, encode_typed if answering.type_first else encode))


def _around_items(head: dict[str, Any], *, type_first: bool) -> tuple[bytes, bytes]:
    """What stands before and after the items of a list, whose other members are ``head`` (behaviour M18)."""
    if type_first:
        return encode(head)[:-1] + b',"items":[', b"]}\n"
    before = encode({name: value for name, value in head.items() if name < "items"})
    after = encode({name: value for name, value in head.items() if name > "items"})
    return before[:-1] + b',"items":[', b"]," + after[1:] + b"\n"


def _pieces(opening: bytes, items: Sequence[bytes], end: bytes, inside: int) -> Iterator[bytes]:
    """A list in pieces of at most :data:`PIECE` bytes. A larger item is one piece.

    ``inside``: the bytes of all items and of the commas between them.
    """
    # Less than a piece each: most batches then fit although sizes differ, the first with the opening, the last with the end.
    room = PIECE * 15 // 16 - len(opening) - len(end)
    batch = max(1, room * len(items) // (inside + 1))
    pending = opening
    for start in range(0, len(items), batch):
        for piece in _joined(items[start : start + batch], first=start == 0):
            if pending is opening and len(pending) + len(piece) <= PIECE:
                pending += piece
            else:
                yield pending
                pending = piece
    if len(pending) + len(end) <= PIECE:
        yield pending + end
    else:
        yield pending
        yield end


def _joined(items: Sequence[bytes], *, first: bool) -> Iterator[bytes]:
    """The items, separated by commas; in halves while they are too large for a piece."""
    # An empty item in front becomes a comma in front.
    joined = b",".join(items if first else (b"", *items))
    if len(joined) <= PIECE or len(items) == 1:
        yield joined
        return
    half = len(items) // 2
    yield from _joined(items[:half], first=first)
    yield from _joined(items[half:], first=False)


def _table(request: ResourceRequest[Resource], transform: Transform) -> TableTransform:
    columns, include = request.resource.columns(request.scope), include_object(request.http.query)
    return TableTransform(columns, request.clock, transform.version, include)


def _metadata(accepted: Negotiated, transform: Transform) -> MetadataTransform:
    return MetadataTransform(transform.version, accepted.format == "protobuf")


def _transformed(status: int, accepted: Negotiated, pieces: list[bytes]) -> Response:
    """The answer with the result of a transform; ``pieces``: in protobuf, or in compact JSON."""
    if accepted.format == "protobuf":
        return _answer(status, accepted, pieces)
    if accepted.format == "json" and not accepted.pretty:
        pieces[-1] += b"\n"
        return _answer(status, accepted, pieces)
    return _answer(status, accepted, _formatted(accepted, msgspec.json.decode(b"".join(pieces))))


def _formatted(accepted: Negotiated, content: Any, encoder: Callable[[Any], bytes] = encode) -> bytes:
    if accepted.format == "yaml":
        from extapi.codec.strictyaml import encode_yaml  # noqa: PLC0415 - the YAML library is only loaded where used

        return encode_yaml(content)
    body = encoder(content)
    return indented(body) if accepted.pretty else body + b"\n"


def _answer(status: int, accepted: Negotiated, body: bytes | list[bytes]) -> Response:
    headers = [("Content-Type", accepted.content_type)]
    if isinstance(body, list):
        size = sum(map(len, body))
        if size > PIECE:
            return Response(status, headers, body, length=size)
        body = b"".join(body)
    return Response(status, headers, body)
