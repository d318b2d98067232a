"""Made-up kinds and objects for :mod:`tests.differential.managedfields`.

Structural schemas of every sort that decides how values merge, values that mostly fit them, and changes of values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from extapi.api.jsonvalue import json_copy

Schema = dict[str, Any]
NAMES = ("a", "b", "c", "d", "e f")
TEXTS = ("x", "y", "z", "", "<&>", "é\u2028", 'q"\\', "\x07\b\x7f")
NUMBERS = (0, 1, 2, 80, -3, 123456)
PRESERVE = "x-kubernetes-preserve-unknown-fields"


@dataclass(frozen=True)
class Made:
    """A kind.

    ``schemas``: by version. ``renamed``: by version, what some fields of spec are called there. ``lost``: by version, those
    that it has not, by their names in the first version.
    """

    schemas: dict[str, Schema]
    renamed: dict[str, dict[str, str]] = field(default_factory=dict)
    deduced: bool = False
    lost: dict[str, list[str]] = field(default_factory=dict)

    def with_other_relations(self, random: Random) -> Made:
        """The kind after some of its lists and maps have become atomic, or granular."""
        schemas = {version: flipped(schema, random) for version, schema in self.schemas.items()}
        return Made(schemas, self.renamed, self.deduced, self.lost)


def kind(random: Random) -> Made:
    """A kind of one to three versions."""
    if random.random() < 0.05:
        return Made({"v1": {"type": "object", PRESERVE: True}}, deduced=True)
    made = Made({"v1": root(random)})
    for number in range(random.choice((0, 1, 1, 1, 2, 2))):
        _add_version(made, f"v{number + 2}", random)
    return made


def _add_version(made: Made, version: str, random: Random) -> None:
    """Add a version: equal to the first one, with other relations of lists and maps, with other names, or with fewer fields."""
    schema: Schema = json_copy(made.schemas["v1"])
    chance = random.random()
    spec = schema["properties"]["spec"]
    names = list(spec.get("properties", {}))
    if 0.3 < chance < 0.5:
        schema = flipped(schema, random)
    elif 0.5 < chance < 0.8:
        other = made.renamed[version] = {name: f"{name}2" for name in names if random.random() < 0.5}
        spec["properties"] = {other.get(name, name): of for name, of in spec.get("properties", {}).items()}
    elif chance > 0.8 and names:
        lost = made.lost[version] = random.sample(names, 1)
        spec["properties"] = {name: of for name, of in spec["properties"].items() if name not in lost}
    made.schemas[version] = schema


def root(random: Random) -> Schema:
    """The schema of an object."""
    spec = struct(random, 3)
    status = struct(random, 1)
    made: Schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    if random.random() < 0.1:
        made[PRESERVE] = True
    return made


def schema(random: Random, depth: int) -> Schema:
    """The schema of a value. Lists are at least as frequent as all else: they have the rules."""
    if depth <= 0 or random.random() < 0.25:
        return scalar(random)
    chance = random.random()
    if chance < 0.3:
        made = struct(random, depth - 1)
    elif chance < 0.45:
        made = {"type": "object", "additionalProperties": schema(random, depth - 1)}
        if random.random() < 0.3:
            made["x-kubernetes-map-type"] = random.choice(("atomic", "granular"))
    elif chance < 0.7:
        made = map_list(random, depth - 1)
    elif chance < 0.8:
        items = random.choice(({"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}))
        made = {"type": "array", "items": dict(items), "x-kubernetes-list-type": "set"}
    elif chance < 0.88:
        made = {"type": "array", "items": schema(random, depth - 1)}
        if random.random() < 0.5:
            made["x-kubernetes-list-type"] = "atomic"
    elif chance < 0.93:
        made = {"type": "object", PRESERVE: True}
    elif chance < 0.96:
        made = {"type": "object", "x-kubernetes-embedded-resource": True, PRESERVE: True}
    else:
        made = {PRESERVE: True}
    if random.random() < 0.1 and "type" in made:
        made["nullable"] = True
    return made


def scalar(random: Random) -> Schema:
    kinds: tuple[Schema, ...] = (
        {"type": "string"},
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "string", "format": random.choice(("byte", "date-time", "quantity"))},
        {"x-kubernetes-int-or-string": True},
        {"type": "string", "nullable": True},
    )
    return dict(random.choice(kinds))


def struct(random: Random, depth: int) -> Schema:
    names = random.sample(NAMES, random.randint(1, 4))
    made: Schema = {"type": "object", "properties": {name: schema(random, depth) for name in names}}
    if random.random() < 0.1:
        made["x-kubernetes-map-type"] = random.choice(("atomic", "granular"))
    if random.random() < 0.1:
        made[PRESERVE] = True
    return made


def map_list(random: Random, depth: int) -> Schema:
    items = struct(random, depth)
    items.pop("x-kubernetes-map-type", None)
    items.pop("nullable", None)
    keys = random.sample(("k", "l", "m"), random.choice((1, 1, 1, 2, 2, 3)))
    required = []
    for key in keys:
        of: Schema = dict(
            random.choice(({"type": "string"}, {"type": "string"}, {"type": "integer"}, {"type": "boolean"}))
        )
        if random.random() < 0.3:
            of["default"] = _scalar_value(of["type"], random)
        else:
            required.append(key)
        items["properties"][key] = of
    if required:
        items["required"] = required
    return {"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}


def flipped(of: Schema, random: Random) -> Schema:
    """The schema with some lists and maps atomic that were not, or the other way round."""
    made: Schema = json_copy(of)
    for each in made.get("properties", {}).values():
        _flip(each, random)
    if random.random() < 0.02:
        _flip(made, random)
    return made


def _flip(of: Schema, random: Random) -> None:
    for each in of.get("properties", {}).values():
        _flip(each, random)
    for part in ("items", "additionalProperties"):
        if isinstance(of.get(part), dict):
            _flip(of[part], random)
    if of.get("type") == "object" and random.random() < 0.2 and "default" not in of:
        if of.pop("x-kubernetes-map-type", None) != "atomic":
            of["x-kubernetes-map-type"] = "atomic"
    elif of.get("type") == "array" and random.random() < 0.3:
        if of.get("x-kubernetes-list-type") in {"set", "map"}:
            of["x-kubernetes-list-type"] = "atomic"
            of.pop("x-kubernetes-list-map-keys", None)
        elif of["items"].get("type") in {"string", "integer", "boolean"} and not of["items"].get("nullable"):
            of["x-kubernetes-list-type"] = "set"


# -- values -----------------------------------------------------------------------------------------------------------


def value(of: Schema, random: Random, *, odds: float = 0.7) -> Any:
    """A value that mostly fits. ``odds``: that a field is there."""
    chance = random.random()
    if (of.get("nullable") and chance < 0.2) or chance < 0.002:
        return None
    if chance > 0.998:
        return _anything(random, 1)  # what does not fit
    if of.get("type") == "object":
        properties = of.get("properties", {})
        made = {name: value(each, random, odds=odds) for name, each in properties.items() if random.random() < odds}
        for name in of.get("required", ()):
            if name not in made and random.random() < 0.98:
                made[name] = value(properties[name], random)
        extra = of.get("additionalProperties")
        if isinstance(extra, dict):
            for name in random.sample(NAMES, random.randint(0, 3)):
                made[name] = value(extra, random, odds=odds)
        elif of.get(PRESERVE) and random.random() < 0.6:
            for name in random.sample(("p", "q", "r"), random.randint(0, 2)):
                made[name] = _anything(random, 2)
        if of.get("x-kubernetes-embedded-resource"):
            made |= {"apiVersion": "v1", "kind": "Pod", "metadata": metadata(None, random, name="in")}
        return made
    if of.get("type") == "array":
        return _list(of, random, odds)
    if of.get("x-kubernetes-int-or-string"):
        return random.choice((*NUMBERS, *TEXTS))
    if "type" not in of:
        return _anything(random, 2)
    return _scalar_value(of["type"], random)


def _scalar_value(type_: str, random: Random) -> Any:
    match type_:
        case "integer":
            return random.choice(NUMBERS)
        case "number":
            return random.choice((*NUMBERS, 0.5, -1.25))
        case "boolean":
            return random.random() < 0.5
    return random.choice(TEXTS)


def _list(of: Schema, random: Random, odds: float) -> list[Any]:
    made = [value(of["items"], random, odds=odds) for _ in range(random.choice((0, 1, 2, 2, 3, 5)))]
    return made if random.random() < 0.03 else unique(made, of)


def unique(items: list[Any], of: Schema) -> list[Any]:
    """Without duplicates, where the type of the list has none."""
    list_type = of.get("x-kubernetes-list-type")
    if list_type not in {"set", "map"}:
        return items
    seen: list[Any] = []
    left = []
    for item in items:
        key = item
        if list_type == "map" and isinstance(item, dict):
            properties = of["items"]["properties"]
            key = [item.get(name, properties[name].get("default")) for name in of["x-kubernetes-list-map-keys"]]
        if repr(key) not in seen:
            seen.append(repr(key))
            left.append(item)
    return left


def _anything(random: Random, depth: int) -> Any:
    match random.randrange(8 if depth > 0 else 4):
        case 0 | 1:
            return random.choice(TEXTS)
        case 2:
            return random.choice((*NUMBERS, 0.5, True, False))
        case 3:
            return random.choice((None, {}, []))
        case 4 | 5:
            return [_anything(random, depth - 1) for _ in range(random.randint(0, 3))]
    return {name: _anything(random, depth - 1) for name in random.sample(NAMES, random.randint(0, 3))}


def metadata(old: Any, random: Random, *, name: str) -> dict[str, Any]:
    """Metadata like the old, or others."""
    made: dict[str, Any] = dict(old) if isinstance(old, dict) else {}
    made.pop("managedFields", None)
    made.pop("uid", None)
    made["name"] = name
    if random.random() < 0.2:
        made["labels"] = {each: random.choice(TEXTS) for each in random.sample(NAMES, random.randint(0, 2))}
    if random.random() < 0.1:
        made["finalizers"] = random.sample(("x/a", "x/b", "x/c"), random.randint(0, 3))
    if random.random() < 0.1:
        made["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": random.choice("ab"), "uid": uid, "controller": uid == "1"}
            for uid in random.sample("123", random.randint(0, 3))
        ]
    if random.random() < 0.05:
        made.pop(random.choice(("labels", "finalizers", "ownerReferences", "annotations")), None)
    return made


def changed(old: Any, of: Schema, random: Random) -> Any:
    """A value with some changes, in most places none."""
    chance = random.random()
    if chance < 0.08:
        return value(of, random)
    if isinstance(old, dict):
        properties = of.get("properties", {})
        extra = of.get("additionalProperties")
        made = {}
        for name, item in old.items():
            each = properties.get(name, extra if isinstance(extra, dict) else None)
            if random.random() < 0.08 and name not in of.get("required", ()):
                continue
            made[name] = item if each is None else changed(item, each, random)
        for name, each in properties.items():
            if name not in made and random.random() < 0.1:
                made[name] = value(each, random)
        if isinstance(extra, dict) and random.random() < 0.2:
            made[random.choice(NAMES)] = value(extra, random)
        if of.get(PRESERVE) and random.random() < 0.2:
            made[random.choice(("p", "q", "r"))] = _anything(random, 2)
        return made
    if isinstance(old, list) and isinstance(of.get("items"), dict):
        items = [changed(item, of["items"], random) for item in old if random.random() < 0.92]
        if random.random() < 0.3:
            items.insert(random.randint(0, len(items)), value(of["items"], random))
        if random.random() < 0.15:
            random.shuffle(items)
        return items if random.random() < 0.03 else unique(items, of)
    return value(of, random) if random.random() < 0.2 else old


def config_of(live: Any, of: Schema, random: Random) -> dict[str, Any]:
    """What somebody applies: parts of the live object, some changed, or something new."""
    if not isinstance(live, dict) or random.random() < 0.3:
        made = value(of, random, odds=0.4)
    else:
        made = changed(_part({name: live[name] for name in ("spec", "status") if name in live}, of, random), of, random)
    return made if isinstance(made, dict) else {}


def _part(live: Any, of: Any, random: Random) -> Any:
    of = of if isinstance(of, dict) else {}
    if isinstance(live, dict):
        keep = 0.6
        properties, extra = of.get("properties", {}), of.get("additionalProperties")
        required = of.get("required", ())
        return {
            name: _part(item, properties.get(name, extra), random)
            for name, item in live.items()
            if name in required or random.random() < keep
        }
    if isinstance(live, list) and of.get("x-kubernetes-list-type") in {"set", "map"}:
        return [_part(item, of.get("items"), random) for item in live if random.random() < 0.6]
    return live
