"""Mistakes in schemas: structure, keywords, lists and maps, defaults, rules."""

from __future__ import annotations

from typing import Any

from tests.differential.definitions.building import Manifest, field, root, rules, whole

STRING = {"type": "string"}
OBJECT = {"type": "object", "properties": {"a": STRING}}
LIST, KEYS, MAP = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
PRESERVE, EMBEDDED = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
INT_OR_STRING, RULES = "x-kubernetes-int-or-string", "x-kubernetes-validations"
EITHER = [{"type": "integer"}, {"type": "string"}]


def _in(junctor: str, branch: Any) -> Manifest:
    return field({**OBJECT, junctor: branch if junctor == "not" else [branch]})


def _meta(schema: Any) -> Manifest:
    return whole(root(properties={"metadata": schema}))


def _embedded(**properties: Any) -> Manifest:
    return field({"type": "object", EMBEDDED: True, PRESERVE: True, "properties": properties})


def _map(items: Any, *keys: str, **more: Any) -> Manifest:
    return field({"type": "array", LIST: "map", KEYS: list(keys), "items": items, **more})


STRUCTURE = {
    "no type at the root": whole(root(type=...)),
    "string at the root": whole({"type": "string"}),
    "additional properties at the root": whole({"type": "object", "additionalProperties": STRING}),
    "additional properties at the root, any": whole({"type": "object", "additionalProperties": True}),
    "no type": field({}),
    "no type in items": field({"type": "array", "items": {}}),
    "no type in additional properties": field({"type": "object", "additionalProperties": {}}),
    "no items": field({"type": "array"}),
    "items of null": field({"type": "array", "items": None}),
    "several items": field({"type": "array", "items": [STRING, {"type": "integer"}]}),
    "several items, wrong inside": field({"type": "array", "items": [{"type": "text"}, {"$ref": "a"}]}),
    "empty list of items": field({"type": "array", "items": []}),
    "items of an object": field({"type": "object", "items": STRING}),
    "kind of another type": whole(root(properties={"kind": {"type": "integer"}})),
    "apiVersion of another type": whole(root(properties={"apiVersion": {"type": "object"}})),
    "metadata of another type": _meta(STRING),
    "metadata with labels": _meta({"type": "object", "properties": {"labels": {"type": "object"}}}),
    "metadata with a description": _meta({"type": "object", "description": "mine"}),
    "metadata with name and labels": _meta({"type": "object", "properties": {"name": STRING, "labels": OBJECT}}),
    "metadata with both names": _meta({"type": "object", "properties": {"name": STRING, "generateName": STRING}}),
    "metadata inside": field({"type": "object", "properties": {"metadata": STRING}}),
    "int or string of a type": field({INT_OR_STRING: True, PRESERVE: True}),
    "int or string, embedded": field({INT_OR_STRING: True, EMBEDDED: True}),
    "int or string with another anyOf": field(
        {INT_OR_STRING: True, "anyOf": [{"type": "string"}, {"type": "integer"}]}
    ),
    "int or string in the second allOf": field({INT_OR_STRING: True, "allOf": [{"maxLength": 3}, {"anyOf": EITHER}]}),
    "int or string in the first allOf": field({INT_OR_STRING: True, "allOf": [{"anyOf": EITHER}, {"maxLength": 3}]}),
    "embedded string": field({"type": "string", EMBEDDED: True, PRESERVE: True}),
    "embedded without a type": field({EMBEDDED: True, PRESERVE: True}),
    "embedded without anything": field({"type": "object", EMBEDDED: True}),
    "embedded map": field({"type": "object", EMBEDDED: True, PRESERVE: True, "additionalProperties": STRING}),
    "embedded with a wrong kind": _embedded(kind={"type": "integer"}),
    "embedded with a wrong metadata": _embedded(metadata=STRING),
    "embedded in metadata": _meta({"type": "object", "properties": {"name": {"type": "object", EMBEDDED: True}}}),
    "embedded in embedded metadata": _embedded(
        metadata={"type": "object", "properties": {"x": {"type": "object", EMBEDDED: True, PRESERVE: True}}}
    ),
    **{
        f"{keyword} in {junctor}": _in(junctor, {keyword: value})
        for junctor in ("allOf", "anyOf", "oneOf", "not")
        for keyword, value in {
            "type": "object",
            "title": "t",
            "description": "d",
            "nullable": True,
            "default": {"a": "b"},
            "additionalProperties": {"minLength": 1},
            PRESERVE: True,
            EMBEDDED: True,
            INT_OR_STRING: True,
            LIST: "set",
            KEYS: ["a"],
            MAP: "atomic",
            RULES: [{"rule": "true"}],
        }.items()
    },
    "additional properties false in anyOf": _in("anyOf", {"additionalProperties": False}),
    "metadata in not": whole(root(**{"not": {"properties": {"metadata": {}}}})),
    "a property that only allOf has": whole(root(allOf=[{"properties": {"b": {"minLength": 1}}}])),
    "a property that only allOf has, inside": _in("allOf", {"properties": {"b": {"minLength": 1}}}),
    "items that only oneOf has": whole(root(oneOf=[{"properties": {"spec": {"items": {"minLength": 1}}}}])),
    "items that only not has, inside": whole(
        root(anyOf=[{"not": {"properties": {"spec": {"properties": {"color": {"properties": {"x": {}}}}}}}}])
    ),
    "a bad pattern": field({"type": "string", "pattern": "("}),
    "another bad pattern": field({"type": "string", "pattern": "a**"}),
    "a class that does not end": field({"type": "string", "pattern": "[a"}),
    "look-around": field({"type": "string", "pattern": "(?=a)b"}),
    "a backslash at the end": field({"type": "string", "pattern": "a\\"}),
    "too many repetitions": field({"type": "string", "pattern": "a{1001}"}),
    "a bad pattern in allOf": field({"type": "string", "allOf": [{"pattern": "*"}]}),
    "a pattern of Go's": field({"type": "string", "pattern": "\\p{Greek}+"}),
}

