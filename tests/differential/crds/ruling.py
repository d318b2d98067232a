"""Rules in CEL of a manifest: at each level, on changes, with their messages, reasons and paths; and their budget."""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, fields, told

RULED = Resource("ruleds", "Ruled")
OBJECT = {"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}}

VALUES: dict[str, list[Any]] = {
    "size": [1, 2, -1, "2"],
    "once": ["a"],
    "birth": ["a"],
    "later": ["a", "x" * 11],
    "maybeOld": [1, -1],
    "low": [100, 1],
    "high": [100, 50, 51, 1000],
    "words": [["bad"], ["ok", "bad", "bad"], ["x" * 21, "bad"], ["a"] * 6, [1, "bad"]],
    "table": [[{"key": "a", "value": 13}], [{"key": "a"}, {"key": "a"}], [{"value": 13}], [{"key": "a", "value": "x"}]],
    "set": [["b", "a"], ["a"], ["c"], ["a", "b", "c"]],
    "dict": [{"long1": 1, "a": 13}, {"a.b/c": 13}, {"a": "13"}, {}],
    "odd-name": ["bad", "ok"],
    "odds": [{name: "bad"} for name in ("a.b", "c/d", "e__f", "in", "namespace", "1x")],
    "deep": [{"map": {"x": "1"}}, {"map": {"y.z": "1"}}],
    "port": [0, 1, "80%", "80", True],
    "nullable": [None, "a", "b"],
    "stamp": ["2026-01-01T00:00:00Z", "2025-12-31T23:59:59-01:00", "2025-01-01T00:00:00Z", "x"],
    "wait": ["1h", "61m", "1h1s", "x"],
    "amount": ["1Mi", "2Gi", "x", ""],
    "address": ["1.2.3.4", "::1", "a", ""],
    "link": ["https://a/b", "http://a", "a b"],
    "regex": ["abb", "ABB", "ab"],
    "release": ["1.2.3", "1.0.0", "v1", "0.9.9-a.1"],
    "kept": [{"a": 1, "b": 2}, {"a": 0}, {"b": 0}],
    "object": [OBJECT, {**OBJECT, "metadata": {"name": "b"}}, {**OBJECT, "metadata": {}}, {**OBJECT, "kind": ""}],
    "many": [[1], list(range(60)), list(range(450)), list(range(1001))],
    "copies": [None, {"a": 0}, {}],
    "bounded": ["bad", "badd"],
}  # fmt: skip

TALKS: dict[str, Any] = {
    "at the root": [
        RULED.make("forbidden"),
        RULED.make("forbidden", spec={"size": 1, "words": ["bad"]}),
        RULED.make("new", meta={"generateName": "other-"}),
        RULED.make("two", meta={"generateName": "gen-"}),
        RULED.make("forbidden", "?dryRun=All"),
        RULED.make("forbidden", spec={"size": "x"}),
    ],
    "several": [
        RULED.make("a", spec={"low": 100, "high": 99, "size": 3, "dict": {"abcd": 13, "efgh": 1}, "set": ["z"]}),
        RULED.make("b", spec={"low": 100, "bounded": "long", "size": 3}),
        RULED.make("c", spec={"low": 100, "size": "x"}),
        RULED.make("d", spec={"low": 100, "words": ["a"] * 6}),
        RULED.make("e", spec={"low": 100, "table": [{}]}),
        RULED.make("f", spec={"low": 100, "table": [{"key": "a"}, {"key": "a"}]}),
        RULED.make("g", spec={"low": 100, "table": [{"key": "a" * 11}]}, meta={"labels": {"a": "_"}}),
        RULED.make("h", spec={"low": 100}, meta={"generateName": "A_"}),
    ],
    "never changes": (
        RULED.make(spec={"once": "a", "birth": "b"}),
        RULED.change({"spec": {"once": "b"}}),
        RULED.change({"spec": {"birth": "c"}}),
        RULED.change({"spec": {"once": None}}),
        RULED.change({"spec": {"birth": None}}),
        RULED.change({"spec": {"birth": "c"}}),
        RULED.change({"spec": None}),
        RULED.change({"spec": {"once": "z"}}),
    ),
    "shrinks": (
        RULED.make(spec={"size": 4, "maybeOld": 5}),
        RULED.change({"spec": {"size": 2}}),
        RULED.change({"spec": {"size": 3}}),
        RULED.change({"spec": {"maybeOld": 4}}),
        RULED.change({"spec": {"size": None, "maybeOld": None}}),
        RULED.change({"spec": {"size": 2, "maybeOld": 1}}),
    ),
    "later": (
        RULED.make(),
        RULED.change({"spec": {"later": "x"}}),
        RULED.change({"spec": {}}),
        RULED.change({"spec": {"later": "x"}}),
        RULED.change({"spec": {"later": "y"}}),
    ),
    "rows by key": (
        RULED.make(spec={"table": [{"key": "a", "value": 1}, {"key": "b", "value": 2}]}),
        RULED.change({"spec": {"table": [{"key": "b", "value": 1}, {"key": "a", "value": 2}]}}),
        RULED.change({"spec": {"table": [{"key": "b", "value": 2}, {"key": "a", "value": 2}]}}),
        RULED.change({"spec": {"table": [{"key": "c", "value": 0}]}}),
        RULED.change({"spec": {"table": [{"key": "b", "value": 13}, {"key": "a"}]}}),
        RULED.edit(("replace", "/spec/table/0/value", 0)),
    ),
    "dict by key": (
        RULED.make(spec={"dict": {"a": 1, "b": 2}}),
        RULED.change({"spec": {"dict": {"a": 0}}}),
        RULED.change({"spec": {"dict": {"a": None, "c": 0}}}),
        RULED.change({"spec": {"dict": {"a": -1}}}),
        RULED.change({"spec": {"dict": {"long": 1, "longer": 2}}}),
    ),
    "waits grow": (
        RULED.make(spec={"wait": "1m"}),
        RULED.change({"spec": {"wait": "59s"}}),
        RULED.change({"spec": {"wait": "2m"}}),
        RULED.change({"spec": {"wait": "2h"}}),
    ),
    "status": (
        RULED.make(spec={"size": 4}),
        RULED.change({"status": {"seen": -1, "phase": "Done"}}, rest="/status"),
        RULED.change({"status": {"seen": 6}}, rest="/status"),
        RULED.change({"status": {"seen": 4, "phase": "Done"}}, rest="/status"),
        RULED.change({"status": {"phase": "Again"}}, rest="/status"),
        RULED.change({"spec": {"size": 6}, "status": {"phase": "Again"}}),
        RULED.change({"status": {"phase": None}}, rest="/status"),
        RULED.replace(rest="/status", status={"seen": 8}),
    ),
    "scale": (
        RULED.make(spec={"size": 4}),
        RULED.see(rest="/scale"),
        RULED.change({"spec": {"replicas": 5}}, rest="/scale"),
        RULED.change({"spec": {"replicas": 2}}, rest="/scale"),
        RULED.change({"spec": {"replicas": 6}}, rest="/scale"),
    ),
    "apply": (
        RULED.applied(spec={"size": 3}),
        RULED.applied(spec={"size": 4, "once": "a", "table": [{"key": "a", "value": 3}]}),
        RULED.applied(spec={"size": 2, "once": "b"}),
        RULED.applied(spec={"table": [{"key": "a", "value": 2}]}),
        RULED.applied(spec={"table": [{"key": "b", "value": 2}]}),
        RULED.applied(spec={}),
    ),
    "unchanged values warn": (
        RULED.make(spec={"dict": {"a": 1}, "high": 10}),
        RULED.change({"spec": {"dict": {"a": 1}, "low": 20}}),
        RULED.change({"metadata": {"labels": {"a": "b"}}}),
        RULED.replace(spec={"low": 200, "high": 201}),
    ),
    "budget": (
        RULED.make(spec={"many": list(range(40))}),
        RULED.change({"spec": {"many": list(range(500))}}),
        RULED.change({"spec": {"many": list(range(900))}}),
        RULED.make("two", spec={"many": list(range(800)), "size": 1, "words": ["bad"]}),
        RULED.make("three", spec={"many": list(range(900)), "size": "1"}),
    ),
}  # fmt: skip

CASES = fields(RULED, VALUES) | told(RULED, TALKS)
