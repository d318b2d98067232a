"""Objects, lists and Statuses in the form that the client accepts: as they are, as tables, or reduced to metadata.

Lists leave in pieces of at most 64 KiB: a large one is never joined (spec E26, G1-G7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from extapi.codec.native import untyped
from extapi.codec.negotiation import ALL_TRANSFORMS, Negotiated, negotiate
from extapi.codec.options import include_object
from extapi.codec.partial import partial, partial_list
from extapi.codec.protobufmeta import partial_bytes, partial_list_bytes, status_bytes
from extapi.codec.protobufwriting import wrap
from extapi.codec.strictjson import encode, encode_status, indented
from extapi.codec.tables import row, row_object, table
from extapi.errors import NotAcceptable
from extapi.listener.call import PIECE, Response
from extapi.registry.base import Getter, Listing, Rendering, Resource
from extapi.verbs.target import Target

LIST_END = b"]}\n"

_READS = frozenset({"get", "list"})

_TYPE = frozenset({"apiVersion", "kind"})

HELD = 1024 * 1024
"""Bytes of a list up to which all its pieces are made at once, which is faster as long as the allocator keeps the memory."""


def negotiated(target: Target[Resource], *, listing: bool = False) -> Negotiated:
    """The form of the answer; asked for first of all, so that nothing is done for a client that could not read it.

    ``listing``: the answer is a list. Raises :class:`NotAcceptable`, also for the metadata of the wrong one of the two
    (spec G6; kube-apiserver finds that out when it has written), and :class:`BadRequest` for a table that a write asks
    for with rows that do not exist (``TransformResponseObject`` of k8s.io/apiserver finds that out too late as well).
    """
    accepted = _negotiate(target, ALL_TRANSFORMS)
    if accepted.transform is not None and accepted.transform.kind == "Table" and _has_no_table(target.resource):
        accepted = _negotiate(target, ALL_TRANSFORMS - {"Table"})
    asked = accepted.transform.kind if accepted.transform is not None else ""
    if listing and asked == "PartialObjectMetadata":
        raise NotAcceptable(f"you requested {asked}, but the requested object is a list ({target.resource.list_kind})")
    if not listing and asked == "PartialObjectMetadataList":
        raise NotAcceptable(f"you requested {asked}, but the requested object is not a list ({target.resource.kind})")
    if asked == "Table" and target.call.info.verb not in _READS:
        include_object(target.call.query)
    return accepted


def _negotiate(target: Target[Resource], transforms: frozenset[str]) -> Negotiated:
    call = target.call
    return negotiate(
        call.header("accept"),
        pretty=call.first("pretty"),
        user_agent=call.header("user-agent"),
        transforms=transforms,
        protobuf=target.messages is not None,
    )


def _has_no_table(resource: Resource) -> bool:
    """Of Kubernetes' own kinds, those that cannot be read have none: reviews, and tokens (``rest.TableConvertor``)."""
    return resource.native is not None and not isinstance(resource, Getter)


def object_answer(target: Target[Resource], accepted: Negotiated, obj: Rendering, status: int = 200) -> Response:
    """One object."""
    transform = accepted.transform
    if transform is None:
        if accepted.format == "json" and not accepted.pretty:
            return _answer(status, accepted, obj.encoded() + b"\n")
        if accepted.format == "protobuf" and target.messages is not None:
            return _answer(status, accepted, target.messages.enveloped(obj.decoded()))
        return _answer(status, accepted, _formatted(accepted, obj.decoded()))
    if transform.kind == "Table":
        metadata = {"resourceVersion": str(obj.revision)} if obj.revision else {}
        return _table(target, accepted, [obj], metadata, status)
    if accepted.format == "protobuf":
        return _answer(status, accepted, partial_bytes(obj.decoded(), version=transform.version))
    return _answer(status, accepted, _formatted(accepted, partial(obj.decoded(), version=transform.version)))


def list_answer(target: Target[Resource], accepted: Negotiated, listing: Listing) -> Response:
    """A list, or a page of one."""
    transform = accepted.transform
    metadata: dict[str, Any] = {"resourceVersion": str(listing.revision or "")}
    if listing.continue_:
        metadata["continue"] = listing.continue_
    if listing.remaining is not None:
        metadata["remainingItemCount"] = listing.remaining
    if transform is None:
        return _list(target, accepted, listing, metadata)
    if transform.kind == "Table":
        return _table(target, accepted, listing.items, metadata, 200)
    items = (item.decoded() for item in listing.items)
    if accepted.format == "protobuf":
        return _answer(200, accepted, partial_list_bytes(items, metadata, version=transform.version))
    return _answer(200, accepted, _formatted(accepted, partial_list(items, metadata, version=transform.version)))


