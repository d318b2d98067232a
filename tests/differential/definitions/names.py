"""Mistakes in names, groups, versions, columns, selectable fields, subresources and conversion."""

from __future__ import annotations

from tests.differential.definitions.building import (
    Manifest,
    changed,
    column,
    converting,
    definition,
    meta,
    named,
    root,
    scaling,
    selecting,
    version,
    versioned,
    whole,
)

SERVICE = {"namespace": "a", "name": "b"}
LONG = "a" * 64
APPROVAL = "api-approved.kubernetes.io"


def _service(**more: object) -> Manifest:
    return converting({"service": {**SERVICE, **more}})


def _approved(group: str, text: str | None = None) -> Manifest:
    made = definition(group=group)
    if text is not None:
        made["metadata"]["annotations"] = {APPROVAL: text}
    return made


NAMES = {
    "named otherwise": meta(name="other.wrong.test"),
    "named badly": meta(name="Things.wrong.test"),
    "bad label": meta(labels={"a b": "c d"}),
    "bad annotation": meta(annotations={"a b": "c"}),
    "bad finalizer": meta(finalizers=["a b"]),
    "no group": definition(group=...) | {"metadata": {"name": "things."}},
    "empty group": definition(group=""),
    "group without dot": definition(group="wrong"),
    "group in capitals": definition(group="Wrong.test"),
    "group with underscore": definition(group="wr_ong.test"),
    "long group": definition(group=f"{'a.' * 130}b"),
    "no scope": definition(scope=...),
    "unknown scope": definition(scope="Global"),
    "no names": definition(names={}),
    "no plural": named(plural=...),
    "no kind": named(kind=...),
    "plural in capitals": named(plural="Things"),
    "plural starts with a digit": named(plural="1things"),
    "long plural": named(plural=LONG),
    "singular in capitals": named(singular="Thing"),
    "kind with dash at the end": named(kind="Thing-"),
    "kind with underscore": named(kind="Th_ing"),
    "long kind": named(kind=f"T{LONG}"),
    "list kind with space": named(listKind="Thing List"),
    "kind and list kind are the same": named(listKind="Thing"),
    "short names": named(shortNames=["ok", "Not", "2", "a.b"]),
    "categories": named(categories=["all", "All", ""]),
    "everything at once": named(plural="A", singular="B", kind="c_", listKind="c_", shortNames=["D"], categories=["E"]),
    "protected group": _approved("things.k8s.io"),
    "protected group without a dot before": _approved("kubernetes.io"),
    "protected group with an empty approval": _approved("x.kubernetes.io", ""),
    "protected group with a wrong approval": _approved("x.k8s.io", "yes"),
    "protected group with a path": _approved("x.k8s.io", "/a/b"),
    "protected group with a scheme": _approved("x.k8s.io", "https:"),
    "protected group with half an escape": _approved("x.k8s.io", "https://a/%z"),
    "approved": _approved("x.k8s.io", "https://a/b"),
    "not approved": _approved("x.k8s.io", "unapproved, for now"),
    "looks protected": _approved("notk8s.io"),
}

VERSIONS = {
    "no versions": definition(versions=[]),
    "versions left out": definition(versions=...),
    "no version name": versioned(name=...),
    "version in capitals": versioned(name="V1"),
    "version starts with a digit": versioned(name="1"),
    "long version": versioned(name=LONG),
    "second version has a wrong name": definition(versions=[version(), version("v_2", storage=False)]),
    "same name twice": definition(versions=[version(), version(storage=False)]),
    "no storage": versioned(storage=False),
    "two storages": definition(versions=[version(), version("v2")]),
    "same name twice, other columns, two storages": definition(
        versions=[
            version(additionalPrinterColumns=[{"name": "a<b", "type": "string", "jsonPath": ".spec", "priority": 1}]),
            version(
                schema={"openAPIV3Schema": root(properties={"spec": {"type": "object", "minProperties": 1}})},
                subresources={
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.b"},
                },
                selectableFields=[{"jsonPath": ".spec.a"}],
                deprecated=True,
                deprecationWarning="old",
            ),
        ]
    ),
    "no schema": versioned(schema=...),
    "empty schema": versioned(schema={}),
    "second version has no schema": definition(versions=[version(), version("v2", storage=False, schema=...)]),
    "deprecation warning of a version that is not": versioned(deprecationWarning="old"),
    "long deprecation warning": versioned(deprecated=True, deprecationWarning="x" * 257),
    "empty deprecation warning": versioned(deprecated=True, deprecationWarning=""),
    "deprecation warning with a line break": versioned(deprecated=True, deprecationWarning="use\nv2"),
    "deprecation warning with a space that is none": versioned(deprecated=True, deprecationWarning="ü\u00a0v2"),
    "preserves unknown fields": definition(preserveUnknownFields=True),
    "preserves unknown fields, with defaults": changed(
        whole(root(properties={"a": {"type": "string", "default": "b"}})), "spec", "preserveUnknownFields", to=True
    ),
    "preserves unknown fields, converted": changed(converting(), "spec", "preserveUnknownFields", to=True),
    "shared schema, other columns": definition(
        versions=[
            version(additionalPrinterColumns=[{"name": "a", "type": "text", "jsonPath": ".spec"}]),
            version("v2", storage=False),
        ]
    ),
    "wrong in both versions alike": definition(
        versions=[
            version(schema={"openAPIV3Schema": root(type="array")}),
            version("v2", storage=False, schema={"openAPIV3Schema": root(type="array")}),
        ]
    ),
    "wrong in each version": definition(
        versions=[
            version(schema={"openAPIV3Schema": root(type="array")}),
            version("v2", storage=False, schema={"openAPIV3Schema": root(type="string")}),
        ]
    ),
}

