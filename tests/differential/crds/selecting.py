"""Field selectors of a manifest, in lists, watches and deletions of many."""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, Step, told
from tests.differential.side import MERGE, delete, get

PICKED = Resource("pickeds", "Picked")
OTHER, NONE = PICKED.through("v2"), PICKED.through("v3")
GLOBAL = Resource("globals", "Global", cluster=True)

GIVEN = (
    PICKED.make("one", top="t", spec={"text": "a", "number": 1, "flag": True, "deep": {"er": {"field": "f"}}}),
    PICKED.make(
        "two", spec={"text": "b c", "number": 0, "flag": False, "choice": "b", "stamp": "2026-01-02T03:04:05Z"}
    ),
    PICKED.make("three", spec={"deep": {"er": {"field": None}}}),
    NONE.make("four", spec={"text": 5, "number": "x", "flag": None, "deep": []}, top={}),
    PICKED.change({"status": {"phase": "Up"}}, "two", "/status"),
)
SELECTORS = {
    "text": "spec.text%3Da", "text with a space": "spec.text%3Db%20c", "no text": "spec.text%3D", "not a text": "spec.text!%3Da",
    "number": "spec.number%3D1", "zero": "spec.number%3D0", "no number": "spec.number%3D", "odd number": "spec.number%3D01",
    "flag": "spec.flag%3Dtrue", "no flag": "spec.flag%3Dfalse", "flag missing": "spec.flag%3D", "flag in capitals": "spec.flag%3DTrue",
    "default": "spec.choice%3Da", "deep": "spec.deep.er.field%3Df", "null": "spec.deep.er.field%3D", "stamp": "spec.stamp%3D2026-01-02T03:04:05Z",
    "status": "status.phase%3DUp", "no status": "status.phase!%3DUp", "top": "top%3Dt", "two": "spec.text%3Da,spec.number%3D1",
    "contradiction": "spec.text%3Da,spec.text%3Db", "with a name": "spec.choice%3Da,metadata.name%3Done", "unknown": "spec.none%3Da",
    "prefix": "spec%3Da", "leading dot": ".spec.text%3Da", "of metadata": "metadata.labels%3Da", "other version's": "spec.other%3Do",
    "number in text": "spec.text%3D5", "exists": "spec.text", "wrong type": "spec.number%3Dx",
}  # fmt: skip


def bulk(resource: Resource, query: str) -> Step:
    """A deletion of many."""
    return delete(f"{resource.path}?{query}")


TALKS: dict[str, Any] = {
    **{f"list by {name}": (*GIVEN, PICKED.all(f"&fieldSelector={text}")) for name, text in SELECTORS.items()},
    **{
        f"delete by {name}": (*GIVEN, bulk(PICKED, f"fieldSelector={SELECTORS[name]}"))
        for name in ("text", "no text", "zero", "flag", "default", "null", "status", "two", "with a name", "unknown", "prefix")
    },
    **{
        f"watch by {name}": (*GIVEN, get(f"{PICKED.path}?watch=1&timeoutSeconds=1&fieldSelector={SELECTORS[name]}"))
        for name in ("text", "no number", "flag", "deep", "status", "unknown", "default")
    },
    "watch of what comes and goes": (
        *GIVEN,
        PICKED.all(),
        PICKED.change({"spec": {"text": "b c"}}),
        PICKED.change({"spec": {"text": "a"}}, "two"),
        PICKED.change({"spec": {"number": 7}}, "two"),
        PICKED.drop("two"),
        get(f"{PICKED.path}?watch=1&timeoutSeconds=1&resourceVersion={{list}}&fieldSelector=spec.text%3Da"),
    ),
    "another version": (
        *GIVEN,
        OTHER.all("&fieldSelector=spec.other%3Do"),
        OTHER.all("&fieldSelector=spec.text%3Da"),
        OTHER.change({"spec": {"other": "p"}}),
        OTHER.all("&fieldSelector=spec.other%3Dp"),
        bulk(OTHER, "fieldSelector=spec.other%3Do"),
    ),
    "a version without": (*GIVEN, NONE.all("&fieldSelector=spec.text%3Da"), NONE.all("&fieldSelector=metadata.name%3Done")),
    "pages": (
        *GIVEN,
        PICKED.all("&limit=1&fieldSelector=spec.choice%3Da"),
        PICKED.all("&limit=1&fieldSelector=spec.choice%3Da&continue={continue}"),
    ),
    "across namespaces": (*GIVEN, get("/apis/{g}/v1/pickeds?fieldSelector=spec.text%3Da,metadata.namespace%3D{ns}")),
    "delete dry": (*GIVEN, bulk(PICKED, "fieldSelector=spec.text%3Da&dryRun=All"), bulk(PICKED, "fieldSelector=spec.flag%3Dfalse&labelSelector=a")),
    "a typed one that does not fit": (NONE.make(spec={"number": "x"}), PICKED.all("&fieldSelector=spec.number%3D")),
}  # fmt: skip

SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
CLUSTER: dict[str, Any] = {
    "of the cluster": (
        GLOBAL.make(size=3),
        GLOBAL.make("two", size=4),
        GLOBAL.all("&fieldSelector=size%3D3"),
        GLOBAL.all("&fieldSelector=metadata.namespace%3Dx"),
        GLOBAL.all("&fieldSelector=size!%3D3,metadata.name%3D{ns}-two"),
        delete(f"{GLOBAL.path}?fieldSelector=size%3D3&labelSelector=space%3D{{ns}}"),
    ),
    "scale": (
        GLOBAL.make(),
        GLOBAL.see(rest="/scale"),
        GLOBAL.change({"status": {"replicas": 2, "selector": "app=a"}}, rest="/status"),
        GLOBAL.change({"spec": {"replicas": 5}}, rest="/scale"),
        GLOBAL.change({"spec": {"replicas": 8}}, rest="/scale"),
        GLOBAL.change({"spec": {"replicas": -1}}, rest="/scale"),
        Step("PUT", GLOBAL.at("one", "/scale"), {**SCALE, "metadata": {"name": "{ns}-one"}, "spec": {"replicas": 0}}, {"Content-Type": "application/json"}),
        GLOBAL.change({"status": {"selector": "a b"}}, rest="/status"),
        GLOBAL.see(rest="/scale"),
        GLOBAL.change({"metadata": {"labels": {"a": "b"}}}, rest="/scale"),
        Step("PATCH", GLOBAL.at("one", "/scale?fieldManager=m&force=true"), {**SCALE, "spec": {"replicas": 6}}, {"Content-Type": "application/apply-patch+yaml"}),
    ),
    "scale of a wrong one": (
        GLOBAL.make(spec={"replicas": None}),
        GLOBAL.change({"spec": {"replicas": "x"}}),
        GLOBAL.change({"status": {"replicas": -5}}, rest="/status"),
        GLOBAL.see(rest="/scale"),
        Step("DELETE", GLOBAL.at("one", "/scale"), None, {}),
        Step("PATCH", GLOBAL.at("none", "/scale"), {}, {"Content-Type": MERGE}),
    ),
}  # fmt: skip

CASES = told(PICKED, TALKS) | told(GLOBAL, CLUSTER)
