"""The body of a write to one of Kubernetes' own kinds, and the items of their lists.

Responsible for: what differs there from :mod:`extapi.codec.body`. Bodies may be protobuf, what they do not say of their
type is taken from the endpoint, and another type is refused at once; items do not say what they are. Must not know
schemas, storage or HTTP.
Source: ``apimachinery/pkg/runtime/serializer`` json and protobuf; ``apiserver/pkg/endpoints/handlers/rest.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from extapi.codec.body import Body, UntypedError, read, refuse_number, refused, type_of
from extapi.codec.negotiation import BodyFormat
from extapi.codec.options import Validation
from extapi.codec.protobuf import Messages, ProtobufError, unwrap
from extapi.codec.strictjson import encode

__all__ = ["decode_native", "not_registered", "untyped"]


def decode_native(
    data: bytes,
    body_format: BodyFormat,
    *,
    kind: str,
    group_version: str,
    messages: Messages,
    mode: Validation = "Warn",
) -> Body:
    """The object of ``kind`` in ``data``; nothing is unknown or occurs twice in protobuf. Raises :class:`BadRequest`."""
    duplicates: list[str] = []
    try:
        if body_format == "protobuf":
            value = _from_protobuf(data, kind, group_version, messages)
        else:
            value, duplicates, out_of_range = read(data, body_format)
            value = _typed(value, kind, group_version)
            found_kind, found_version = type_of(value, lambda: data)
            _check(found_kind, found_version, kind, group_version, messages)
            refuse_number(out_of_range, found_kind, found_version)
    except UntypedError as error:
        raise refused(str(error), data, kind, error.kind, error.version) from None
    except ValueError as error:
        raise refused(str(error), data, kind, "", "") from None
    return Body(value, [] if mode == "Ignore" else duplicates)


def not_registered(kind: str, api_version: str) -> str:
    """The text for a type that nothing is known of."""
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'


def untyped(items: Iterable[bytes], kind: str, group_version: str) -> list[bytes]:
    """The items of a list, each as JSON, without apiVersion and kind."""
    head = encode({"apiVersion": group_version, "kind": kind})[:-1] + b","
    size = len(head)
    return [b"{" + item[size:] if item.startswith(head) else _untyped(item) for item in items]


def _untyped(item: bytes) -> bytes:
    """An item that was stored with its members in another order."""
    obj = msgspec.json.decode(item)
    return encode({name: value for name, value in obj.items() if name not in {"apiVersion", "kind"}})


def _from_protobuf(data: bytes, kind: str, group_version: str, messages: Messages) -> dict[str, Any]:
    api_version, found_kind, raw = unwrap(data)
    if not api_version or api_version.count("/") > 1:
        api_version = group_version
    found_kind = found_kind or kind
    _check(found_kind, api_version, kind, group_version, messages)
    try:
        return {"apiVersion": api_version, "kind": found_kind, **messages.decode(found_kind, raw)}
    except ProtobufError as error:
        raise UntypedError(str(error), found_kind, _version(api_version)) from None


def _typed(value: Any, kind: str, group_version: str) -> Any:
    """What the body does not say of its type is that of the endpoint."""
    value = {} if value is None else value
    if isinstance(value, dict):
        typed = {"apiVersion": value.get("apiVersion") or group_version, "kind": value.get("kind") or kind}
        return {**typed, **value, **typed}
    return value


def _check(kind: str, api_version: str, wanted: str, group_version: str, messages: Messages) -> None:
    """Raises :class:`UntypedError` for an object of another type than the endpoint's."""
    if (kind, api_version) == (wanted, group_version):
        return
    if kind == wanted or kind.removesuffix("List") not in messages:
        raise UntypedError(not_registered(kind, api_version), kind, _version(api_version))
    internal = group_version.partition("/")[0].partition(".")[0] if "/" in group_version else "core"
    why = f"converting ({_version(api_version)}.{kind}) to ({internal}.{wanted}): unknown conversion"
    raise UntypedError(why, kind, _version(api_version))


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]