KEYWORDS = {
    "unknown type": field({"type": "text"}),
    "type null": field({"type": "null"}),
    "unknown type in anyOf": _in("anyOf", {"type": "text"}),
    "id": field({"type": "string", "id": "x"}),
    "$ref": field({"type": "string", "$ref": "#/x"}),
    "empty $ref": field({"type": "string", "$ref": ""}),
    "$schema": field({"type": "string", "$schema": "x"}),
    "$schema and another mistake": field({"type": "text", "$schema": "x"}),
    "additional items": field({"type": "array", "items": STRING, "additionalItems": True}),
    "no additional items": field({"type": "array", "items": STRING, "additionalItems": False}),
    "pattern properties": field({"type": "object", "patternProperties": {"a": STRING}}),
    "no pattern properties": field({"type": "object", "patternProperties": {}}),
    "definitions": field({"type": "object", "definitions": {"a": {"type": "text"}}}),
    "no definitions": field({"type": "object", "definitions": {}}),
    "dependencies": field({"type": "object", "dependencies": {"a": ["b"]}}),
    "dependencies with a schema": field({"type": "object", "dependencies": {"a": {"type": "text"}}}),
    "no dependencies": field({"type": "object", "dependencies": {}}),
    "much that is not supported": field(
        {"type": "null", "id": "a", "$ref": "b", "patternProperties": {"a": STRING}, "definitions": {"a": STRING}}
    ),
    "unique items": field({"type": "array", "items": STRING, "uniqueItems": True}),
    "both kinds of properties": field({**OBJECT, "additionalProperties": STRING}),
    "properties and no others": field({**OBJECT, "additionalProperties": False}),
    "properties and any others": field({**OBJECT, "additionalProperties": True}),
    "no properties at all": field({"type": "object", "additionalProperties": False}),
    "preserve nothing": field({"type": "object", PRESERVE: False}),
    "preserve nothing in anyOf": _in("anyOf", {PRESERVE: False}),
    "unknown format": field({"type": "string", "format": "color"}),
    "list type of a string": field({"type": "string", LIST: "set"}),
    "list type without a type": field({PRESERVE: True, LIST: "atomic"}),
    "unknown list type": field({"type": "array", "items": STRING, LIST: "bag"}),
    "set of objects": field({"type": "array", "items": OBJECT, LIST: "set"}),
    "set of granular maps": field({"type": "array", "items": {**OBJECT, MAP: "granular"}, LIST: "set"}),
    "set of sets": field({"type": "array", LIST: "set", "items": {"type": "array", "items": STRING, LIST: "set"}}),
    "set of lists": field({"type": "array", LIST: "set", "items": {"type": "array", "items": STRING}}),
    "set of nulls": field({"type": "array", LIST: "set", "items": {"type": "string", "nullable": True}}),
    "map type of a string": field({"type": "string", MAP: "atomic"}),
    "map type without a type": field({PRESERVE: True, MAP: "atomic"}),
    "unknown map type": field({"type": "object", MAP: "loose"}),
    "unknown map type of a string": field({"type": "string", MAP: "loose"}),
    "keys without a list type": field({"type": "array", "items": OBJECT, KEYS: ["a"]}),
    "keys of a set": field({"type": "array", "items": STRING, LIST: "set", KEYS: ["a"]}),
    "map list without keys": field({"type": "array", "items": OBJECT, LIST: "map"}),
    "map list without items": field({"type": "array", LIST: "map", KEYS: ["a"]}),
    "map list of several": field({"type": "array", LIST: "map", KEYS: ["a"], "items": [OBJECT]}),
    "map list of strings": _map(STRING, "a"),
    "map list with unknown keys": _map({**OBJECT, "required": ["a"]}, "a", "b", "c"),
    "map list with keys twice": _map({**OBJECT, "required": ["a"]}, "a", "a", "a"),
    "map list with an object for a key": _map({"type": "object", "required": ["a"], "properties": {"a": OBJECT}}, "a"),
    "map list with optional keys": _map(OBJECT, "a"),
    "map list with a default for a key": _map({"type": "object", "properties": {"a": {**STRING, "default": "b"}}}, "a"),
    "map list with a key that may be null": _map(
        {"type": "object", "required": ["a"], "properties": {"a": {**STRING, "nullable": True}}}, "a"
    ),
    "map list of what may be null": _map({**OBJECT, "required": ["a"], "nullable": True}, "a"),
    "map list in anyOf": _in("anyOf", {LIST: "map"}),
}

