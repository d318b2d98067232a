"""Whether a value is of the type that a schema wants, worded as by kube-apiserver (behaviour J22).

Source: ``k8s.io/kube-openapi/pkg/validation/validate`` typeValidator.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from extapi.errors import FieldError, go_quote
from extapi.schema.number import is_whole


class WantedTypes(NamedTuple):
    """What a schema says of the type of a value."""

    types: tuple[str, ...]
    format: str
    nullable: bool
    lenient: bool
    """Whether text and lists fit any type with a format, but numbers."""


_NUMERIC: Final = frozenset({"integer", "number"})


def wrong_type(of: WantedTypes, kind: str, value: Any, path: str) -> FieldError | None:
    """The error of a value of another type; None if it fits.

    Args:
        of: What the schema says.
        kind: The value's JSON type, as :func:`extapi.schema.number.json_type` names it.
        value: The value.
        path: Where it is, for the text.
    """
    types, name = of.types, of.format
    if kind == "null":
        return type_invalid(path, ",".join(types), "null") if types and not of.nullable else None
    if (
        kind in types
        or (kind == "integer" and "number" in types)
        or (
            kind == "number"
            and "integer" in types
            and is_whole(value)
            and (types == ("integer",) or value.is_integer())
        )
    ):
        return None
    if name and kind not in {"string", "array"}:
        # Go names the formats of its number types here; other types have none.
        got = {"integer": "int64", "number": "float64"}.get(kind, "")
        if got != name:
            return type_invalid(path, name, got)
    elif not types or (of.lenient and name and not _NUMERIC.intersection(types)):
        return None
    return type_invalid(path, ",".join(types), kind)


def type_invalid(path: str, wanted: str, got: str) -> FieldError:
    """The error of a value of the type or format ``got``, where ``wanted`` is."""
    return FieldError.type_invalid(path, got, f"{path} in body must be of type {wanted}: {go_quote(got)}")
