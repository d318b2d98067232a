"""What each marker does to a schema, and on which types it may stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

from extapi.api import markers as m
from extapi.schema.structural import Structural

_NUMBERS: Final = ("integer", "number")
_FIELDS: Final[Mapping[type[m.Marker], tuple[tuple[str, ...], str, str]]] = {
    m.MultipleOf: (_NUMBERS, "multiple_of", "value"),
    m.MinLength: (("string",), "min_length", "value"),
    m.MaxLength: (("string",), "max_length", "value"),
    m.Pattern: (("string",), "pattern", "value"),
    m.Format: (("string", *_NUMBERS), "format", "value"),
    m.OneOf: (("string", "boolean", *_NUMBERS), "enum", "values"),
    m.MinItems: (("array",), "min_items", "value"),
    m.MaxItems: (("array",), "max_items", "value"),
    m.MinProperties: (("object",), "min_properties", "value"),
    m.MaxProperties: (("object",), "max_properties", "value"),
    m.Description: ((), "description", "text"),
    m.Default: ((), "default", "value"),
}
"""Markers that set one field: on which types (empty: all), which field, and where their value stands."""

_TYPES: Final[Mapping[type[m.Marker], tuple[str, ...]]] = {
    m.Minimum: _NUMBERS,
    m.Maximum: _NUMBERS,
    m.ListSet: ("array",),
    m.ListMap: ("array",),
    m.Atomic: ("array", "object"),
    m.MergeKey: ("array",),
    m.PreserveUnknown: ("object",),
    m.EmbeddedResource: ("object",),
}
_PYTHON: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list[...]",
    "object": "dict[str, ...] or a Struct",
}
_SETS: Final[Mapping[type[m.Marker], Callable[[Any, Structural], dict[str, Any]]]] = {
    m.Minimum: lambda marker, _: {"minimum": marker.value, "exclusive_minimum": marker.exclusive},
    m.Maximum: lambda marker, _: {"maximum": marker.value, "exclusive_maximum": marker.exclusive},
    m.ListSet: lambda _, __: {"list_type": "set"},
    m.ListMap: lambda marker, _: {"list_type": "map", "list_map_keys": marker.keys},
    m.Atomic: lambda _, node: {"list_type" if node.type == "array" else "map_type": "atomic"},
    m.MergeKey: lambda marker, _: {"patch_strategy": "merge", "patch_merge_key": marker.key},
    m.Nullable: lambda _, __: {"nullable": True},
    m.PreserveUnknown: lambda _, __: {"preserve_unknown": True},
    m.EmbeddedResource: lambda _, __: {"embedded_resource": True},
    m.IntOrString: lambda _, __: {"int_or_string": True},
}


def mark(node: Structural, marker: m.Marker, where: str) -> Structural:
    """``node`` with what ``marker`` says. Raises ``TypeError`` where it does not belong; ``where``: Class.field."""
    kind = type(marker)
    if kind in _FIELDS:
        wanted, name, source = _FIELDS[kind]
        changes = {name: getattr(marker, source)}
    elif kind in _SETS:
        wanted = _TYPES.get(kind, ())
        changes = _SETS[kind](marker, node)
    else:
        raise TypeError(f"{where}: {kind.__name__} is no marker of extapi")
    if wanted and not set(node.types) & set(wanted):
        types = ", ".join(_PYTHON[name] for name in wanted)
        raise TypeError(
            f"{where}: {kind.__name__} is for {types}; move it to the part of the annotation that it is about"
        )
    if kind is m.PreserveUnknown and node.additional_properties is not None:
        raise TypeError(f"{where}: PreserveUnknown keeps values of any type; write it on dict[str, Any]")
    return dataclasses.replace(node, **changes)