DEFAULTS = {
    "default of another type": field({"type": "string", "default": 1}),
    "default of null": field({"type": "string", "default": None}),
    "default that is too small": field({"type": "integer", "minimum": 1, "default": 0}),
    "default that is too long": field({"type": "string", "maxLength": 1, "default": "ab"}),
    "default that does not match": field({"type": "string", "pattern": "^a$", "default": "b"}),
    "default that is no member": field({"type": "string", "enum": ["a", "b"], "default": "c"}),
    "default with an unknown field": field({**OBJECT, "default": {"b": 1}}),
    "default with a wrong field": field({**OBJECT, "default": {"a": 1}}),
    "default without a required field": field({**OBJECT, "required": ["a"], "default": {}}),
    "default without a field that has one": field(
        {"type": "object", "required": ["a"], "properties": {"a": {**STRING, "default": "b"}}, "default": {}}
    ),
    "default with a null": field({**OBJECT, "default": {"a": None}}),
    "default in items": field({"type": "array", "items": {"type": "string", "default": 1}}),
    "default in additional properties": field({"type": "object", "additionalProperties": {**STRING, "default": 1}}),
    "default of a list": field({"type": "array", "items": STRING, "default": ["a", 1]}),
    "default with too many items": field({"type": "array", "items": STRING, "maxItems": 1, "default": ["a", "b"]}),
    "default that satisfies no branch": field(
        {"type": "string", "default": "c", "oneOf": [{"enum": ["a"]}, {"enum": ["b"]}]}
    ),
    "default inside that satisfies no branch": field(
        {"type": "object", "default": {"a": "c"}, "properties": {"a": {**STRING, "anyOf": [{"enum": ["a"]}]}}}
    ),
    "default with one item twice in a set": field(
        {"type": "array", "items": STRING, LIST: "set", "default": ["a", "a"]}
    ),
    "default with one key twice": _map({**OBJECT, "required": ["a"]}, "a", default=[{"a": "b"}, {"a": "b"}]),
    **{
        f"default {shown} of {kind} with the format {name}": field({"type": kind, "format": name, "default": value})
        for kind, name, shown, value in (
            ("boolean", "x", "text", "yes"),
            ("object", "x", "list", ["yes"]),
            ("string", "x", "number", 5),
            ("string", "int64", "number", 5),
            ("string", "double", "fraction", 1.5),
            ("string", "date", "number", 5),
            ("string", "x", "true", True),
            ("string", "int64", "object", {}),
            ("string", "date", "list", []),
            ("integer", "date", "text", "x"),
            ("integer", "int64", "fraction", 1.5),
            ("integer", "int32", "large", 2**40),
            ("number", "email", "text", "x"),
            ("number", "float", "large", 1e300),
        )
    },
    **{
        f"default {shown} in a branch of the format {name}": field(
            {PRESERVE: True, "allOf": [{"format": name}], "default": value}
        )
        for name, shown, value in (
            ("x", "text", "5"),
            ("x", "object", {"a": 1}),
            ("int64", "number", 5),
            ("int32", "number", 5),
            ("double", "number", 5),
            ("date", "text", "5"),
        )
    },
    **{
        f"default of an int or string with the format {name}": field(
            {INT_OR_STRING: True, "format": name, "default": value}
        )
        for name, value in (("x", 5), ("int64", 5), ("int32", "x"), ("date", "x"))
    },
    "default true of an int or string": field({INT_OR_STRING: True, "default": True}),
    "default that meets a multiple of nothing": field({"type": "integer", "multipleOf": 0.5, "default": 0}),
    "default with a field that meets a multiple of nothing": field(
        {"type": "object", "default": {"default": 1}, "properties": {"default": {"type": "number", "multipleOf": -1}}}
    ),
    "default with a key that meets a multiple of nothing": field(
        {
            "type": "object",
            "default": {"a": {"b": 1}},
            "additionalProperties": {
                "type": "object",
                "additionalProperties": {"type": "integer", "minimum": 3, "multipleOf": 0.1},
            },
        }
    ),
    "default that no branch with a format can refuse": field(
        {"type": "integer", "default": 1, "not": {"minimum": 0, "format": "int32"}}
    ),
    "default of kind": whole(root(properties={"kind": {**STRING, "default": "Thing"}})),
    "default of a wrong kind": whole(root(properties={"kind": {**STRING, "default": "a b"}})),
    "default of apiVersion": whole(root(properties={"apiVersion": {**STRING, "default": "a/b/c"}})),
    "default of a name": _meta({"type": "object", "properties": {"name": {**STRING, "default": "a"}}}),
    "default of metadata": _meta({"type": "object", "default": {}}),
    "default of metadata, wrong": _meta({"type": "object", "default": {"name": "a/b"}}),
    "default of an embedded kind": _embedded(kind={**STRING, "default": "a b"}, apiVersion=STRING),
    "default of an embedded apiVersion": _embedded(apiVersion={**STRING, "default": "a/b/c"}),
    "default of an embedded name": _embedded(
        metadata={"type": "object", "properties": {"name": {**STRING, "default": "a/b"}}}
    ),
    "default of an embedded label": _embedded(
        metadata={
            "type": "object",
            "properties": {
                "labels": {"type": "object", "properties": {"a": {**STRING, "default": "b c"}}},
            },
        }
    ),
    "default in embedded additional properties": _embedded(
        metadata={
            "type": "object",
            "properties": {"labels": {"type": "object", "additionalProperties": {**STRING, "default": "b"}}},
        }
    ),
    "embedded default without a kind": field(
        {"type": "object", EMBEDDED: True, PRESERVE: True, "default": {"apiVersion": "v1"}}
    ),
    "embedded default with wrong metadata": field(
        {
            "type": "object",
            EMBEDDED: True,
            PRESERVE: True,
            "default": {"apiVersion": "v1", "kind": "A", "metadata": {"labels": {"a b": "c"}}},
        }
    ),
    "embedded default of wrong types": field(
        {"type": "object", EMBEDDED: True, PRESERVE: True, "default": {"apiVersion": 1, "kind": "A"}}
    ),
    "default that breaks its rule": rules({"rule": "self == 'a'"}, of={**STRING, "maxLength": 3, "default": "b"}),
    "default that breaks a rule inside": field(
        {
            "type": "object",
            "default": {"a": "b"},
            "properties": {"a": {**STRING, "maxLength": 3, RULES: [{"rule": "self == 'a'", "message": "be a"}]}},
        }
    ),
    "default and a mistake elsewhere": field({"type": "string", "default": 1, "uniqueItems": True}),
}

