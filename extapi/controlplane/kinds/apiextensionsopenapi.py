"""The schema of schemas in OpenAPI documents: it refers to itself, which structural schemas cannot.

Clients explain by it, and an apply is merged along it: a keyword that it does not have is refused.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/v1`` types_jsonschema.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from extapi.api.types import Obj
from extapi.controlplane.builtin.behaviour import BuiltInOpenAPI

_PREFIX: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_SCHEMA: Final = f"{_PREFIX}JSONSchemaProps"
_PATH: Final = ("properties", "spec", "properties", "versions", "items", "properties", "schema", "properties")
"""Where the schema of schemas belongs in that of definitions."""

_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
_COUNT: Final = {"type": "integer", "format": "int64"}
_NUMBER: Final = {"type": "number", "format": "double"}
_TEXTS: Final = {"type": "array", "items": _TEXT, "x-kubernetes-list-type": "atomic"}

_OTHERS: Final[Mapping[str, str]] = {
    "JSON": "Any JSON value.",
    "JSONSchemaPropsOrArray": "A schema, or a list of schemas.",
    "JSONSchemaPropsOrBool": "A schema, or true or false.",
    "JSONSchemaPropsOrStringArray": "A schema, or a list of names.",
}
"""Types that may be one thing or another: nothing is said of them but this."""

_PLAIN: Final[Mapping[str, Obj]] = {
    "$ref": _TEXT,
    "$schema": _TEXT,
    "description": _TEXT,
    "exclusiveMaximum": _FLAG,
    "exclusiveMinimum": _FLAG,
    "format": {**_TEXT, "description": "The format of a string or number. An unknown one is not checked."},
    "id": _TEXT,
    "maxItems": _COUNT,
    "maxLength": _COUNT,
    "maxProperties": _COUNT,
    "maximum": _NUMBER,
    "minItems": _COUNT,
    "minLength": _COUNT,
    "minProperties": _COUNT,
    "minimum": _NUMBER,
    "multipleOf": _NUMBER,
    "nullable": {**_FLAG, "description": "Whether null may be there."},
    "pattern": _TEXT,
    "required": {**_TEXTS, "description": "The members that must be there."},
    "title": _TEXT,
    "type": _TEXT,
    "uniqueItems": _FLAG,
    "x-kubernetes-embedded-resource": {**_FLAG, "description": "The value is a whole object of Kubernetes."},
    "x-kubernetes-int-or-string": {**_FLAG, "description": "The value is an integer or a string."},
    "x-kubernetes-list-map-keys": {**_TEXTS, "description": "The members by which items of a list are told apart."},
    "x-kubernetes-list-type": {**_TEXT, "description": "atomic, set or map: how a list is merged."},
    "x-kubernetes-map-type": {**_TEXT, "description": "granular or atomic: how an object is merged."},
    "x-kubernetes-preserve-unknown-fields": {**_FLAG, "description": "Members that are not described are kept."},
}
_DOCUMENTATION: Final[Obj] = {
    "description": "Documentation elsewhere.",
    "type": "object",
    "properties": {"description": _TEXT, "url": _TEXT},
}
_RULE: Final[Obj] = {
    "description": "A rule in CEL.",
    "type": "object",
    "required": ["rule"],
    "properties": {
        "fieldPath": {**_TEXT, "description": "The field that a refusal names."},
        "message": {**_TEXT, "description": "The text of a refusal."},
        "messageExpression": {**_TEXT, "description": "An expression that makes the text of a refusal."},
        "optionalOldSelf": {**_FLAG, "description": "Whether the rule also runs where there is no old value."},
        "reason": {
            **_TEXT,
            "description": "The reason of a refusal, in one word for programs.",
            "enum": ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"],
        },
        # The default tells rules apart when they are applied: one may leave its expression out.
        "rule": {**_TEXT, "default": "", "description": "The expression, which is true of a valid value: self."},
    },
}


@dataclass(frozen=True, kw_only=True)
class DefinitionOpenAPI(BuiltInOpenAPI):
    """The documents of definitions."""

    def complete(self, schema: Obj, reference: Callable[[str, str], Obj]) -> Mapping[str, Obj]:
        """See :class:`extapi.api.behaviour.OpenAPIRules`."""
        place: Any = schema
        for name in _PATH:
            place = place[name]
        about = place["openAPIV3Schema"]["description"]
        place["openAPIV3Schema"] = reference(_SCHEMA, about)
        others = {f"{_PREFIX}{name}": {"description": text} for name, text in _OTHERS.items()}
        return {
            _SCHEMA: _schema(lambda name: reference(f"{_PREFIX}{name}", "")),
            f"{_PREFIX}ExternalDocumentation": _DOCUMENTATION,
            f"{_PREFIX}ValidationRule": _RULE,
            **others,
        }


def _schema(refer: Callable[[str], Obj]) -> Obj:
    own, anything = refer("JSONSchemaProps"), refer("JSON")
    several = {"type": "array", "items": own, "x-kubernetes-list-type": "atomic"}
    named = {"type": "object", "additionalProperties": own}
    rules = {
        "type": "array",
        "items": refer("ValidationRule"),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["rule"],
        "x-kubernetes-patch-merge-key": "rule",
        "x-kubernetes-patch-strategy": "merge",
    }
    properties = {
        **_PLAIN,
        "additionalItems": refer("JSONSchemaPropsOrBool"),
        "additionalProperties": refer("JSONSchemaPropsOrBool"),
        "allOf": several,
        "anyOf": several,
        "default": anything,
        "definitions": named,
        "dependencies": {"type": "object", "additionalProperties": refer("JSONSchemaPropsOrStringArray")},
        "enum": {"type": "array", "items": anything, "x-kubernetes-list-type": "atomic"},
        "example": anything,
        "externalDocs": refer("ExternalDocumentation"),
        "items": refer("JSONSchemaPropsOrArray"),
        "not": own,
        "oneOf": several,
        "patternProperties": named,
        "properties": named,
        "x-kubernetes-validations": rules,
    }
    about = "A JSON schema, in the form that OpenAPI v3 has."
    return {"description": about, "type": "object", "properties": dict(sorted(properties.items()))}
