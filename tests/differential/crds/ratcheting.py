"""Objects that break the rules of the version they are changed through: written through a version that has none.

Each is read, changed where it is wrong and elsewhere, in every way there is.
"""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, Step, told
from tests.differential.side import get

LOOSE = Resource("ratchets", "Ratchet")
STRICT = LOOSE.through("v2")
RULED = LOOSE.through("v3")
INNER = Resource("inners", "Inner")

WRONG: dict[str, tuple[Any, Any, Any]] = {
    "text": ("TOOLONG", "LONGER", "ok"),
    "number": (9, 10, 3),
    "number of a wrong type": ("x", "y", 1),
    "choice": ("z", "y", "a"),
    "object": ({"y": 0}, {"y": 0, "z": 1}, {"x": 1, "y": 1}),
    "object, an inner field": ({"x": 1, "y": 0}, {"x": 2, "y": 0}, {"x": 2, "y": 1}),
    "atomic": ([0, 1, 2], [0, 1], [1, 2]),
    "atomic, longer": ([0], [0, 1], [1]),
    "set": (["a", "a"], ["a", "a", "b"], ["a"]),
    "set of long texts": (["long", "a"], ["a", "long"], ["a"]),
    "set, one more": (["long"], ["long", "longer"], ["lo"]),
    "map": ([{"k": "a", "v": 9}], [{"k": "a", "v": 9}, {"k": "b", "v": 8}], [{"k": "a", "v": 1}]),
    "map, beside it": ([{"k": "a", "v": 9}], [{"k": "a", "v": 9, "w": "x"}], [{"k": "b"}]),
    "map, moved": ([{"k": "a", "v": 9}, {"k": "b"}], [{"k": "b"}, {"k": "a", "v": 9}], []),
    "map, twice": ([{"k": "a"}, {"k": "a"}], [{"k": "a"}, {"k": "a"}, {"k": "b", "v": 9}], [{"k": "a"}]),
    "map without a key": ([{"v": 1}], [{"v": 1}, {"k": "a"}], [{"k": "a"}]),
    "dict": ({"a": "long", "b": "ok"}, {"a": "long", "b": "too long"}, {"a": "ok"}),
    "dict, one more": ({"a": "long", "b": "x", "c": "y"}, {"d": "z"}, {"c": None, "a": None}),
    "either": ({"a": "x", "b": "y"}, {"a": "z", "b": "y"}, {"b": None}),
    "not": ("x", "x", "y"),
    "all": ("b", "c", "abc"),
    "port": (9, "b", "a"),
    "stamp": ("x", "y", "2026-01-02T03:04:05Z"),
    "inner": (
        {"apiVersion": "v1", "kind": "B", "metadata": {"name": "n"}},
        {"kind": "C"},
        {"kind": "A"},
    ),
    "nullable": ("long", "longer", None),
    "null": (None, "x", "y"),
}
"""A wrong value, another wrong one as a merge patch, and a right one."""


def changes(through: Resource, field: str, values: tuple[Any, Any, Any]) -> tuple[Step, ...]:
    """A wrong value stays, is changed and put right through a version."""
    name = field.partition(",")[0].partition(" ")[0]
    wrong, other, right = values
    return (
        LOOSE.make(spec={"must": "m", name: wrong, "extra": 1}),
        through.see(),
        through.change({"metadata": {"labels": {"a": "b"}}}),
        through.change({"spec": {"must": "n"}}),
        through.edit(("add", "/spec/must", "o")),
        through.see(),
        through.replace(spec={"must": "p", name: wrong}),
        through.change({"spec": {name: other}}),
        through.change({"status": {"n": 1}}, rest="/status"),
        through.applied(manager="a", spec={"must": "m"}, force=True),
        through.change({"spec": {name: right}}),
        LOOSE.see(),
    )


