"""PUT of objects and of their status: revisions, preconditions, what may not change, generations."""

from __future__ import annotations

from typing import Any

from tests.differential.cases import cases
from tests.differential.side import BEACONS, OLDER, YAML, Step, get, merge, post, probe, put


def whole(name: str = "two", *, meta: dict[str, Any] | None = None, status: Any = None, **spec: Any) -> dict[str, Any]:
    """A probe as a client sends it back: with the revision of the object that came last, which is ``two``."""
    labels = {"app": "a", "which": "two"}
    metadata = {"resourceVersion": "{rv}", "labels": labels, **(meta or {})}
    return probe(name, meta=metadata, status=status, **{"size": 2, **spec})


OWNED = "?dryRun=All"
"""The garbage collector deletes what is owned by nothing, at a time of its own: such objects are not stored."""


def beacon(name: str, **more: Any) -> dict[str, Any]:
    """A beacon."""
    return {"apiVersion": "{g}/v1", "kind": "Beacon", "metadata": {"name": name, **more.pop("meta", {})}, **more}


def two(obj: Any, query: str = "") -> Step:
    """An update of ``two``."""
    return put(f"/two{query}", obj)


CASES = cases(
    {
        "full": two(whole(size=5, text="new", tags=["a"])),
        "no change": (two(whole()), get("/two")),
        "no change after a default": (two(whole(color="red", deep={"mode": "slow"})), get("/two")),
        "null for a default": two(whole(color=None, deep=None)),
        "twice": (two(whole(size=5)), two(whole(size=6))),
        "with the old revision": (two(whole(size=5)), put("/one", whole("one")), two(whole(size=6, meta={"resourceVersion": "1"}))),
        "no revision": two(whole(meta={"resourceVersion": ""})),
        "revision null": two(whole(meta={"resourceVersion": None})),
        "revision 0": two(whole(meta={"resourceVersion": "0"})),
        "revision garbage": two(whole(meta={"resourceVersion": "abc"})),
        "revision negative": two(whole(meta={"resourceVersion": "-1"})),
        "revision in the future": two(whole(meta={"resourceVersion": "99999999999"})),
        "revision with zeros": two(whole(meta={"resourceVersion": "00{rv}"})),
        "revision a number": two(whole(meta={"resourceVersion": 5})),
        "missing": put("/none", whole("none")),
        "missing, no revision": put("/none", probe("none")),
        "missing, with a uid": put("/none", probe("none", meta={"uid": "u"})),
        "missing, wrong": put("/none", probe("none", size=0)),
        "another name": two(whole("one")),
        "no name": two(whole("")),
        "another namespace": two(whole(meta={"namespace": "other"})),
        "namespace of its own": two(whole(meta={"namespace": "{ns}"})),
        "uid": two(whole(meta={"uid": "{uid}"})),
        "another uid": two(whole(meta={"uid": "other"})),
        "another uid, no revision": two(whole(meta={"uid": "other", "resourceVersion": ""})),
        "another uid, old revision": two(whole(meta={"uid": "other", "resourceVersion": "1"})),
        "another version": two({**whole(), "apiVersion": "{g}/v1beta1"}),
        "through the older version": (put(f"{OLDER}/two", {**whole(size=9), "apiVersion": "{g}/v1beta1"}), get("/two")),
        "another kind": two({**whole(), "kind": "Beacon"}),
        "no kind": two({key: value for key, value in whole().items() if key != "kind"}),
        "no apiVersion": two({key: value for key, value in whole().items() if key != "apiVersion"}),
        "empty": put("/two", ""),
        "garbage": put("/two", "garbage"),
        "null": put("/two", "null"),
        "missing and garbage": put("/none", "garbage"),
        "text": put("/two", whole(), "text/plain"),
        "yaml": put("/two", "apiVersion: {g}/v1\nkind: Probe\nmetadata: {name: two, resourceVersion: '{rv}'}\nspec: {size: 7}\n", YAML),
        "on the collection": put("", whole()),
        "on an unknown subresource": put("/two/scale", whole()),
        "pretty": two(whole(size=4), "?pretty=1"),
        # Metadata.
        "labels": two(whole(meta={"labels": {"x": "y"}})),
        "labels away": two(whole(meta={"labels": None})),
        "annotations": two(whole(meta={"annotations": {"a": "b"}})),
        "annotations empty": two(whole(meta={"annotations": {}})),
        "label bad": two(whole(meta={"labels": {"a b": "c d"}})),
        "creationTimestamp": two(whole(meta={"creationTimestamp": "2001-01-01T00:00:00Z"})),
        "creationTimestamp null": two(whole(meta={"creationTimestamp": None})),
        "deletionTimestamp": two(whole(meta={"deletionTimestamp": "2001-01-01T00:00:00Z"})),
        "deletionGracePeriodSeconds": two(whole(meta={"deletionGracePeriodSeconds": 5})),
        "generation": two(whole(meta={"generation": 9})),
        "generation negative": two(whole(meta={"generation": -1})),
        "selfLink": two(whole(meta={"selfLink": "/x"})),
        "generateName": two(whole(meta={"generateName": "x-"})),
        "finalizer": two(whole(meta={"finalizers": ["a.example.com/b"]})),
        "finalizer plain": two(whole(meta={"finalizers": ["plain"]})),
        "finalizer plain again": (two(whole(meta={"finalizers": ["plain"]})), two(whole(size=9, meta={"finalizers": ["plain"]}))),
        "owner": two(whole(meta={"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}]}), OWNED),
        "owners twice": two(whole(meta={"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}] * 2}), OWNED),
        "owners twice, status": two(whole(meta={"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}] * 2}, status={"seen": 1}), "/status"),
        "unknown metadata": two(whole(meta={"x": 1})),
        # Options.
        "dry": (two(whole(size=5), "?dryRun=All"), get("/two")),
        "dry and stale": two(whole(meta={"resourceVersion": "1"}), "?dryRun=All"),
        "dry garbage": two(whole(), "?dryRun=x"),
        "unknown": two(whole(nope=1)),
        "unknown, strict": two(whole(nope=1), "?fieldValidation=Strict"),
        "unknown, ignored": two(whole(nope=1), "?fieldValidation=Ignore"),
        "validation garbage": two(whole(), "?fieldValidation=x"),
        "manager long": two(whole(), "?fieldManager=" + "x" * 129),
        "timeout garbage": two(whole(), "?timeout=x"),
        "options and content type": put("/two?dryRun=x", whole(), "text/plain"),
        # Schema.
        "wrong": two(whole(size=0)),
        "wrong type": two(whole(size="x")),
        "no spec": two({key: value for key, value in whole().items() if key != "spec"}),
        "spec null": two({**whole(), "spec": None}),
        # Status.
        "status in the main resource": (two(whole(status={"ready": True})), get("/two")),
        "status wrong in the main resource": two(whole(status={"ready": "x"})),
        "status": (put("/two/status", whole(status={"ready": True})), get("/two"), get("/two/status")),
        "status no change": (
            put("/two/status", whole(status={"ready": True})),
            put("/two/status", whole(status={"ready": True})),
        ),
        "status away": (put("/two/status", whole(status={"ready": True})), put("/two/status", whole())),
        "status kept": (put("/two/status", whole(status={"ready": True})), two(whole(size=9))),
        "status empty": put("/two/status", whole(status={})),
        "status null": put("/two/status", {**whole(), "status": None}),
        "status list": put("/two/status", {**whole(), "status": []}),
        "status and spec": (put("/two/status", whole(size=9, status={"seen": 3})), get("/two")),
        "status and metadata": put("/two/status", whole(meta={"labels": {"x": "y"}, "finalizers": ["a/b"]}, status={"seen": 3})),
        "status wrong": put("/two/status", whole(status={"seen": -1})),
        "status wrong type": put("/two/status", whole(status={"seen": "x"})),
        "status unknown": put("/two/status", whole(status={"nope": 1})),
        "status unknown, strict": put("/two/status?fieldValidation=Strict", whole(status={"nope": 1})),
        "status stale": put("/two/status", whole(meta={"resourceVersion": "1"}, status={})),
        "status no revision": put("/two/status", whole(meta={"resourceVersion": ""}, status={})),
        "status missing": put("/none/status", whole("none", status={})),
        "status dry": put("/two/status?dryRun=All", whole(status={"seen": 3})),
        "status another name": put("/two/status", whole("one", status={})),
        "status another uid": put("/two/status", whole(meta={"uid": "x"}, status={"seen": 3})),
        "status with a wrong spec": put("/two/status", whole(size=0, status={"seen": 1})),
        "status of older": put(f"{OLDER}/two/status", {**whole(status={"seen": 4}), "apiVersion": "{g}/v1beta1"}),
        # Of the cluster.
        "beacon": (
            post(beacon("{ns}", size=1, status={"seen": 1}), BEACONS),
            put(f"{BEACONS}/{{ns}}", beacon("{ns}", size=1, status={"seen": 2}, meta={"resourceVersion": "{rv}"})),
            put(f"{BEACONS}/{{ns}}", beacon("{ns}", size=1, meta={"resourceVersion": "{rv}", "namespace": "x"})),
            put(f"{BEACONS}/{{ns}}", beacon("{ns}", size=1, meta={"resourceVersion": "{rv}", "labels": {"a": "b"}})),
            get(f"{BEACONS}/{{ns}}/status"),
            put(f"{BEACONS}/{{ns}}/status", beacon("{ns}")),
        ),
        # Values that were wrong before (ratcheting) cannot be made here: schemas do not change. Lists that correlate can.
        "generations": (
            two(whole(size=3)),
            two(whole(size=3, meta={"labels": {"a": "b"}})),
            two(whole(size=4, meta={"labels": {"a": "c"}})),
            put("/two/status", whole(status={"seen": 1})),
            merge("/two", {"metadata": {"annotations": {"a": "b"}}}),
        ),
    }
)  # fmt: skip
