"""Objects inside of objects: what they must say, what of their metadata is kept, and rules for their names."""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, fields, told

EMBED = Resource("embeds", "Embed")
A: dict[str, Any] = {"apiVersion": "a/v1", "kind": "A"}
META: dict[str, Any] = {"name": "n", "labels": {"a": "b"}, "unknown": 1, "creationTimestamp": None}

VALUES: dict[str, list[Any]] = {
    "free": [A, {}, {**A, "metadata": META, "x": {"y": None}}, {**A, "metadata": {"labels": {"a": 1}}}, {"kind": "A"}, None],
    "maybe": [None, A, {"apiVersion": "v1"}],
    "typed": [
        {**A, "spec": {}},
        {**A, "spec": {"size": 1, "x": 2}, "y": 3},
        {**A, "spec": {}, "metadata": {"name": "long name"}},
        {**A, "spec": {}, "metadata": {"generateName": "g", "finalizers": ["a b"]}},
        {"apiVersion": "b/v1", "kind": "B", "spec": {"size": "x"}},
        {**A},
        {"spec": {}},
        {**A, "spec": {}, "metadata": META},
    ],
    "list": [
        [],
        [A, {**A, "spec": {"x": 1}, "y": 1}],
        [{}, {"kind": "A"}, {**A, "metadata": {"name": "A b"}}],
        [None],
        [1],
        [{**A, "metadata": {"x": 1}}, {**A, "metadata": {"name": 1}}],
    ],
    "map": [{"a": A}, {"a.b/c": {}}, {"a": {**A, "metadata": META, "q": [None]}}, {"a": None}],
    "nested": [
        A,
        {**A, "spec": {"template": A}},
        {**A, "spec": {"template": {}}},
        {**A, "spec": {"template": {**A, "metadata": META, "spec": {"z": 1}}, "other": 1}},
        {**A, "spec": {"template": {**A, "metadata": {"labels": {"a b": "c"}}}}},
    ],
    "given": [None, A, {**A, "spec": {}}, {**A, "spec": None}, {**A, "metadata": None}],
}  # fmt: skip

TALKS: dict[str, Any] = {
    "defaulted": (EMBED.make(), EMBED.change({"given": {"metadata": {"labels": {"c": "d"}}}}), EMBED.change({"given": None})),
    "warned": [
        EMBED.make("a", "?fieldValidation=Warn", free={**A, "metadata": META}, typed={**A, "spec": {"x": 1}, "metadata": META}),
        EMBED.make("b", "?fieldValidation=Strict", free={**A, "metadata": META}, typed={**A, "spec": {"x": 1}, "metadata": META}),
        EMBED.make("c", "?fieldValidation=Strict", list=[{**A, "metadata": META, "x": 1}], map={"k": {**A, "metadata": META}}),
    ],
    "root metadata": [
        EMBED.make("1a"),
        EMBED.make("a23456789012345678901"),
        EMBED.make("ab", meta={"generateName": "h-"}),
        EMBED.make("ac", meta={"generateName": "g-"}),
    ],
    "applied": (
        EMBED.applied("one", free={**A, "metadata": {"labels": {"a": "b"}}, "x": {"y": 1}}, typed={**A, "spec": {"size": 2}}),
        EMBED.applied("one", "n", free={**A, "metadata": {"labels": {"c": "d"}}}),
        EMBED.applied("one", "n", free={**A, "metadata": {"labels": {"a": "e"}}}),
        EMBED.applied("one", "n", list=[A]),
        EMBED.applied("one", "n", list=[{}]),
        EMBED.applied("one", typed={**A, "spec": {}}),
    ),
    "patched": (
        EMBED.make(free={**A, "x": 1}, nested={**A, "spec": {"template": A}}),
        EMBED.change({"free": {"kind": None}}),
        EMBED.change({"free": {"metadata": {"name": "x", "namespace": "{ns}", "uid": "u", "nope": 1}}}),
        EMBED.edit(("add", "/nested/spec/template/metadata", {"labels": {"a": "b"}})),
        EMBED.edit(("remove", "/nested/spec/template/apiVersion")),
        EMBED.replace(free={**A, "metadata": {"finalizers": ["a/b"]}}),
    ),
}  # fmt: skip

CASES = fields(EMBED, VALUES, inside="") | told(EMBED, TALKS)
