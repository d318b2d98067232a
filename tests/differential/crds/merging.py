"""Lists and maps of each type: duplicates, merges by apply, and who owns what."""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, fields, told

ROW = Resource("rows", "Row")

VALUES: dict[str, list[Any]] = {
    "set": [["a", "a"], ["a", "b", "a", "b", "c", "c"], [], ["a", 1], [None, None]],
    "numbers": [[1, 1.0], [1, 2, 1.5, 1.5], [0, -0.0], ["1", 1]],
    "truths": [[True, True], [True, False]],
    "ports": [[1, "1"], [1, 1], ["a", "a", 80]],
    "objects": [
        [{"a": "x"}, {"a": "x"}],
        [{"a": "x", "b": 1}, {"b": 1, "a": "x"}],
        [{}, {}],
        [{"a": "x", "c": 1}, {"a": "x", "c": 2}],
        [{"a": "x"}, {"a": "y"}],
    ],
    "lists": [[["a"], ["a"]], [["a", "b"], ["b", "a"]], [[], []]],
    "atomic": [[{"a": "x"}, {"a": "x"}]],
    "plain": [["a", "a"]],
    "map": [
        [{"name": "a"}, {"name": "a", "value": "x"}],
        [{"name": "a"}, {"value": "x"}],
        [{"name": "a", "tags": ["x", "x"]}, {"name": "b", "tags": ["y", "z", "y"]}],
        [{"name": "a"}, {"name": "b"}, {"name": "a"}, {"name": "b"}, {"name": "a"}],
        [{"name": 1}, "a"],
        {"name": "a"},
    ],
    "keys": [
        [{"port": 1}, {"port": 1}],
        [{"port": 1}, {"port": 1, "protocol": "UDP"}],
        [{"port": 1}, {"port": 1, "protocol": "TCP", "on": True}],
        [{"port": 1}, {"port": 1, "on": False}],
        [{"port": 1, "inner": [{"id": 1}, {"id": "1"}]}, {"port": 2, "inner": [{"id": 1}, {"id": 1}]}],
        [{"protocol": "TCP"}],
        [{"port": 1, "protocol": None}, {"port": 1}],
        [{"port": "1"}],
    ],
    "whole": [{"a": "x", "c": 1}],
    "parts": [{"a": "x", "b.c": ""}],
    "nullSet": [None, ["a", "a"]],
    "bySet": [{"a": [1, 1], "b": [1]}, {"a": [1, 2], "b.c": [3, 3]}],
}
FULL: dict[str, Any] = {
    "set": ["a", "b"],
    "map": [{"name": "a", "value": "1", "tags": ["x"]}, {"name": "b"}],
    "keys": [{"port": 1, "note": "n", "inner": [{"id": 1, "v": 1}, {"id": "one"}]}, {"port": 1, "protocol": "UDP"}],
    "atomic": [{"a": "x"}],
    "whole": {"a": "x", "b": "y"},
    "parts": {"a": "x", "b": "y"},
    "objects": [{"a": "x"}],
}

APPLIED: dict[str, list[Any]] = {
    "set": [["c"], ["b", "c"], ["c", "a"], [], ["a", "a"], None],
    "map": [
        [{"name": "c"}],
        [{"name": "a", "value": "2"}],
        [{"name": "b", "tags": ["y"]}, {"name": "a", "tags": ["z"]}],
        [{"value": "x"}],
        [{"name": "a"}, {"name": "a"}],
        [],
    ],
    "keys": [
        [{"port": 1, "note": "m"}],
        [{"port": 1, "protocol": "UDP", "on": False}],
        [{"port": 1, "inner": [{"id": 1, "v": 2}, {"id": 2}]}],
        [{"note": "x"}],
        [{"port": 2, "inner": [{"v": 1}]}],
    ],
    "atomic": [[{"a": "y"}], [{"a": "x"}]],
    "whole": [{"a": "x"}, {"a": "x", "b": "y"}, {}],
    "whole2": [{"a": "x"}],
    "parts": [{"c": "z"}, {"a": "z"}, {"a": None}],
    "objects": [[{"a": "y"}], [{"a": "x", "b": 1}]],
    "lists": [[["a"], ["b"]]],
    "plain": [["a", "a"]],
    "bySet": [{"k": [1]}],
}

TALKS: dict[str, Any] = {
    f"apply of {field} {position}": (
        ROW.applied(spec=FULL),
        ROW.applied(manager="n", spec={field: value}),
        ROW.applied(manager="n", force=True, spec={field: value}),
        ROW.applied(spec={name: item for name, item in FULL.items() if name != field}),
        ROW.applied(manager="n", spec={}),
    )
    for field, values in APPLIED.items()
    for position, value in enumerate(values)
} | {
    "duplicates that were there": (
        ROW.make(spec={"map": [{"name": "a"}], "plain": ["a"]}),
        ROW.change({"spec": {"map": [{"name": "a"}, {"name": "a"}]}}),
        ROW.change({"spec": {"set": ["a", "a"]}}),
        ROW.edit(("add", "/spec/map/-", {"name": "a"})),
        ROW.edit(("add", "/spec/map/-", {"name": "b"})),
        ROW.replace(spec={"keys": [{"port": 1}, {"port": 1}]}),
    ),
    "order": (
        ROW.make(spec=FULL),
        ROW.change({"spec": {"map": [{"name": "b"}, {"name": "a"}], "set": ["b", "a"]}}),
        ROW.applied(spec={"map": [{"name": "a", "value": "9"}, {"name": "c"}], "set": ["c"]}),
        ROW.applied(spec={"map": [{"name": "c"}, {"name": "a", "value": "9"}], "set": ["c", "b"]}),
        ROW.applied(manager="z", spec={"map": [{"name": "z"}, {"name": "b"}], "set": ["0", "a"]}),
    ),
    "updates take over": (
        ROW.applied(spec=FULL),
        ROW.see(),
        ROW.replace(spec={**FULL, "set": ["a"], "map": [{"name": "a", "value": "2"}]}),
        ROW.applied(spec=FULL),
        ROW.change({"spec": {"whole": {"a": "z"}, "keys": []}}),
        ROW.applied(manager="n", spec={"whole": {"b": "q"}}),
    ),
}

CASES = fields(ROW, VALUES) | told(ROW, TALKS)
