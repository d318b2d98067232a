"""How values look in error messages, such as ``no such key: k``.

Source: Go's ``fmt`` with ``%v`` on the values of ``github.com/google/cel-go/common/types``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from extapi.errors import go_float
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values.durations import show_duration
from extapi.schema.cel.values.time import show_timestamp
from extapi.schema.cel.values.values import (
    Duration,
    OptionalValue,
    SchemaList,
    SchemaMap,
    Timestamp,
    TypeValue,
    UInt,
    type_name,
)

LONGEST: Final = 4096
"""Characters of a value that are shown. Go shows all of them, but a message repeats what a client has sent."""
_DEEPEST: Final = 32
_TYPES: Final = {"list": "list(dyn)", "map": "map(dyn, dyn)"}


def show(value: Any) -> str:
    """The value as Go prints it."""
    out: list[str] = []
    _show(value, out, LONGEST, _DEEPEST)
    return "".join(out)


def _show(value: Any, out: list[str], room: int, depth: int) -> int:
    """Add a value's parts to ``out``; what is left of ``room``."""
    shown = _SCALARS.get(type(value))
    if shown is not None:
        text = shown(value)
        if len(text) > room:
            text = f"{text[:room]}..."
        out.append(text)
        return room - len(text)
    if room <= 0 or depth == 0:
        out.append("...")
        return 0
    if isinstance(value, list):
        return _show_list(value, out, room, depth - 1)
    if isinstance(value, dict):
        return _show_map(value, out, room, depth - 1)
    if isinstance(value, OptionalValue):
        if not value.present:
            out.append("optional.none()")
            return room
        out.append("optional(")
        room = _show(value.value, out, room, depth - 1)
        out.append(")")
        return room
    out.append(str(value)[:room])
    return room


def _show_list(value: list[Any], out: list[str], room: int, depth: int) -> int:
    out.append("[")
    for index, each in enumerate(value):
        if index:
            out.append(", ")
        room = _show(each, out, room - 2, depth)
        if room <= 0:
            break
    out.append("]")
    return room


def _show_map(value: dict[Any, Any], out: list[str], room: int, depth: int) -> int:
    out.append("{")
    for index, (key, each) in enumerate(value.items()):
        if index:
            out.append(", ")
        room = _show(key, out, room - 4, depth)
        out.append(": ")
        room = _show(each, out, room, depth)
        if room <= 0:
            break
    out.append("}")
    return room


def _show_bytes(value: bytes) -> str:
    return f"[{' '.join(map(str, value[:LONGEST]))}]"


_SCALARS: Final[dict[type, Callable[[Any], str]]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    int: int.__repr__,
    UInt: int.__repr__,
    float: go_float,
    bytes: _show_bytes,
    type(None): lambda _: "0",  # Go's null is a number of an enumeration
    Duration: show_duration,
    Timestamp: show_timestamp,
    TypeValue: lambda value: _TYPES.get(value.name, value.name),
}


_GO_TYPES: Final[dict[type, str]] = {
    bool: "types.Bool",
    bytes: "types.Bytes",
    EvaluationError: "*types.Err",
    float: "types.Double",
    int: "types.Int",
    str: "types.String",
    type(None): "types.Null",
    Duration: "types.Duration",
    OptionalValue: "*types.Optional",
    Timestamp: "types.Timestamp",
    TypeValue: "*types.Type",
    UInt: "types.Uint",
}


def go_type(value: Any) -> str:
    """The name of a value's type in Go, which some errors show."""
    if isinstance(value, SchemaList):
        return f"*common.unstructured{type(value).__name__.removeprefix('Schema')}"
    if isinstance(value, SchemaMap):
        return "*common.unstructuredMap"
    if isinstance(value, list):
        return "*types.baseList"
    if isinstance(value, dict):
        return "*types.baseMap"
    return _GO_TYPES.get(type(value)) or type_name(value).replace("kubernetes.", "cel.").replace("net.", "cel.")
