"""Structural schemas made up at random, every keyword among them, and objects for them: pruned, defaulted, validated, ratcheted.

The long form: ``.venv/bin/python -m tests.differential.structuralschemas --cases 5000``. It asks kube-apiserver and this project the
same, prints a summary, and ends with status 1 if an answer differs. ``--seed`` repeats a run. The short form is
``test_structuralschemas.py``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from extapi.testing.memory import serve
from tests.differential.cel import objects
from tests.differential.mutating import mutated
from tests.differential.verdicts import (
    Asked,
    Definition,
    Kube,
    Ours,
    Tally,
    alone,
    api,
    path_of,
    refusals,
    without_fractions,
)

GROUP: Final = "made.differential.test"
STRICT: Final = "v1"
LOOSE: Final = "v1beta1"
"""The version without rules, in which objects are stored that break those of the other one."""
_NAMES: Final = ("name", "port", "a", "b", "kind", "spec", "metadata", "x-y", "apiVersion")
_FORMATS: Final = (
    "date-time", "date", "duration", "byte", "uuid", "ipv4", "ipv6", "uri", "email", "int32", "int64", "cidr", "password", "unknown",
)  # fmt: skip
_PATTERNS: Final = ("^[a-z]+$", "^.{0,3}$", "^(/[a-z]*)+$", "[A-Z]", "^$")
_SCALARS: Final = ("string", "integer", "number", "boolean")

Schema = dict[str, Any]


def schema(random: Random, depth: int = 0) -> Schema:
    """A schema of a value. Its defaults may break it, and some of its lists may not be allowed."""
    kind = random.choice((*_SCALARS, "string", "integer", "object", "object", "map", "array", "array", "any", "intstr"))
    if depth > 3 and kind in {"object", "map", "array"}:
        kind = random.choice(_SCALARS)
    made: dict[str, Any] = _MAKERS.get(kind, _scalar)(random, depth, kind)
    if random.random() < 0.25:
        made["nullable"] = True
    if random.random() < 0.15:
        made.update(_branches(made, random))
    if random.random() < 0.3 and kind != "any":
        value = without_fractions(objects.made(made, random))
        if value is not None:
            made["default"] = value
    return made


def _scalar(random: Random, _depth: int, kind: str) -> Schema:
    return {"type": kind, **_validations(kind, random)}


def _validations(kind: str, random: Random) -> Schema:
    """Some keywords that constrain values of a type."""
    chosen: Schema = {}
    for keyword, make in _KEYWORDS.get(kind, {}).items():
        if random.random() < 0.25:
            chosen[keyword] = make(random)
    return chosen


_KEYWORDS: Final[dict[str, dict[str, Any]]] = {
    "string": {
        "minLength": lambda random: random.randint(0, 3),
        "maxLength": lambda random: random.randint(0, 12),
        "pattern": lambda random: random.choice(_PATTERNS),
        "format": lambda random: random.choice(_FORMATS),
        "enum": lambda random: random.sample(("a", "HTTP", "", "default", "80"), random.randint(1, 3)),
    },
    "integer": {
        "minimum": lambda random: random.randint(-2, 3),
        "maximum": lambda random: random.randint(3, 100),
        "exclusiveMinimum": lambda random: random.random() < 0.5,
        "exclusiveMaximum": lambda random: random.random() < 0.5,
        "multipleOf": lambda random: random.choice((1, 2, 5)),
        "format": lambda random: random.choice(("int32", "int64")),
        "enum": lambda random: random.sample((0, 1, 2, 80), random.randint(1, 3)),
    },
    "number": {
        "minimum": lambda random: random.choice((-2, 0, 0.5)),
        "maximum": lambda random: random.choice((3, 1.5, 1e6)),
        "multipleOf": lambda random: random.choice((1, 0.5, 0.1)),
        "format": lambda random: random.choice(("float", "double")),
    },
    "object": {
        "minProperties": lambda random: random.randint(0, 2),
        "maxProperties": lambda random: random.randint(1, 4),
    },
    "array": {
        "minItems": lambda random: random.randint(0, 2),
        "maxItems": lambda random: random.randint(1, 4),
    },
}


def _object(random: Random, depth: int, _kind: str) -> Schema:
    names = random.sample(_NAMES, random.randint(1, 4))
    made: Schema = {"type": "object", "properties": {name: schema(random, depth + 1) for name in names}}
    if random.random() < 0.4:
        made["required"] = random.sample(names, 1)
    if random.random() < 0.15:
        made["x-kubernetes-preserve-unknown-fields"] = True
    if random.random() < 0.1:
        made["x-kubernetes-embedded-resource"] = True
        made["properties"] = {name: each for name, each in made["properties"].items() if name not in _META}
        made["x-kubernetes-preserve-unknown-fields"] = True
        made.pop("required", None)
    elif random.random() < 0.15:
        made["x-kubernetes-map-type"] = random.choice(("atomic", "granular"))
    return {**made, **_validations("object", random)}


_META: Final = ("apiVersion", "kind", "metadata")


def _map(random: Random, depth: int, _kind: str) -> Schema:
    values: Any = True if random.random() < 0.1 else schema(random, depth + 1)
    return {"type": "object", "additionalProperties": values, **_validations("object", random)}


def _array(random: Random, depth: int, _kind: str) -> Schema:
    made: Schema = {"type": "array", **_validations("array", random)}
    match random.randrange(4):
        case 0:
            return {**made, "x-kubernetes-list-type": "set", "items": {"type": random.choice(_SCALARS)}}
        case 1:
            item = _object(random, depth + 1, "object")
            keys = random.sample(("name", "port"), random.randint(1, 2))
            for key in keys:
                item["properties"][key] = {"type": random.choice(("string", "integer"))}
            item["required"] = keys
            for keyword in ("x-kubernetes-embedded-resource", "x-kubernetes-map-type"):
                item.pop(keyword, None)
            return {**made, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": item}
        case 2:
            return {**made, "x-kubernetes-list-type": "atomic", "items": schema(random, depth + 1)}
    return {**made, "items": schema(random, depth + 1)}


def _any(_random: Random, _depth: int, _kind: str) -> Schema:
    return {"x-kubernetes-preserve-unknown-fields": True}


def _int_or_string(random: Random, _depth: int, _kind: str) -> Schema:
    made: Schema = {"x-kubernetes-int-or-string": True}
    if random.random() < 0.3:
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return made


_MAKERS: Final[dict[str, Any]] = {
    "object": _object,
    "map": _map,
    "array": _array,
    "any": _any,
    "intstr": _int_or_string,
}


def _branches(of: Schema, random: Random) -> Schema:
    """``allOf``, ``anyOf``, ``oneOf`` or ``not`` with constraints on a value, or on its properties."""
    if "anyOf" in of:
        return {}

    def branch() -> Schema:
        names = list(of.get("properties", ()))
        if names and random.random() < 0.6:
            return {"required": [random.choice(names)]}
        return _validations(of.get("type", "string"), random)

    keyword = random.choice(("allOf", "anyOf", "oneOf", "not"))
    return {keyword: branch() if keyword == "not" else [branch() for _ in range(random.randint(1, 3))]}


def definition(number: int, random: Random, fields: int = 24) -> Definition:
    """A kind whose spec has so many fields, each with a schema of its own."""
    plural = f"mades{number}"
    properties = {f"f{index}": schema(random) for index in range(fields)}
    strict = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": f"Made{number}"},
            "versions": [
                {"name": STRICT, "served": True, "storage": False, "schema": {"openAPIV3Schema": strict}},
                {"name": LOOSE, "served": True, "storage": True, "schema": {"openAPIV3Schema": loose}},
            ],
        },
    }


def fields_of(found: Definition) -> dict[str, Schema]:
    """The fields of its spec, which may be changed."""
    strict = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    properties: dict[str, Schema] = strict["properties"]["spec"]["properties"]
    return properties


def spec(properties: dict[str, Schema], random: Random) -> dict[str, Any]:
    """A value of one to three of the fields, with or without mistakes."""
    chosen = random.sample(sorted(properties), min(len(properties), random.randint(1, 3)))
    made = {name: objects.made(properties[name], random) for name in chosen}
    found = {"spec": without_fractions(made)}
    return found if random.random() < 0.35 else without_fractions(mutated(found, random))


def creates(of: Definition, count: int, random: Random) -> Iterator[Asked]:
    """Creates in the strict version, dry."""
    for number in range(count):
        yield Asked("POST", path_of(of, STRICT), _named(of, STRICT, f"n{number}", spec(fields_of(of), random)))


def updates(of: Definition, count: int, random: Random) -> Iterator[tuple[Asked, Asked]]:
    """An object as it is stored in the loose version, and a change of it in the strict one, dry."""
    for number in range(count):
        name = f"o{number}"
        old = spec(fields_of(of), random)
        new = mutated(old, random) if random.random() < 0.8 else spec(fields_of(of), random)
        store = Asked("POST", path_of(of, LOOSE), _named(of, LOOSE, name, old), "")
        change = Asked("PUT", f"{path_of(of, STRICT)}/{name}", _named(of, STRICT, name, without_fractions(new)))
        yield store, change


def _named(of: Definition, version: str, name: str, content: dict[str, Any]) -> dict[str, Any]:
    return {
        **content,
        "apiVersion": f"{GROUP}/{version}",
        "kind": of["spec"]["names"]["kind"],
        "metadata": {"name": name},
    }


_OF_FIELD: Final = re.compile(r"properties\[spec\]\.properties\[(f\d+)\]")


def repaired(made: Definition, kube: Kube) -> Iterator[str]:
    """Remove the fields for which a definition is refused; yield where the two judge it differently."""
    while True:
        theirs, ours = refusals(made, kube)
        if isinstance(theirs, str):
            raise AssertionError(theirs)  # noqa: TRY004 - kube-apiserver cannot judge it
        if theirs != ours:
            yield _apart(theirs or (), ours or (), fields_of(made))
        if theirs is None:
            return
        wrong = {found[1] for _, _, path in theirs if (found := _OF_FIELD.search(path))}
        for name in wrong:
            del fields_of(made)[name]
        if not wrong:
            raise AssertionError(f"refused as a whole: {theirs}")


def _apart(theirs: Any, ours: Any, fields: dict[str, Schema]) -> str:
    """The causes that only one of the two tells, and the fields of which they are."""
    sides = {"theirs": Counter(theirs) - Counter(ours), "ours": Counter(ours) - Counter(theirs)}
    names = {found[1] for side in sides.values() for cause in side if (found := _OF_FIELD.search(str(cause)))}
    told = [f"only {name}: {cause} {count} times" for name, side in sides.items() for cause, count in side.items()]
    return "\n    ".join(["a definition", *told, *(f"{name}: {fields[name]!r:.3000}" for name in sorted(names))])


def compared(cases: int, seed: int, kube: Kube, each: int = 100) -> tuple[list[str], Tally]:
    """Compare so many creates and updates, half of each; ``each``: of both together, of one definition.

    Returns:
        The definitions that are not judged alike, and the objects.
    """
    random = Random(seed)  # noqa: S311 - the same each time
    tally = Tally()
    problems: list[str] = []
    made = [definition(seed * 1000 + number, random) for number in range(max(1, cases // each))]
    for found in made:
        problems += repaired(found, kube)
    kube.install(made)
    with serve(api(made)) as server:
        ours = Ours(server)
        for found in made:
            name = found["metadata"]["name"]
            for asked in creates(found, each // 2, random):
                tally.compare(name, asked, kube, ours)
            for stored, change in updates(found, each // 2, random):
                tally.compare_change(name, stored, change, kube, ours)
    kube.remove(found["metadata"]["name"] for found in made)
    return problems, tally


def main(arguments: Sequence[str]) -> int:
    """The long form."""
    parser = argparse.ArgumentParser(description="Compare made up structural schemas and objects with kube-apiserver.")
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    with alone() as kube:
        problems, tally = compared(chosen.cases, chosen.seed, kube)
    for each in (*problems, *tally.differences):
        print(each, flush=True)  # noqa: T201 - a command's output
    print(f"seed {chosen.seed}: {len(problems)} definitions judged differently; {tally}", flush=True)  # noqa: T201 - the same
    return 1 if problems or tally.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