RULES: dict[str, tuple[Any, Any, Any]] = {
    "number": (60, 61, 4),
    "number, smaller": (7, 6, 4),
    "number, at the root": (200, 150, 1),
    "text": ("x", "xy", "ok"),
    "text, long": ("too long", "longer than", "ok"),
    "opt": (5, 6, 1),
    "object": ({"x": 2, "y": 1}, {"x": 3}, {"y": 9}),
    "object without a field": ({"x": 2}, {"x": 3}, {"y": 9}),
    "atomic": ([9, 1], [9, 2], [1]),
    "atomic, moved": ([1, 9], [9, 1], [1]),
    "set": (["bad", "a"], ["a", "bad"], ["a"]),
    "set, one more": (["bad"], ["bad", "b"], []),
    "map": ([{"k": "a", "v": 9}], [{"k": "a", "v": 9, "w": "x"}], [{"k": "a", "v": 1}]),
    "map, moved": ([{"k": "a", "v": 8}, {"k": "b"}], [{"k": "b"}, {"k": "a", "v": 8}], []),
    "map, too many": ([{"k": "a"}, {"k": "b"}, {"k": "c"}], [{"k": "a"}, {"k": "b"}, {"k": "d"}], [{"k": "a"}]),
    "dict": ({"a": "bad"}, {"b": "bad"}, {"a": "ok", "b": None}),
    "inner": ({"apiVersion": "v1", "kind": "B"}, {"x": 1}, {"kind": "A"}),
}

TALKS: dict[str, Any] = {
    "nothing is there": (
        LOOSE.make(),
        STRICT.see(),
        STRICT.change({"metadata": {"labels": {"a": "b"}}}),
        STRICT.change({"spec": {}}),
        STRICT.change({"spec": {"must": "x"}}),
    ),
    "what must be there is missing": (
        LOOSE.make(spec={"text": "abc"}),
        STRICT.change({"metadata": {"labels": {"a": "b"}}}),
        STRICT.change({"spec": {"text": "abd"}}),
        STRICT.change({"status": {"m": "a"}}, rest="/status"),
        STRICT.applied(spec={"number": 1}),
        STRICT.drop(),
    ),
    "several at once": (
        LOOSE.make(
            spec={"text": "WRONG", "number": 9, "dict": {"a": "long"}, "map": [{"k": "a", "v": 9}, {"k": "b", "v": 8}]}
        ),
        STRICT.change({"metadata": {"labels": {"a": "b"}}}),
        STRICT.change({"spec": {"must": "m", "number": 8, "map": [{"k": "b", "v": 8}, {"k": "a", "v": 7}]}}),
        RULED.change({"spec": {"number": 9, "map": [{"k": "b", "v": 8}, {"k": "a", "v": 7}]}}),
        RULED.change({"metadata": {"labels": {"a": "c"}}}),
    ),
    "of status": (
        LOOSE.make(spec={"must": "m"}),
        LOOSE.change({"status": {"n": 9, "m": "z"}}, rest="/status"),
        STRICT.change({"metadata": {"labels": {"a": "b"}}}),
        STRICT.change({"spec": {"must": "n"}}),
        STRICT.change({"status": {"n": 8}}, rest="/status"),
        STRICT.change({"status": {"m": "a"}}, rest="/status"),
        RULED.change({"status": {"m": "b"}}, rest="/status"),
        RULED.change({"status": {"n": 7}}, rest="/status"),
        STRICT.see(rest="/status"),
    ),
    "types that do not fit": (
        LOOSE.make(spec=[1], status="x"),
        STRICT.see(),
        STRICT.change({"metadata": {"labels": {"a": "b"}}}),
        RULED.change({"metadata": {"labels": {"a": "c"}}}),
        STRICT.change({"spec": {"must": "m"}}),
    ),
    "a new one is never ratcheted": [STRICT.make("a", spec={"number": 9}), RULED.make("b", spec={"number": 60})],
    "finalizers of a wrong one": (
        LOOSE.make(spec={"number": 9}, meta={"finalizers": ["a/b"]}),
        STRICT.drop(),
        STRICT.change({"spec": {"number": 10}}),
        STRICT.change({"metadata": {"finalizers": None}}),
    ),
    "watched": (
        LOOSE.make(spec={"number": "x", "map": [{"v": 1}]}),
        STRICT.all(),
        get(f"{STRICT.path}?watch=1&timeoutSeconds=1"),
    ),
}

CASES = told(
    LOOSE,
    {f"v2: {field}": changes(STRICT, field, values) for field, values in WRONG.items()}
    | {f"v3: {field}": changes(RULED, field, values) for field, values in RULES.items()}
    | TALKS,
) | told(
    INNER,
    {
        "metadata of inner objects": (
            INNER.make(spec={"must": "m", "inner": {"apiVersion": "", "kind": "", "metadata": {"labels": {"a b": 1}}}}),
            INNER.through("v2").see(),
            INNER.through("v2").change({"spec": {"must": "n"}}),
            INNER.through("v2").change({"spec": {"inner": {"apiVersion": "v1", "kind": "A"}}}),
            # kube-apiserver cannot list it in other versions, by which its controller of namespaces comes to a stand.
            INNER.drop(),
        )
    },
)
