"""Schemas made up: typed, structural, with what rules see differently (formats, list types, names that need escaping)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

Schema = dict[str, Any]

NAMES: Final = {
    "a": "a",
    "b": "b",
    "c": "c",
    "items": "items",
    "namespace": "__namespace__",
    "in": "__in__",
    "x-y": "x__dash__y",
    "p.q": "p__dot__q",
    "r/s": "r__slash__s",
    "u__v": "u__underscores__v",
    "size": "size",
    "type": "type",
    "value": "value",
}
"""The names of properties, and how an expression writes each."""
_FORMATS: Final = ("", "", "", "date-time", "date", "duration", "byte", "uuid", "ipv4", "uri")


def schema(random: Random) -> Schema:
    """That of an object, with a few properties."""
    return _object(random, 0)


def node(random: Random, depth: int) -> Schema:
    """Any schema."""
    chance = random.random()
    if depth < 3 and chance < 0.55:
        made = random.choice((_object, _list, _list, _map))(random, depth)
    else:
        made = _scalar(random)
    if random.random() < 0.08 and "x-kubernetes-int-or-string" not in made:
        made["nullable"] = True
    return made


def _scalar(random: Random) -> Schema:
    match random.randrange(9):
        case 0 | 1 | 2 | 3:
            made: Schema = {"type": "string"}
            form = random.choice(_FORMATS)
            if form:
                made["format"] = form
            elif random.random() < 0.2:
                made["enum"] = ["a", "HTTP", "1h"]
            if random.random() < 0.5:
                made["maxLength"] = random.choice((1, 10, 63, 253, 5000))
            return made
        case 4 | 5:
            made = {"type": "integer"}
            if random.random() < 0.5:
                made["format"] = random.choice(("int32", "int64"))
            return made
        case 6:
            return {"type": "number"}
        case 7:
            return {"type": "boolean"}
    return {"x-kubernetes-int-or-string": True}


def _object(random: Random, depth: int) -> Schema:
    names = random.sample(list(NAMES), random.randint(2, 6) if depth == 0 else random.randint(1, 3))
    made: Schema = {"type": "object", "properties": {name: node(random, depth + 1) for name in names}}
    required = [name for name in names if random.random() < 0.4]
    if required:
        made["required"] = required
    if depth and random.random() < 0.05:
        made["x-kubernetes-preserve-unknown-fields"] = True
    if depth and random.random() < 0.04:
        made["x-kubernetes-embedded-resource"] = True
        made["x-kubernetes-preserve-unknown-fields"] = True
    return made


def _list(random: Random, depth: int) -> Schema:
    match random.randrange(4):
        case 0:
            made: Schema = {"type": "array", "items": _scalar(random), "x-kubernetes-list-type": "set"}
        case 1:
            item = {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {"type": "string", "maxLength": 63}, "b": node(random, depth + 2)},
            }
            made = {
                "type": "array",
                "items": item,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
            }
        case _:
            made = {"type": "array", "items": node(random, depth + 1)}
            if random.random() < 0.3:
                made["x-kubernetes-list-type"] = "atomic"
    if random.random() < 0.7:
        made["maxItems"] = random.choice((1, 5, 16, 100))
    return made


def _map(random: Random, depth: int) -> Schema:
    made: Schema = {"type": "object", "additionalProperties": node(random, depth + 1)}
    if random.random() < 0.7:
        made["maxProperties"] = random.choice((1, 5, 16, 100))
    return made
