"""What is kept and what is pruned, at every depth, on writes of every sort and on reads."""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, fields, told
from tests.differential.side import YAML, apply, post, put

KEEPER = Resource("keepers", "Keeper")
OPEN = Resource("opens", "Open")
SHUT = Resource("shuts", "Shut", cluster=True)

MIXED = {"x": 1, "y": {"z": None}, "l": [1, None, {"a": None}]}
VALUES: dict[str, list[Any]] = {
    "spec": [
        MIXED,
        {"closed": {"a": 1, "b": 2}, "open": {"c": None}},
        {"closed": {"a": None}, "typed": "1"},
        {"closed": None, "typed": None},
        {"closed": {"default": None}},
        None,
        [],
    ],
    "loose": [1, "a", None, [1, None], {"a": None}, True, 1.5, {"apiVersion": 1, "metadata": []}],
    "looseNull": [None, 1],
    "looseList": [[{"a": "x", "b": 1}], [{"a": 1}], [1], {"x": 1}, None],
    "list": [
        [{"a": {"b": 1, "c": 2}, "d": {"e": None}}, {}],
        [{"a": {"b": "x"}, "f": 1}],
        [{"a": None}],
        [None],
        [1],
    ],
    "anything": [[1, "a", None, {"b": None}, [None]], None, {}],
    "map": [{"k": {"a": 1, "b": None}}, {"k": {"a": "x"}}, {"k": None}, {"k": 1, "l": {"c": {"d": 1}}}],
    "strict": [{"open": MIXED, "shut": MIXED, "none": 1}, {"shut": None}, {"open": None}, {"shut": []}],
    "bare": [MIXED, None, 1],
    "bareList": [[MIXED, {}], [None], [1]],
    "any": [MIXED, None, {"a": None}],
    "unknown": [1, MIXED, None],
}

TALKS: dict[str, Any] = {
    "status is dropped in a create": (
        KEEPER.make(status={"seen": 1, "more": 2}),
        KEEPER.change({"status": {"seen": 1, "more": {"x": None}, "n": None}}, rest="/status"),
        KEEPER.change({"status": {"seen": "x"}}, rest="/status"),
        KEEPER.change({"spec": {"a": 1}, "status": None}),
        KEEPER.see(rest="/status"),
    ),
    "every way of a write": (
        KEEPER.make(spec=MIXED, loose=MIXED, strict={"shut": MIXED, "open": MIXED}, x=1),
        KEEPER.replace(spec={"n": 1}, loose=[1], strict={"shut": {"a": 1}, "open": {"a": 1}}, y=1),
        KEEPER.edit(("add", "/spec/deep", MIXED), ("add", "/strict/none", 1)),
        KEEPER.applied(spec={"applied": {"a": 1}}, strict={"open": {"b": 2}}),
        KEEPER.applied(spec={"applied": {"c": 1}}),
        KEEPER.applied(strict={"shut": {"b": 2}}),
        KEEPER.applied(nothing={"b": 2}),
        KEEPER.see(),
    ),
    "warned": [
        KEEPER.make("a", "?fieldValidation=Warn", spec={"closed": {"b": 1}}, strict={"none": 1, "shut": {"a": 1}}, x=1),
        KEEPER.make("b", "?fieldValidation=Strict", spec={"closed": {"b": 1}}, strict={"none": 1, "shut": {"a": 1}}, x=1),
        KEEPER.make("c", "?fieldValidation=Strict", spec=MIXED, loose=MIXED),
        KEEPER.make("d", "?fieldValidation=Strict", list=[{"a": {"c": 1}}, {"x": 1}], map={"k.l": {"b": 1}}, looseList=[{"b": 1}]),
    ],
    "no changes": (
        KEEPER.make(spec={"a": None, "closed": {"z": 1}}, strict={"shut": {"x": 1}}),
        KEEPER.change({"strict": {"shut": {"y": 1}}}),
        KEEPER.change({"spec": {"closed": {"y": 1}}}),
        KEEPER.change({"spec": {"a": None}}),
        KEEPER.edit(("add", "/spec/a", None)),
        KEEPER.edit(("add", "/strict/shut/a", None)),
    ),
    "yaml": (
        post('apiVersion: "{g}/v1"\nkind: Keeper\nmetadata: {name: one}\nspec: {on: on, n: 1e3, o: 0o7, t: 2026-01-02, "1": ~}\nx: y\n', KEEPER.path, YAML),
        post('apiVersion: "{g}/v1"\nkind: Keeper\nmetadata: {name: two}\nspec: &a {b: 1}\nloose: *a\nspec: {c: 1}\n', KEEPER.path, YAML),
        KEEPER.see(accept=YAML),
    ),
}  # fmt: skip

ROOT: dict[str, Any] = {
    "anything at the root": (
        OPEN.make(x=1, spec=MIXED, status={"a": None}, kinds=[None]),
        OPEN.see(),
        OPEN.change({"x": {"y": 1}, "spec": None}),
        OPEN.edit(("add", "/z", None)),
        OPEN.applied(a={"b": [1]}),
        OPEN.applied(a={"b": [2], "c": {"d": 1}}),
        OPEN.applied(manager="n", a={"b": [3]}),
        OPEN.applied(manager="n", force=True, a={"b": [3]}),
        OPEN.replace(q=1),
    ),
    "odd names at the root": post({**OPEN.obj(), "a b": 1, "": 2, "a/b~c": {"\u00e4": None}}, OPEN.path),
    "metadata at the root": [
        OPEN.make("new", meta={"unknown": 1, "labels": None}),
        OPEN.make("two", "?fieldValidation=Strict", meta={"unknown": 1}),
        OPEN.make("three", meta={"labels": {"a": None}, "annotations": {"b": None}}),
        OPEN.make("four", meta={"labels": {"a": 1}}),
    ],
    "no subresources": [
        OPEN.make(),
        OPEN.see(rest="/status"),
        OPEN.see(rest="/scale"),
        OPEN.change({}, rest="/status"),
    ],
}
CLOSED: dict[str, Any] = {
    "nothing at the root": (
        SHUT.make(x=1, spec=MIXED, status={"a": None}),
        SHUT.see(),
        SHUT.change({"x": {"y": 1}}),
        SHUT.make("strict", "?fieldValidation=Strict", x=1, y={"z": 1}),
        SHUT.applied(x=1),
        SHUT.applied("new"),
        apply(SHUT.at("new"), SHUT.obj("new", meta={"annotations": {"a": "b"}})),
        put(SHUT.at("none"), SHUT.obj("none")),
    ),
}

CASES = {
    **fields(KEEPER, VALUES, inside=""),
    **told(KEEPER, TALKS),
    **told(OPEN, ROOT),
    **told(SHUT, CLOSED),
}