COLUMNS = {
    "column without a name": column(name=...),
    "column without a type": column(type=...),
    "column of an unknown type": column(type="text"),
    "column with an unknown format": column(format="uuid"),
    "column without a path": column(jsonPath=...),
    "column with a wrong path": column(jsonPath="spec.color"),
    "column with a path in braces": column(jsonPath="{.spec.color}"),
    "column with a dot": column(jsonPath="."),
    "column with nothing": versioned(additionalPrinterColumns=[{}]),
    "wrong columns in two versions": definition(
        versions=[
            version(additionalPrinterColumns=[{"name": "a", "type": "x", "jsonPath": ".a"}]),
            version("v2", storage=False, additionalPrinterColumns=[{"name": "b", "type": "y", "jsonPath": "b"}]),
        ]
    ),
}

SELECTABLE = {
    "selectable field without a path": selecting(...),
    "selectable field with an empty path": selecting(""),
    "selectable field without a dot": selecting("spec.color"),
    "selectable field that ends in a dot": selecting(".spec."),
    "selectable field that is not there": selecting(".spec.shape"),
    "selectable field below a scalar": selecting(".spec.color.shade"),
    "selectable field in brackets": selecting(".spec['color']"),
    "selectable object": selecting(".spec"),
    "selectable field twice": selecting(".spec.color", ".spec.size", ".spec.color"),
    "selectable field in metadata": selecting(
        ".metadata.name",
        schema={
            "openAPIV3Schema": root(
                properties={"metadata": {"type": "object", "properties": {"name": {"type": "string"}}}}
            )
        },
    ),
    "too many selectable fields": selecting(
        *(f".spec.a{i}" for i in range(9)),
        schema={
            "openAPIV3Schema": root(
                properties={"spec": {"type": "object", "properties": {f"a{i}": {"type": "string"} for i in range(9)}}}
            )
        },
    ),
    "selectable fields of one version": definition(
        versions=[version(selectableFields=[{"jsonPath": ".spec.x"}]), version("v2", storage=False)]
    ),
    "selectable fields of a version of its own": definition(
        versions=[
            version(selectableFields=[{"jsonPath": ".spec.x"}]),
            version("v2", storage=False, schema={"openAPIV3Schema": root(description="two")}),
        ]
    ),
    "selectable fields without a schema": definition(
        versions=[
            version(selectableFields=[{"jsonPath": ".spec.x"}], schema=...),
            version("v2", storage=False, schema={"openAPIV3Schema": root(description="two")}),
        ]
    ),
}

