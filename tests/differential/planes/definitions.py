"""Custom resource definitions as objects of a control plane: what becomes of them, and of what they define."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.differential.cases import Case
from tests.differential.planes.naming import Steps, named
from tests.differential.planes.samples import PARTIAL, TABLE, Sample
from tests.differential.side import Step, apply, delete, get, json_patch, merge, post, put, waiting

APIEXTENSIONS = "apiextensions.k8s.io/v1"
PATH = f"/apis/{APIEXTENSIONS}/customresourcedefinitions"
GROUP = "{ns}.defs.test"
"""Of one conversation alone."""
ACCEPTED = '"reason":"InitialNamesAccepted"'
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def version(name: str = "v1", schema: Any = OPEN, **more: Any) -> dict[str, Any]:
    """A version, which is served and stored unless ``more`` says otherwise."""
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}


@dataclass(frozen=True)
class DefinitionSample(Sample):
    """A definition: of what, follows from its name."""

    def name(self, short: str) -> str:
        """Plural and group."""
        return f"{short}s.{GROUP}"

    def obj(self, short: str = "new", meta: Mapping[str, Any] | None = None, **body: Any) -> dict[str, Any]:
        """Valid, but for what ``body`` replaces."""
        names = {"plural": f"{short}s", "kind": f"{short.capitalize()}"}
        spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version()]}
        return super().obj(short, meta, **{"spec": spec, **body})


DEFINITION = DefinitionSample("CustomResourceDefinition", PATH, {}, {"spec": {"scope": "Namespaced"}}, APIEXTENSIONS)


def define(short: str = "new", meta: Mapping[str, Any] | None = None, names: Any = None, **spec: Any) -> dict[str, Any]:
    """A definition with other parts of its spec and names; a value of ``...`` is left out."""
    obj = DEFINITION.obj(short, meta)
    obj["spec"] |= spec
    obj["spec"]["names"] = {**obj["spec"]["names"], **(names or {})}
    obj["spec"] = {name: value for name, value in obj["spec"].items() if value is not ...}
    return obj


def make(short: str = "new", query: str = "", **given: Any) -> Step:
    """A create."""
    return post(define(short, **given), PATH + query)


def established(short: str = "new") -> Step:
    """A wait for a definition to be served."""
    return waiting(DEFINITION.at(short), ACCEPTED)


def objects(short: str = "new", version: str = "v1", name: str = "") -> str:
    """Where the objects of a definition are."""
    return f"/apis/{GROUP}/{version}/namespaces/{{ns}}/{short}s" + (f"/{name}" if name else "")


def obj(name: str = "one", short: str = "new", version: str = "v1", **fields: Any) -> dict[str, Any]:
    """An object of a definition."""
    meta = {"name": name, **fields.pop("meta", {})}
    return {"apiVersion": f"{GROUP}/{version}", "kind": short.capitalize(), "metadata": meta, **fields}


def served(short: str = "new", version: str = "v1") -> Step:
    """A wait for its objects: kube-apiserver serves some time after it says so."""
    return waiting(objects(short, version), '"items":[')


AT = DEFINITION.at("new")
CLOSED = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
DEFAULTED = {
    "type": "object",
    "properties": {"spec": {"type": "object", "default": {}, "properties": {"a": {"type": "string", "default": "d"}}}},
}
LIVES: dict[str, Steps] = {
    "created": (make(), established(), get(AT, TABLE), get(AT, PARTIAL), DEFINITION.mine("", TABLE)),
    "created with all": (
        make(
            names={"singular": "newest", "listKind": "Newlings", "shortNames": ["nw", "n"], "categories": ["all"]},
            versions=[
                version(
                    "v1",
                    CLOSED,
                    subresources={"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
                    additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": ".spec.a"}],
                    selectableFields=[{"jsonPath": ".spec.a"}],
                ),
                version("v1beta1", storage=False, deprecated=True, deprecationWarning="old"),
            ],
            conversion={"strategy": "None"},
            preserveUnknownFields=False,
        ),
        established(),
        served(),
        get(f"/apis/{GROUP}"),
        get(f"/apis/{GROUP}/v1"),
        get(f"/apis/{GROUP}/v1beta1"),
        post(obj(spec={"a": "x", "b": 1}), objects()),
        get(objects(version="v1beta1", name="one")),
        get(objects(), TABLE),
        get(f"{objects()}?fieldSelector=spec.a%3Dx"),
    ),
    "created with a webhook": (
        make(
            conversion={
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {"service": {"name": "a", "namespace": "b"}},
                },
            }
        ),
        established(),
    ),
    "of the cluster": (
        make(scope="Cluster"),
        established(),
        waiting(f"/apis/{GROUP}/v1/news", '"kind":"NewList"'),
        post(obj("{ns}-one"), f"/apis/{GROUP}/v1/news"),
        get(objects()),
    ),
    "created with a status": make(status={"storedVersions": ["v9"], "acceptedNames": {"kind": "X"}, "conditions": []}),
    "objects": (
        make(),
        established(),
        served(),
        post(obj(spec={"a": 1}), objects()),
        merge(objects(name="one"), {"spec": {"b": None, "c": [1]}}),
        apply(objects(name="one"), obj(spec={"d": 1})),
        get(objects(name="one")),
        delete(objects(name="one")),
        get(objects(name="one")),
    ),
    "deleted": (
        make(),
        established(),
        served(),
        post(obj(), objects()),
        delete(AT),
        waiting(AT, '"code":404'),
        waiting(objects(), "404"),
        make(),
        established(),
        served(),
        get(objects()),
    ),
    "deleted while an object is held": (
        make(),
        established(),
        served(),
        post(obj(meta={"finalizers": ["a.b/c"]}), objects()),
        delete(AT),
        waiting(AT, '"InstanceDeletionInProgress"'),
        waiting(objects(name="one"), "deletionTimestamp"),
        post(obj("two"), objects()),
        get(f"/apis/{GROUP}/v1"),
        merge(objects(name="one"), {"metadata": {"finalizers": None}}),
        waiting(AT, '"code":404'),
    ),
    "deleted with a finalizer of its own": (
        make(meta={"finalizers": ["a.b/c"]}),
        established(),
        served(),
        delete(AT),
        waiting(AT, "InstanceDeletionCompleted"),
        merge(AT, {"metadata": {"finalizers": None}}),
        get(AT),
    ),
    "deleted twice": (make(meta={"finalizers": ["a.b/c"]}), established(), served(), delete(AT), waiting(AT, "Completed"), delete(AT),
                      merge(AT, {"metadata": {"finalizers": []}})),
    "the same kind twice": (
        make("one", names={"kind": "Same"}),
        established("one"),
        # A definition that is deleted while its cache starts may stay for minutes there: one attempt fails, the next is forgotten.
        waiting(objects("one"), '"kind":"SameList"'),
        make("two", names={"kind": "Same", "singular": "twin"}),
        waiting(DEFINITION.at("two"), '"reason":"NotAccepted"'),
        get(objects("two")),
        delete(DEFINITION.at("one")),
        waiting(DEFINITION.at("two"), ACCEPTED),
        DEFINITION.mine(),
    ),
    "the same short name twice": (
        make("one", names={"shortNames": ["s"]}),
        established("one"),
        make("two", names={"shortNames": ["s", "t"]}),
        waiting(DEFINITION.at("two"), '"reason":"NotAccepted"'),
        merge(DEFINITION.at("two"), {"spec": {"names": {"shortNames": ["t"]}}}),
        waiting(DEFINITION.at("two"), ACCEPTED),
    ),
    "the same singular twice": (
        make("one", names={"singular": "s"}),
        established("one"),
        make("two", names={"singular": "s"}),
        waiting(DEFINITION.at("two"), '"reason":"NotAccepted"'),
    ),
    "the same list kind twice": (
        make("one", names={"listKind": "S"}),
        established("one"),
        make("two", names={"listKind": "S"}),
        waiting(DEFINITION.at("two"), '"reason":"NotAccepted"'),
    ),
    "a plural for a singular": (
        make("one"),
        established("one"),
        make("two", names={"singular": "ones"}),
        waiting(DEFINITION.at("two"), '"reason":"NotAccepted"'),
    ),
    "a short name changes": (
        make(names={"shortNames": ["a"]}),
        established(),
        merge(AT, {"spec": {"names": {"shortNames": ["b"], "categories": ["c"]}}}),
        waiting(f"/apis/{GROUP}/v1", '"shortNames":["b"]'),
        get(AT),
    ),
    "approval of a protected group": [
        post({**define(group="{ns}.k8s.io", meta=meta), "metadata": {"name": "news.{ns}.k8s.io", **meta}}, PATH + "?dryRun=All")
        for meta in (
            {},
            {"annotations": {"api-approved.kubernetes.io": "unapproved, an experiment"}},
            {"annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}},
            {"annotations": {"api-approved.kubernetes.io": "bad"}},
        )
    ],
    "an approval that is none": (
        post({**define(group="{ns}.k8s.io"), "metadata": {"name": "news.{ns}.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved"}}}, PATH),
        waiting(f"{PATH}/news.{{ns}}.k8s.io", ACCEPTED),
        delete(f"{PATH}/news.{{ns}}.k8s.io"),
    ),
}  # fmt: skip

CHANGES: dict[str, Steps] = {
    "a schema": (
        make(),
        established(),
        served(),
        post(obj(spec={"a": "x", "b": 1}), objects()),
        merge(AT, {"spec": {"versions": [version("v1", CLOSED)]}}),
        Step("GET", objects(name="one"), awaits='"spec":{"a":"x"}'),
        post(obj("two", spec={"a": 1}), objects()),
    ),
    "a version more": (
        make(),
        established(),
        served(),
        post(obj(spec={"a": "x"}), objects()),
        merge(AT, {"spec": {"versions": [version("v1", storage=False), version("v2", DEFAULTED)]}}),
        served(version="v2"),
        get(objects(version="v2", name="one")),
        get(f"/apis/{GROUP}"),
        get(AT),
        merge(AT, {"spec": {"versions": [version("v2")]}}),
        merge(objects(version="v2", name="one"), {"metadata": {"labels": {"stored": "v2"}}}),
        merge(f"{AT}/status", {"status": {"storedVersions": ["v2"]}}),
        merge(AT, {"spec": {"versions": [version("v2")]}}),
        waiting(objects(), "404"),
    ),
    "a version that is no longer served": (
        make(versions=[version(), version("v2", storage=False)]),
        established(),
        served(version="v2"),
        json_patch(AT, ("replace", "/spec/versions/1/served", False)),
        waiting(objects(version="v2"), "404"),
        served(),
        get(f"/apis/{GROUP}"),
    ),
    "status": (
        make(),
        established(),
        merge(f"{AT}/status", {"status": {"storedVersions": []}}),
        merge(f"{AT}/status", {"status": {"storedVersions": ["v2"]}}),
        merge(f"{AT}/status", {"status": {"storedVersions": ["v1", "v2"]}}),
        merge(f"{AT}/status", {"status": {"conditions": []}, "metadata": {"labels": {"a": "b"}}}),
        get(f"{AT}/status"),
    ),
    "status with the rest": (make(), established(), merge(AT, {"status": {"storedVersions": ["v9"]}, "metadata": {"labels": {"a": "b"}}})),
    "what may not change": (
        make(),
        established(),
        merge(AT, {"spec": {"scope": "Cluster"}}),
        merge(AT, {"spec": {"group": "other.test"}}),
        merge(AT, {"spec": {"names": {"kind": "Other"}}}),
        merge(AT, {"spec": {"names": {"plural": "others"}}}),
        merge(AT, {"spec": {"versions": []}}),
        merge(AT, {"spec": {"preserveUnknownFields": True}}),
        merge(AT, {"spec": None}),
        merge(AT, {"metadata": {"name": "other"}}),
    ),
    "replaced": (
        make(),
        established(),
        put(AT, define(versions=[version("v1", CLOSED)])),
        put(AT, define(meta={"resourceVersion": "1"})),
        get(AT),
        put(AT, define(meta={"resourceVersion": "{rv}"}, versions=[version("v1", DEFAULTED)])),
        put(AT, define(meta={"resourceVersion": "{rv}"}, versions=[])),
        put(DEFINITION.at("none"), define("none")),
    ),
    "applied": (
        apply(AT, define()),
        established(),
        apply(AT, define(names={"shortNames": ["a"], "categories": ["x"]})),
        # The names are accepted a moment later, and the status of what is applied next shows whether they have been.
        waiting(f"/apis/{GROUP}/v1", '"categories":["x"]'),
        apply(AT, define(names={"shortNames": ["b"]}), "other"),
        apply(AT, define(versions=[version(), version("v2", storage=False)])),
        apply(AT, define(versions=[version("v3")]), force=True),
    ),
    "generation": (
        make(),
        established(),
        merge(AT, {"metadata": {"labels": {"a": "b"}}}),
        merge(AT, {"spec": {"names": {"categories": ["a"]}}}),
        waiting(f"/apis/{GROUP}/v1", '"categories":["a"]'),
        merge(AT, {}),
        merge(AT, {"spec": {"names": {"categories": ["a"]}}}),
    ),
}  # fmt: skip

BAD: dict[str, dict[str, Any]] = {
    "another name": {"meta": {"name": "other.{ns}.defs.test"}},
    "no group": {"group": ""},
    "a group without a dot": {"group": "defs"},
    "no scope": {"scope": ...},
    "a wrong scope": {"scope": "Galaxy"},
    "no versions": {"versions": ...},
    "two to store": {"versions": [version("v1"), version("v2")]},
    "none to store": {"versions": [version("v1", storage=False)]},
    "one twice": {"versions": [version("v1"), version("v1", storage=False)]},
    "a version of no name": {"versions": [version("V 1")]},
    "no schema": {"versions": [{"name": "v1", "served": True, "storage": True}]},
    "a schema of another type": {"versions": [version("v1", {"type": "string"})]},
    "a schema without types": {"versions": [version("v1", {"type": "object", "properties": {"a": {}}})]},
    "a default that does not fit": {"versions": [version("v1", {"type": "object", "properties": {"a": {"type": "string", "default": 1}}})]},
    "a rule that does not compile": {"versions": [version("v1", {"type": "object", "x-kubernetes-validations": [{"rule": "self."}]})]},
    "a rule that costs too much": {
        "versions": [version("v1", {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [{"rule": "self.all(x, self.all(y, x == y))"}]}}})]
    },
    "a format that nobody knows": {"versions": [version("v1", {"type": "object", "properties": {"a": {"type": "string", "format": "fish"}}})]},
    "a column of no type": {"versions": [version(additionalPrinterColumns=[{"name": "a", "type": "x", "jsonPath": "a"}])]},
    "a field that is not there": {"versions": [version(schema=CLOSED, selectableFields=[{"jsonPath": ".spec.b"}])]},
    "a conversion that nobody knows": {"conversion": {"strategy": "Magic"}},
    "a webhook without configuration": {"conversion": {"strategy": "Webhook"}},
    "preserving": {"preserveUnknownFields": True},
    "kind and list kind alike": {"names": {"listKind": "New"}},
    "names in capitals": {"names": {"singular": "New", "shortNames": ["N"], "categories": ["A"]}},
    "an unknown field": {"nothing": 1},
    "values of other types": {"versions": {}, "names": {"shortNames": "a"}},
}  # fmt: skip
TOPICS: dict[str, dict[str, Steps]] = {
    "Definition": LIVES,
    "Definition, changed": CHANGES,
    "Definition, bad": {
        name: (make(**given), make(query="?fieldValidation=Strict&dryRun=All", **given)) for name, given in BAD.items()
    },
    "Definition, others": {
        "older version": (
            get("/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions"),
            get("/apis/apiextensions.k8s.io"),
            get("/apis/apiextensions.k8s.io/v1"),
        ),
        "scale": (make(), get(f"{AT}/scale")),
    },
}

CASES: dict[str, Case] = named(TOPICS)
