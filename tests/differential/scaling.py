"""A fifth kind of the twins, whose versions differ in their subresources: status and scale, one of them, or neither."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extapi import Kind, Scale, Version
from tests.differential.cases import cases
from tests.differential.side import APPLY, JSON_PATCH, YAML, Step, delete, get, json_patch, merge, post, put

_COUNT = {"type": "integer"}
_FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "replicas": _COUNT,
                "deep": {"type": "object", "properties": {"count": _COUNT}},
                "free": _FREE,
                "note": {"type": "string"},
            },
        },
        "status": {
            "type": "object",
            "properties": {"replicas": _COUNT, "selector": {"type": "string"}, "free": _FREE},
        },
    },
}
FLOCK = Kind(
    "Flock",
    storage="v1",
    versions={
        "v1": Version(SCHEMA),
        "v1beta1": Version(
            SCHEMA,
            status=False,
            deprecated=True,
            scale=Scale(spec_replicas_path=".spec.deep.count", status_replicas_path=".status.replicas"),
        ),
        "v1alpha1": Version(SCHEMA, scale=False),
        "v1alpha2": Version(
            SCHEMA,
            scale=Scale(
                spec_replicas_path=".spec.free.count",
                status_replicas_path=".status.free.count",
                label_selector_path=".spec.free.selector",
            ),
        ),
        "v1alpha3": Version(SCHEMA, status=False, scale=False),
    },
    scale=Scale(
        spec_replicas_path=".spec.replicas",
        status_replicas_path=".status.replicas",
        label_selector_path=".status.selector",
    ),
)


def path(version: str = "v1") -> str:
    """The path of the flocks."""
    return f"/apis/{{g}}/{version}/namespaces/{{ns}}/flocks"


ONE, SCALE = f"{path()}/f", f"{path()}/f/scale"
BETA, BETA_SCALE = f"{path('v1beta1')}/f", f"{path('v1beta1')}/f/scale"
BARE, FREE, NEITHER = (f"{path(version)}/f" for version in ("v1alpha1", "v1alpha2", "v1alpha3"))
FREE_SCALE = f"{FREE}/scale"
STRATEGIC = "application/strategic-merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def flock(version: str = "v1", *, meta: Any = None, status: Any = None, **spec: Any) -> dict[str, Any]:
    """A flock."""
    obj = {
        "apiVersion": f"{{g}}/{version}",
        "kind": "Flock",
        "metadata": {"name": "f", **(meta or {})},
        "spec": {"replicas": 2, **spec},
    }
    return obj if status is None else {**obj, "status": status}


def scale(replicas: Any = 3, *, meta: Any = None, **more: Any) -> dict[str, Any]:
    """A Scale, with any members besides."""
    of = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "f", **(meta or {})}}
    return {**of, "spec": {} if replicas is ... else {"replicas": replicas}, **more}


Conversation = Step | tuple[Step, ...]


def named(what: str, given: Mapping[str, Conversation]) -> dict[str, Conversation]:
    """The conversations, with what they are about in front of their names."""
    return {f"{what} {name}": steps for name, steps in given.items()}


def of_flock(given: Mapping[str, Conversation]) -> dict[str, Conversation]:
    """Conversations about a flock that was made with status, and that is read at the end."""
    made = (
        post(flock(), path()),
        merge(f"{ONE}/status", {"status": {"replicas": 1, "selector": "app=f"}}),
    )
    return {name: (*made, *((steps,) if isinstance(steps, Step) else steps), get(ONE)) for name, steps in given.items()}


READS = named(
    "scale GET",
    {
        "plain": get(SCALE),
        "pretty": get(f"{SCALE}?pretty=1"),
        "yaml": get(SCALE, YAML),
        "table": get(SCALE, TABLE),
        "table with objects": get(f"{SCALE}?includeObject=Object", TABLE),
        "table without objects": get(f"{SCALE}?includeObject=None", TABLE),
        "metadata": get(SCALE, PARTIAL),
        "text": get(SCALE, "text/plain"),
        "revision 0": get(f"{SCALE}?resourceVersion=0"),
        "revision garbage": get(f"{SCALE}?resourceVersion=x"),
        "beta": get(BETA_SCALE),
        "of none": get(f"{path()}/none/scale"),
        "deeper": get(f"{SCALE}/more"),
        "watch": get(f"{SCALE}?watch=1&timeoutSeconds=1"),
        "where there is none": get(f"{BARE}/scale"),
        "where there is neither": get(f"{NEITHER}/scale"),
        "free, unset": get(FREE_SCALE),
        "discovery": get("/apis/{g}/v1"),
        "discovery of beta": get("/apis/{g}/v1beta1"),
        "discovery of bare": get("/apis/{g}/v1alpha1"),
        "discovery of neither": get("/apis/{g}/v1alpha3"),
    },
)
UNSERVED = named(
    "scale not served:",
    {
        "DELETE": delete(SCALE),
        "POST": post(scale(), SCALE),
        "PUT in bare": put(f"{BARE}/scale", scale()),
        "PATCH in bare": merge(f"{BARE}/scale", {}),
    },
)
PUTS = named(
    "scale PUT",
    {
        "plain": put(SCALE, scale()),
        "twice": (put(SCALE, scale()), put(SCALE, scale(4))),
        "0": (put(SCALE, scale(0)), get(SCALE)),
        "no change": put(SCALE, scale(2)),
        "negative": put(SCALE, scale(-1)),
        "least": put(SCALE, scale(-(2**31))),
        "most": put(SCALE, scale(2**31 - 1)),
        "too much": put(SCALE, scale(2**31)),
        "fraction": put(SCALE, scale(1.5)),
        "float": put(SCALE, '{"metadata":{"name":"f"},"spec":{"replicas":3.0}}'),
        "exponent": put(SCALE, '{"metadata":{"name":"f"},"spec":{"replicas":3e0}}'),
        "text": put(SCALE, scale("3")),
        "null": put(SCALE, scale(None)),
        "truth": put(SCALE, scale(True)),
        "nothing": put(SCALE, scale(...)),
        "no spec": put(SCALE, {"metadata": {"name": "f"}}),
        "spec null": put(SCALE, {**scale(), "spec": None}),
        "spec text": put(SCALE, {**scale(), "spec": "x"}),
        "spec list": put(SCALE, {**scale(), "spec": []}),
        "no type": put(SCALE, {"metadata": {"name": "f"}, "spec": {"replicas": 3}}),
        "no kind": put(SCALE, {"apiVersion": "autoscaling/v1", "metadata": {"name": "f"}, "spec": {"replicas": 3}}),
        "no apiVersion": put(SCALE, {"kind": "Scale", "metadata": {"name": "f"}, "spec": {"replicas": 3}}),
        "another kind": put(SCALE, {**scale(), "kind": "Flock"}),
        "another version": put(SCALE, {**scale(), "apiVersion": "autoscaling/v2"}),
        "another group": put(SCALE, {**scale(), "apiVersion": "{g}/v1"}),
        "kind a number": put(SCALE, {**scale(), "kind": 3}),
        "a flock": put(SCALE, flock()),
        "empty": put(SCALE, ""),
        "garbage": put(SCALE, "garbage"),
        "list": put(SCALE, "[]"),
        "nothing at all": put(SCALE, "null"),
        "form text": put(SCALE, scale(), "text/plain"),
        "yaml": put(SCALE, "metadata: {name: f}\nspec: {replicas: 4}\n", YAML),
        "table": put(SCALE, scale(), accept=TABLE),
        "revision": put(SCALE, scale(meta={"resourceVersion": "{rv}"})),
        "stale": (put(SCALE, scale()), put(SCALE, scale(4, meta={"resourceVersion": "1"}))),
        "revision 0": put(SCALE, scale(meta={"resourceVersion": "0"})),
        "revision garbage": put(SCALE, scale(meta={"resourceVersion": "x"})),
        "revision a number": put(SCALE, scale(meta={"resourceVersion": 1})),
        "uid": put(SCALE, scale(meta={"uid": "{uid}"})),
        "another uid": put(SCALE, scale(meta={"uid": "x"})),
        "no name": put(SCALE, {**scale(), "metadata": {}}),
        "no metadata": put(SCALE, {"spec": {"replicas": 3}}),
        "another name": put(SCALE, scale(meta={"name": "other"})),
        "another namespace": put(SCALE, scale(meta={"namespace": "other"})),
        "its namespace": put(SCALE, scale(meta={"namespace": "{ns}"})),
        "labels": put(SCALE, scale(meta={"labels": {"a": "b"}, "finalizers": ["x"], "annotations": {"a": "b"}})),
        "label wrong": put(SCALE, scale(meta={"labels": {"a b": "!"}})),
        "label a number": put(SCALE, scale(meta={"labels": {"a": 1}})),
        "metadata text": put(SCALE, {**scale(), "metadata": "x"}),
        "status": put(SCALE, scale(status={"replicas": 9, "selector": "x=y"})),
        "status text": put(SCALE, scale(status="x")),
        "status of text": put(SCALE, scale(status={"replicas": "x"})),
        "selector a number": put(SCALE, scale(status={"replicas": 1, "selector": 3})),
        "unknown": put(SCALE, scale(nope=1, spec={"replicas": 3, "nope": 1})),
        "unknown metadata": put(SCALE, scale(meta={"nope": 1})),
        "unknown, strict": put(f"{SCALE}?fieldValidation=Strict", scale(nope=1)),
        "unknown, ignored": put(f"{SCALE}?fieldValidation=Ignore", scale(nope=1)),
        "duplicate": put(SCALE, '{"metadata":{"name":"f"},"spec":{"replicas":3,"replicas":4}}'),
        "duplicate, strict": put(
            f"{SCALE}?fieldValidation=Strict", '{"metadata":{"name":"f"},"spec":{"replicas":3,"replicas":4}}'
        ),
        "validation garbage": put(f"{SCALE}?fieldValidation=x", scale()),
        "dry": (put(f"{SCALE}?dryRun=All", scale()), get(SCALE)),
        "dry and wrong": put(f"{SCALE}?dryRun=All", scale(-1)),
        "dry garbage": put(f"{SCALE}?dryRun=x", scale()),
        "missing": put(f"{path()}/none/scale", scale(meta={"name": "none"})),
        "missing, with a uid": put(f"{path()}/none/scale", scale(meta={"name": "none", "uid": "x"})),
        "missing and garbage": put(f"{path()}/none/scale", "garbage"),
        "beta": (put(BETA_SCALE, scale()), get(BETA_SCALE), get(SCALE)),
        "beta, nothing": put(BETA_SCALE, scale(...)),
        "beta of nothing": (
            put(ONE, flock(meta={"resourceVersion": "{rv}"})),
            put(BETA_SCALE, scale(0)),
        ),
    },
)
PATCHES = named(
    "scale PATCH",
    {
        "merge": merge(SCALE, {"spec": {"replicas": 4}}),
        "json": json_patch(SCALE, ("replace", "/spec/replicas", 4)),
        "json test": json_patch(SCALE, ("test", "/spec/replicas", 2), ("replace", "/spec/replicas", 4)),
        "json wrong test": json_patch(SCALE, ("test", "/spec/replicas", 3), ("replace", "/spec/replicas", 4)),
        "json of 0": (put(SCALE, scale(0)), json_patch(SCALE, ("replace", "/spec/replicas", 4))),
        "json add to 0": (put(SCALE, scale(0)), json_patch(SCALE, ("add", "/spec/replicas", 4))),
        "json of kind": json_patch(SCALE, ("replace", "/kind", "Other")),
        "json without kind": json_patch(SCALE, {"op": "remove", "path": "/kind"}),
        "json of nothing": json_patch(SCALE),
        "strategic": merge(SCALE, {"spec": {"replicas": 4}}, STRATEGIC),
        "apply": merge(f"{SCALE}?fieldManager=m", {"spec": {"replicas": 4}}, APPLY),
        "text": merge(SCALE, {"spec": {"replicas": "4"}}),
        "fraction": merge(SCALE, {"spec": {"replicas": 1.5}}),
        "truth": merge(SCALE, {"spec": {"replicas": True}}),
        "list": merge(SCALE, {"spec": {"replicas": []}}),
        "too much": merge(SCALE, {"spec": {"replicas": 2**31}}),
        "negative": merge(SCALE, {"spec": {"replicas": -1}}),
        "null": merge(SCALE, {"spec": {"replicas": None}}),
        "spec null": merge(SCALE, {"spec": None}),
        "spec text": merge(SCALE, {"spec": "x"}),
        "status": merge(SCALE, {"status": {"replicas": 9}}),
        "status text": merge(SCALE, {"status": {"selector": 1}}),
        "status list": merge(SCALE, {"status": []}),
        "no change": merge(SCALE, {}),
        "another manager": merge(f"{SCALE}?fieldManager=other", {"spec": {"replicas": 5}}),
        # The manager who has the number gets a second entry, and the next write keeps one of the two.
        "another manager, the same number": merge(f"{SCALE}?fieldManager=other", {"spec": {"replicas": 2}}),
        "another manager, the same number, and a change": (
            merge(f"{SCALE}?fieldManager=other", {"spec": {"replicas": 2}}),
            merge(f"{ONE}?fieldManager=third", {"metadata": {"labels": {"a": "b"}}}),
        ),
        "unknown": merge(SCALE, {"spec": {"replicas": 4, "nope": 1}, "nope": 1}),
        "unknown, strict": merge(f"{SCALE}?fieldValidation=Strict", {"nope": 1}),
        "metadata text": merge(SCALE, {"metadata": "x"}),
        "label a number": merge(SCALE, {"metadata": {"labels": {"a": 1}}}),
        "labels a list": merge(SCALE, {"metadata": {"labels": []}}),
        "owner a number": merge(SCALE, {"metadata": {"ownerReferences": [{"uid": 1}]}}),
        "labels": merge(SCALE, {"metadata": {"labels": {"a": "b"}}}),
        "another name": merge(SCALE, {"metadata": {"name": "other"}}),
        "another uid": merge(SCALE, {"metadata": {"uid": "other"}}),
        "another namespace": merge(SCALE, {"metadata": {"namespace": "other"}}),
        "another kind": merge(SCALE, {"kind": "Other"}),
        "another version": merge(SCALE, {"apiVersion": "autoscaling/v2"}),
        "stale": merge(SCALE, {"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 4}}),
        "revision away": merge(SCALE, {"metadata": {"resourceVersion": None}, "spec": {"replicas": 4}}),
        "dry": (merge(f"{SCALE}?dryRun=All", {"spec": {"replicas": 4}}), get(SCALE)),
        "garbage": merge(SCALE, "garbage"),
        "missing": merge(f"{path()}/none/scale", {"spec": {"replicas": 4}}),
        "beta, unset": merge(BETA_SCALE, {}),
        "beta": merge(BETA_SCALE, {"spec": {"replicas": 4}}),
        "beta by json": Step("PATCH", BETA_SCALE, [{"op": "test", "path": "/spec/replicas", "value": -(2**31)}],
                             {"Content-Type": JSON_PATCH}),
    },
)  # fmt: skip


def freely(**given: Any) -> Step:
    """A write of what the paths of v1alpha2 lead to."""
    return merge(FREE, {"spec": {"free": given}})


VALUES = named(
    "scale paths",
    {
        "negative": merge(ONE, {"spec": {"replicas": -1}}),
        "too much": merge(ONE, {"spec": {"replicas": 2**31}}),
        "most": merge(ONE, {"spec": {"replicas": 2**31 - 1}}),
        "away": (merge(ONE, {"spec": {"replicas": None}}), get(SCALE), merge(SCALE, {}), put(SCALE, scale(1))),
        "spec away": (merge(ONE, {"spec": None}), get(SCALE), put(SCALE, scale(1))),
        "text": merge(ONE, {"spec": {"replicas": "x"}}),
        "a bad create": post(flock(replicas=-1, meta={"name": "g"}), path()),
        "a bad create, twice": post(flock(replicas=-1, note=3, meta={"name": "g"}), path()),
        "of status": merge(f"{ONE}/status", {"status": {"replicas": -1}}),
        "of status, too much": merge(f"{ONE}/status", {"status": {"replicas": 2**40}}),
        "negative where there is no scale": (merge(BARE, {"spec": {"replicas": -1}}), get(SCALE), put(SCALE, scale(...))),
        "negative, then status": (
            merge(BARE, {"spec": {"replicas": -1}}),
            merge(f"{ONE}/status", {"status": {"replicas": 3}}),
            merge(ONE, {"metadata": {"labels": {"a": "b"}}}),
            merge(SCALE, {}),
            merge(SCALE, {"spec": {"replicas": 3}}),
        ),
        "large": (merge(BARE, {"spec": {"replicas": 2**32 + 7}}), get(SCALE), merge(SCALE, {})),
        "free": (freely(count=4, selector="a=b"), get(FREE_SCALE), put(FREE_SCALE, scale(5)), get(FREE_SCALE)),
        "free text": freely(count="x"),
        "free float": freely(count=1.5),
        "free truth": freely(count=True),
        "free list": freely(count=[1, "a", None, 2.5, {"b": 1, "a": True}]),
        "free map": freely(count={"b": 1, "a": [None]}),
        "free selector": freely(count=1, selector=3),
        "free selector map": freely(count=1, selector={}),
        "free text stored": (merge(BARE, {"spec": {"free": {"count": "x"}}}), get(FREE_SCALE), put(FREE_SCALE, scale(5)),
                             merge(FREE, {"metadata": {"labels": {"a": "b"}}})),
        "free selector stored": (merge(BARE, {"spec": {"free": {"count": 1, "selector": 3}}}), get(FREE_SCALE),
                                 put(FREE_SCALE, scale(5)), merge(f"{FREE}/status", {"status": {"replicas": 4}})),
        "free unset": (put(FREE_SCALE, scale(5)), merge(FREE_SCALE, {})),
        "free status": (freely(count=1), merge(f"{FREE}/status", {"status": {"free": {"count": 3}}}), get(FREE_SCALE)),
        "free status text": (freely(count=1), merge(f"{FREE}/status", {"status": {"free": {"count": "x"}}})),
    },
)  # fmt: skip
STATUS = named(
    "status",
    {
        "without a subresource, GET": get(f"{BETA}/status"),
        "without a subresource, PUT": put(f"{BETA}/status", flock("v1beta1", meta={"resourceVersion": "{rv}"})),
        "without a subresource, PATCH": merge(f"{BETA}/status", {"status": {"replicas": 7}}),
        "without a subresource, DELETE": delete(f"{BETA}/status"),
        "without a subresource, changed": merge(BETA, {"status": {"replicas": 7}}),
        "without a subresource, kept": merge(BETA, {"status": {"replicas": 1}}),
        "without a subresource, removed": merge(BETA, {"status": None}),
        "without a subresource, with spec": merge(BETA, {"status": {"replicas": 7}, "spec": {"note": "x"}}),
        "without a subresource, wrong": merge(BETA, {"status": {"replicas": "x"}}),
        "without a subresource, replaced": put(
            BETA, flock("v1beta1", meta={"resourceVersion": "{rv}"}, status={"replicas": 5})
        ),
        "without a subresource, replaced without": put(BETA, flock("v1beta1", meta={"resourceVersion": "{rv}"})),
        "without a subresource, negative": merge(BETA, {"status": {"replicas": -7}}),
        "without a subresource or scale, negative": merge(NEITHER, {"status": {"replicas": -7}}),
        "with a subresource, ignored": merge(ONE, {"status": {"replicas": 7}}),
        "with a subresource only": merge(BARE, {"status": {"replicas": 7}}),
        "with a subresource only, its own": merge(f"{BARE}/status", {"status": {"replicas": 7}}),
        "created without a subresource": (
            post(flock("v1beta1", meta={"name": "g"}, status={"replicas": 5}), path("v1beta1")),
            get(f"{path()}/g"),
            get(f"{path()}/g/status"),
        ),
        "created with a subresource": post(flock(meta={"name": "g"}, status={"replicas": 5}), path()),
        "in turn": (
            merge(BETA, {"status": {"replicas": 7}}),
            merge(f"{ONE}/status", {"status": {"replicas": 8}}),
            merge(BETA, {"status": {"replicas": 9}, "spec": {"note": "y"}}),
            merge(ONE, {"status": {"replicas": 10}, "spec": {"note": "z"}}),
        ),
    },
)

CASES = cases(of_flock(READS | UNSERVED | PUTS | PATCHES | VALUES | STATUS))