def status_answer(accepted: Negotiated, details: dict[str, Any]) -> Response:
    """The Status of a success; tables and metadata of it do not exist (spec E47, M11)."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    if accepted.format == "protobuf":
        return _answer(200, accepted, status_bytes(status))
    return _answer(200, accepted, _formatted(accepted, status, encode_status))


def _list(target: Target[Resource], accepted: Negotiated, listing: Listing, metadata: dict[str, Any]) -> Response:
    resource, api_version = target.resource, target.api_version
    head: dict[str, Any] = {"apiVersion": api_version, "kind": resource.list_kind, "metadata": metadata}
    native = resource.native is not None
    if not native:
        # Lists of custom resources always carry the member, empty or not (observed on 1.36.3).
        head["metadata"] = {"continue": "", **metadata}
    if accepted.format == "json" and not accepted.pretty:
        opening, items = encode(head)[:-1] + b',"items":[', listing.items.encoded()
        if native:
            items = untyped(items, resource.kind, api_version)
        inside = sum(map(len, items)) + max(0, len(items) - 1)
        size = len(opening) + inside + len(LIST_END)
        pieces = _pieces(opening, items, inside)
        if size <= PIECE:
            body: bytes | Iterable[bytes] = b"".join(pieces)
        else:
            # Large ones are made as the socket takes them: the next piece then finds its memory where the last one had it.
            body = list(pieces) if size <= HELD else pieces
        return Response(200, [("Content-Type", accepted.content_type)], body, length=size)
    objects = (item.decoded() for item in listing.items)
    if accepted.format == "protobuf" and target.messages is not None:
        raw = target.messages.encode_list(resource.kind, metadata, objects)
        return _answer(200, accepted, wrap(api_version, resource.list_kind, raw))
    shown = [{name: value for name, value in obj.items() if name not in _TYPE} if native else obj for obj in objects]
    whole = {**head, "items": shown}
    return _answer(200, accepted, _formatted(accepted, whole))


def _pieces(opening: bytes, items: Sequence[bytes], inside: int) -> Iterator[bytes]:
    """A list in pieces of at most :data:`PIECE` bytes; an item that is larger is a piece of its own.

    ``inside``: bytes of all items and the commas between them.
    """
    # A little less than a piece each, so that the opening and the end find room beside the first and the last.
    room = PIECE - len(opening) - len(LIST_END)
    batch = max(1, room * len(items) // (inside + 1))
    held = opening
    for at in range(0, len(items), batch):
        for piece in _joined(items[at : at + batch], first=at == 0):
            if held is opening and len(held) + len(piece) <= PIECE:
                held += piece
            else:
                yield held
                held = piece
    if len(held) + len(LIST_END) <= PIECE:
        yield held + LIST_END
    else:
        yield held
        yield LIST_END


def _joined(items: Sequence[bytes], *, first: bool) -> Iterator[bytes]:
    """The items, separated by commas; halved as long as they are more than a piece holds, since sizes differ."""
    # Joined, an empty item in front is a comma in front.
    joined = b",".join(items if first else (b"", *items))
    if len(joined) <= PIECE or len(items) == 1:
        yield joined
        return
    half = len(items) // 2
    yield from _joined(items[:half], first=first)
    yield from _joined(items[half:], first=False)


def _table(
    target: Target[Resource], accepted: Negotiated, items: Iterable[Rendering], metadata: dict[str, Any], status: int
) -> Response:
    transform = accepted.transform
    version = transform.version if transform is not None else "v1"
    pieces = list(
        table(target.resource.columns(target.at).definitions, metadata, _rows(target, items, version), version=version)
    )
    if accepted.format == "json" and not accepted.pretty:
        pieces[-1] += b"\n"
        return _answer(status, accepted, pieces)
    return _answer(status, accepted, _formatted(accepted, msgspec.json.decode(b"".join(pieces))))


def _rows(target: Target[Resource], items: Iterable[Rendering], version: str) -> Iterator[bytes]:
    columns = target.resource.columns(target.at)
    include = include_object(target.call.query)
    now = target.clock.seconds()
    for item in items:
        shown = None if include == "None" else row_object(item.decoded(), include, version=version)
        yield row(columns.render(item.cells(), now), shown)


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
