"""Bodies of requests: objects that a schema allows, and what becomes of them when something in them is changed.

Knows schemas, patches and DeleteOptions; nothing of paths.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tests.attack.fuzz import values
from tests.attack.fuzz.api import Served
from tests.attack.fuzz.values import Pairs, Raw

NAMES = tuple(f"n{number}" for number in range(8))
NAMESPACES = ("a", "b", "default", "ending", "absent")
"""The server says that ``ending`` is being deleted and ``absent`` does not exist."""

_GOOD: Mapping[str, tuple[str, ...]] = {
    "bsonobjectid": ("507f1f77bcf86cd799439011",), "uri": ("http://a.b/c?d", "/x", "urn:a:b"), "email": ("a@b.c", "A B <a@b.c>"),
    "hostname": ("a.example.com", "a"), "ipv4": ("10.0.0.1",), "ipv6": ("::1", "2001:db8::8a2e"), "cidr": ("10.0.0.0/8", "::/0"),
    "mac": ("00:00:5e:00:53:01",), "uuid": ("d833e77c-0f16-45be-81f4-1eed1c7633a2",), "uuid3": ("bcd02e22-68f0-3046-a512-327cca9def8f",),
    "uuid4": ("025b0d74-00a2-4048-bf57-227c5111bb34",), "uuid5": ("886313e1-3b8a-5372-9b90-0c9aee199e5d",), "isbn": ("0321751043",),
    "isbn10": ("0321751043",), "isbn13": ("978-0321751041",), "creditcard": ("4111-1111-1111-1111",), "ssn": ("111-11-1111",),
    "hexcolor": ("#FFFFFF",), "rgbcolor": ("rgb(255,255,255)",), "byte": ("AAAA", "aGFsbG8="), "date": ("2020-02-29",),
    "duration": ("1h", "3 days", "1.5s"), "date-time": ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+02:00"),
    "k8s-short-name": ("a-b",), "k8s-long-name": ("a.b",), "quantity": ("1.50", "500m", "1e3", "2Ki", "0"),
}  # fmt: skip


def valid(dice: Random, schema: Mapping[str, Any], depth: int = 0) -> Any:
    """A value that the schema allows, or nearly always."""
    if "enum" in schema:
        return dice.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return dice.choice((1, 0, "50", "7"))
    kind = schema.get("type")
    if kind == "integer":
        return max(schema.get("minimum", 0), dice.choice((1, 7, 14, 70)))
    if kind == "number":
        return dice.choice((1, 1.5, 0.1, 100))
    if kind == "boolean":
        return dice.random() < 0.5
    if kind == "string":
        if "pattern" in schema:
            return dice.choice(("abc", "aab", "A"))
        return dice.choice(_GOOD.get(schema.get("format", ""), ("aa", "xy", "word")))
    if kind == "array":
        low = schema.get("minItems", 0)
        return [valid(dice, schema.get("items", {}), depth + 1) for _ in range(dice.randrange(low, low + 3))]
    if kind == "object":
        return _object(dice, schema, depth)
    return dice.choice((1, "x", None, {"a": 1}, [1, 2]))


def _object(dice: Random, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if schema.get("x-kubernetes-embedded-resource"):
        return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {"a": "b"}}
    properties: Mapping[str, Any] = schema.get("properties", {})
    needed = schema.get("required", ())
    # Some of the many members of a spec; all of a small one, often.
    share = 0.9 if depth == 0 else min(0.8, 4 / (len(properties) or 1))
    found = {
        name: valid(dice, inner, depth + 1)
        for name, inner in properties.items()
        if name in needed or dice.random() < share
    }
    if isinstance(schema.get("additionalProperties"), Mapping):
        for key in dice.sample(("k1", "k2", "k3"), dice.randrange(1, 3)):
            found[key] = valid(dice, schema["additionalProperties"], depth + 1)
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        found["a"] = dice.choice((1, "x", [1], {"b": None}))
    return found


def metadata(dice: Random, name: str, namespace: str) -> dict[str, Any]:
    """Metadata, mostly good."""
    found: dict[str, Any] = {}
    if name:
        found["name"] = name
    else:
        found["generateName"] = dice.choice(("g-", "g-", "g" * 60, "G", ""))
    if namespace and dice.random() < 0.5:
        found["namespace"] = namespace
    if dice.random() < 0.4:
        found["labels"] = {dice.choice(("app", "tier", "x.io/y")): dice.choice(("a", "b", ""))}
    if dice.random() < 0.15:
        found["annotations"] = {"note": values.text(dice)}
    if dice.random() < 0.12:
        found["finalizers"] = ["example.com/keep"]
    if dice.random() < 0.04:
        found[dice.choice(_META)] = dice.choice((_nasty_meta, values.anything))(dice)
    return found


_META = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "labels", "annotations", "finalizers", "ownerReferences", "managedFields", "selfLink", "unknown",
)  # fmt: skip


_NASTY_META: tuple[Callable[[Random], Any], ...] = (
    lambda dice: {values.text(dice): values.text(dice)},
    lambda dice: {values.worst(dice, "label"): "a"},
    lambda dice: {"a": values.worst(dice, "label")},
    lambda dice: [values.worst(dice, "label")],
    lambda _: [{"apiVersion": "v1", "kind": "X", "name": "n", "uid": "u", "controller": True}] * 2,
    lambda dice: [{"apiVersion": values.text(dice), "kind": "", "name": values.scalar(dice), "uid": None}],
    lambda dice: [
        {"manager": "m", "operation": "Update", "fieldsV1": {"f:a": {}}, "time": values.worst(dice, "date-time")}
    ],
    lambda dice: values.worst(dice, "date-time"),
    lambda _: "2020-01-01T00:00:00Z",
    lambda _: "9" * 5000,
    lambda dice: {f"k{number}": "v" * 100 for number in range(dice.choice((30, 3000)))},
    lambda dice: [f"example.com/f{number}" for number in range(dice.choice((10, 1000)))],
)


def _nasty_meta(dice: Random) -> Any:
    return dice.choice(_NASTY_META)(dice)


def obj(dice: Random, served: Served, name: str, namespace: str) -> Any:
    """An object of the kind; two of three are good."""
    made = {
        "apiVersion": served.api_version,
        "kind": served.kind,
        "metadata": metadata(dice, name, namespace if served.namespaced else ""),
        **valid(dice, served.schema),
    }
    return made if dice.random() < 0.6 else mutated(dice, made, served.schema)


def mutated(dice: Random, value: Any, schema: Mapping[str, Any]) -> Any:
    """A copy in which one to four things are different."""
    made = copy.deepcopy(value)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        made = _mutated(dice, made, schema)
    return made


def _mutated(dice: Random, value: Any, schema: Mapping[str, Any] | None) -> Any:
    """Go down to somewhere, and change what is there."""
    schema = schema or {}
    if isinstance(value, Pairs):
        return Pairs([*value, (values.text(dice), values.anything(dice))])
    if isinstance(value, dict) and value and dice.random() < 0.85:
        key = dice.choice(list(value))
        inner = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
        kind = dice.randrange(14)
        if kind == 0:
            del value[key]
        elif kind == 1:
            return Pairs([*value.items(), (key, values.anything(dice))])
        elif kind == 2:
            return Pairs([*value.items(), (key.upper(), value[key]), (key + "\u0000", 1)])
        elif kind == 3:
            value[values.text(dice)] = values.anything(dice)
        elif kind == 4 and schema.get("properties"):
            other = dice.choice(list(schema["properties"]))
            value[other] = _nasty(dice, schema["properties"][other])
        else:
            value[key] = _mutated(dice, value[key], inner if isinstance(inner, Mapping) else None)
        return value
    if isinstance(value, list) and value and dice.random() < 0.8:
        at = dice.randrange(len(value))
        kind = dice.randrange(6)
        if kind == 0:
            del value[at]
        elif kind == 1:
            value.insert(at, value[at])
        elif kind == 2:
            value.insert(at, values.anything(dice))
        elif kind == 3:
            return value * dice.choice((2, 10, 300 if len(value) < 20 else 2))
        else:
            value[at] = _mutated(dice, value[at], schema.get("items"))
        return value
    return _nasty(dice, schema)


def _nasty(dice: Random, schema: Mapping[str, Any]) -> Any:
    """What the schema fears most, or anything."""
    if dice.random() < 0.25:
        return values.anything(dice)
    form = schema.get("format", "")
    if "pattern" in schema:
        return values.worst(dice, "pattern")
    if schema.get("x-kubernetes-int-or-string"):
        return dice.choice((values.worst, lambda d, _: values.number(d)))(dice, "int-or-string")
    if form in values.WORST:
        return values.worst(dice, form)
    if form.startswith(("uuid", "isbn", "k8s")):
        return values.worst(dice, "k8s-long-name" if form.startswith("k8s") else form[:4])
    if schema.get("type") in ("integer", "number"):
        return values.number(dice)
    if schema.get("type") == "array" and schema.get("x-kubernetes-list-type"):
        return _rivals(dice, schema)
    return values.anything(dice)


def _rivals(dice: Random, schema: Mapping[str, Any]) -> Any:
    """Many items that are hard to tell apart."""
    size = dice.choice((2, 50, 50, 400, 3000))
    if schema["x-kubernetes-list-type"] == "map":
        return [
            {"name": f"n{index % (size - 1)}", "port": index if dice.random() < 0.5 else 80} for index in range(size)
        ]
    return dice.choice(
        (
            [1, Raw("1.0"), Raw("1e0"), True, "1"],
            list(range(size)),
            [Raw(f"{index}.0") for index in range(size)],
            [Raw(f"1e{index}") for index in range(min(size, 300))],
            [f"s{index}" for index in range(size)],
            [{}] * 3,
            [[]] * 3,
        )
    )


POINTERS = (
    "", "/", "/spec", "/spec/", "/spec/-", "/spec/list/-", "/spec/list/0", "/spec/list/00", "/spec/list/-1", "/spec/list/1e0",
    "/spec/list/99999999999999999999", "/spec/list/" + "9" * 4301, "/spec/listMap/0/name", "/metadata", "/metadata/name", "/metadata/labels/x.io~1y", "/metadata/uid",
    "/metadata/labels", "/metadata/resourceVersion", "/metadata/finalizers", "/apiVersion", "/kind", "/status", "/spec/~2", "/~", "/~0~1",
    "/spec/int", "/spec/number", "/spec/free", "/spec/free/a", "/spec/f-email", "/spec/size", "/spec/toppings/0", "/spec/toppings/-", "spec",
    "/spec/\u0000", "/\u00e9", "/spec" * 300, "/spec/cost", "/metadata/creationTimestamp", "/metadata/deletionTimestamp", "/metadata/managedFields",
)  # fmt: skip


def json_patch(dice: Random) -> Any:
    """A JSON patch (RFC 6902), mostly of operations that exist."""
    if dice.random() < 0.05:
        return values.anything(dice)
    count = (
        dice.choice((0, 1, 1, 1, 2, 3, 5, 40, 40)) if dice.random() < 0.998 else dice.choice((9_999, 10_000, 10_001))
    )
    operations: list[Any] = []
    if dice.random() < 0.03:
        # Each copy doubles what there is.
        operations = [{"op": "add", "path": "/spec/free", "value": {"a": "x" * 1000}}]
        operations += [{"op": "copy", "from": "/spec/free", "path": f"/spec/free/c{step}"} for step in range(30)]
        return operations
    for _ in range(count):
        operation: dict[str, Any] = {"op": dice.choice(("add", "replace", "remove", "test", "move", "copy"))}
        operation["path"] = dice.choice(POINTERS)
        if operation["op"] in ("add", "replace", "test"):
            operation["value"] = values.anything(dice) if count < 50 else 1
        if operation["op"] in ("move", "copy"):
            operation["from"] = dice.choice(POINTERS)
        if dice.random() < 0.05:
            operation[dice.choice(("op", "path", "from", "value", "other"))] = values.scalar(dice)
        if dice.random() < 0.03:
            operation.pop(dice.choice(list(operation)))
        operations.append(operation)
    return operations


def merge_patch(dice: Random, served: Served) -> Any:
    """A merge patch (RFC 7396)."""
    kind = dice.randrange(8)
    if kind < 3:
        full = valid(dice, served.schema)
        return {key: item for key, item in full.items() if dice.random() < 0.8}
    if kind < 5:
        return mutated(dice, {"spec": valid(dice, served.schema).get("spec", {})}, served.schema)
    if kind == 5:
        return {"metadata": {dice.choice(_META): dice.choice((_nasty_meta, values.anything))(dice)}}
    if kind == 6:
        return {
            "metadata": {
                "labels": {"app": dice.choice(("a", None))},
                "finalizers": dice.choice((None, [], ["example.com/keep"])),
            }
        }
    return values.anything(dice)


def delete_options(dice: Random) -> Any:
    """DeleteOptions, mostly good."""
    made: dict[str, Any] = {"apiVersion": dice.choice(("v1", "v1", "meta.k8s.io/v1", "x/v9")), "kind": "DeleteOptions"}
    if dice.random() < 0.3:
        made["gracePeriodSeconds"] = dice.choice((0, 30, -1, values.number(dice)))
    if dice.random() < 0.3:
        made["propagationPolicy"] = dice.choice(
            ("Background", "Foreground", "Orphan", "orphan", values.text(dice), None)
        )
    if dice.random() < 0.2:
        made["preconditions"] = dice.choice(
            ({"uid": "x"}, {"resourceVersion": "1"}, {"uid": values.scalar(dice)}, values.anything(dice))
        )
    if dice.random() < 0.1:
        made["dryRun"] = dice.choice((["All"], [], ["x"], values.anything(dice)))
    if dice.random() < 0.1:
        made["orphanDependents"] = dice.choice((True, False, values.scalar(dice)))
    if dice.random() < 0.15:
        return mutated(dice, made, {})
    return made
