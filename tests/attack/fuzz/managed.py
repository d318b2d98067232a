"""Applied configurations and ``metadata.managedFields``: what clients send, and what no client would.

Knows server-side apply; nothing of paths of requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tests.attack.fuzz import bodies, values
from tests.attack.fuzz.api import Served
from tests.attack.fuzz.values import Pairs

MANAGERS = (
    "me",
    "kubectl",
    "kubectl-client-side-apply",
    "before-first-apply",
    "ancient-changes",
    "m" * 128,
    "\u00e9",
    "",
)
_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def configuration(
    dice: Random, served: Served, name: str, namespace: str, live: Mapping[str, Any] | None, subresource: str = ""
) -> Any:
    """A body of an apply; two of three are good, and some apply to what is there."""
    if subresource == "scale" and dice.random() < 0.9:
        return scale(dice, served, name, namespace)
    known = served.schema.get("properties", {})
    made: dict[str, Any] = {
        "apiVersion": served.api_version,
        "kind": served.kind,
        "metadata": bodies.metadata(dice, name, namespace if served.namespaced else ""),
    }
    kind = dice.randrange(10)
    if kind < 6:
        made |= bodies.valid(dice, served.schema)
    elif kind < 8 and live is not None:
        made |= {part: live[part] for part in known if part in live and dice.random() < 0.9}
    if subresource != "status" or dice.random() < 0.1:
        made.pop("status", None)
    if dice.random() < 0.04:
        made["metadata"]["annotations"] = {
            _ANNOTATION: dice.choice(("", "{", "[]", "null", '{"spec":{}}', "[" * 5000, "1e999"))
        }
    if dice.random() < 0.04:
        made["metadata"]["managedFields"] = entries(dice, served)
    if dice.random() < 0.04:
        made["metadata"][dice.choice(("uid", "resourceVersion"))] = dice.choice(("1", "x", "", values.scalar(dice)))
    return made if dice.random() < 0.65 else bodies.mutated(dice, made, served.schema)


def scale(dice: Random, served: Served, name: str, namespace: str) -> Any:
    """A body for ``scale``; two of three are good."""
    made: dict[str, Any] = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": bodies.metadata(dice, name, namespace if served.namespaced else ""),
        "spec": {"replicas": dice.choice((0, 1, 2, 3, 2**31 - 1, values.number(dice)))},
    }
    if dice.random() < 0.5:
        made["metadata"]["managedFields"] = entries(dice, served)
    return made if dice.random() < 0.7 else bodies.mutated(dice, made, {})


def with_entries(dice: Random, served: Served, content: Any) -> Any:
    """An object that says who manages it; itself if it is no object."""
    if not isinstance(content, dict) or not isinstance(content.get("metadata"), dict):
        return content
    return {**content, "metadata": {**content["metadata"], "managedFields": entries(dice, served)}}


def json_patch(dice: Random, served: Served) -> Any:
    """A JSON patch of the managed fields, and now and then of other fields beside them."""
    operations: list[dict[str, Any]] = []
    for _ in range(dice.choice((1, 1, 2, 3))):
        pointer = dice.choice(_POINTERS)
        made: dict[str, Any] = {"op": dice.choice(("add", "replace", "replace", "remove", "test")), "path": pointer}
        if made["op"] != "remove":
            made["value"] = _at(dice, served, pointer)
        operations.append(made)
    if dice.random() < 0.3:
        operations += [{"op": "add", "path": "/metadata/labels", "value": {"app": dice.choice("ab")}}]
    return operations


_POINTERS = (
    *("/metadata/managedFields",) * 4, "/metadata/managedFields/0", "/metadata/managedFields/-", "/metadata/managedFields/1",
    "/metadata/managedFields/0/fieldsV1", "/metadata/managedFields/0/fieldsV1/f:spec", "/metadata/managedFields/0/fieldsV1/f:metadata/f:labels",
    "/metadata/managedFields/0/manager", "/metadata/managedFields/0/operation", "/metadata/managedFields/0/apiVersion",
    "/metadata/managedFields/0/time", "/metadata/managedFields/0/fieldsType", "/metadata/managedFields/0/subresource",
)  # fmt: skip


def _at(dice: Random, served: Served, pointer: str) -> Any:
    """A value for what a pointer points to, or another one."""
    if dice.random() < 0.15:
        return values.anything(dice)
    if "/fieldsV1" in pointer:
        return _fields(dice, served.schema)
    if pointer == "/metadata/managedFields":
        return entries(dice, served)
    entry = _entry(dice, served)
    return entry if pointer[-1] in "01-" else entry.get(pointer.rpartition("/")[2])


def entries(dice: Random, served: Served) -> Any:
    """A value of ``managedFields``: mostly a list, in which something is wrong more often than not."""
    kind = dice.randrange(12)
    if kind == 0:
        return dice.choice(([], [{}], None, {}, [[]], [None]))
    if kind == 1:
        return values.anything(dice)
    return [_entry(dice, served) for _ in range(dice.choice((1, 1, 2, 3, 12, 40)))]


def _entry(dice: Random, served: Served) -> Any:
    entry: dict[str, Any] = {
        "manager": dice.choice(MANAGERS),
        "operation": dice.choice(("Apply", "Update")),
        "apiVersion": dice.choice((served.api_version, served.api_version, f"{served.group}/v0", "v1", "a/b/c")),
        "time": dice.choice(("2020-01-01T00:00:00Z", "2020-01-01T00:00:00+02:00", "9999-12-31T23:59:59Z")),
        "fieldsType": "FieldsV1",
        "fieldsV1": _fields(dice, served.schema),
    }
    if dice.random() < 0.2:
        entry["subresource"] = dice.choice(("status", "scale", "notes", values.text(dice)))
    if dice.random() < 0.25:
        name = dice.choice((*entry, "subresource", "other"))
        entry[name] = dice.choice((values.anything, values.text, _bad_fields))(dice)
    if dice.random() < 0.1:
        entry.pop(dice.choice(list(entry)))
    return entry


def _fields(dice: Random, schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Fields that the schema has, and others."""
    found: dict[str, Any] = (
        {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}} if not depth and dice.random() < 0.5 else {}
    )
    for name, inner in schema.get("properties", {}).items():
        if dice.random() < 0.4:
            found[f"f:{name}"] = _fields(dice, inner, depth + 1)
    if "items" in schema or "additionalProperties" in schema or dice.random() < 0.15:
        inner = schema.get("items") or schema.get("additionalProperties")
        for _ in range(dice.randrange(3)):
            found[_element(dice)] = _fields(dice, inner if isinstance(inner, Mapping) else {}, depth + 1)
    if dice.random() < 0.1:
        found["."] = {}
    return found if dice.random() < 0.96 else _bad_fields(dice)


