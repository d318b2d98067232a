"""Requests with more than one thing wrong: which of them is told, and what is warned of although the request fails."""

from __future__ import annotations

from typing import Any

from tests.differential.cases import cases
from tests.differential.side import JSON, OLDER, STRICT, Step, delete, get, json_patch, merge, post, probe

BAD_LABELS = "labelSelector=a%3D-b"
BAD_FIELDS = "fieldSelector=a"
UNKNOWN_FIELD = "fieldSelector=spec.size%3D1"
BAD_MATCH = "resourceVersion=1&resourceVersionMatch=Some"
OTHERS: dict[str, dict[str, Any]] = {
    "version": {"apiVersion": "{g}/v1beta1"},
    "unserved version": {"apiVersion": "{g}/v9"},
    "group": {"apiVersion": "x/v1"},
    "core": {"apiVersion": "v1"},
    "kind": {"kind": "Beacon"},
    "kind and version": {"apiVersion": "{g}/v1beta1", "kind": "X"},
}
"""What a patch may say that an object is, and what it is not."""
MORE: dict[str, dict[str, Any]] = {
    "alone": {},
    "a status": {"status": {"ready": True}},
    "a wrong field": {"spec": {"size": 0}},
    "an unknown field": {"spec": {"size": 3, "nope": 1}},
    "unknown metadata": {"metadata": {"nope": 1}},
    "another revision": {"metadata": {"resourceVersion": "1"}},
    "another name": {"metadata": {"name": "x"}},
    "another uid": {"metadata": {"uid": "x"}},
}
TYPED = {
    f"{what}, {more}": (change, addition)
    for what, change in OTHERS.items()
    for more, addition in MORE.items()
    if not (what != "version" and more == "another uid")
}
BODIES: dict[str, dict[str, Any]] = {
    "an unknown field": {"spec": {"size": 1, "nope": 1}},
    "unknown metadata": {"metadata": {"name": "one", "nope": 1}},
    "bad metadata": {"metadata": {"name": "one", "labels": {"a": 1}}},
    "a wrong field": {"spec": {"size": 0}},
}
TYPES: dict[str, dict[str, Any]] = {
    "of another version": {"apiVersion": "{g}/v1beta1"},
    "of another group": {"apiVersion": "x/v1"},
    "of no version": {"apiVersion": ""},
    "of null": {"apiVersion": None},
    "of another kind": {"kind": "Beacon"},
    "of no kind": {"kind": "", "apiVersion": "{g}/v1beta1"},
}


