"""The worst definitions: each is judged, and served if it is good, within bounds of CPU time and memory.

``python -m tests.attack.definitions``: prints what came of each, with CPU seconds and the growth of memory. Ends with status 1 if
one is not answered as it should be.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from extapi.api.definition import Api, Group
from extapi.crd.definition import Definition
from extapi.crd.kinds import kind_of
from extapi.crd.manifests import read_contents
from extapi.crd.validation import validate_create
from extapi.testing.memory import serve
from tests.attack.table import say

GROUP: Final = "attack.test"
_TEXT: Final = {"type": "string"}


def definition(schema: Any = None, **spec: Any) -> dict[str, Any]:
    """A definition of one version, with other members of its spec."""
    whole = {"type": "object", "properties": {"spec": schema or {"type": "object"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    names = {"plural": "things", "kind": "Thing"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version], **spec},
    }


def nested(depth: int, keyword: str = "properties") -> dict[str, Any]:
    """A schema in a schema, so many times."""
    made: dict[str, Any] = dict(_TEXT)
    for _ in range(depth):
        if keyword == "properties":
            made = {"type": "object", "properties": {"a": made}}
        elif keyword == "not":
            made = {"not": made}
        else:
            made = {keyword: [made, made]} if depth < 20 else {keyword: [made]}
    return made


def versions(count: int) -> list[dict[str, Any]]:
    """So many versions."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    return [{"name": f"v{n + 1}", "served": True, "storage": n == 0, "schema": schema} for n in range(count)]


def _with(**more: Any) -> dict[str, Any]:
    made = definition()
    made["spec"]["versions"][0] |= more
    return made


def _rules(*texts: str, of: Any = None) -> dict[str, Any]:
    return {**(of or _TEXT), "x-kubernetes-validations": [{"rule": text} for text in texts]}


CASES: Final[Mapping[str, tuple[Callable[[], Any], str]]] = {
    "a schema 5,000 deep": (
        lambda: json.dumps(definition("X")).replace('"X"', '{"items": ' * 5000 + "{}" + "}" * 5000).encode(),
        "max depth",
    ),
    "a schema 90 deep": (lambda: definition(nested(90)), ""),
    "not, 90 deep": (lambda: definition({"type": "object", **nested(90, "not")}), "must be empty to be structural"),
    "allOf, two in each of 12": (lambda: definition({"type": "object", **nested(12, "allOf")}), "must be empty"),
    "a schema that refers to itself": (lambda: definition({"$ref": "#"}), "$ref"),
    "20,000 properties": (
        lambda: definition({"type": "object", "properties": {f"p{n}": _TEXT for n in range(20_000)}}),
        "",
    ),
    "200 versions": (lambda: definition(versions=versions(200)), ""),
    "10,000 columns": (
        lambda: _with(
            additionalPrinterColumns=[
                {"name": f"c{n}", "type": "string", "jsonPath": f".spec.c{n}"} for n in range(10_000)
            ]
        ),
        "",
    ),
    "10,000 selectable fields": (
        lambda: _with(selectableFields=[{"jsonPath": f".spec.c{n}"} for n in range(10_000)]),
        "is an invalid path",
    ),
    "1,000 patterns that backtrack": (
        lambda: definition(
            {"type": "object", "properties": {f"p{n}": {**_TEXT, "pattern": f"^(a+)+{n}$"} for n in range(1000)}}
        ),
        "",
    ),
    "a pattern that explodes": (
        lambda: definition({**_TEXT, "pattern": "((a{1,1000}){1,1000}){1,1000}"}),
        "must be a valid regular expression",
    ),
    "an enum of 100,000": (lambda: definition({**_TEXT, "enum": [f"e{n}" for n in range(100_000)]}), ""),
    "10,000 required": (lambda: definition({"type": "object", "required": [f"r{n}" for n in range(10_000)]}), ""),
    "10,000 keys of a map list": (
        lambda: definition(
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": [f"k{n}" for n in range(10_000)],
                "items": {"type": "object", "properties": {"k": _TEXT}},
            }
        ),
        "entries must all be names of item properties",
    ),
    "a default of 1 MB": (lambda: definition({**_TEXT, "default": "x" * 1_000_000}), ""),
    "1,000 defaults that break their schemas": (
        lambda: definition(
            {"type": "object", "properties": {f"p{n}": {**_TEXT, "maxLength": 1, "default": "ab"} for n in range(1000)}}
        ),
        "Too long",
    ),
    "2,000 rules": (
        lambda: definition(_rules(*("self.size() < 5" for _ in range(2000)), of={**_TEXT, "maxLength": 9})),
        "",
    ),
    "a rule of 1 MB": (lambda: definition(_rules("self == '" + "x" * 1_000_000 + "'")), "exceeds limit"),
    "a rule nested 10,000 times": (
        lambda: definition(_rules("(" * 10_000 + "true" + ")" * 10_000)),
        "compilation failed",
    ),
    "a rule that costs too much": (
        lambda: definition(
            _rules("self.all(a, self.all(b, self.all(c, a == b)))", of={"type": "array", "items": _TEXT})
        ),
        "exceeds budget",
    ),
    "unknown fields, 40,000": (lambda: {**definition(), "x": {f"u{n}": n for n in range(40_000)}}, ""),
    "10,000 short names": (
        lambda: definition(names={"plural": "things", "kind": "Thing", "shortNames": [f"s{n}" for n in range(10_000)]}),
        "",
    ),
}
"""The definitions, and what an error says; empty: it is accepted, as kube-apiserver would."""


def outcome(made: Any) -> str:
    """What comes of a definition in a file: its errors, or nothing, after it has been served and an object made."""
    contents = read_contents(made if isinstance(made, bytes) else json.dumps(made).encode(), "crd.json")
    if contents.errors:
        return "\n".join(contents.errors)
    obj = contents.manifests[0].obj
    errors = validate_create(obj)
    if errors:
        return "\n".join(error.text() for error in errors)
    read = Definition(obj)
    with serve(Api(Group(read.group, kind_of(read)))) as server:
        version = read.served_versions[0]
        path = f"/apis/{GROUP}/{version}/namespaces/a/things"
        thing = {"apiVersion": f"{GROUP}/{version}", "kind": "Thing", "metadata": {"name": "a"}}
        answer = server.request("POST", path, body=thing)
        return "" if answer.status == 201 else f"served, and then {answer.body!r:.200}"


def main() -> int:
    """Judge all."""
    wrong = 0
    for name, (make, wanted) in CASES.items():
        made = make()
        before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        found = outcome(made)
        good = wanted in found if wanted else not found
        wrong += not good
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        shown = "" if good else f"; wanted {wanted!r}, got {found[:300]!r}"
        say(
            f"{name}: {time.process_time() - started:.2f} s, {grown:.0f} MB, {len(found):,} characters of errors{shown}"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