_OBJECT9 = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}}}
RULED = {
    "rule with nothing": rules({}),
    "rule of spaces": rules({"rule": "  "}),
    "rule with an empty message": rules({"rule": "true", "message": " "}),
    "rule with two lines of message": rules({"rule": "true", "message": "a\nb"}),
    "rule of two lines": rules({"rule": "true\n&& true"}),
    "rule of two lines with a message": rules({"rule": "true\n&& true", "message": "a"}),
    "rule with an empty expression": rules({"rule": "true", "messageExpression": " "}),
    "rule with an unknown reason": rules({"rule": "true", "reason": "Because"}),
    "rule with an empty reason": rules({"rule": "true", "reason": ""}),
    "rule with a path of spaces": rules({"rule": "true", "fieldPath": " "}),
    "rule with two lines of path": rules({"rule": "true", "fieldPath": ".a\n"}),
    "rule with a path to nowhere": rules({"rule": "true", "fieldPath": ".b"}, of=_OBJECT9),
    "rule with a path without a dot": rules({"rule": "true", "fieldPath": "a"}, of=_OBJECT9),
    "rule with a path": rules({"rule": "true", "fieldPath": ".a"}, of=_OBJECT9),
    "rule that does not parse": rules({"rule": "self =="}),
    "rule with an unknown name": rules({"rule": "nothing > 1"}),
    "rule with an unknown field": rules({"rule": "self.b == ''"}, of=_OBJECT9),
    "rule of another type": rules({"rule": "self + 'a'"}),
    "rule that compares types": rules({"rule": "self == 1"}),
    "rule with a wrong pattern": rules({"rule": "self.matches('(')"}),
    "message of another type": rules({"rule": "true", "messageExpression": "1"}),
    "message that does not parse": rules({"rule": "true", "messageExpression": "'a"}),
    "message with an unknown name": rules({"rule": "true", "messageExpression": "nothing"}),
    "optional oldSelf without oldSelf": rules({"rule": "true", "optionalOldSelf": True}),
    "optional oldSelf false without oldSelf": rules({"rule": "true", "optionalOldSelf": False}),
    "oldSelf in a list": field(
        {
            "type": "array",
            "maxItems": 9,
            "items": {"type": "string", "maxLength": 9, RULES: [{"rule": "self == oldSelf"}]},
        }
    ),
    "oldSelf in a set": field(
        {
            "type": "array",
            "maxItems": 9,
            LIST: "set",
            "items": {"type": "string", "maxLength": 9, RULES: [{"rule": "self == oldSelf"}]},
        }
    ),
    "expensive rule": rules({"rule": "self.all(x, self.all(y, x == y))"}, of={"type": "array", "items": STRING}),
    "expensive message": rules(
        {"rule": "true", "messageExpression": "self.map(x, x + 'a').join('') + self.map(x, x).join('')"},
        of={"type": "array", "items": {"type": "array", "items": STRING}},
    ),
    "many rules that are not cheap": rules(
        *({"rule": "self.all(x, x.contains('a'))"} for _ in range(12)),
        of={"type": "array", "maxItems": 1000, "items": {"type": "string", "maxLength": 90_000}},
    ),
    "rule in an unbounded map": field(
        {"type": "object", "additionalProperties": {"type": "string", RULES: [{"rule": "self.matches('a+b+c')"}]}}
    ),
    "rule and a mistake": field({"type": "text", RULES: [{"rule": "nothing"}]}),
    "rule and a mistake elsewhere": whole(
        root(
            properties={
                "spec": {"type": "object", "properties": {"a": {"type": "array", "items": STRING, LIST: "bag"}}}
            },
            **{RULES: [{"rule": "nothing"}]},
        )
    ),
    "rule and a default that is wrong": whole(
        root(properties={"a": {"type": "string", "default": 1}}, **{RULES: [{"rule": "nothing"}]})
    ),
    "rules in order": rules({"rule": "a"}, {"rule": "true"}, {"rule": "b", "messageExpression": "c"}),
    "rule below and above": whole(
        root(
            properties={"spec": {"type": "object", RULES: [{"rule": "inner"}]}},
            **{RULES: [{"rule": "outer"}]},
        )
    ),
    "rule in what preserves": rules({"rule": "self.a"}, of={"type": "object", PRESERVE: True}),
    "rule of an int or string": rules({"rule": "self > 1"}, of={INT_OR_STRING: True}),
    "rule of metadata": whole(root(**{RULES: [{"rule": "self.metadata.labels.size() > 0"}]})),
    "rule with a reserved name": rules(
        {"rule": "self.__if__ == self.namespace"},
        of={"type": "object", "properties": {"if": STRING, "namespace": STRING}},
    ),
}

CASES: dict[str, Manifest] = {**STRUCTURE, **KEYWORDS, **DEFAULTS, **RULED}
