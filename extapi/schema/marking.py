"""Translates markers into schema keywords, and checks that they stand on types that they fit.

Inside ``allOf``, ``anyOf``, ``oneOf`` and ``not``, only markers that validate values are allowed, and only about
members that the structure has outside of them (API concept "Specifying a structural schema").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from extapi.api import markers as m
from extapi.api.declaration import DeclarationError
from extapi.api.rule import Rule
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
"""Markers that set one field of a schema: the types (empty: all), the field, and the marker's own field with the
value."""

_TYPES: Final[Mapping[type[m.Marker], tuple[str, ...]]] = {
    m.Minimum: _NUMBERS,
    m.Maximum: _NUMBERS,
    m.ListSet: ("array",),
    m.ListMap: ("array",),
    m.Atomic: ("array", "object"),
    m.MergeKey: ("array",),
    m.Repeatable: ("array",),
    m.PreserveUnknown: ("object",),
    m.EmbeddedResource: ("object",),
    m.Required: ("object",),
    m.Property: ("object",),
    m.Items: ("array",),
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
    m.Repeatable: lambda _, __: {"list_repeats": True},
    m.Nullable: lambda _, __: {"nullable": True},
    m.PreserveUnknown: lambda _, __: {"preserve_unknown": True},
    m.EmbeddedResource: lambda _, __: {"embedded_resource": True},
    m.IntOrString: lambda _, __: {"int_or_string": True},
    m.Required: lambda marker, node: {"required": _joined(node.required, marker.names)},
    Rule: lambda marker, node: {"validations": (*node.validations, written_rule(marker))},
}
_ALTERNATIVES: Final[Mapping[type[m.Marker], str]] = {
    m.AllOf: "all_of",
    m.AnyOf: "any_of",
    m.ExactlyOneOf: "one_of",
}
_NAMES: Final = frozenset({"name", "generateName"})
_ONLY_INSIDE: Final = (m.Property, m.Items)
_OF_STRUCTURE: Final = frozenset(_SETS.keys() | {m.Description, m.Default}) - {m.Minimum, m.Maximum, m.Required}
"""Markers about the structure, which no value can break."""


def mark(node: Structural, marker: m.Marker, where: str) -> Structural:
    """``node`` with the marker applied.

    Args:
        node: The schema of the annotated type.
        marker: The marker.
        where: The class and field, as ``Class.field``, for errors.

    Raises:
        DeclarationError: The marker does not fit the type.
    """
    kind = type(marker)
    if isinstance(marker, _ONLY_INSIDE):
        name = kind.__name__
        raise DeclarationError(
            f"{where}: {name} cannot stand alone; write AllOf({name}(...)), or mark the field that it is about"
        )
    _check_type(node.types, marker, where)
    if kind is Rule and not node.types:
        raise DeclarationError(f"{where}: Rule is for values whose type is known; write the check in Strategy.validate")
    if kind is m.PreserveUnknown and node.additional_properties is not None:
        raise DeclarationError(f"{where}: PreserveUnknown keeps values of any type; write it on dict[str, Any]")
    return dataclasses.replace(node, **_changes(node, node, marker, where))


def written_rule(rule: Rule) -> dict[str, Any]:
    """A rule as it stands in ``x-kubernetes-validations``."""
    written = {
        "rule": rule.rule,
        "message": rule.message,
        "messageExpression": rule.message_expression,
        "reason": rule.reason,
        "fieldPath": rule.field_path,
        "optionalOldSelf": rule.optional_old_self,
    }
    return {key: value for key, value in written.items() if value or key == "rule"}


def mark_metadata(markers: Iterable[m.Marker], where: str) -> Structural:
    """The schema of ``metadata`` at the root: rules on ``name`` and ``generateName``, and no others.

    Raises:
        DeclarationError: There is a marker of another kind.
    """
    properties: dict[str, Structural] = {}
    for marker in markers:
        if not isinstance(marker, m.Property) or marker.name not in _NAMES:
            raise DeclarationError(
                f"{where}: a schema can constrain only the names in metadata; write Property('name', ...) or "
                "Property('generateName', ...), and other rules in Strategy.validate"
            )
        node = properties.get(marker.name, Structural(type="string"))
        for inner in marker.markers:
            node = mark(node, inner, f"{where}: Property({marker.name!r})")
        properties[marker.name] = node
    return Structural(type="object", properties=properties)


def _branch(node: Structural, markers: Iterable[m.Marker], where: str) -> Structural:
    """The schema of ``markers`` inside a junctor; ``node`` is the structure outside of it, which has the types."""
    made = Structural()
    for marker in markers:
        kind = type(marker)
        if kind in _OF_STRUCTURE:
            raise DeclarationError(f"{where}: {kind.__name__} is not allowed inside; put it beside")
        if node.types:
            _check_type(node.types, marker, where)
        made = dataclasses.replace(made, **_changes(made, node, marker, where))
    return made


def _changes(made: Structural, node: Structural, marker: m.Marker, where: str) -> dict[str, Any]:
    """The fields of ``made`` that ``marker`` sets, with their values. Outside of junctors ``made`` is ``node``."""
    kind = type(marker)
    if kind in _FIELDS:
        _, name, source = _FIELDS[kind]
        return {name: getattr(marker, source)}
    if isinstance(marker, m.Required):
        if not marker.names or not all(isinstance(name, str) for name in marker.names):
            raise DeclarationError(f"{where}: Required takes names; write Required('a', 'b')")
        _check_members(node, marker, marker.names, where)
    if kind in _SETS:
        return _SETS[kind](marker, made)
    inside = f"{where}: {kind.__name__}"
    if isinstance(marker, m.AllOf | m.AnyOf | m.ExactlyOneOf):
        name = _ALTERNATIVES[kind]
        before: tuple[Structural, ...] = getattr(made, name)
        if before and name != "all_of":
            raise DeclarationError(f"{inside} occurs twice; write AllOf({kind.__name__}(...), {kind.__name__}(...))")
        if not marker.branches:
            raise DeclarationError(f"{inside} is empty; write the markers that must hold")
        return {name: (*before, *(_branch(node, _together(branch, inside), inside) for branch in marker.branches))}
    if isinstance(marker, m.Not):
        if made.not_ is not None:
            raise DeclarationError(f"{inside} occurs twice; write AllOf(Not(...), Not(...))")
        return {"not_": _branch(node, marker.markers, inside)}
    if isinstance(marker, m.Property):
        _check_members(node, marker, (marker.name,), where)
        inner = _branch(node.properties[marker.name], marker.markers, f"{inside}({marker.name!r})")
        if marker.name in made.properties:
            raise DeclarationError(f"{inside}({marker.name!r}) occurs twice; write all of its markers in one")
        return {"properties": {**made.properties, marker.name: inner}}
    if isinstance(marker, m.Items):
        if node.items is None:
            raise DeclarationError(f"{inside} needs a list whose items have a type")
        return {"items": _branch(node.items, marker.markers, inside)}
    raise DeclarationError(f"{inside} is not a marker of extapi")


def _together(branch: m.Branch, where: str) -> Iterable[m.Marker]:
    markers = (branch,) if isinstance(branch, m.Marker) else branch
    for marker in markers:
        if not isinstance(marker, m.Marker):
            raise DeclarationError(
                f"{where} takes markers, and {marker!r} is not one; write Required(...), Pattern(...), ..."
            )
    return markers


def _check_type(types: tuple[str, ...], marker: m.Marker, where: str) -> None:
    kind = type(marker)
    wanted = _FIELDS[kind][0] if kind in _FIELDS else _TYPES.get(kind, ())
    if wanted and not set(types) & set(wanted):
        python = ", ".join(_PYTHON[name] for name in wanted)
        raise DeclarationError(
            f"{where}: {kind.__name__} is for {python}; move it to the part of the annotation that it is about"
        )


def _check_members(node: Structural, marker: m.Marker, names: Iterable[str], where: str) -> None:
    """Members that a Struct has no field for can be neither required nor constrained."""
    if isinstance(marker, m.Required) and (node.additional_properties is not None or node.preserve_unknown):
        return
    for name in names:
        if name not in node.properties:
            known = f"its fields are {', '.join(node.properties)} in JSON" if node.properties else "it has no fields"
            raise DeclarationError(f"{where}: {type(marker).__name__}: there is no field {name!r}; {known}")


def _joined(before: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *names)))
