"""Two versions of one form with other defaults: whose defaults a write and a read see, and what counts as a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.differential.cases import cases
from tests.differential.side import Step, delete, get, json_patch, merge, post, put

NEW = "/apis/{g}/v1/namespaces/{ns}/knobs"
OLD = "/apis/{g}/v1beta1/namespaces/{ns}/knobs"
BOTH = (get(f"{NEW}/k"), get(f"{OLD}/k"), get(NEW), get(OLD))
"""Looks at all that there is."""


def knob(version: str, **spec: Any) -> dict[str, Any]:
    """A knob; without a spec, if nothing is in it."""
    obj = {"apiVersion": f"{{g}}/{version}", "kind": "Knob", "metadata": {"name": "k"}}
    return {**obj, "spec": spec} if spec else obj


def again(version: str, **spec: Any) -> dict[str, Any]:
    """As a client sends it back."""
    obj = knob(version, **spec)
    return {**obj, "metadata": {"name": "k", "resourceVersion": "{rv}"}}


def writes(path: str, version: str) -> dict[str, Sequence[Step]]:
    """What can be done through a version with an object that is there."""
    return {
        "PUT of nothing": [put(f"{path}/k", again(version))],
        "PUT of what it shows": [put(f"{path}/k", again(version, low=1, step=10))],
        "PUT of the other's defaults": [put(f"{path}/k", again(version, low=1, high=2, step=20))],
        "PUT of a part": [put(f"{path}/k", again(version, parts=[{"low": 3}]))] * 2,
        "label": [merge(f"{path}/k", {"metadata": {"labels": {"a": "b"}}})],
        "empty patch": [merge(f"{path}/k", {})],
        "default taken away": [merge(f"{path}/k", {"spec": {"step": None, "low": None}})],
        "default removed": [json_patch(f"{path}/k", {"op": "remove", "path": "/spec/step"})],
        "status": [merge(f"{path}/k/status", {"status": {}})],
        "status of a number": [merge(f"{path}/k/status", {"status": {"seen": 1}})],
        "finalizer, and DELETE": [merge(f"{path}/k", {"metadata": {"finalizers": ["a/b"]}}), delete(f"{path}/k")],
        "DELETE": [delete(f"{path}/k")],
    }


CASES = cases(
    {
        f"{how}, made of {made} as {first}": (post(knob(first, **spec), one), get(f"{path}/k"), *steps, *BOTH)
        for first, one in (("v1", NEW), ("v1beta1", OLD))
        for made, spec in (("nothing", {}), ("parts", {"parts": [{}, {"step": 4}]}))
        for version, path in (("v1", NEW), ("v1beta1", OLD))
        for how, steps in ((f"{how} as {version}", steps) for how, steps in writes(path, version).items())
    }
    | {
        f"dry create as {version}": (post(knob(version), f"{path}?dryRun=All"), *BOTH)
        for version, path in (("v1", NEW), ("v1beta1", OLD))
    }
    | {
        "watch as v1beta1": (
            post(knob("v1"), NEW),
            get(f"{OLD}?watch=1&timeoutSeconds=1"),
        )
    }
)
