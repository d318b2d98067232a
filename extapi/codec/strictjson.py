"""JSON to objects and back, as kube-apiserver reads and writes it (behaviour E10, G7, N3).

Responsible for: decoding that finds duplicate keys and bounds the depth; compact and indented encoding with Go's
escapes; objects in two parts around their resourceVersion. Must not know what an object means.

The common case costs one C decoder and a few counts. Everything unusual (bad UTF-8, lone surrogates, duplicate keys,
syntax errors) takes a slower way, which is still linear.

Source: ``sigs.k8s.io/json``, ``encoding/json``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from extapi.api.jsonvalue import (
    NumberRangeError,
    has_long_number,
    in_order,
    looked_at,
    read_clamped,
    read_float,
    read_integer,
    without_surrogates,
    written,
)
from extapi.codec.jsonsyntax import END, TOO_DEEP, syntax_error
from extapi.fielderrors import LONGEST_PATH

__all__ = [
    "MAX_DEPTH",
    "Decoded",
    "JSONError",
    "NumberRangeError",
    "Parts",
    "decode",
    "decode_stored",
    "encode",
    "encode_parts",
    "encode_pretty",
    "encode_status",
    "encode_typed",
    "indented",
    "is_deeper",
    "join",
]

MAX_DEPTH = 200
"""Arrays and objects that nest deeper are refused. Go allows 10000, but code that walks objects here recurses, and no
Kubernetes object comes near a tenth of this."""

EXPLAINED = 64 * 1024
"""Bytes in which the cause of a syntax error is searched."""

MAX_DUPLICATES = 100
"""Strict errors that are reported per body, as in ``sigs.k8s.io/json``."""


class JSONError(ValueError):
    """The text is not JSON, or nested too deeply; the message is Go's."""


Parts = tuple[bytes, bytes]
"""An encoded object without resourceVersion, split where it belongs."""


class Decoded(msgspec.Struct, frozen=True):
    """A decoded text.

    ``duplicates`` has the paths of keys that occur twice (``spec.list[0].x``); the last value wins.
    """

    value: Any
    duplicates: list[str] = []


_decoder = msgspec.json.Decoder(float_hook=read_float)
_encoder = msgspec.json.Encoder(order="deterministic")
_quick_encoder = msgspec.json.Encoder()


def decode(data: bytes, *, max_depth: int = MAX_DEPTH) -> Decoded:
    """The value of ``data``, and the keys that occur twice in it.

    Each byte that is not UTF-8 becomes U+FFFD, and so does each lone surrogate.

    Raises:
        JSONError: The text is not JSON, or nested too deeply.
        NumberRangeError: It is JSON apart from a number that no float64 holds.
    """
    if has_long_number(data):
        return _decode_slowly(data, max_depth)
    try:
        value = _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _decode_slowly(data, max_depth)
    if data.count(b"[") + data.count(b"{") > max_depth and is_deeper(value, max_depth):
        raise JSONError(TOO_DEEP)
    if _has_no_duplicates(data, value):
        return Decoded(value)
    return Decoded(value, _duplicates(data.decode()))


def _has_no_duplicates(data: bytes, value: Any) -> bool:
    """Whether certainly no key occurs twice: the text has as many colons as the value when it is encoded again.

    A key that was dropped took its colon with it. Colons inside strings are the same in both texts, unless they were
    escaped: then nothing is certain.
    """
    if b"\\" in data and (b"\\u003a" in data or b"\\u003A" in data):
        return False
    return data.count(b":") == _quick_encoder.encode(value).count(b":")


def is_deeper(value: Any, limit: int) -> bool:
    """Whether lists and objects nest deeper than ``limit``. Does not recurse."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        if not level:
            return False
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
    return bool(level)


def _decode_slowly(data: bytes, max_depth: int) -> Decoded:
    """Decode what the C decoder refused: text that Go repairs, or an error in Go's words."""
    # "surrogateescape" marks each bad byte, as Go does; "replace" joins some of them.
    text = data.decode("utf-8", "surrogateescape")
    numbers = _Numbers()
    try:
        value = json.loads(text, parse_float=numbers.float, parse_int=numbers.int, parse_constant=_refuse_constant)
        duplicates = _duplicates(text)
    except RecursionError:
        raise JSONError(TOO_DEEP) from None
    except ValueError:
        raise JSONError(_explained(data, max_depth)) from None
    if is_deeper(value, max_depth):
        raise JSONError(TOO_DEEP)
    if numbers.error is not None:
        numbers.error.value = _repaired(value)
        raise numbers.error
    return Decoded(_repaired(value), [_repaired(path) for path in duplicates])


class _Numbers:
    """Reads the numbers of one text. The first one out of range is the text's error; the rest is read all the same."""

    def __init__(self) -> None:
        self.error: NumberRangeError | None = None

    def int(self, text: str) -> Any:
        try:
            return read_integer(text)
        except NumberRangeError as error:
            return self._infinite(error, text)

    def float(self, text: str) -> Any:
        try:
            return read_float(text)
        except NumberRangeError as error:
            return self._infinite(error, text)

    def _infinite(self, error: NumberRangeError, text: str) -> Any:
        self.error = self.error or error
        return math.copysign(math.inf, -1 if text.startswith("-") else 1)


def _explained(data: bytes, max_depth: int) -> str:
    """Go's words for a syntax error. Only the start is scanned: megabytes would take seconds."""
    error = syntax_error(data[:EXPLAINED], max_depth=max_depth)
    if len(data) > EXPLAINED and error in ("", END):
        return f"invalid character after the first {EXPLAINED} bytes of JSON input"
    return error


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities, which Python reads and JSON does not have."""
    raise ValueError(name)


def _repaired(value: Any) -> Any:
    """The value with U+FFFD in place of lone surrogates."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, list):
        return [_repaired(item) for item in value]
    if isinstance(value, dict):
        return {_repaired(key): _repaired(item) for key, item in value.items()}
    return value


