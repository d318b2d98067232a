"""Each rule of a schema, on create and on update; defaults, nulls, pruning; ratcheting."""

from __future__ import annotations

from typing import Any

from tests.differential.cases import cases
from tests.differential.side import Step, get, merge, post, probe

STRICT = "?fieldValidation=Strict"


def _each(field: str, *values: Any) -> list[dict[str, Any]]:
    return [{field: value} for value in values]


EMBEDDED: list[Any] = [
    {},
    *_each("name", "", ".", "..", "...", "a/b", "a%b", "/%", "x" * 300, "\u00e4", None, 1),
    *_each("generateName", "", ".", "..", "a/", "%", "A b-", "-", "x" * 300, None, 1),
    *_each("namespace", "", "B_", "a", "a.b", "-a", "a-", "x" * 63, "x" * 64, "\u00e4", None, 1, []),
    *_each("labels", {"a b": "c"}, {"a": "c d"}, {"/a": ""}, {"A/b": ""}, {"a/b/c": ""}, {"": ""}, [], "x"),
    {"labels": {"a": "x" * 64}},
    *({"annotations": {key: "a b"}} for key in ("a b", "a", "A/b", "/a", "a/", "x" * 64, "\u0130", "\u00e4/b")),
    {"annotations": {"a": "x" * 262_144}},
    *({"finalizers": names} for names in (["a"], ["a/b"], ["a b"], ["/a"], ["orphan", "foregroundDeletion"], [""], [None], "a")),
    *({"ownerReferences": [owner]} for owner in (
        {}, None, {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}, {"apiVersion": "a/b/c", "kind": "", "name": "a b"},
        {"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "u"}, {"apiVersion": "v1", "kind": "A", "name": "a", "x": 1},
    )),
    {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": name, "uid": "u", "controller": True} for name in "ab"]},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}] * 2},
    *({"generation": number} for number in (1, -1, 0, 1.5, "1")),
    *({"managedFields": [entry]} for entry in (
        {}, {"operation": "Apply"}, {"operation": "Delete", "manager": "x" * 129, "fieldsType": "X", "subresource": "x" * 257},
        {"operation": "Update", "manager": "a\nb", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}, "time": "x"},
    )),
    *({"creationTimestamp": time} for time in (None, "", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+01:00")),
    {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": -1},
    {"resourceVersion": "x", "uid": "x y", "selfLink": "/"},
    {"uid": 1},
]  # fmt: skip
"""What may and what may not stand in the metadata of an object inside of another one."""
VALUES: dict[str, list[Any]] = {
    "size": [0, 1, 100, 101, -5, 1.5, 2.0, 1e2, "1", None, True, [], {}, 2**53, 2**63, -(2**63) - 1, 1e30],
    "text": ["a", "ab", "x" * 8, "x" * 9, "äöü", "😀😀", "", 1, None, True, ["ab"], {"a": "b"}],
    "code": ["abc", "ABC", "a1", "", "a\nb", 5, None],
    "on": [True, False, "true", 0, 1, None, []],
    "weight": [0.5, 0, 10, 9.999, -1, 5, "5", None, 1e400, 1e-300],
    "even": [2, 3, 0, -4, 2.5, "2"],
    "small": [2147483647, 2147483648, -2147483648, -2147483649, 1.5],
    "color": ["red", "blue", "", 1, None, "RED"],
    "level": [1, 3, "1", None, 1.0, 1.5],
    "tags": [
        [],
        ["a"],
        ["a", "a"],
        ["a", "b", "a", "b", "a"],
        ["a", "b", "c", "d"],
        [1],
        [None],
        "a",
        {},
        None,
        ["a", None, "a"],
    ],
    "parts": [
        [],
        [{"name": "a"}],
        [{"name": "a"}, {"name": "a"}],
        [{}],
        [{"count": 1}],
        [{"name": ""}],
        [{"name": None}],
        [{"name": "a", "count": None}],
        [{"name": "a", "note": None}],
        [None],
        ["a"],
        {},
        "x",
        [{"name": 1}],
        [{"name": "a", "x": 1}],
        [{"name": "a", "count": "1"}],
        [{"name": "a"}, {"name": "b"}, {"name": "a"}, {"name": "b"}],
        [{"name": "a", "count": 1}, {"name": "a", "count": 2}],
        [[]],
        [{"name": "a"}, 1],
    ],
    "plain": [[], [1], [1, 1], [1.5], ["1"], [None], [1, None, "x", 2.5]],
    "labels": [
        {},
        {"a": "b"},
        {"a": "b", "c": "d", "e": "f"},
        {"a": 1},
        {"a": None},
        {"": "x"},
        [],
        "x",
        {"a.b/c d": 5},
    ],
    "maybe": [None, "x", 1, []],
    "port": [1, "a", 1.5, 2.0, True, [], None, "80%"],
    "free": [{}, {"a": {"b": None}}, {"a": [None]}, None, [], 1, {"x": {"apiVersion": 1}}],
    "inner": [
        {},
        {"kind": "A"},
        {"apiVersion": "v1", "kind": "A"},
        {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "A", "metadata": {"labels": {"a b": "c d"}}},
        {"apiVersion": "v1", "kind": "A", "metadata": 1},
        {"apiVersion": 1, "kind": "A"},
        {"apiVersion": "v1", "kind": ""},
        {"apiVersion": "a/b/c", "kind": "A"},
        {"apiVersion": "v1", "kind": "A", "metadata": {"nope": 1}},
        {"apiVersion": "v1", "kind": "A", "metadata": {"labels": {"a": 1}}},
        {"apiVersion": "v1", "kind": "a-b"},
        {"apiVersion": "v1", "kind": "A", "metadata": {"creationTimestamp": "x"}},
        None,
        [],
        {"apiVersion": "v1", "kind": "A", "metadata": None, "x": None},
        {"apiVersion": "v1", "kind": "A", "metadata": {"name": "A b"}},
        *({"apiVersion": "v1", "kind": "A", "metadata": metadata} for metadata in EMBEDDED),
        *({"apiVersion": version, "kind": "A"} for version in ("", "/", "a/", "/v1", "v1/", "a b", "//", "v1 ")),
        *(
            {"apiVersion": "v1", "kind": kind}
            for kind in ("a" * 63, "A" * 64, "-", "1a", "Ab.c", "\u0130b", "\u212ab", "\u00e4")
        ),
        {"apiVersion": None, "kind": "A"},
        {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a/b", "namespace": "C", "labels": {"-": "-"}}},
    ],
    "deep": [
        {},
        None,
        {"mode": "fast"},
        {"mode": None},
        {"mode": "x"},
        {"level": 10},
        {"level": "x", "mode": 1},
        [],
        {"nope": 1},
        "x",
    ],
    "when": [
        "2020-01-01T00:00:00Z",
        "2020-01-01",
        "x",
        "2020-01-01T00:00:00.5+01:00",
        "",
        1,
        "2020-13-01T00:00:00Z",
        {},
        True,
    ],
    "address": ["1.2.3.4", "1.2.3", "::1", "01.2.3.4", "", "1.2.3.256", {"a": 1}, 1.5],
    "bits": ["YQ==", "YQ", "", "%", "YQ==\n"],
}


def fields() -> dict[str, tuple[Step, ...]]:
    """A case a field: one object for each value; JSON, since a merge patch can't set null."""
    made: dict[str, tuple[Step, ...]] = {}
    for field, values in VALUES.items():
        for position, value in enumerate(values):
            steps = [post(probe(f"new-{position}", **{field: value}))]
            if value is not None:
                steps.append(merge("/one", {"spec": {field: value}}))
            made[f"{field} {position}"] = tuple(steps)
    return made


WRONG: dict[str, Any] = {
    "size": 0,
    "text": "a",
    "code": "A",
    "on": "x",
    "weight": -1,
    "color": "blue",
    "tags": ["a", "a"],
    "plain": [],
}

CASES = cases(
    {
        **fields(),
        "no spec": post({key: value for key, value in probe().items() if key != "spec"}),
        "spec null": post({**probe(), "spec": None}),
        "spec list": post({**probe(), "spec": []}),
        "spec text": post({**probe(), "spec": "x"}),
        "spec empty": post({**probe(), "spec": {}}),
        "no size": post(probe(size=...)),
        "all wrong": post(probe(**WRONG)),
        "all wrong and a bad name": post(probe("A b", **WRONG)),
        "status wrong in a create": post(probe(status={"ready": "x"})),
        "status unknown in a create": post(probe(status={"nope": 1}), STRICT),
        "status text": post({**probe(), "status": "x"}),
        "unknown everywhere": post({**probe(nope=1, free={"x": 1}, deep={"y": 2}, labels={"z": "1"}), "more": {}}),
        "unknown everywhere, strict": post({**probe(nope=1, free={"x": 1}, deep={"y": 2}, labels={"z": "1"}), "more": {}}, STRICT),
        "defaults": (post(probe(parts=[{"name": "a"}, {"name": "b", "count": 3}])), get("/new")),
        "nulls": (post(probe(text=None, color=None, maybe=None, deep={"mode": None, "level": None}, free={"a": None})), get("/new")),
        "null in a list": post(probe(parts=[None])),
        # Updates: what was there may stay (ratcheting), what is new is judged.
        "one of two wrong": merge("/one", {"spec": {"size": 0, "text": "fine"}}),
        "duplicates made": (
            merge("/one", {"spec": {"tags": ["a", "b"]}}),
            merge("/one", {"spec": {"tags": ["a", "b", "a"]}}),
            merge("/one", {"spec": {"size": 5}}),
        ),
        "parts changed": (
            merge("/one", {"spec": {"parts": [{"name": "x", "count": 5}, {"name": "y"}]}}),
            merge("/one", {"spec": {"parts": [{"name": "y"}, {"name": "x"}]}}),
            merge("/one", {"spec": {"parts": [{"name": "y"}, {"name": "y"}]}}),
        ),
        "list for a when": post(probe(when=["a"])),
        "list for a address": post(probe(address=["a"])),
        "list for a bits": post(probe(bits=["a"])),
        "numbers keep their form": (
            merge("/one", {"spec": {"weight": 2.50, "free": {"a": 1.0, "b": 100000000000000000000, "c": 1e-7, "d": 0.1}}}),
            get("/one"),
        ),
        "text keeps its form": (
            merge("/one", {"spec": {"free": {"a": '<&>\u2028\u0000\u007f"\\/ä😀', "<key>": ""}}}),
            get("/one"),
            get("/one", accept="application/yaml"),
        ),
        "yaml of tricky text": (
            merge("/one", {"spec": {"free": {
                "a": "yes", "b": "1", "c": "1e3", "d": "null", "e": "", "f": " x ", "g": "a: b", "h": "- a", "i": "a\nb\n",
                "j": "#x", "k": "0x10", "l": "2020-01-01", "m": "~", "n": "'", "o": '"', "p": "x" * 200, "yes": 1, "1": 2,
                "q": [], "r": {}, "s": [[1], {"a": []}], "t": 1.5, "u": True, "v": "012", "w": "=", "x": "<<", "y": ".inf",
            }}}),
            get("/one", accept="application/yaml"),
        ),
    }
)  # fmt: skip
