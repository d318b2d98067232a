"""The body of a write as an object.

Responsible for: the way from bytes to a dict with the type that the endpoint expects, and the texts of every refusal on
that way, as kube-apiserver gives them for custom resources. Unknown fields are found later, by the schema; their texts
are made here. Must not know schemas, storage or HTTP.
Source: spec E10, E21, J24, the notes on decoding; ``apiserver/pkg/endpoints/handlers/rest.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extapi.codec import strictjson, strictyaml
from extapi.codec.negotiation import Format
from extapi.codec.options import Validation
from extapi.errors import BadRequest

__all__ = [
    "Body",
    "UntypedError",
    "check_version",
    "decode_object",
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


@dataclass(frozen=True, slots=True)
class Body:
    """A decoded object. ``duplicates``: texts of strict errors so far; empty when the client asked to ignore them."""

    value: dict[str, Any]
    duplicates: list[str] = field(default_factory=list)


class UntypedError(ValueError):
    """The object does not say what it is; ``kind`` is as much as was read of it."""

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
) -> Body:
    """The object in ``data``, of any kind and version.

    A wrong kind is left to validation, which answers 422 (spec J24); a wrong version to :func:`check_version`. Under
    ``Strict``, :func:`refuse_strict` comes after the schema has named unknown fields. Raises :class:`BadRequest`.
    """
    try:
        value, duplicates, out_of_range = read(data, body_format)
        found_kind, api_version = type_of(value, lambda: data)
        refuse_number(out_of_range, found_kind, api_version)
        if value.get("apiVersion", "") is None:
            why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
            raise UntypedError(why, found_kind)  # noqa: TRY301 - refused as what has no type
    except UntypedError as error:
        # A lenient decoder takes the kind from the endpoint before it misses it in the body.
        found = (error.kind, error.version)
        if mode == "Ignore" and not error.kind:
            found = (kind, error.version or group_version.rpartition("/")[2])
        raise refused(str(error), data, kind, *found) from None
    except ValueError as error:
        raise refused(str(error), data, kind, "", "") from None
    return Body(value, [] if mode == "Ignore" else duplicates)


def check_version(value: Mapping[str, Any], group_version: str) -> None:
    """Raises :class:`BadRequest` for an object that is not of ``group_version``; comes after all that reading it says."""
    found = value.get("apiVersion") or ""
    if found != group_version:
        raise BadRequest(
            f"the API version in the data ({found}) does not match the expected API version ({group_version})"
        )


def read(data: bytes, body_format: Format) -> tuple[Any, list[str], str]:
    """The value, the texts of its duplicate keys, and the refusal of a number that no float64 holds ("": all are good).

    The latter is no error yet, since kube-apiserver reads of which kind an object is before it reads the numbers. Raises
    ``ValueError`` with the parser's words.
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
    """Raises :class:`UntypedError` with the text that :func:`read` gave, now that the type is known; none for ""."""
    if out_of_range:
        raise UntypedError(out_of_range, kind, api_version.rpartition("/")[2])


def type_of(value: Any, data: Callable[[], bytes]) -> tuple[str, str]:
    """Kind and apiVersion of a decoded body; ``data`` gives the body itself, for the text. Raises :class:`UntypedError`."""
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
    """The type of a JSON value as ``encoding/json`` names it in errors."""
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
    """The refusal of a body (spec E10): one text where a kind was read, another where none was. ``wanted``: the kind expected."""
    if kind:
        return BadRequest(f'{kind} in version "{version}" cannot be handled as a {wanted}: {why}')
    return BadRequest(f"the object provided is unrecognized (must be of type {wanted}): {why} ({_summary(data)})")


def _summary(data: bytes) -> str:
    """The first bytes of a body: as text if it looks like JSON, else as hexadecimal digits."""
    if not data:
        return "<empty>"
    start = data[:_SUMMARY]
    text = start.decode(errors="replace") if start.startswith(b"{") else start.hex()
    return text + (" ..." if len(data) > _SUMMARY else "")


def _strict_texts(unknown: Iterable[str], duplicates: Iterable[str]) -> list[str]:
    """Each error once; what the decoder found comes before what the schema did not know."""
    return list(dict.fromkeys([*duplicates, *(f'unknown field "{path}"' for path in unknown)]))


def strict_error(unknown: Iterable[str], duplicates: Iterable[str]) -> str:
    """The text for ``Strict``, "" if there is nothing to say. ``unknown``: paths; ``duplicates``: of :class:`Body`."""
    texts = _strict_texts(unknown, duplicates)
    return "strict decoding error: " + ", ".join(texts) if texts else ""


def strict_warnings(unknown: Iterable[str], duplicates: Iterable[str]) -> list[str]:
    """The texts for ``Warn``, one warning each; of YAML errors one a line."""
    warnings = []
    for text in _strict_texts(unknown, duplicates):
        lines = text.removeprefix(_YAML_PREFIX).split("\n") if text.startswith(_YAML_PREFIX) else [text]
        warnings += [line.strip() for line in lines]
    return warnings


def refuse_strict(kind: str, version: str, unknown: Iterable[str], duplicates: Iterable[str]) -> None:
    """Under ``Strict``, after the schema: raises :class:`BadRequest` if there is anything (spec E21 through E10)."""
    text = strict_error(unknown, duplicates)
    if text:
        raise BadRequest(f'{kind} in version "{version}" cannot be handled as a {kind}: {text}')