class _Pairs(list[tuple[str, Any]]):
    """The members of an object in the order of the text."""


def _duplicates(text: str) -> list[str]:
    """The paths of keys that occur again in their object, in the order of the text, each once."""
    found: dict[str, None] = {}
    tree = json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
    if isinstance(tree, list):
        _collect_duplicates(tree, [], found)
    return list(found)


def _collect_duplicates(node: list[Any], path: list[str | int], found: dict[str, None]) -> None:
    """``path`` is that of ``node``, as a list: as a text it would be built for every member, duplicate or not."""
    if isinstance(node, _Pairs):
        seen: set[str] = set()
        for key, value in node:
            if key in seen and len(found) < MAX_DUPLICATES:
                found[_written([*path, key])] = None
            seen.add(key)
            if isinstance(value, list):
                _collect_duplicates(value, [*path, key], found)
    else:
        for index, value in enumerate(node):
            if isinstance(value, list):
                _collect_duplicates(value, [*path, index], found)


def _written(path: list[str | int]) -> str:
    """The path as text, ``spec.list[0].x``, or its beginning if it is long."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
        if len(text) > LONGEST_PATH:
            return f"{text[:LONGEST_PATH]}..."
    return text


def encode(obj: Any) -> bytes:
    """Encode as compact JSON without a newline, with sorted members. Equal objects have equal bytes.

    ``<``, ``>``, ``&`` and the two line separators are escaped, as by Go's encoder (behaviour G7).

    Raises:
        NotJSONError: The value is not JSON, or clients could not read it.
    """
    try:
        plain, narrow = looked_at(obj)
        if not narrow:
            obj = in_order(obj)
        return _escaped(_encoder.encode(obj if plain else written(obj)))
    except (TypeError, ValueError, RecursionError):
        written(obj)  # raises an error that says where
        raise


_FIRST = ("apiVersion", "kind", "metadata")


def encode_typed(obj: dict[str, Any]) -> bytes:
    """Encode an object like :func:`encode`, but with apiVersion, kind and metadata as its first members.

    Raises:
        NotJSONError: The value is not JSON, or clients could not read it.
    """
    first = encode({key: obj[key] for key in _FIRST if key in obj})
    rest = encode({key: value for key, value in obj.items() if key not in _FIRST})
    return rest if first == b"{}" else first if rest == b"{}" else b"%b,%b" % (first[:-1], rest[1:])


def _escaped(data: bytes) -> bytes:
    if b"<" in data:
        data = data.replace(b"<", b"\\u003c")
    if b">" in data:
        data = data.replace(b">", b"\\u003e")
    if b"&" in data:
        data = data.replace(b"&", b"\\u0026")
    if not data.isascii():
        data = data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return data


def encode_pretty(obj: Any) -> bytes:
    """Encode as JSON indented by two spaces, without a newline, like ``json.MarshalIndent`` (behaviour G7)."""
    return indented(encode(obj))


def encode_status(status: dict[str, Any]) -> bytes:
    """Encode like :func:`encode`, but with members in their order: kube-apiserver writes a ``Status`` from a Go struct.

    Text never fails: half of a surrogate pair, which an author's code may have put into a message, becomes U+FFFD.
    """
    try:
        data = _quick_encoder.encode(status)
    except UnicodeEncodeError:
        data = _quick_encoder.encode(_repaired(status))
    return _escaped(data)


def indented(data: bytes) -> bytes:
    """Indent compact JSON by two spaces."""
    return msgspec.json.format(data, indent=2)


def decode_stored(data: bytes) -> Any:
    """Decode a stored object, whatever its numbers are.

    A store may have integers of any length, from a time when they were not refused. Each is read as its float64, or as
    the largest one if no float64 holds it.
    """
    if has_long_number(data):
        return json.loads(data, parse_float=read_clamped, parse_int=read_clamped)
    return msgspec.json.decode(data)


_MARK = "?"


def encode_parts(obj: dict[str, Any], encoder: Callable[[Any], bytes] = encode) -> Parts:
    """Encode an object in two parts around the place of its resourceVersion, which is left out.

    Joined by :func:`join`, they have the same bytes as the whole object with that resourceVersion. Put together as they are,
    they are the object without one.

    Args:
        obj: The object.
        encoder: Encodes a whole object: :func:`encode` or :func:`encode_typed`.

    Raises:
        NotJSONError: The value is not JSON, or clients could not read it.
        ValueError: The object has no metadata.
    """
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        _refuse_parts()
    mark = _MARK
    while True:
        member = b'"resourceVersion":"%b"' % mark.encode()
        data = encoder({**obj, "metadata": {**metadata, "resourceVersion": mark}})
        if data.count(member) == 1:
            break
        mark = _MARK * len(data)  # another one of this length would not fit into the object
    head, _, tail = data.partition(member)
    if tail.startswith(b","):
        return head, tail[1:]
    return head.removesuffix(b","), tail


def _refuse_parts() -> NoReturn:
    raise ValueError("an object without metadata has no place for a resourceVersion")


def join(head: bytes, tail: bytes, revision: int) -> bytes:
    """Join an object that :func:`encode_parts` encoded, with ``revision`` as its resourceVersion."""
    if tail[:1] == b'"':
        return b'%b"resourceVersion":"%d",%b' % (head, revision, tail)
    comma = b"" if head.endswith(b"{") else b","  # it is the last member of metadata
    return b'%b%b"resourceVersion":"%d"%b' % (head, comma, revision, tail)
