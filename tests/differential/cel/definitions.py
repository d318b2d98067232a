"""Definitions with rules that are refused: they do not compile, cost too much, or are written wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
_STRING: Schema = {"type": "string"}
_STRINGS: Schema = {"type": "array", "items": _STRING}


def definition(spec: Schema, **root: Any) -> Schema:
    """A definition whose objects have that ``spec``."""
    openapi = {"type": "object", "properties": {"spec": spec}, **root}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": openapi}}],
        },
    }


def _object(*rules: Any, **properties: Schema) -> Schema:
    written = [rule if isinstance(rule, dict) else {"rule": rule} for rule in rules]
    return {"type": "object", "properties": properties, "x-kubernetes-validations": written}


def _list(item: Schema, **also: Any) -> Schema:
    return {"type": "array", "items": item, **also}


def _map(value: Schema, **also: Any) -> Schema:
    return {"type": "object", "additionalProperties": value, **also}


_COSTLY = "self.l.all(a, self.l.all(b, a == b))"
_RULED: Schema = {**_STRING, "x-kubernetes-validations": [{"rule": "self.matches('a')"}]}
_TRANSITION: Schema = {**_STRING, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}

SPECS: dict[str, Schema] = {
    "costly": _object(_COSTLY, l=_STRINGS),
    "a little too costly": _object(_COSTLY, l=_list({**_STRING, "maxLength": 30}, maxItems=2000)),
    "cheap enough": _object(_COSTLY, l=_list({**_STRING, "maxLength": 10}, maxItems=10)),
    "costly together": _object(*[f"self.l.all(a, self.l.all(b, a + '{n}' == b))" for n in range(12)], l=_list({**_STRING, "maxLength": 20}, maxItems=700)),
    "costly where it is": _object(l=_list(_list(_list(_RULED)))),
    "costly in a map": _object(m=_map(_map(_RULED))),
    "costly in a list of known length": _object(l=_list(_RULED, maxItems=20000)),
    "costly message": _object({"rule": "self.a == 'b'", "messageExpression": "'is ' + self.a + string(self.n)"}, a=_STRING, n={"type": "integer"}),
    "message too costly": _object({"rule": "true", "messageExpression": "self.l.map(x, self.l.join(x)).join()"}, l=_STRINGS),
    "unknown field": _object("self.b == 1", a=_STRING),
    "wrong type": _object("self.a == 1", a=_STRING),
    "syntax": _object("self.a = 1 &&", a=_STRING),
    "not a bool": _object("self.a", a=_STRING),
    "bad literal": _object("duration('1y') > duration('1h') && 'a'.matches('(') && timestamp('x') == timestamp('y')"),
    "bad message": _object({"rule": "true", "messageExpression": "self.b"}, a=_STRING),
    "message is no string": _object({"rule": "true", "messageExpression": "1 + 1"}),
    "empty rule": _object(""),
    "blank rule": _object("  \n"),
    "no message for lines": _object("true &&\nfalse"),
    "lines in the message": _object({"rule": "true", "message": "a\nb"}),
    "blank message": _object({"rule": "true", "message": "  "}),
    "blank messageExpression": _object({"rule": "true", "messageExpression": "  "}),
    "unknown reason": _object({"rule": "true", "reason": "Wrong"}),
    "unknown fieldPath": _object({"rule": "true", "fieldPath": ".b"}, a=_STRING),
    "good fieldPath": _object({"rule": "true", "fieldPath": ".a"}, a=_STRING),
    "fieldPath into a map": _object({"rule": "true", "fieldPath": ".m['x.y']"}, m=_map(_STRING)),
    "fieldPath without dot": _object({"rule": "true", "fieldPath": "a"}, a=_STRING),
    "fieldPath into a list": _object({"rule": "true", "fieldPath": ".l[0]"}, l=_STRINGS),
    "fieldPath with lines": _object({"rule": "true", "fieldPath": ".a\n"}, a=_STRING),
    "transition in a list": _object(l=_list(_TRANSITION, maxItems=5)),
    "transition in a set": _object(l=_list({**_TRANSITION, "maxLength": 5}, maxItems=5, **{"x-kubernetes-list-type": "set"})),
    "transition in a map": _object(m=_map({**_TRANSITION, "maxLength": 5}, maxProperties=5)),
    "transition in a list that is a map": _object(
        l=_list(_object("self.a == oldSelf.a", a={**_STRING, "maxLength": 9}) | {"required": ["a"]}, maxItems=5,
                **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]})),
    "transition of an atomic list": _object("self.l == oldSelf.l", l=_list(_STRING, maxItems=5, **{"x-kubernetes-list-type": "atomic"})),
    "optionalOldSelf": _object({"rule": "!oldSelf.hasValue() || self.a == oldSelf.value().a", "optionalOldSelf": True}, a={**_STRING, "maxLength": 10}),
    "optionalOldSelf without oldSelf": _object({"rule": "self.a == 'a'", "optionalOldSelf": True}, a=_STRING),
    "optionalOldSelf false": _object({"rule": "self.a == 'a'", "optionalOldSelf": False}, a=_STRING),
    "oldSelf used as it is not": _object({"rule": "self.a == oldSelf.a", "optionalOldSelf": True}, a=_STRING),
    "default breaks a rule": _object(a={**_STRING, "maxLength": 9, "default": "b", "x-kubernetes-validations": [{"rule": "self == 'a'"}]}),
    "escaped names": _object("self.__in__ == self.x__dash__y && self.namespace == self.__namespace__", **{"in": _STRING, "x-y": _STRING, "namespace": _STRING}),
    "names not escaped": _object("self.in == 'a'", **{"in": _STRING}),
    "rules at every level": _object("self.a.b.c.size() < 5", a=_object("self.b.c != 'x'", b=_object("has(self.c)", c={**_RULED, "maxLength": 7}))),
    "unknown library": _object("math.greatest(1, 2) == 2 && base64.encode(b'a') == 'YQ=='"),
    "in a branch": {"type": "object", "properties": {"a": _STRING}, "allOf": [{"properties": {"a": {"x-kubernetes-validations": [{"rule": "self.size() < 5"}]}}}]},
    "costly in a branch": {"type": "object", "properties": {"l": _STRINGS}, "allOf": [{"x-kubernetes-validations": [{"rule": _COSTLY}]}]},
    "in anyOf": {"type": "object", "properties": {"a": _STRING}, "anyOf": [{"properties": {"a": {"x-kubernetes-validations": [{"rule": "true"}]}}}]},
}  # fmt: skip


def refused() -> Iterator[tuple[str, Schema]]:
    """Definitions by name, some of which are accepted."""
    for name, spec in SPECS.items():
        yield name, definition(spec)
    yield (
        "metadata at the root",
        definition(
            _object(),
            **{"x-kubernetes-validations": [{"rule": "self.metadata.name.startsWith('a') && self.kind == 'x'"}]},
        ),
    )
    yield (
        "labels at the root",
        definition(_object(), **{"x-kubernetes-validations": [{"rule": "has(self.metadata.labels)"}]}),
    )