SUBRESOURCES = {
    "scale without a spec path": scaling(specReplicasPath=...),
    "scale without a status path": scaling(statusReplicasPath=...),
    "scale with nothing": versioned(subresources={"scale": {}}),
    "scale with a spec path elsewhere": scaling(specReplicasPath=".status.size"),
    "scale with a status path elsewhere": scaling(statusReplicasPath=".spec.size"),
    "scale with a path without a dot": scaling(specReplicasPath="spec.size"),
    "scale with a selector elsewhere": scaling(labelSelectorPath=".metadata.labels"),
    "scale with a selector without a dot": scaling(labelSelectorPath="status"),
    "scale of the whole spec": scaling(specReplicasPath=".spec"),
    "scale in brackets": scaling(specReplicasPath=".spec[0]"),
    "status of an array": whole({"type": "array", "items": {"type": "string"}}, subresources={"status": {}}),
    "status of what preserves": whole({"x-kubernetes-preserve-unknown-fields": True}, subresources={"status": {}}),
    "status beside minProperties": whole(root(minProperties=1, title="<T>"), subresources={"status": {}}),
    "status beside oneOf": whole(
        root(
            oneOf=[{"required": ["spec"]}, {"required": ["status"]}],
            description="a & b",
            maximum=1.5,
            required=["spec"],
            externalDocs={"url": "https://a", "description": "b"},
        ),
        subresources={"status": {}},
    ),
    "status beside enum and much else": whole(
        root(
            enum=[{"b": 1, "a": [1.0, None, "x"]}],
            example={"z": 1},
            properties={
                "spec": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": {"type": "string"}},
                    "default": {"a": ["b"]},
                },
                "port": {"x-kubernetes-int-or-string": True},
                "list": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {
                        "type": "object",
                        "required": ["k"],
                        "properties": {"k": {"type": "string", "maxLength": 3}},
                    },
                },
                "any": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "x-kubernetes-map-type": "atomic",
                },
            },
            **{"x-kubernetes-validations": [{"rule": "true", "reason": "FieldValueInvalid", "optionalOldSelf": True}]},
        ),
        subresources={"status": {}},
    ),
    "nullable root": whole(root(nullable=True)),
    "nullable root with status": whole(root(nullable=True), subresources={"status": {}}),
}

CONVERSION = {
    "unknown strategy": definition(conversion={"strategy": "Magic"}),
    "no strategy": definition(conversion={}),
    "webhook without anything": definition(conversion={"strategy": "Webhook"}),
    "webhook without a client": converting(...),
    "webhook with an empty client": definition(
        conversion={"strategy": "Webhook", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}}
    ),
    "webhook with both": converting({"url": "https://a", "service": SERVICE}),
    "webhook without reviews": converting(reviews=...),
    "webhook with no reviews": converting(reviews=()),
    "webhook with unknown reviews": converting(reviews=("v2", "v3")),
    "webhook with reviews twice": converting(reviews=("v1", "v1", "v1beta1")),
    "webhook with wrong reviews": converting(reviews=("V1", "", "v1")),
    "webhook with http": converting({"url": "http://a"}),
    "webhook without a host": converting({"url": "https://"}),
    "webhook without a scheme": converting({"url": "a/b"}),
    "webhook with an empty URL": converting({"url": ""}),
    "webhook with a user": converting({"url": "https://me@a/b"}),
    "webhook with a password": converting({"url": "https://me:secret@a/b"}),
    "webhook with a query": converting({"url": "https://a/b?c=d"}),
    "webhook with a fragment": converting({"url": "https://a/b#c"}),
    "webhook with everything": converting({"url": "http://u@/b?c=d#e"}),
    "webhook with a broken URL": converting({"url": "https://a:b/"}),
    "webhook with a broken escape": converting({"url": "https://a/%zz"}),
    "webhook with a space in the host": converting({"url": "https://a b/"}),
    "webhook with a colon first": converting({"url": ":a"}),
    "webhook with a colon in a segment": converting({"url": "1a:b"}),
    "webhook with a control character": converting({"url": "https://a/\u007f"}),
    "webhook with an open bracket": converting({"url": "https://[::1/"}),
    "service without a name": _service(name=""),
    "service without a namespace": _service(namespace=""),
    "service without anything": converting({"service": {"path": "/"}}),
    "service with port 0": _service(port=0),
    "service with a large port": _service(port=65536),
    "service with a negative port": _service(port=-1),
    "service with a relative path": _service(path="a/b"),
    "service with two slashes": _service(path="//"),
    "service with an empty segment": _service(path="/a//b"),
    "service with a wrong segment": _service(path="/a/B_c/d"),
    "service with a slash at the end": _service(path="/a/b/"),
    "webhook set for None": definition(
        conversion={
            "strategy": "None",
            "webhook": {"clientConfig": {"service": SERVICE}, "conversionReviewVersions": ["v1"]},
        }
    ),
    "reviews set for None": definition(
        conversion={"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}
    ),
    "broken bundle before it is established": converting({"service": SERVICE, "caBundle": "bm9uZQ=="}),
}

CASES: dict[str, Manifest] = {
    **NAMES,
    **VERSIONS,
    **COLUMNS,
    **SELECTABLE,
    **SUBRESOURCES,
    **CONVERSION,
}
