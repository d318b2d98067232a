"""Decodes the body of a write into an object.

Responsible for: the way from bytes to a dict of the kind and version that the endpoint expects, and the texts of all
errors on that way, as kube-apiserver words them for custom resources. The schema finds unknown fields later; their
texts are made here. Must not know schemas, storage or HTTP (behaviour E10, E21, J24, N3).

Source: ``k8s.io/apiserver/pkg/endpoints/handlers/rest.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from extapi.api.behaviour import CUSTOM_RESOURCE, Decoding, Serializer
from extapi.codec import strictjson, strictyaml
from extapi.codec.negotiation import Format
from extapi.codec.options import Validation
from extapi.errors import BadRequest

__all__ = [
    "DecodedBody",
    "UntypedError",
    "check_version",
    "decode_envelope",
    "decode_object",
    "not_registered",
    "read",
    "refuse_number",
    "refuse_strict",
    "refused",
    "strict_error",
    "strict_warnings",
    "type_of",
]

_SUMMARY = 30
_YAML_PREFIX = "yaml: unmarshal errors:\n  "


class DecodedBody(msgspec.Struct, frozen=True):
    """A decoded object.

    ``duplicates`` has the texts of strict errors so far; none if the client asked to ignore them.
    """

    value: dict[str, Any]
    duplicates: list[str] = []


class UntypedError(ValueError):
    """The object does not say what it is; ``kind`` and ``version`` are what could be read."""

    def __init__(self, message: str, kind: str = "", version: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.version = version


def decode_object(
    data: bytes,
    body_format: Format,
    *,
    kind: str,
    group_version: str,
    mode: Validation = "Warn",
    rules: Decoding = CUSTOM_RESOURCE.decoding,
) -> DecodedBody:
    """Decode an object of any kind and version that ``rules`` allow.

    Validation refuses a wrong kind, with 422 (behaviour J24), and :func:`check_version` a wrong version. Under
    ``Strict``, call :func:`refuse_strict` once the schema has found unknown fields.

    Args:
        data: The body.
        body_format: Its format.
        kind: The kind that the endpoint expects, for errors.
        group_version: The version that the endpoint expects, for errors.
        mode: What the client wants to know about unknown and duplicate fields.
        rules: What the body has to say of its type.

    Raises:
        BadRequest: The body is not an object with a kind, or of a wrong one.
    """
    try:
        value, duplicates, out_of_range = read(data, body_format)
        value = rules.typed(value, kind, group_version)
        found_kind, api_version = type_of(value, lambda: data)
        _check_type(rules, found_kind, api_version, kind, group_version)
        refuse_number(out_of_range, found_kind, api_version)
        if value.get("apiVersion", "") is None:
            why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
            raise UntypedError(why, found_kind)  # noqa: TRY301 - the same refusal as for an object without a type
    except UntypedError as error:
        # Go's lenient decoder takes a missing kind from the endpoint.
        found = (error.kind, error.version)
        if mode == "Ignore" and not error.kind and rules.lenient_about_kind:
            found = (kind, error.version or group_version.rpartition("/")[2])
        raise refused(str(error), data, kind, *found) from None
    except ValueError as error:
        raise refused(str(error), data, kind, "", "") from None
    return DecodedBody(value, [] if mode == "Ignore" else duplicates)


def decode_envelope(
    data: bytes, serializer: Serializer, *, kind: str, group_version: str, rules: Decoding
) -> DecodedBody:
    """The object in a body that is not text. What the envelope does not say of its type is the endpoint's.

    Raises:
        BadRequest: The body cannot be read, or is of a type that ``rules`` refuse.
    """
    try:
        return DecodedBody(_unwrapped(data, serializer, kind, group_version, rules))
    except UntypedError as error:
        raise refused(str(error), data, kind, error.kind, error.version) from None
    except ValueError as error:
        raise refused(str(error), data, kind, "", "") from None


def _unwrapped(data: bytes, serializer: Serializer, kind: str, group_version: str, rules: Decoding) -> dict[str, Any]:
    api_version, found_kind, content = serializer.unwrap(data)
    if not api_version or api_version.count("/") > 1:
        api_version = group_version
    found_kind = found_kind or kind
    _check_type(rules, found_kind, api_version, kind, group_version)
    try:
        return {"apiVersion": api_version, "kind": found_kind, **serializer.decode(found_kind, content)}
    except ValueError as error:
        raise UntypedError(str(error), found_kind, api_version.rpartition("/")[2]) from None


def _check_type(rules: Decoding, kind: str, api_version: str, wanted: str, group_version: str) -> None:
    why = rules.wrong_type(kind, api_version, wanted, group_version)
    if why:
        raise UntypedError(why, kind, api_version.rpartition("/")[2])


def not_registered(kind: str, api_version: str) -> str:
    """The text for a type that nothing is known of."""
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'


def check_version(value: Mapping[str, Any], group_version: str) -> None:
    """Refuse an object of another version; call it after all other checks of decoding.

    Raises:
        BadRequest: The object is not in ``group_version``.
    """
    found = value.get("apiVersion") or ""
    if found != group_version:
        raise BadRequest(
            f"the API version in the data ({found}) does not match the expected API version ({group_version})"
        )


def read(data: bytes, body_format: Format) -> tuple[Any, list[str], str]:
    """Parse a body.

    Returns:
        The value, the texts about duplicate keys, and the error of a number that no float64 holds ("" if there is
        none). That error is not raised here, because kube-apiserver reads an object's kind before its numbers.

    Raises:
        ValueError: The text cannot be parsed; the message is the parser's.
    """
    if body_format == "yaml":
        decoded = strictyaml.decode(data)
        return decoded.value, [_YAML_PREFIX + "\n  ".join(decoded.duplicates)] if decoded.duplicates else [], ""
    try:
        decoded = strictjson.decode(data)
    except strictjson.NumberRangeError as error:
        return error.value, [], str(error)
    except strictjson.JSONError as error:
        raise ValueError(f"couldn't get version/kind; json parse error: {error}") from None
    return decoded.value, [f'duplicate field "{path}"' for path in decoded.duplicates], ""


def refuse_number(out_of_range: str, kind: str, api_version: str) -> None:
    """Refuse a number that :func:`read` reported, now that the type is known.

    Raises:
        UntypedError: ``out_of_range`` is not empty.
    """
    if out_of_range:
        raise UntypedError(out_of_range, kind, api_version.rpartition("/")[2])


def type_of(value: Any, data: Callable[[], bytes]) -> tuple[str, str]:
    """The kind and apiVersion of a decoded body; ``data`` returns the body itself, for the error.

    Raises:
        UntypedError: The body is not an object, or does not say its kind.
    """
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise UntypedError(
            f"couldn't get version/kind; json parse error: json: cannot unmarshal {json_type(value)} into an object"
        )
    for name in ("apiVersion", "kind"):
        found = value.get(name)
        if found is not None and not isinstance(found, str):
            raise UntypedError(
                "couldn't get version/kind; json parse error: json: cannot unmarshal "
                f"{json_type(found)} into Go struct field .{name} of type string"
            )
    kind, api_version = value.get("kind") or "", value.get("apiVersion") or ""
    if api_version.count("/") > 1:
        raise UntypedError(f"unexpected GroupVersion string: {api_version}")
    if not kind:
        why = f"Object 'Kind' is missing in '{data().decode(errors='replace')}'"
        raise UntypedError(why, version=api_version.rpartition("/")[2])
    return kind, api_version


def json_type(value: Any) -> str:
    """The type of a JSON value as errors of ``encoding/json`` name it."""
    if value is None:
        return "null"
    names: Sequence[tuple[type, str]] = (
        (bool, "bool"),
        (int, "number"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
    )
    return next((name for known, name in names if isinstance(value, known)), "object")


def refused(why: str, data: bytes, wanted: str, kind: str, version: str) -> BadRequest:
    """The error of a body that is not of kind ``wanted`` (behaviour E10).

    The text depends on whether a kind could be read.
    """
    if kind:
        return BadRequest(f'{kind} in version "{version}" cannot be handled as a {wanted}: {why}')
    return BadRequest(f"the object provided is unrecognized (must be of type {wanted}): {why} ({_summary(data)})")


def _summary(data: bytes) -> str:
    """The first bytes of a body: as text if it looks like JSON, otherwise as hexadecimal digits."""
    if not data:
        return "<empty>"
    start = data[:_SUMMARY]
    text = start.decode(errors="replace") if start.startswith(b"{") else start.hex()
    return text + (" ..." if len(data) > _SUMMARY else "")


def _strict_texts(unknown: Iterable[str], duplicates: Iterable[str]) -> list[str]:
    """The texts, each once: errors of the decoder first, then unknown fields."""
    return list(dict.fromkeys([*duplicates, *(f'unknown field "{path}"' for path in unknown)]))


def strict_error(unknown: Iterable[str], duplicates: Iterable[str]) -> str:
    """The error under ``Strict``, or "". ``unknown`` has paths, ``duplicates`` is that of :class:`DecodedBody`."""
    texts = _strict_texts(unknown, duplicates)
    return "strict decoding error: " + ", ".join(texts) if texts else ""


def strict_warnings(unknown: Iterable[str], duplicates: Iterable[str]) -> list[str]:
    """The warnings under ``Warn``; an error of YAML becomes one warning per line."""
    warnings = []
    for text in _strict_texts(unknown, duplicates):
        lines = text.removeprefix(_YAML_PREFIX).split("\n") if text.startswith(_YAML_PREFIX) else [text]
        warnings += [line.strip() for line in lines]
    return warnings


def refuse_strict(kind: str, version: str, unknown: Iterable[str], duplicates: Iterable[str]) -> None:
    """Refuse unknown and duplicate fields under ``Strict``, once the schema has found them (behaviour E10, E21).

    Raises:
        BadRequest: There are such fields.
    """
    text = strict_error(unknown, duplicates)
    if text:
        raise BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {text}')
