"""Versions of all names: each written, read, applied, watched; served, deprecated, hidden; and what each may say."""

from __future__ import annotations

from typing import Any

from tests.differential.crds.talking import Resource, told
from tests.differential.side import YAML, Step, get, post

AGE = Resource("ages", "Age", version="v2")
SERVED = ("v2", "v1alpha1", "v11beta2", "v3", "zebra", "apple")
HIDDEN = Resource("hiddens", "Hidden", version="v1beta1")
GONE = Resource("gones", "Gone")
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
SPEC = {"a": "x", "alpha": "y", "beta": 1, "n": 2, "m": 3, "two": {}, "free": {"z": None}}


def through(version: str) -> dict[str, Any]:
    """What is done through one version."""
    here = AGE.through(version)
    return {
        "create": (here.make(spec=SPEC, status={"s": "t"}), *(AGE.through(each).see() for each in SERVED)),
        "strict create": here.make("one", "?fieldValidation=Strict", spec=SPEC),
        "update": (AGE.make(spec=SPEC), here.see(), here.replace(spec={"a": "u"}), AGE.see()),
        "update of what it shows": (AGE.make(spec=SPEC), here.see(), here.replace(spec={"a": "x"}, status={"s": "q"}), here.see()),
        "merge": (AGE.make(spec=SPEC), here.change({"spec": {"a": "p", "beta": 5}, "status": {"s": "r"}}), AGE.see()),
        "empty merge": (AGE.make(spec=SPEC), here.change({}), here.change({"metadata": {"labels": {"a": "b"}}})),
        "JSON patch": (AGE.make(spec=SPEC), here.edit(("test", "/apiVersion", "{g}/v2")), here.edit(("replace", "/spec/a", "j"))),
        "apply": (here.applied(spec={"a": "1"}), here.applied(spec={"a": "2"}), AGE.applied(manager="n", spec={"a": "3"})),
        "apply of the other version": (AGE.applied(spec={"a": "1"}), here.applied(spec={"a": "2"}), here.applied(manager="n", spec={"a": "3"})),
        "apply of fields that only it has": (AGE.applied(spec={"a": "1"}), here.applied(spec={"alpha": "2"}), AGE.change({"spec": {"a": "4"}})),
        "status": (AGE.make(spec=SPEC), here.change({"status": {"s": "u"}}, rest="/status"), here.see(rest="/status")),
        "scale": (AGE.make(spec=SPEC), here.see(rest="/scale"), here.change({"spec": {"replicas": 9}}, rest="/scale"), AGE.see()),
        "delete": (AGE.make(spec=SPEC, meta={"finalizers": ["a/b"]}), here.drop(), here.change({"metadata": {"finalizers": []}})),
        "delete many": (AGE.make(spec=SPEC), Step("DELETE", here.path, None, {})),
        "table": (AGE.make(spec=SPEC), here.see(accept=TABLE), here.all(accept=TABLE)),
        "watch": (AGE.make(spec=SPEC), get(f"{here.path}?watch=1&timeoutSeconds=1"), get(f"{here.path}/one?watch=1&timeoutSeconds=1")),
        "discovery": get(f"/apis/{{g}}/{version}"),
        "warned": (AGE.make(spec={"a": "x"}), here.see(), here.all(), here.see("none"), here.make("one"), here.drop("none"), here.see(rest="/nothing")),
        "body of another version": (
            post(AGE.obj("one", spec=SPEC), here.path),
            post({**AGE.obj("two", spec=SPEC), "apiVersion": "{g}/v10"}, here.path),
            post({**AGE.obj("three", spec=SPEC), "apiVersion": "{g}/v99"}, here.path),
            post({**AGE.obj("four", spec=SPEC), "kind": "Other"}, here.path),
        ),
    }  # fmt: skip


TALKS: dict[str, Any] = {
    **{f"{how} as {version}": steps for version in SERVED for how, steps in through(version).items()},
    "a version that is not served": (
        AGE.make(spec=SPEC),
        AGE.through("v10").see(),
        AGE.through("v10").all(),
        AGE.through("v10").make("two"),
        get("/apis/{g}/v10"),
        get("/apis/{g}/v10/"),
        get("/apis/{g}/v99"),
    ),
    "groups": (get("/apis/{g}"), get("/apis/{g}/")),
    "yaml": (AGE.make(spec=SPEC), AGE.through("v11beta2").see(accept=YAML)),
    "a label too long for one": (AGE.make(spec={"a": "too long"}), AGE.through("apple").change({"metadata": {"labels": {"b": "c"}}})),
    "nothing of what must be there": (AGE.make(), AGE.through("apple").see(), AGE.through("apple").change({"spec": {}})),
}  # fmt: skip

UNSEEN: dict[str, Any] = {
    "stored in a version that is not served": (
        HIDDEN.make(spec={"both": "b", "stored": "x", "shown": None}),
        HIDDEN.see(),
        HIDDEN.through("v1").see(),
        HIDDEN.change({"spec": {"shown": "u", "stored": "v"}}),
        HIDDEN.applied(spec={"both": "c"}, force=True),
        HIDDEN.applied(spec={"stored": "c"}, force=True),
        HIDDEN.replace(spec={}),
        HIDDEN.all("&limit=1"),
        HIDDEN.drop(),
    ),
    "hidden, created by apply": (HIDDEN.applied(spec={"both": "c"}), HIDDEN.applied(manager="n", spec={"shown": "d"})),
    "hidden, watched": (HIDDEN.make(), get(f"{HIDDEN.path}?watch=1&timeoutSeconds=1")),
    "deprecated alone": (HIDDEN.all(), HIDDEN.see("none"), get("/apis/{g}/v1beta1")),
}
NEVER: dict[str, Any] = {
    "not served at all": (get(GONE.path), get(GONE.at()), GONE.make(), GONE.drop(), get("/apis/{g}/v1/gones")),
}

CASES = told(AGE, TALKS) | told(HIDDEN, UNSEEN) | told(GONE, NEVER)