_ELEMENTS = (
    'k:{"name":"a"}', 'k:{"name":"a","port":80}', 'k:{"port":80,"name":"a"}', "k:{}", "k:", "k:[]", "k:null", 'k:{"name":{"a":1}}',
    'k:{"name":1e400}', 'k:{"a":1,"a":2}', "k:" + "[" * 3000, 'v:"a"', "v:1", "v:1.0", "v:true", "v:null", "v:{}", "v:", "v:nan",
    "v:1e999", "v:" + "9" * 5000, "v:[1,[2]]", 'v:"\\ud800"', "i:0", "i:-1", "i:00", "i:99999999999999999999", "i:" + "9" * 4301,
    "i:", "i:x", "f:", "f:a", "f:\x00", "f", "", ":", "x:y", "..", "F:a", " f:a", "f:a\udfff",
)  # fmt: skip


def _element(dice: Random) -> str:
    return dice.choice(_ELEMENTS) if dice.random() < 0.9 else dice.choice("fkvi") + ":" + values.text(dice)


def _deep(dice: Random, depth: int) -> Any:
    found: Any = {}
    for _ in range(depth):
        found = {dice.choice(("f:a", "f:spec", 'k:{"name":"a"}', 'v:"a"')): found}
    return found


_BAD: tuple[Callable[[Random], Any], ...] = (
    lambda dice: _deep(dice, dice.choice((20, 150, 190, 198, 205))),
    lambda _: {f"f:a{number}": {} for number in range(2000)},
    lambda _: {f'k:{{"name":"{number}"}}': {".": {}, "f:name": {}} for number in range(1000)},
    lambda _: {".": {".": {}}},
    lambda _: {"f:a": None},
    lambda _: {"f:a": []},
    lambda _: {"f:a": "x"},
    lambda _: [],
    lambda _: "{}",
    lambda _: Pairs([("f:a", {}), ("f:a", {"f:b": {}})]),
    values.anything,
)


def _bad_fields(dice: Random) -> Any:
    return dice.choice(_BAD)(dice)


# -- what an answer may hold


def problem(entry: Any) -> str:
    """What is wrong with an entry that a server answers; empty if nothing is (``ManagedFieldsEntry``, meta/v1)."""
    if not isinstance(entry, dict) or entry.keys() - _MEMBERS:
        return "no entry"
    if entry.get("operation") not in ("Apply", "Update") or entry.get("fieldsType") != "FieldsV1":
        return "wrong operation or fieldsType"
    if any(not isinstance(entry.get(name, ""), str) for name in _MEMBERS - {"fieldsV1"}) or not entry.get("apiVersion"):
        return "wrong texts"
    if len(entry.get("manager", "")) > _LONGEST_MANAGER:
        return "a long name"
    return _wrong_fields(entry.get("fieldsV1"))


_LONGEST_MANAGER = 128
"""``FieldManagerMaxLength`` of ``apimachinery/pkg/apis/meta/v1/validation``."""
_MEMBERS = {"manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"}


def _wrong_fields(fields: Any) -> str:
    if not isinstance(fields, dict):
        return "wrong fields"
    waiting = [fields]
    while waiting:
        for element, below in waiting.pop().items():
            if element != "." and element[:2] not in ("f:", "k:", "v:", "i:"):
                return f"a wrong element {element[:100]}"
            if not isinstance(below, dict) or (element == "." and below):
                return f"wrong fields below {element[:100]}"
            waiting.append(below)
    return ""
