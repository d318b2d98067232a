"""Schemas as kube-apiserver shows them in errors: its internal types as Go's ``json.Marshal`` writes them.

Members have the names of Go's fields and their order, and all are there, also those that say nothing.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions`` types_jsonschema.go.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

_HTML: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_WHOLE: Final = 10**21
"""From here on Go writes floats with an exponent."""

_TEXT, _FLAG, _POINTER, _LIST = "text", "flag", "pointer", "list"
SCHEMA_FIELDS: Final = (
    ("ID", "id", _TEXT),
    ("Schema", "$schema", _TEXT),
    ("Ref", "$ref", _POINTER),
    ("Description", "description", _TEXT),
    ("Type", "type", _TEXT),
    ("Nullable", "nullable", _FLAG),
    ("Format", "format", _TEXT),
    ("Title", "title", _TEXT),
    ("Default", "default", _POINTER),
    ("Maximum", "maximum", _POINTER),
    ("ExclusiveMaximum", "exclusiveMaximum", _FLAG),
    ("Minimum", "minimum", _POINTER),
    ("ExclusiveMinimum", "exclusiveMinimum", _FLAG),
    ("MaxLength", "maxLength", _POINTER),
    ("MinLength", "minLength", _POINTER),
    ("Pattern", "pattern", _TEXT),
    ("MaxItems", "maxItems", _POINTER),
    ("MinItems", "minItems", _POINTER),
    ("UniqueItems", "uniqueItems", _FLAG),
    ("MultipleOf", "multipleOf", _POINTER),
    ("Enum", "enum", _LIST),
    ("MaxProperties", "maxProperties", _POINTER),
    ("MinProperties", "minProperties", _POINTER),
    ("Required", "required", _LIST),
    ("Items", "items", "items"),
    ("AllOf", "allOf", "schemas"),
    ("OneOf", "oneOf", "schemas"),
    ("AnyOf", "anyOf", "schemas"),
    ("Not", "not", "schema"),
    ("Properties", "properties", "named"),
    ("AdditionalProperties", "additionalProperties", "schema or flag"),
    ("PatternProperties", "patternProperties", "named"),
    ("Dependencies", "dependencies", "dependencies"),
    ("AdditionalItems", "additionalItems", "schema or flag"),
    ("Definitions", "definitions", "named"),
    ("ExternalDocs", "externalDocs", "docs"),
    ("Example", "example", _POINTER),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", _POINTER),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", _FLAG),
    ("XIntOrString", "x-kubernetes-int-or-string", _FLAG),
    ("XListMapKeys", "x-kubernetes-list-map-keys", _LIST),
    ("XListType", "x-kubernetes-list-type", _POINTER),
    ("XMapType", "x-kubernetes-map-type", _POINTER),
    ("XValidations", "x-kubernetes-validations", "rules"),
)
"""The fields of Go's ``JSONSchemaProps`` in their order: their names, their keywords, and what they hold."""


def fields_set(schema: Mapping[str, Any]) -> list[str]:
    """Go's names of the fields of a schema that are not zero."""
    return [
        name
        for name, keyword, kind in SCHEMA_FIELDS
        if (schema.get(keyword) if kind in {_TEXT, _FLAG} else schema.get(keyword) is not None)
    ]


def schema_as_go(schema: Any) -> dict[str, Any] | None:
    """A schema as JSON of Go's internal type; None if it is none."""
    if not isinstance(schema, Mapping):
        return None
    return {name: _field(kind, schema.get(keyword)) for name, keyword, kind in SCHEMA_FIELDS}


def items_as_go(items: Any) -> dict[str, Any] | None:
    """What stands in ``items``: a schema, or several."""
    if items is None:
        return None
    several = [schema_as_go(each) for each in items] if isinstance(items, list) and items else None
    return {"Schema": schema_as_go(items), "JSONSchemas": several}


def go_json(value: Any) -> str:
    """Compact JSON with members in their order, and the escapes of Go's ``json.Marshal``."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_HTML).encode(errors="replace").decode()


def _field(kind: str, value: Any) -> Any:
    if kind == _TEXT:
        return value or ""
    if kind == _FLAG:
        return bool(value)
    if value is None:
        return None
    if kind in _READERS:
        return _READERS[kind](value)
    return _plain(value)


def _plain(value: Any) -> Any:
    """JSON as Go reads and writes it: members sorted, whole floats without a point."""
    if isinstance(value, Mapping):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE else value


def _named(schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {name: schema_as_go(schemas[name]) for name in sorted(schemas)}


def _schema_or_flag(value: Any) -> dict[str, Any]:
    return {"Allows": value is not False, "Schema": schema_as_go(value)}


def _dependencies(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {"Schema": schema_as_go(found[name]), "Property": found[name] if isinstance(found[name], list) else None}
        for name in sorted(found)
    }


def _docs(found: Mapping[str, Any]) -> dict[str, Any]:
    return {"Description": found.get("description") or "", "URL": found.get("url") or ""}


def _rules(found: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "Rule": rule.get("rule") or "",
            "Message": rule.get("message") or "",
            "MessageExpression": rule.get("messageExpression") or "",
            "Reason": rule.get("reason"),
            "FieldPath": rule.get("fieldPath") or "",
            "OptionalOldSelf": rule.get("optionalOldSelf"),
        }
        for rule in found
    ]


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "items": items_as_go,
    "schemas": lambda value: [schema_as_go(each) for each in value],
    "schema": schema_as_go,
    "named": _named,
    "schema or flag": _schema_or_flag,
    "dependencies": _dependencies,
    "docs": _docs,
    "rules": _rules,
}
