"""DELETE: options, preconditions, finalizers, collections."""

from __future__ import annotations

from typing import Any

from tests.differential.cases import cases
from tests.differential.side import BEACONS, JSON, OLDER, YAML, Step, delete, get, json_patch, merge, post, probe, put


def options(**more: Any) -> dict[str, Any]:
    """DeleteOptions."""
    return {"kind": "DeleteOptions", "apiVersion": "v1", **more}


def held(*steps: Step, finalizers: tuple[str, ...] = ("a.example.com/b",)) -> tuple[Step, ...]:
    """Steps after ``held`` was made, which has a finalizer."""
    return (post(probe("held", meta={"finalizers": list(finalizers)})), *steps)


UNTRUE: tuple[Any, ...] = (False, None, "x", 1, [], {})
PARTIAL = "application/json;as=PartialObjectMetadata"

CASES = cases(
    {
        "one": (delete("/one"), get("/one")),
        "twice": (delete("/one"), delete("/one")),
        "missing": delete("/none"),
        "older": delete(f"{OLDER}/one"),
        "beacon": (
            post({"apiVersion": "{g}/v1", "kind": "Beacon", "metadata": {"name": "{ns}"}}, BEACONS),
            delete(f"{BEACONS}/{{ns}}"),
            delete(f"{BEACONS}/{{ns}}"),
        ),
        "again after a delete": (delete("/one"), post(probe("one"))),
        "status": delete("/one/status"),
        "unknown subresource": delete("/one/nope"),
        "pretty": delete("/one?pretty=1"),
        # Options.
        "options": delete("/one", options()),
        "options empty": delete("/one", "{}"),
        "options null": delete("/one", "null"),
        "options nothing": delete("/one", ""),
        "options garbage": delete("/one", "garbage"),
        "options list": delete("/one", "[]"),
        "options text": delete("/one", '"x"'),
        "options half": delete("/one", '{"kind":'),
        "options yaml": delete("/one", "kind: DeleteOptions\napiVersion: v1\npropagationPolicy: Background\n", YAML),
        "options as text": delete("/one", options(), "text/plain"),
        "options of the group": delete("/one", {**options(), "apiVersion": "{g}/v1"}),
        "options of meta": delete("/one", {**options(), "apiVersion": "meta.k8s.io/v1"}),
        "options of another group": delete("/one", {**options(), "apiVersion": "other/v7"}),
        "options without kind": delete("/one", {"apiVersion": "v1"}),
        "options without version": delete("/one", {"kind": "DeleteOptions"}),
        "options of another kind": delete("/one", {**options(), "kind": "Pod"}),
        "options of our kind": delete("/one", probe("one")),
        "options unknown": delete("/one", options(nope=1)),
        "options missing object": delete("/none", "garbage"),
        "dry": (delete("/one?dryRun=All"), get("/one")),
        "dry in the body": (delete("/one", options(dryRun=["All"])), get("/one")),
        "dry garbage": delete("/one?dryRun=x"),
        "dry garbage in the body": delete("/one", options(dryRun=["x"])),
        "dry text in the body": delete("/one", options(dryRun="All")),
        "dry in the query, not in the body": delete("/one?dryRun=All", options()),
        "dry missing": delete("/none?dryRun=All"),
        "grace": delete("/one?gracePeriodSeconds=30"),
        "grace 0": delete("/one?gracePeriodSeconds=0"),
        "grace negative": delete("/one?gracePeriodSeconds=-1"),
        "grace garbage": delete("/one?gracePeriodSeconds=x"),
        "grace in the body": delete("/one", options(gracePeriodSeconds=30)),
        "grace text in the body": delete("/one", options(gracePeriodSeconds="x")),
        "policy": delete("/one?propagationPolicy=Background"),
        "policy foreground": delete("/one?dryRun=All&propagationPolicy=Foreground"),
        "policy orphan": delete("/one?dryRun=All&propagationPolicy=Orphan"),
        "policy garbage": delete("/one?propagationPolicy=x"),
        "policy empty": delete("/one?propagationPolicy="),
        "policy lower case": delete("/one?propagationPolicy=orphan"),
        "policy in the body": delete("/one", options(propagationPolicy="Background")),
        "policy garbage in the body": delete("/one", options(propagationPolicy="x")),
        "policy number in the body": delete("/one", options(propagationPolicy=1)),
        "orphan false": delete("/one?orphanDependents=false"),
        "orphan garbage": delete("/one?dryRun=All&orphanDependents=x"),
        "both": delete("/one", options(propagationPolicy="Orphan", orphanDependents=True)),
        "both in the query": delete("/one?propagationPolicy=Orphan&orphanDependents=true"),
        "unsafe": delete("/one?ignoreStoreReadErrorWithClusterBreakingPotential=true"),
        **{
            f"unsafe: {value!r}": delete("/one", options(ignoreStoreReadErrorWithClusterBreakingPotential=value))
            for value in UNTRUE
        },
        "all, unsafe garbage": delete("", options(ignoreStoreReadErrorWithClusterBreakingPotential="x")),
        "options of an unknown kind": delete("/one", {"kind": "X"}),
        "unsafe in the body": delete("/one", options(ignoreStoreReadErrorWithClusterBreakingPotential=True)),
        "unknown query": delete("/one?nope=1"),
        "timeout garbage": delete("/one?timeout=x"),
        # Preconditions.
        "uid": delete("/two", options(preconditions={"uid": "{uid}"})),
        "another uid": delete("/two", options(preconditions={"uid": "other"})),
        "uid empty": delete("/two", options(preconditions={"uid": ""})),
        "uid number": delete("/two", options(preconditions={"uid": 1})),
        "revision": delete("/two", options(preconditions={"resourceVersion": "{rv}"})),
        "another revision": delete("/two", options(preconditions={"resourceVersion": "1"})),
        "revision garbage": delete("/two", options(preconditions={"resourceVersion": "x"})),
        "revision empty": delete("/two", options(preconditions={"resourceVersion": ""})),
        "another uid and revision": delete("/two", options(preconditions={"uid": "other", "resourceVersion": "1"})),
        "uid in the query": delete("/two?uid={uid}"),
        "another uid in the query": delete("/two?uid=other"),
        "uid empty in the query": delete("/two?uid="),
        "another revision in the query": delete("/two?resourceVersion=1"),
        "revision garbage in the query": delete("/two?resourceVersion=x"),
        "preconditions empty": delete("/two", options(preconditions={})),
        "preconditions null": delete("/two", options(preconditions=None)),
        "preconditions text": delete("/two", options(preconditions="x")),
        "another uid, dry": delete("/two", options(preconditions={"uid": "other"}, dryRun=["All"])),
        "another uid, missing": delete("/none", options(preconditions={"uid": "other"})),
        # Finalizers.
        "held": held(delete("/held"), get("/held")),
        "held twice": held(delete("/held"), delete("/held")),
        "held, dry": held(delete("/held?dryRun=All"), get("/held")),
        "held, orphan false": held(delete("/held?orphanDependents=false")),
        "held, grace": held(delete("/held?gracePeriodSeconds=30")),
        "held, foreground": held(delete("/held?dryRun=All&propagationPolicy=Foreground")),
        "held, made again": held(delete("/held"), post(probe("held"))),
        "held, revision": held(delete("/held", options(preconditions={"resourceVersion": "1"}))),
        "held, let go": held(delete("/held"), merge("/held", {"metadata": {"finalizers": None}}), get("/held")),
        "held, let go empty": held(delete("/held"), merge("/held", {"metadata": {"finalizers": []}}), get("/held")),
        "held, let go by a json patch": held(delete("/held"), json_patch("/held", ("remove", "/metadata/finalizers/0")), get("/held")),
        "held, let go by a put": held(
            delete("/held"), put("/held", probe("held", meta={"resourceVersion": "{rv}"})), get("/held")
        ),
        "held, let go dry": held(delete("/held"), merge("/held?dryRun=All", {"metadata": {"finalizers": []}}), get("/held")),
        "held, let go wrong": held(delete("/held"), merge("/held", {"metadata": {"finalizers": []}, "spec": {"size": 0}})),
        "held, let go with a change": held(delete("/held"), merge("/held", {"metadata": {"finalizers": []}, "spec": {"size": 9}})),
        "held, let go through status": held(delete("/held"), merge("/held/status", {"metadata": {"finalizers": []}}), get("/held")),
        "held, one of two": held(
            delete("/held"), merge("/held", {"metadata": {"finalizers": ["c/d"]}}), finalizers=("a/b", "c/d")
        ),
        "held, another": held(delete("/held"), merge("/held", {"metadata": {"finalizers": ["a.example.com/b", "x/y"]}})),
        "held, changed": held(delete("/held"), merge("/held", {"spec": {"size": 9}})),
        "held, status": held(delete("/held"), merge("/held/status", {"status": {"seen": 1}})),
        "held, timestamp": held(
            delete("/held"),
            merge("/held", {"metadata": {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}}),
            merge("/held", {"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}}),
            merge("/held", {"metadata": {"deletionGracePeriodSeconds": 7}}),
        ),
        "held, let go first": held(merge("/held", {"metadata": {"finalizers": []}}), get("/held"), delete("/held")),
        # Collections.
        "all": delete(),
        "all of nothing": delete("?labelSelector=x%3Dy"),
        "some": delete("?labelSelector=which%3Done"),
        "by name": delete("?fieldSelector=metadata.name%3Dtwo"),
        "bad selector": delete("?labelSelector=a%3Db%3Dc"),
        "bad field": delete("?fieldSelector=x%3Dy"),
        "all, dry": delete("?dryRun=All"),
        "all, dry garbage": delete("?dryRun=x"),
        "all, in the body": delete("", options(dryRun=["All"])),
        "all, garbage": delete("", "garbage"),
        "all, other kind": delete("", {**options(), "kind": "Pod"}),
        "all, uid": delete("", options(preconditions={"uid": "x"})),
        "all, limit": delete("?limit=1"),
        "all, limit garbage": delete("?limit=x"),
        "all, limit and a selector": delete("?limit=1&labelSelector=which%3Done"),
        "all, next page": (get("?limit=1"), delete("?limit=1&continue={continue}")),
        "all, exactly": (
            get(),
            delete("/one"),
            delete("?resourceVersion={list}&resourceVersionMatch=Exact", options()),
        ),
        "all, at a revision": (get(), post(probe("three")), delete("?resourceVersion={list}", options())),
        "all, at a revision in the query alone": (get(), delete("?resourceVersion={list}")),
        "all, no older": (get(), delete("?resourceVersion={list}&resourceVersionMatch=NotOlderThan", options())),
        "all, continue garbage": delete("?continue=x"),
        "all, at 0": (get(), delete("?resourceVersion=0")),
        "all, at garbage": delete("?resourceVersion=x"),
        "all, initial events": delete("?sendInitialEvents=true"),
        "all, match": delete("?resourceVersionMatch=Exact"),
        "all, foreground": delete("?dryRun=All&propagationPolicy=Foreground"),
        "all, policy garbage": delete("?propagationPolicy=x"),
        "all, held": held(delete()),
        "all, held already": held(delete("/held"), delete()),
        "all, as a table": delete("", accept="application/json;as=Table;g=meta.k8s.io;v=v1"),
        "all, as metadata": delete("", accept=f"{PARTIAL}List;g=meta.k8s.io;v=v1"),
        "all, a page as metadata": delete("?limit=1", accept=f"{PARTIAL}List;g=meta.k8s.io;v=v1"),
        "all, as metadata of one": delete("", accept=f"{PARTIAL};g=meta.k8s.io;v=v1"),
        "as metadata of many": delete("/one", accept=f"{PARTIAL}List;g=meta.k8s.io;v=v1"),
        "all, as yaml": delete("", accept="application/yaml"),
        "all, pretty": delete("?pretty=1"),
        "all, text": delete("", options(), "text/plain"),
        "all, older": delete(OLDER),
        "all, across": delete("/apis/{g}/v1/probes?fieldSelector=metadata.namespace%3D{ns}", form=JSON),
        "all, ignored error": delete("?ignoreStoreReadErrorWithClusterBreakingPotential=true"),
        "all beacons": (
            post({"apiVersion": "{g}/v1", "kind": "Beacon", "metadata": {"name": "{ns}", "labels": {"n": "{ns}"}}}, BEACONS),
            delete(f"{BEACONS}?labelSelector=n%3D{{ns}}"),
        ),
    }
)  # fmt: skip
