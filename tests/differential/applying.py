"""Server-side apply: what it makes of objects, who manages what afterwards, conflicts, refusals."""

from __future__ import annotations

import json
from typing import Any

from tests.differential.cases import Conversation, cases
from tests.differential.schemas import VALUES
from tests.differential.side import (
    APPLY,
    BEACONS,
    OLDER,
    YAML,
    Step,
    apply,
    delete,
    get,
    json_patch,
    merge,
    post,
    probe,
    put,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
LAST = "kubectl.kubernetes.io/last-applied-configuration"


def want(name: str = "new", *, meta: Any = None, status: Any = None, **spec: Any) -> dict[str, Any]:
    """A configuration: a probe with these fields only."""
    obj: dict[str, Any] = {"apiVersion": "{g}/v1", "kind": "Probe", "metadata": {"name": name, **(meta or {})}}
    if spec:
        obj["spec"] = spec
    return obj if status is None else {**obj, "status": status}


def older(obj: dict[str, Any]) -> dict[str, Any]:
    """The same in the other version."""
    return {**obj, "apiVersion": "{g}/v1beta1"}


def _of_values() -> dict[str, Conversation]:
    """Each value of each field, applied to nothing and to something."""
    found: dict[str, Conversation] = {}
    for field, values in VALUES.items():
        for number, value in enumerate(values):
            wanted = want(size=5) if field == "size" else want(size=1)
            wanted["spec"][field] = value
            found[f"create with {field} {number}"] = apply("/new", wanted)
            if field != "size" and number % 3 == 0:
                found[f"change {field} {number}"] = apply("/one", want("one", **{field: value}), force=True)
    return found


CREATING: dict[str, Conversation] = {
    "create": apply("/new", want(size=3)),
    "create and read": (apply("/new", want(size=3)), get("/new"), get(f"{OLDER}/new")),
    "create everything": apply(
        "/new",
        want(
            meta={"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/hold"]},
            size=3,
            tags=["b", "a"],
            parts=[{"name": "x"}, {"name": "y", "count": 2}],
            plain=[1, 2],
            labels={"k": "v"},
            free={"a": {"b": [1, {"c": 2}]}},
            inner={"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "labels": {"a": "b"}}, "x": {"y": 1}},
            deep={"mode": "fast"},
            port="http",
            maybe=None,
        ),
    ),
    "create with status": apply("/new", want(size=3, status={"seen": 1})),
    "create without what is required": apply("/new", want()),
    "create with an unknown field": apply("/new", want(size=3, nope=1)),
    "create with unknown metadata": apply("/new", want(meta={"nope": 1}, size=3)),
    "create without a name": apply("/new", {"apiVersion": "{g}/v1", "kind": "Probe", "spec": {"size": 3}}),
    "create another name": apply("/new", want("other", size=3)),
    "create in another namespace": apply("/new", want(meta={"namespace": "other"}, size=3)),
    "create in its namespace": apply("/new", want(meta={"namespace": "{ns}"}, size=3)),
    "create with a uid": apply("/new", want(meta={"uid": "x"}, size=3)),
    "create with a revision": apply("/new", want(meta={"resourceVersion": "5"}, size=3)),
    "create with revision 0": apply("/new", want(meta={"resourceVersion": "0"}, size=3)),
    "create with system fields": apply(
        "/new", want(meta={"generation": 7, "creationTimestamp": "2020-01-01T00:00:00Z", "selfLink": "/x"}, size=3)
    ),
    "create with a time that is none": apply("/new", want(meta={"creationTimestamp": "null"}, size=3)),
    "create with a revision that is none": apply("/new", want(meta={"resourceVersion": "x"}, size=3)),
    "create with a generation that is none": apply("/new", want(meta={"generation": 1.5}, size=3)),
    "create being deleted": apply("/new", want(meta={"deletionTimestamp": "2020-01-01T00:00:00Z"}, size=3)),
    "create with generateName": apply("/new", want(meta={"generateName": "x-"}, size=3)),
    "create a bad name": apply("/Bad_Name", want("Bad_Name", size=3)),
    "create bad labels": apply("/new", want(meta={"labels": {"a b": "c"}}, size=3)),
    "create number label": apply("/new", want(meta={"labels": {"a": 1}}, size=3)),
    "create labels a list": apply("/new", want(meta={"labels": []}, size=3)),
    "create null labels": apply("/new", want(meta={"labels": None}, size=3)),
    "create null spec field": apply("/new", want(size=3, text=None, color=None)),
    "create metadata text": apply("/new", {**want(size=3), "metadata": "x"}),
    "create metadata null": apply("/new", {**want(size=3), "metadata": None}),
    "create spec text": apply("/new", {**want(), "spec": "x"}),
    "create spec null": apply("/new", {**want(), "spec": None}),
    "create finalizers twice": apply("/new", want(meta={"finalizers": ["a.b/c", "a.b/c"]}, size=3)),
    "create owners": apply(
        "/new",
        want(meta={"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}]}, size=3),
    ),
    "create owners twice": apply(
        "/new",
        want(meta={"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}] * 2}, size=3),
    ),
    "create dry": (apply("/new", want(size=3), more="&dryRun=All"), get("/new")),
    "create dry, again": (apply("/new", want(size=3)), apply("/new", want(size=4), more="&dryRun=All"), get("/new")),
    "create as table": apply("/new", want(size=3), accept=TABLE),
    "create as metadata": apply("/new", want(size=3), accept=METADATA),
    "create as yaml": apply("/new", want(size=3), accept=YAML),
    "create in yaml": apply("/new", "apiVersion: {g}/v1\nkind: Probe\nmetadata: {name: new}\nspec:\n  size: 3\n  on: yes\n"),
    "create beacon": apply(f"{BEACONS}/lit-{{ns}}", {"apiVersion": "{g}/v1", "kind": "Beacon", "metadata": {"name": "lit-{ns}"}, "size": 3, "status": {"seen": 1}}),
    "create status": apply("/new/status", want(status={"seen": 1})),
    "create status of nothing, wrong": apply("/new/status", "garbage"),
    "create and update": (apply("/new", want(size=3)), merge("/new", {"spec": {"size": 4}}), apply("/new", want(size=3))),
    "create, then post": (apply("/new", want(size=3)), post(probe())),
    "post, then apply": (post(probe()), apply("/new", want(size=1))),
}  # fmt: skip
REFUSED: dict[str, Conversation] = {
    "no manager": Step("PATCH", "/one", want("one", size=3), {"Content-Type": APPLY}),
    "no manager, create": Step("PATCH", "/new", want(size=3), {"Content-Type": APPLY}),
    "manager empty": apply("/one", want("one", size=3), ""),
    "manager long": apply("/one", want("one", size=3), "m" * 129),
    "manager 128": apply("/one", want("one", text="ab"), "m" * 128),
    "manager with a newline": apply("/one", want("one", text="ab"), "a%0Ab"),
    "manager with a space": apply("/one", want("one", text="ab"), "a%20b"),
    "manager umlaut": apply("/one", want("one", text="ab"), "m%C3%A4nager"),
    "force false": apply("/one", want("one", size=3), more="&force=false"),
    "force garbage": apply("/one", want("one", size=3), more="&force=x"),
    "force of a merge": merge("/one?force=true", {"spec": {"size": 3}}),
    "dry garbage": apply("/one", want("one", size=3), more="&dryRun=x"),
    "validation garbage": apply("/one", want("one", size=3), more="&fieldValidation=x"),
    "empty": apply("/one", ""),
    "null": apply("/one", "null"),
    "list": apply("/one", "[]"),
    "text": apply("/one", '"x"'),
    "number": apply("/one", "1"),
    "garbage": apply("/one", "garbage"),
    "broken yaml": apply("/one", "a: [b\n"),
    "broken json": apply("/one", '{"apiVersion":'),
    "tabs": apply("/one", "apiVersion: {g}/v1\nkind:\tProbe\n"),
    "bad bytes": apply("/one", b'{"apiVersion": "\xff"}'),
    "no apiVersion": apply("/one", {"kind": "Probe", "metadata": {"name": "one"}}),
    "no kind": apply("/one", {"apiVersion": "{g}/v1", "metadata": {"name": "one"}}),
    "another kind": apply("/one", {**want("one", size=3), "kind": "Other"}),
    "another version": apply("/one", older(want("one", size=3))),
    "another group": apply("/one", {**want("one", size=3), "apiVersion": "other/v1"}),
    "core group": apply("/one", {**want("one", size=3), "apiVersion": "v1"}),
    "version with slashes": apply("/one", {**want("one", size=3), "apiVersion": "a/b/c"}),
    "apiVersion number": apply("/one", {**want("one", size=3), "apiVersion": 1}),
    "kind number": apply("/one", {**want("one", size=3), "kind": 1}),
    "managedFields": apply("/one", want("one", meta={"managedFields": [{"operation": "Apply"}]}, size=3)),
    "managedFields empty": apply("/one", want("one", meta={"managedFields": []}, size=3)),
    "managedFields null": apply("/one", want("one", meta={"managedFields": None}, text="ab")),
    "another name": apply("/one", want("two", text="ab")),
    "another namespace": apply("/one", want("one", meta={"namespace": "other"}, text="ab")),
    "no name in it": apply("/one", {"apiVersion": "{g}/v1", "kind": "Probe", "spec": {"text": "ab"}}),
    "collection": apply("", want(size=3)),
    "unknown field": apply("/one", want("one", nope=1)),
    "unknown field, ignored": apply("/one", want("one", nope=1), more="&fieldValidation=Ignore"),
    "unknown field in free": apply("/one", want("one", free={"nope": 1})),
    "invalid": apply("/one", want("one", text="a", weight=99)),
    "duplicate tags": apply("/one", want("one", tags=["x", "x"])),
    "duplicate parts": apply("/one", want("one", parts=[{"name": "x"}, {"name": "x", "count": 2}])),
    "part without key": apply("/one", want("one", parts=[{"count": 2}])),
    "part null": apply("/one", want("one", parts=[None])),
    "part text": apply("/one", want("one", parts=["x"])),
    "tag null": apply("/one", want("one", tags=[None])),
    "tag of a list": apply("/one", want("one", tags=[["x"]])),
    "duplicate key": apply("/one", "apiVersion: {g}/v1\nkind: Probe\nmetadata: {name: one}\nspec:\n  text: ab\n  text: abc\n"),
    "duplicate key, strict": apply("/one", "apiVersion: {g}/v1\nkind: Probe\nmetadata: {name: one}\nspec:\n  text: ab\n  text: abc\n", more="&fieldValidation=Strict"),
    "duplicate key, ignored": apply("/one", "apiVersion: {g}/v1\nkind: Probe\nmetadata: {name: one}\nspec:\n  text: ab\n  text: abc\n", more="&fieldValidation=Ignore"),
    "duplicate key in json": apply("/one", '{"apiVersion":"{g}/v1","kind":"Probe","metadata":{"name":"one"},"spec":{"text":"ab","text":"abc"}}'),
    "duplicate key, conflict": apply("/one", "apiVersion: {g}/v1\nkind: Probe\nmetadata: {name: one}\nspec:\n  size: 7\n  size: 8\n", more="&fieldValidation=Strict"),
    "a wrong revision": apply("/two", want("two", meta={"resourceVersion": "1"}, text="ab")),
    "the right revision": apply("/two", want("two", meta={"resourceVersion": "{rv}"}, text="ab")),
    "a garbage revision": apply("/two", want("two", meta={"resourceVersion": "x"}, text="ab")),
    "another uid": apply("/two", want("two", meta={"uid": "x"}, text="ab")),
    "its uid": apply("/two", want("two", meta={"uid": "{uid}"}, text="ab")),
    "cbor": Step("PATCH", "/one?fieldManager=m", want("one", text="ab"), {"Content-Type": "application/apply-patch+cbor"}),
    "unknown resource": apply("/apis/{g}/v1/namespaces/{ns}/nothings/one", want("one", text="ab")),
    "no such namespace": apply("/apis/{g}/v1/namespaces/missing/probes/new", want("new", size=3)),
    "not acceptable": apply("/one", want("one", text="ab"), accept="image/png"),
    "content type with charset": Step("PATCH", "/one?fieldManager=m", want("one", text="ab"), {"Content-Type": f"{APPLY}; charset=utf-8"}),
    "content type in capitals": Step("PATCH", "/one?fieldManager=m", want("one", text="ab"), {"Content-Type": APPLY.upper()}),
}  # fmt: skip
OWNING: dict[str, Conversation] = {
    "takes nothing": apply("/one", want("one")),
    "a new field": apply("/one", want("one", text="ab")),
    "the same value": apply("/one", want("one", size=1)),
    "another value": apply("/one", want("one", size=7)),
    "another value, forced": apply("/one", want("one", size=7), force=True),
    "two conflicts": apply("/one", want("one", size=7, color="green")),
    "many conflicts": (
        apply("/one", want("one", text="ab", code="abc", even=2), "other"),
        apply("/one", want("one", size=7, text="abc", code="ab", even=4), "third"),
    ),
    "a conflict with an applier": (apply("/one", want("one", text="ab"), "a"), apply("/one", want("one", text="abc"), "b")),
    "forced from an applier": (
        apply("/one", want("one", text="ab"), "a"),
        apply("/one", want("one", text="abc"), "b", force=True),
        apply("/one", want("one", text="ab"), "a"),
    ),
    "shared": (apply("/one", want("one", text="ab"), "a"), apply("/one", want("one", text="ab"), "b")),
    "shared, one leaves": (
        apply("/one", want("one", text="ab"), "a"),
        apply("/one", want("one", text="ab"), "b"),
        apply("/one", want("one"), "a"),
        apply("/one", want("one"), "b"),
    ),
    "given up": (apply("/one", want("one", text="ab")), apply("/one", want("one"))),
    "given up with a default": (apply("/new", want(size=1, color="green")), apply("/new", want(size=1))),
    "given up deep": (apply("/new", want(size=1, deep={"mode": "fast", "level": 3})), apply("/new", want(size=1, deep={"level": 3}))),
    "given up all of deep": (apply("/new", want(size=1, deep={"mode": "fast", "level": 3})), apply("/new", want(size=1))),
    "given up what is required": (apply("/new", want(size=1)), apply("/new", want())),
    "given up labels": (apply("/one", want("one", meta={"labels": {"x": "1", "y": "2"}})), apply("/one", want("one", meta={"labels": {"x": "1"}}))),
    "given up all labels": (apply("/new", want(meta={"labels": {"x": "1"}}, size=1)), apply("/new", want(size=1))),
    "given up annotations": (apply("/new", want(meta={"annotations": {"x": "1"}}, size=1)), apply("/new", want(size=1))),
    "given up finalizers": (apply("/new", want(meta={"finalizers": ["a.b/c"]}, size=1)), apply("/new", want(size=1))),
    "finalizers of two": (
        apply("/new", want(meta={"finalizers": ["a.b/c"]}, size=1), "a"),
        apply("/new", want(meta={"finalizers": ["a.b/d"]}), "b"),
        apply("/new", want(size=1), "a"),
    ),
    "owners of two": (
        apply("/new", want(meta={"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}]}, size=1), "a"),
        apply("/new", want(meta={"ownerReferences": [{"apiVersion": "v1", "kind": "B", "name": "b", "uid": "w"}]}), "b"),
        apply("/new", want(size=1), "a"),
    ),
    "no change": (apply("/one", want("one", text="ab")), apply("/one", want("one", text="ab"))),
    "no change, thrice": (apply("/new", want(size=3)), get("/new"), apply("/new", want(size=3)), get("/new"), apply("/new", want(size=3))),
    "a default applied": apply("/new", want(size=3, color="red")),
    "a default applied, then not": (apply("/new", want(size=3, color="red")), apply("/new", want(size=3))),
    "update takes over": (apply("/new", want(size=3)), merge("/new?fieldManager=u", {"spec": {"size": 4}}), apply("/new", want(size=3)), apply("/new", want(size=3), force=True)),
    "update to the same": (apply("/new", want(size=3)), merge("/new?fieldManager=u", {"spec": {"size": 3}})),
    "update removes": (apply("/new", want(size=3, text="ab")), merge("/new?fieldManager=u", {"spec": {"text": None}}), apply("/new", want(size=3, text="ab"))),
    "update by the same name": (apply("/new", want(size=3), "u"), merge("/new?fieldManager=u", {"spec": {"size": 4}}), apply("/new", want(size=5), "u")),
    "put takes over": (apply("/new", want(size=3)), put("/new?fieldManager=u", probe(size=4, meta={"resourceVersion": "{rv}"})), apply("/new", want(size=3))),
    "put without": (apply("/new", want(size=3, text="ab")), put("/new?fieldManager=u", probe(size=3, meta={"resourceVersion": "{rv}"}))),
    "json patch takes over": (apply("/new", want(size=3)), json_patch("/new?fieldManager=u", ("replace", "/spec/size", 4))),
    "three appliers": (
        apply("/new", want(size=3), "a"),
        apply("/new", want(text="ab"), "b"),
        apply("/new", want(code="abc"), "c"),
        apply("/new", want(code="abcd", text="abc"), "b", force=True),
    ),
    "status of the main resource": apply("/one", want("one", status={"seen": 1})),
    "status": apply("/one/status", want("one", status={"seen": 1})),
    "status with spec": apply("/one/status", want("one", size=9, status={"seen": 1})),
    "status with labels": apply("/one/status", want("one", meta={"labels": {"q": "1"}}, status={"seen": 1})),
    "status, conflict": (merge("/one/status?fieldManager=u", {"status": {"seen": 1}}), apply("/one/status", want("one", status={"seen": 2}))),
    "status, forced": (
        merge("/one/status?fieldManager=u", {"status": {"seen": 1, "ready": True}}),
        apply("/one/status", want("one", status={"seen": 2}), force=True),
    ),
    "status, given up": (apply("/one/status", want("one", status={"seen": 1, "ready": True})), apply("/one/status", want("one", status={"seen": 1}))),
    "status, all given up": (apply("/one/status", want("one", status={"seen": 1})), apply("/one/status", want("one"))),
    "status, both endpoints": (apply("/one", want("one", text="ab")), apply("/one/status", want("one", status={"seen": 1})), apply("/one", want("one"))),
    "status unknown field": apply("/one/status", want("one", status={"nope": 1})),
    "status wrong": apply("/one/status", want("one", status={"seen": -1})),
    "status text": apply("/one/status", {**want("one"), "status": "x"}),
    "status put": (apply("/one/status", want("one", status={"seen": 1})), get("/one"), put("/one/status?fieldManager=u", {**probe("one", meta={"resourceVersion": "{rv}"}), "status": {"seen": 2}})),
    "deleting": (apply("/new", want(meta={"finalizers": ["a.b/c"]}, size=1)), delete("/new"), apply("/new", want(meta={"finalizers": ["a.b/c"]}, size=2))),
    "ends a deletion": (apply("/new", want(meta={"finalizers": ["a.b/c"]}, size=1)), delete("/new"), apply("/new", want(size=1)), get("/new")),
    "after deletion": (apply("/new", want(size=1)), delete("/new"), apply("/new", want(size=2))),
    "in the other version": apply(f"{OLDER}/one", older(want("one", text="ab"))),
    "in both versions": (apply("/one", want("one", text="ab")), apply(f"{OLDER}/one", older(want("one", text="ab")))),
    "in both versions, given up": (apply("/one", want("one", text="ab", code="abc")), apply(f"{OLDER}/one", older(want("one", text="ab"))), apply("/one", want("one"))),
    "conflict across versions": (apply("/one", want("one", text="ab"), "a"), apply(f"{OLDER}/one", older(want("one", text="abc")), "b")),
    "forced across versions": (apply("/one", want("one", text="ab"), "a"), apply(f"{OLDER}/one", older(want("one", text="abc")), "b", force=True), get("/one")),
    "updates across versions": (merge(f"{OLDER}/one?fieldManager=u", {"spec": {"text": "ab"}}), merge("/one?fieldManager=u", {"spec": {"text": "abc"}}), apply("/one", want("one", text="ab"))),
    "created in the other version": (apply(f"{OLDER}/new", older(want(size=3))), get("/new"), apply("/new", want(size=4))),
}  # fmt: skip
LISTS: dict[str, Conversation] = {
    "parts of two": (apply("/one", want("one", parts=[{"name": "a"}]), "a"), apply("/one", want("one", parts=[{"name": "b", "count": 4}]), "b")),
    "parts in between": (
        post(probe(parts=[{"name": n} for n in "abcd"])),
        apply("/new", want(parts=[{"name": "c", "note": "1"}, {"name": "x"}, {"name": "a"}])),
    ),
    "parts, a leaf each": (
        apply("/one", want("one", parts=[{"name": "p", "count": 2}]), "a"),
        apply("/one", want("one", parts=[{"name": "p", "note": "n"}]), "b"),
        apply("/one", want("one", parts=[]), "a"),
        apply("/one", want("one"), "b"),
    ),
    "parts, conflict": (apply("/one", want("one", parts=[{"name": "p", "count": 2}]), "a"), apply("/one", want("one", parts=[{"name": "p", "count": 3}]), "b")),
    "parts, given up": (apply("/new", want(size=1, parts=[{"name": "p"}, {"name": "q"}])), apply("/new", want(size=1, parts=[{"name": "q"}]))),
    "parts, all given up": (apply("/new", want(size=1, parts=[{"name": "p"}])), apply("/new", want(size=1))),
    "parts, emptied": (apply("/new", want(size=1, parts=[{"name": "p"}])), apply("/new", want(size=1, parts=[]))),
    "parts, order": (apply("/new", want(size=1, parts=[{"name": n} for n in "abc"])), apply("/new", want(size=1, parts=[{"name": n} for n in "cab"]))),
    "parts of updates": (merge("/one?fieldManager=u", {"spec": {"parts": [{"name": "x"}, {"name": "y"}]}}), apply("/one", want("one", parts=[{"name": "y", "count": 5}]))),
    "parts of updates, forced": (merge("/one?fieldManager=u", {"spec": {"parts": [{"name": "x"}, {"name": "y"}]}}), apply("/one", want("one", parts=[{"name": "y", "count": 5}]), force=True)),
    "parts with odd names": apply("/new", want(size=1, parts=[{"name": n} for n in ('"', "<&>", "ä", "a b", "\u2028", "1", "\\", "😀")])),
    "tags of two": (apply("/one", want("one", tags=["a"]), "a"), apply("/one", want("one", tags=["b"]), "b")),
    "tags, given up": (apply("/new", want(size=1, tags=["a", "b"])), apply("/new", want(size=1, tags=["b"]))),
    "tags shared": (apply("/new", want(size=1, tags=["a", "b"]), "a"), apply("/new", want(tags=["b"]), "b"), apply("/new", want(size=1), "a")),
    "tags in order": (apply("/new", want(size=1, tags=["a", "b", "c"])), apply("/new", want(size=1, tags=["c", "a"]))),
    "tags emptied": (apply("/new", want(size=1, tags=["a"])), apply("/new", want(size=1, tags=[]))),
    "tags with odd values": apply("/new", want(size=1, tags=['"', "<&>", "ä b"])),
    "plain": (apply("/one", want("one", plain=[1, 2]), "a"), apply("/one", want("one", plain=[2, 3]), "b")),
    "plain, forced": (apply("/one", want("one", plain=[1, 2]), "a"), apply("/one", want("one", plain=[2, 3]), "b", force=True)),
    "plain, the same": (apply("/one", want("one", plain=[1, 2]), "a"), apply("/one", want("one", plain=[1, 2]), "b")),
    "labels map of two": (apply("/one", want("one", labels={"a": "1"}), "a"), apply("/one", want("one", labels={"b": "2"}), "b")),
    "labels map, conflict": (apply("/one", want("one", labels={"a": "1"}), "a"), apply("/one", want("one", labels={"a": "2"}), "b")),
    "labels map, given up": (apply("/new", want(size=1, labels={"a": "1", "b": "2"})), apply("/new", want(size=1, labels={"a": "1"}))),
    "labels map, emptied": (apply("/new", want(size=1, labels={"a": "1"})), apply("/new", want(size=1, labels={}))),
    "labels with odd names": apply("/new", want(size=1, labels={"a.b/c": "1", '"<&>ä': "2"})),
    "free": (apply("/one", want("one", free={"a": {"b": 1}, "l": [1, 2]}), "a"), apply("/one", want("one", free={"a": {"c": 2}, "l": [2]}), "b")),
    "free, another leaf": (apply("/one", want("one", free={"a": {"b": 1}}), "a"), apply("/one", want("one", free={"a": {"c": 2}}), "b")),
    "free, leaf and map": (apply("/one", want("one", free={"a": 1}), "a"), apply("/one", want("one", free={"a": {"c": 2}}), "b", force=True)),
    "free, nulls": apply("/one", want("one", free={"a": None, "b": {}, "c": []})),
    "free, given up": (apply("/new", want(size=1, free={"a": {"b": 1, "c": 2}})), apply("/new", want(size=1, free={"a": {"b": 1}}))),
    "free, list of maps": (apply("/new", want(size=1, free={"l": [{"a": 1}, {"b": 2}]})), apply("/new", want(size=1, free={"l": [{"a": 1}]}))),
    "inner": (apply("/one", want("one", inner={"apiVersion": "v1", "kind": "A", "metadata": {"name": "x", "labels": {"a": "1"}}}), "a"), apply("/one", want("one", inner={"apiVersion": "v1", "kind": "A", "metadata": {"labels": {"b": "2"}}}), "b")),
    "inner, conflict": (apply("/one", want("one", inner={"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}}), "a"), apply("/one", want("one", inner={"apiVersion": "v1", "kind": "B", "metadata": {"name": "x"}}), "b")),
    "inner, unknown metadata": apply("/one", want("one", inner={"apiVersion": "v1", "kind": "A", "metadata": {"nope": 1}})),
    "port": (apply("/one", want("one", port=1), "a"), apply("/one", want("one", port="1"), "b")),
    "maybe null": (apply("/one", want("one", maybe=None), "a"), apply("/one", want("one", maybe="x"), "b"), apply("/one", want("one", maybe=None), "a")),
    "deep emptied": (apply("/new", want(size=1, deep={"level": 3})), apply("/new", want(size=1, deep={}))),
}  # fmt: skip
BEGUN = (merge("/one", {"metadata": {"managedFields": [{}]}}), apply("/one", want("one", text="ab")))
"""Nobody but ``before-first-apply`` and an applier: the names of updaters who come then sort as their times do."""
TRACKING: dict[str, Conversation] = {
    "nobody": (merge("/one", {"metadata": {"managedFields": []}}), apply("/one", want("one", text="ab"))),
    "nobody, then an update": (merge("/one", {"metadata": {"managedFields": [{}]}}), merge("/one?fieldManager=u", {"spec": {"text": "ab"}}), get("/one")),
    "nobody, then a conflict": (merge("/one", {"metadata": {"managedFields": [{}]}}), apply("/one", want("one", size=8))),
    "nobody, then forced": (merge("/one", {"metadata": {"managedFields": [{}]}}), apply("/one", want("one", size=8), force=True)),
    "nobody, then status": (merge("/one", {"metadata": {"managedFields": [{}]}}), apply("/one/status", want("one", status={"seen": 1}))),
    "null": merge("/one", {"metadata": {"managedFields": None}}),
    "reset by put": put("/two", probe("two", size=2, meta={"resourceVersion": "{rv}", "managedFields": []})),
    "reset by put with an entry": put("/two", probe("two", size=2, meta={"resourceVersion": "{rv}", "managedFields": [{}]})),
    "malformed": put("/two", probe("two", size=3, meta={"resourceVersion": "{rv}", "managedFields": [{"operation": "Nope"}]})),
    "malformed fields": put("/two", probe("two", size=3, meta={"resourceVersion": "{rv}", "managedFields": [{"operation": "Update", "apiVersion": "{g}/v1", "manager": "x", "fieldsType": "FieldsV1", "fieldsV1": {"nope": {}}}]})),
    "unknown fieldsType": put("/two", probe("two", size=3, meta={"resourceVersion": "{rv}", "managedFields": [{"operation": "Update", "apiVersion": "{g}/v1", "manager": "x", "fieldsType": "FieldsV2", "fieldsV1": {"f:a": {}}}]})),
    "text": put("/two", probe("two", size=3, meta={"resourceVersion": "{rv}", "managedFields": "x"})),
    "given": put("/two", probe("two", size=2, meta={"resourceVersion": "{rv}", "managedFields": [{"operation": "Update", "apiVersion": "{g}/v1", "manager": "x", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}}}, "time": "2020-01-01T00:00:00Z"}]})),
    "given to an applier": (
        put("/two", probe("two", size=2, meta={"resourceVersion": "{rv}", "managedFields": [{"operation": "Apply", "apiVersion": "{g}/v1", "manager": "m", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}, "f:color": {}}}, "time": "2020-01-01T00:00:00Z"}]})),
        apply("/two", want("two", size=4)),
    ),
    "of a version that is gone": (
        put("/two?fieldManager=u", probe("two", size=3, meta={"resourceVersion": "{rv}", "managedFields": [{"operation": "Update", "apiVersion": "{g}/v9", "manager": "x", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}}}, "time": "2020-01-01T00:00:00Z"}]})),
    ),
    "on create": post(probe(meta={"managedFields": [{"operation": "Apply", "apiVersion": "{g}/v1", "manager": "m", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]})),
    "manager of a create": post(probe(), "?fieldManager=boss"),
    "manager of an update": put("/two?fieldManager=boss", probe("two", size=3, meta={"resourceVersion": "{rv}"})),
    "manager of a patch": merge("/one?fieldManager=boss", {"spec": {"size": 3}}),
    "manager of status": merge("/one/status?fieldManager=boss", {"status": {"seen": 3}}),
    "manager too long": merge("/one?fieldManager=" + "b" * 129, {"spec": {"size": 3}}),
    "agent": Step("PATCH", "/one", {"spec": {"size": 3}}, {"Content-Type": "application/merge-patch+json", "User-Agent": "kubectl/v1.30 (linux) x"}),
    "agent without slash": Step("PATCH", "/one", {"spec": {"size": 3}}, {"Content-Type": "application/merge-patch+json", "User-Agent": "curl"}),
    "agent odd": Step("PATCH", "/one", {"spec": {"size": 3}}, {"Content-Type": "application/merge-patch+json", "User-Agent": "a b(c)/d"}),
    "agent long": Step("PATCH", "/one", {"spec": {"size": 3}}, {"Content-Type": "application/merge-patch+json", "User-Agent": "x" * 200}),
    "agent of nothing": Step("PATCH", "/one", {"spec": {"size": 3}}, {"Content-Type": "application/merge-patch+json", "User-Agent": "/x"}),
    "no change": merge("/one?fieldManager=boss", {}),
    "no change by put": (get("/two"), put("/two?fieldManager=boss", probe("two", size=2, meta={"resourceVersion": "{rv}", "labels": {"app": "a", "which": "two"}}))),
    "removes a field": merge("/one?fieldManager=boss", {"spec": {"tags": None}}),
    "removes an item": merge("/one?fieldManager=boss", {"spec": {"parts": []}}),
    "removes labels": merge("/one?fieldManager=boss", {"metadata": {"labels": None}}),
    "changes an item": merge("/one?fieldManager=boss", {"spec": {"parts": [{"name": "x", "count": 9}]}}),
    "adds a duplicate": merge("/one?fieldManager=boss", {"spec": {"tags": ["p", "p"]}}),
    "many updaters": (*BEGUN, *(merge(f"/one?fieldManager=u{number:02}", {"metadata": {"labels": {f"l{number}": "x"}}}) for number in range(12))),
    "many updaters in two versions": (
        *BEGUN,
        *(merge(f"{OLDER if number % 2 else ''}/one?fieldManager=u{number:02}", {"metadata": {"labels": {f"l{number}": "x"}}}) for number in range(14)),
    ),
    "the same updater": (merge("/one?fieldManager=u", {"spec": {"size": 3}}), merge("/one?fieldManager=u", {"spec": {"text": "ab"}}), merge("/one?fieldManager=u", {"spec": {"size": None, "text": None}})),
    "update then status": (merge("/one?fieldManager=u", {"spec": {"size": 3}}), merge("/one/status?fieldManager=u", {"status": {"seen": 1}}), merge("/one?fieldManager=w", {"spec": {"size": 4}})),
    "status over status": (merge("/one/status?fieldManager=u", {"status": {"seen": 1}}), merge("/one/status?fieldManager=w", {"status": {"seen": 2}}), merge("/one/status?fieldManager=w", {"status": None})),
    "finalizer, then delete": (merge("/one?fieldManager=u", {"metadata": {"finalizers": ["a.b/c"]}}), delete("/one"), get("/one"), merge("/one?fieldManager=w", {"metadata": {"finalizers": None}})),
    "kubectl over client-side apply": (
        post(probe(meta={"annotations": {LAST: json.dumps({"apiVersion": "{g}/v1", "kind": "Probe", "metadata": {"name": "new"}, "spec": {"size": 1, "text": "ab"}})}}, text="ab"), "?fieldManager=kubectl-client-side-apply"),
        apply("/new", want(size=2, text="ab"), "kubectl"),
    ),
    "another over client-side apply": (
        post(probe(meta={"annotations": {LAST: json.dumps({"apiVersion": "{g}/v1", "kind": "Probe", "metadata": {"name": "new"}, "spec": {"size": 1}})}}), "?fieldManager=kubectl-client-side-apply"),
        apply("/new", want(size=2), "other"),
    ),
    "kubectl over what was changed since": (
        post(probe(meta={"annotations": {LAST: json.dumps({"apiVersion": "{g}/v1", "kind": "Probe", "metadata": {"name": "new"}, "spec": {"size": 9}})}}), "?fieldManager=kubectl-client-side-apply"),
        apply("/new", want(size=2), "kubectl"),
    ),
    "kubectl with the annotation": apply("/new", want(meta={"annotations": {LAST: "x"}}, size=2), "kubectl"),
    "kubectl keeps the annotation up": (
        post(probe(meta={"annotations": {LAST: json.dumps({"apiVersion": "{g}/v1", "kind": "Probe", "metadata": {"name": "new"}, "spec": {"size": 1}})}})),
        apply("/new", want(size=2, tags=["<&>", "ä"]), "kubectl", force=True),
    ),
    "garbage in the annotation": (
        post(probe(meta={"annotations": {LAST: "garbage"}}), "?fieldManager=kubectl-client-side-apply"),
        apply("/new", want(size=2), "kubectl"),
    ),
}  # fmt: skip

CASES = cases({**CREATING, **{f"not: {name}": steps for name, steps in REFUSED.items()}, **OWNING, **LISTS,
               **{f"tracked: {name}": steps for name, steps in TRACKING.items()}, **_of_values()})  # fmt: skip