def body(change: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """A probe that says it is something else."""
    return {**probe("one"), **more, **change}


CASES = cases(
    {
        # Lists: numbers, then selectors, then everything else.
        **{
            f"list: {query}": get(f"?{query}")
            for query in (
                f"{BAD_LABELS}&limit=x", f"{BAD_FIELDS}&limit=x", f"{BAD_LABELS}&{BAD_FIELDS}", f"{BAD_LABELS}&{BAD_MATCH}",
                f"{BAD_FIELDS}&{BAD_MATCH}", f"{UNKNOWN_FIELD}&{BAD_MATCH}", f"{UNKNOWN_FIELD}&continue=abc",
                f"{BAD_LABELS}&continue=abc", f"{BAD_LABELS}&sendInitialEvents=true", f"{UNKNOWN_FIELD}&{BAD_LABELS}",
                "limit=1&resourceVersion=1&continue=abc", "limit=1&resourceVersion=abc&continue=abc", f"{BAD_MATCH}&limit=x",
            )
        },
        "list: pages at a revision that is none": (get("?limit=1"), get("?limit=1&resourceVersion=abc&continue={continue}")),
        "watch: bad labels and a bad match": get(f"?watch=1&{BAD_LABELS}&{BAD_MATCH}"),
        "watch: unknown field and a bad match": get(f"?watch=1&{UNKNOWN_FIELD}&{BAD_MATCH}"),
        "watch: a bad limit as yaml": get("?watch=1&limit=x", accept="application/yaml"),
        "watch: bad labels as yaml": get(f"?watch=1&{BAD_LABELS}", accept="application/yaml"),
        "watch: a bad match as yaml": get(f"?watch=1&{BAD_MATCH}", accept="application/yaml"),
        "watch: unknown field as yaml": get(f"?watch=1&{UNKNOWN_FIELD}", accept="application/yaml"),
        "delete: bad labels and a bad dry run": delete(f"?{BAD_LABELS}&dryRun=x"),
        "delete: unknown field and a bad dry run": delete(f"?{UNKNOWN_FIELD}&dryRun=x"),
        "delete: unknown field and a bad body": delete(f"?{UNKNOWN_FIELD}", "garbage"),
        "delete: a bad match and a bad body": delete(f"?{BAD_MATCH}", "garbage"),
        "delete: a bad grace period and a bad limit": delete("?gracePeriodSeconds=x&limit=x"),
        "delete: bad labels and a bad timeout": delete(f"?{BAD_LABELS}&timeout=x"),
        # Patches that make something else of an object.
        **{f"patch: {name}": merge("/one", {**change, **more}) for name, (change, more) in TYPED.items()},
        **{f"patch, strict: {name}": merge(f"/one{STRICT}", {**change, **more}) for name, (change, more) in TYPED.items()},
        **{
            f"patch of status: {name}": merge("/one/status", {**change, **more})
            for name, (change, more) in TYPED.items()
            if not name.endswith("uid")
        },
        "patch of the older version: version": merge(f"{OLDER}/one", {"apiVersion": "{g}/v1"}),
        "patch: JSON, version": json_patch("/one", ("replace", "/apiVersion", "{g}/v1beta1"), ("add", "/spec/nope", 1)),
        "patch: JSON, the same version": json_patch("/one", ("replace", "/apiVersion", "{g}/v1"), ("add", "/spec/nope", 1)),
        "patch of status: JSON, version": json_patch("/one/status", ("replace", "/apiVersion", "{g}/v1beta1")),
        # Bodies of another type.
        **{
            f"{verb}: {kind}, {more}": Step(method, path, body(change, extra), {"Content-Type": JSON})
            for kind, change in TYPES.items()
            for more, extra in BODIES.items()
            for verb, method, path in (
                ("create", "POST", ""),
                ("create, strict", "POST", STRICT),
                ("create, ignored", "POST", "?fieldValidation=Ignore"),
                ("update", "PUT", "/one"),
                ("update of status", "PUT", "/one/status"),
            )
        },
        "create: of another kind, without a name": post({**probe(""), "kind": "Beacon"}),
        # Warnings of a version that is deprecated, whatever comes of the request.
        **{
            f"deprecated: {step.method} {step.path.removeprefix(OLDER)[:40]}": step
            for step in (
                get(f"{OLDER}/one/nope"), get(f"{OLDER}/none/nope"), get(f"{OLDER}/none"), get(f"{OLDER}/none/status"),
                Step("POST", f"{OLDER}/one/nope"), Step("DELETE", f"{OLDER}/one/nope"), Step("OPTIONS", f"{OLDER}/one"),
                Step("PATCH", OLDER), Step("PUT", OLDER), Step("HEAD", f"{OLDER}/none"), get(f"{OLDER}?limit=x"),
                get(f"{OLDER}?{BAD_LABELS}"), get(f"{OLDER}?watch=1&timeoutSeconds=1"), get("/apis/{g}/v1beta1"),
                get(f"{OLDER}/one/status/x"), Step("DELETE", f"{OLDER}/one/status"), post("x", OLDER),
                Step("DELETE", "/apis/{g}/v1beta1/probes"), post(probe(), "/apis/{g}/v1beta1/probes"),
                get("/apis/{g}/v1beta1/nothings"),
            )
        },
        "deprecated: as text": get(OLDER, accept="text/plain"),
        "deprecated: not allowed": get(OLDER, Impersonate_User="nobody"),
    }
)  # fmt: skip
