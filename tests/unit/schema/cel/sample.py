"""A schema with something of every type, and an object of it."""

from __future__ import annotations

from typing import Any, Final

from extapi.schema.cel.environment import Environment
from tests.unit.schema.cel.evaluating import environment_of

_STRING: Final = {"type": "string"}
_INTEGER: Final = {"type": "integer"}


def _object(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


def _array(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


_ENTRY: Final = _object({"k": _STRING, "v": _INTEGER})
_PRESERVING: Final = {"x-kubernetes-preserve-unknown-fields": True}

SCHEMA: Final = _object(
    {
        "a": _INTEGER,
        "b": {"type": "boolean"},
        "s": _STRING,
        "n": {"type": "number"},
        "y": {"type": "string", "format": "byte"},
        "d": _array({"type": "string", "format": "date"}),
        "t": {"type": "string", "format": "date-time"},
        "u": {"type": "string", "format": "duration"},
        "p": {"x-kubernetes-int-or-string": True},
        "q": {"x-kubernetes-int-or-string": True},
        "l": _array(_INTEGER),
        "w": _array(_STRING),
        "m": {"type": "object", "additionalProperties": _INTEGER},
        "o": _object({"x": _STRING, "y": {**_INTEGER, "nullable": True}}),
        "os": _array(_object({"k": _STRING, "v": _INTEGER, "n": {"type": "number"}})),
        "sets": _array(_array(_STRING, **{"x-kubernetes-list-type": "set"})),
        "maps": _array(_array(_ENTRY, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]})),
        "g": {"type": "string", "nullable": True},
        "gs": _array({"type": "string", "nullable": True}),
        "h": _object({"k": _STRING}, **_PRESERVING),
        "hs": _array(_object({"k": _STRING}, **_PRESERVING)),
        "r": _object({"z": _STRING}, **_PRESERVING, **{"x-kubernetes-embedded-resource": True}),
        "a-b": _STRING,
        "a.b": _STRING,
        "namespace": _STRING,
        "__import__": _STRING,
    }
)

OBJECT: Final = {
    "a": 1,
    "b": True,
    "s": "abcdefghijk",
    "n": 2,
    "y": "YWI=",
    "d": ["2020-01-02", "2020-01-01"],
    "t": "2020-01-01T00:00:00Z",
    "u": "90s",
    "p": 80,
    "q": "80",
    "l": [1, 2, 3],
    "w": ["x", "yy"],
    "m": {"k": 7, "j": 2},
    "o": {"x": "v", "y": None},
    "os": [{"k": "a", "v": 1, "n": 1}, {"k": "a", "v": 1, "n": 1.0}, {"k": "b"}],
    "sets": [["a", "b"], ["b", "a"], ["a", "c"], ["a"]],
    "maps": [
        [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
        [{"k": "b", "v": 2}, {"k": "a", "v": 1}],
        [{"k": "b", "v": 3}, {"k": "a", "v": 1}],
    ],
    "g": None,
    "gs": ["a", None],
    "h": {"k": "v", "hidden": 1},
    "hs": [{"k": "v", "hidden": 1}, {"k": "v", "hidden": 2}, {"k": "v", "hidden": 1}],
    "r": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "labels": {"x": "y"}}, "z": "z", "spec": {}},
    "a-b": "dash",
    "a.b": "dot",
    "namespace": "reserved",
    "__import__": "trap",
}

ENVIRONMENT: Final[Environment] = environment_of(SCHEMA)
