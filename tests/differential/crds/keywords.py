"""Each keyword of a schema, with values that fit and values that do not."""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, fields, told

KEYWORD = Resource("keywords", "Keyword")

VALUES: dict[str, list[Any]] = {
    "text": ["a", "äöüßé", "😀😀😀😀😀😀", ["ab"], "a\u0000b"],
    "word": ["a-b", "a_b", "a-b\n", "", {"a": 1}],
    "within": ["abbb", "ab"],
    "letters": ["äé", "a1", ""],
    "choice": ["a", "", "1", "b", 1, None],
    "count": [1, 3, "1", 1.0, 2.5],
    "real": [1.5, 2, 2.0, 1, "1.5"],
    "truth": [True, False, "true"],
    "thing": [{"a": 1}, {}, {"a": 2}, {"a": 1, "b": 2}, {"a": None}, []],
    "listing": [["a"], ["b"], ["a", "b"], [], ["b", "a"]],
    "low": [1, 1.0000001, 0, "2"],
    "high": [10, 9, 11, 9.5],
    "least": [-1, -2],
    "most": [1.5, 1.6, 1e300],
    "tenth": [0.3, 0.35, 1, 1e16],
    "five": [10, 11, 0, -5],
    "int32": [2147483648, -2147483649, 1.5],
    "int64": [9223372036854775807, 9223372036854775808, 1e18],
    "float": [3.5e38, 1e39, 1],
    "double": [1e308, "1"],
    "few": [[], ["a"], ["a", "b", "c"], ["abcd", "abcd", "a"], [None], "a", {"a": "b"}],
    "rows": [[[1], [2, 3]], [[-1], "a", [1, -2]], [[None]], [None]],
    "map": [{}, {"a": 1}, {"a": 10, "b": "c", "d.e": 11}, {"a": None}, {"": 1}, []],
    "maps": [{"a": {"b": ["c"]}}, {"a": {"b": "c"}}, {"a": {"b c/d": [1]}}, {"a": {"b": None}}],
    "anymap": [{"a": 1, "b": {"c": [None]}}, {"a": None}, []],
    "needs": [
        {},
        {"a": "x"},
        {"a": "x", "b": {}},
        {"a": None, "b": None},
        {"a": "x", "b": {"c": "y"}, "d": 1},
        {"b": []},
    ],
    "one": [{"a": "x"}, {"a": "x", "b": "y"}, {}, {"c": 1}],
    "any": [{"mode": "a"}, {"mode": "b"}, {"size": 5}, {"size": 4}, {"mode": "a", "size": 1}, {}],
    "all": ["aa", "ba", "c", "ca", "ab", "a"],
    "not": [{"a": "x"}, {"c": "x"}],
    "each": [[{"b": 1}], [{"a": 1}], [{"a": 1}, {"b": 1}], []],
    "portA": [1, "a", 1.5, True, None, {}, 99999999999],
    "portB": [1, "80%", False, []],
    "portC": [1, "80%", "80"],
    "portD": [2, 3, 10, 1, "a", "b", "abcd", ""],
    "ports": [[1, "a", 1.5, None], [], ["80%", 80]],
    "maybe": [None, "", "a"],
    "maybeList": [None, [None, "a"], [1, None]],
    "maybeMap": [None, {"a": None}, {"a": {"a": None}}, {"a": 1}],
    "maybePort": [None, 1, True],
    "maybeEnum": [None, "a", "b"],
    "maybeNever": [None, "a"],
    "never": ["a", 1],
    "email": ["a@b.c", "a"],
    "uri": ["http://a/b", "a b", "a"],
    "quantity": ["anything", "1Gi", 5],
    "stamp": [None, "2026-01-02T03:04:05Z", "2026-01-02", ""],
    "wait": ["1h", "1x", "1 h 5 m", ""],
    "day": ["2026-01-02", "2026-13-02"],
    "shortName": ["a-b", "A", "a.b", ""],
    "longName": ["a.b", "a_b", ""],
    "secret": ["ab", "abc"],
    "whole": [5, "2026-01-02"],
    "noted": ["a", 1],
    "unknown": [1, None, {"a": 1}],
}
SEVERAL = {"text": "a", "count": 3, "few": ["abcd", "b", "c"], "needs": {}, "one": {}, "portA": True, "map": {"a": 10}}
BEYOND: dict[str, Any] = {
    "several": KEYWORD.make(spec=SEVERAL),
    "several under Warn": KEYWORD.make(query="?fieldValidation=Warn", spec={**SEVERAL, "x": 1}, y=2),
    "several under Ignore": KEYWORD.make(query="?fieldValidation=Ignore", spec={**SEVERAL, "x": 1}, y=2),
    "several under Strict": KEYWORD.make(query="?fieldValidation=Strict", spec={**SEVERAL, "x": 1}, y=2),
    "no spec": KEYWORD.make(),
    "spec null": KEYWORD.make(spec=None),
    "spec list": KEYWORD.make(spec=[]),
    "spec text": KEYWORD.make(spec="a"),
    "unknown everywhere": KEYWORD.make(
        query="?fieldValidation=Warn",
        spec={"x": 1, "needs": {"a": "b", "b": {"c": "d", "e": 1}, "f": 2}, "maybeMap": {"g": {"h": 1}}, "each": [{"i": 1}, {"j": 1}]},
        k={},
    ),
    "unknown everywhere, strictly": KEYWORD.make(
        query="?fieldValidation=Strict",
        spec={"x": 1, "needs": {"a": "b", "b": {"c": "d", "e": 1}, "f": 2}, "maybeMap": {"g": {"h": 1}}, "each": [{"i": 1}, {"j": 1}]},
        k={},
    ),
    "strict patch": (KEYWORD.make(spec={}), KEYWORD.change({"spec": {"x": 1}}, rest="?fieldValidation=Strict")),
    "strict apply": (
        KEYWORD.make(spec={}),
        KEYWORD.applied(spec={"x": 1}, rest=""),
        KEYWORD.applied(spec={"maybeMap": {"a": {"b": 1}}}),
    ),
    "status is a field like others": (KEYWORD.make(spec={}, status={"a": 1}), KEYWORD.change({"status": {}}, rest="/status")),
    "emptied": (KEYWORD.make(spec={"text": "abc"}), KEYWORD.change({"spec": None}), KEYWORD.edit(("remove", "/spec"))),
    "types of metadata": [
        KEYWORD.make("new", spec={}, meta={name: value})
        for name, value in (("labels", {"a": 1}), ("annotations", []), ("finalizers", "a"), ("generation", "1"), ("x", 1), ("uid", 5))
    ],
    "finalizers": (
        KEYWORD.make(spec={}, meta={"finalizers": ["plain", "dotted.name", "a.b/c", "orphan", "kubernetes"]}),
        KEYWORD.change({"metadata": {"finalizers": ["plain", "dotted.name", "other", "x.y"]}}),
        KEYWORD.change({"metadata": {"finalizers": ["plain"]}}),
        KEYWORD.applied(meta={"finalizers": ["applied"]}, spec={}),
        KEYWORD.change({"metadata": {"finalizers": None}}),
        KEYWORD.make("bad", spec={}, meta={"finalizers": ["a b", "/c", "d/e/f"]}),
    ),
}  # fmt: skip

CASES = fields(KEYWORD, VALUES) | told(KEYWORD, BEYOND)
