"""CustomResourceDefinitions as clients write them; texts are those of kube-apiserver and of Go's decoder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extapi import Api, Group
from extapi.controlplane.kinds.apiextensions import CUSTOM_RESOURCE_DEFINITION, MOST_INLINE
from extapi.crd.types import TYPES
from extapi.testing import InMemoryServer, serve

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
MERGE = {"Content-Type": "application/merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    with serve(Api(Group("apiextensions.k8s.io", CUSTOM_RESOURCE_DEFINITION))) as started:
        yield started


def crontabs(schema: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "crontabs", "kind": "CronTab"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema or {"type": "object"}},
                }
            ],
            **spec,
        },
    }


def test_defaults_and_status_are_the_servers(server: InMemoryServer) -> None:
    obj = crontabs()
    obj["status"] = {"storedVersions": ["v9"], "conditions": [{"type": "Established", "status": "True"}]}
    made = server.request("POST", PATH, body=obj).json()
    assert made["spec"]["names"] == {
        "plural": "crontabs",
        "singular": "crontab",
        "kind": "CronTab",
        "listKind": "CronTabList",
    }
    assert made["spec"]["conversion"] == {"strategy": "None"}
    assert made["status"] == {"acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
    assert made["metadata"]["generation"] == 1


def test_a_change_of_the_spec_counts_and_keeps_the_status(server: InMemoryServer) -> None:
    made = server.request("POST", PATH, body=crontabs()).json()
    labelled = {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
    path = f"{PATH}/crontabs.example.com"
    assert server.request("PUT", path, body=labelled).json()["metadata"]["generation"] == 1
    now = server.request("GET", path).json()
    now["spec"]["versions"][0]["storage"] = False
    now["spec"]["versions"].append({**now["spec"]["versions"][0], "name": "v2", "storage": True})
    now["status"] = {}
    changed = server.request("PUT", path, body=now).json()
    assert changed["metadata"]["generation"] == 2
    assert changed["status"]["storedVersions"] == ["v1", "v2"]
    without = {**changed, "metadata": {"name": "crontabs.example.com"}}
    assert "must be specified for an update" in server.request("PUT", path, body=without).json()["message"]


def test_a_write_of_the_status_leaves_the_spec(server: InMemoryServer) -> None:
    made = server.request("POST", PATH, body=crontabs()).json()
    made["spec"]["scope"] = "Cluster"
    made["status"]["acceptedNames"] = {"plural": "crontabs", "kind": "CronTab"}
    written = server.request("PUT", f"{PATH}/crontabs.example.com/status", body=made).json()
    assert written["spec"]["scope"] == "Namespaced"
    assert written["status"]["acceptedNames"] == {"plural": "crontabs", "kind": "CronTab"}
    written["status"]["acceptedNames"] = {"plural": "crontabs", "kind": "x y"}
    refused = server.request("PUT", f"{PATH}/crontabs.example.com/status", body=written)
    assert (refused.status, refused.json()["details"]["causes"][0]["field"]) == (422, "status.acceptedNames.kind")


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ({"group": 5}, "json: cannot unmarshal number into Go struct field CustomResourceDefinitionSpec.spec.group of type string"),
        (
            {"versions": {}},
            (
                "json: cannot unmarshal object into Go struct field CustomResourceDefinitionSpec.spec.versions of type "
                "[]v1.CustomResourceDefinitionVersion"
            ),
        ),
        (
            {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": {"maxLength": "5"}}}}}]},
            (
                "json: cannot unmarshal string into Go struct field "
                "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.maxLength of type int64"
            ),
        ),
        ({"versions": [{"schema": {"openAPIV3Schema": {"additionalProperties": 1}}}]}, "boolean or JSON schema expected"),
    ],
)  # fmt: skip
def test_values_of_a_wrong_type_are_refused_as_go_does(
    server: InMemoryServer, patch: dict[str, Any], text: str
) -> None:
    refused = server.request("POST", PATH, body=crontabs(**patch))
    assert refused.status == 400
    kind = "CustomResourceDefinition"
    assert refused.json()["message"] == f'{kind} in version "v1" cannot be handled as a {kind}: {text}'


def test_unknown_fields_are_told_and_dropped(server: InMemoryServer) -> None:
    schema = {
        "type": "object",
        "x": 1,
        "properties": {"a": {"type": "array", "y": 1, "items": {"type": "string", "silent": 1}}},
    }
    obj = crontabs(schema, foo=1)
    refused = server.request("POST", PATH, {"fieldValidation": "Strict"}, body=obj)
    path = "spec.versions[0].schema.openAPIV3Schema"
    texts = ['unknown field "spec.foo"', f'unknown field "{path}.x"', f'unknown field "{path}.properties.a.y"']
    assert refused.status == 400
    for text in texts:
        assert text in refused.json()["message"]
    assert "silent" not in refused.json()["message"]
    made = server.request("POST", PATH, body=obj)
    assert made.status == 201
    for text in texts:
        assert text.replace('"', '\\"') in made.headers["warning"]
    assert made.json()["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}},
    }


SCHEMA = ".spec.versions[0].schema.openAPIV3Schema"


@pytest.mark.parametrize(
    ("of_a", "why"),
    [
        ({"readOnly": True}, ".properties.a.readOnly: field not declared in schema"),
        (
            {"x-kubernetes-validations": [{"rule": "true"}, {"rule": "true", "message": "again"}]},
            '.properties.a.x-kubernetes-validations: duplicate entries for key [rule="true"]',
        ),
        (
            {"x-kubernetes-validations": [{"rulez": "true"}]},
            '.properties.a.x-kubernetes-validations[rule=""].rulez: field not declared in schema',
        ),
        ({"additionalItems": {"nope": 1}, "not": {"nope": 1}}, ".properties.a.not.nope: field not declared in schema"),
        ({"allOf": [{"nope": 1}]}, ".properties.a.allOf[0].nope: field not declared in schema"),
        ({"nullable": "yes"}, ".properties.a.nullable: expected boolean, got string"),
    ],
)
def test_what_a_schema_does_not_have_cannot_be_applied(server: InMemoryServer, of_a: dict[str, Any], why: str) -> None:
    """The texts are those of kube-apiserver 1.36.3, but that it prints the Go value of ``yes``."""
    applied = crontabs({"type": "object", "properties": {"a": {"type": "string", **of_a}}})
    path = f"{PATH}/crontabs.example.com"
    refused = server.request("PATCH", path, {"fieldManager": "me"}, headers=APPLY, body=applied)
    about = "(/crontabs.example.com; apiextensions.k8s.io/v1, Kind=CustomResourceDefinition)"
    assert (refused.status, refused.json()["message"]) == (
        500,
        f"failed to create typed patch object {about}: {SCHEMA}{why}",
    )
    assert server.request("GET", path).status == 404


def test_what_may_be_a_schema_or_something_else_is_read_loosely(server: InMemoryServer) -> None:
    """kube-apiserver knows no type of ``items``: Go's own reader of them drops what it does not know."""
    items = {"type": "string", "readOnly": True, "x-kubernetes-validations": [{"rule": "true"}, {"rule": "true"}]}
    applied = crontabs({"type": "object", "properties": {"a": {"type": "array", "maxItems": 9, "items": items}}})
    made = server.request("PATCH", f"{PATH}/crontabs.example.com", {"fieldManager": "me"}, headers=APPLY, body=applied)
    assert made.status == 201
    schema = made.json()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert "readOnly" not in schema["properties"]["a"]["items"]
    # Versions are one atomic list, so that nobody manages a part of a schema.
    assert made.json()["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:versions"] == {}


def old(**spec: Any) -> dict[str, Any]:
    """A definition of a version that nothing serves, with members that its types do not have."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "as.b.example"},
        "spec": {
            "group": "b.example",
            "version": "v1",
            "bogus": 1,
            "validation": {"openAPIV3Schema": {"type": "object", "nope": 1}},
            "conversion": {"webhook": {}, "webhookClientConfig": {"service": {"name": "a", "x": 1}}},
            "additionalPrinterColumns": [{"jsonPath": ".a", "JSONPath": ".b"}],
            "names": {"plural": "as", "kind": "A"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "additionalPrinterColumns": [{"jsonPath": ".a"}]}
            ],
            **spec,
        },
    }


UNKNOWN_TO_V1BETA1 = [
    "spec.bogus",
    "spec.validation.openAPIV3Schema.nope",
    "spec.conversion.webhook",
    "spec.conversion.webhookClientConfig.service.x",
    "spec.additionalPrinterColumns[0].jsonPath",
    "spec.versions[0].additionalPrinterColumns[0].jsonPath",
]
SPEC = "CustomResourceDefinitionSpec"
READ_AS_V1BETA1 = 'CustomResourceDefinition in version "v1beta1" cannot be handled as a CustomResourceDefinition: '


def test_a_definition_of_v1beta1_is_read_by_its_types_before_it_is_refused(server: InMemoryServer) -> None:
    told = server.request("POST", PATH, {"dryRun": "All", "fieldValidation": "Warn"}, body=old())
    data, expected = "apiextensions.k8s.io/v1beta1", "apiextensions.k8s.io/v1"
    refusal = f"the API version in the data ({data}) does not match the expected API version ({expected})"
    assert (told.status, told.json()["message"]) == (400, refusal)
    assert told.headers["warning"] == ", ".join(rf'299 - "unknown field \"{path}\""' for path in UNKNOWN_TO_V1BETA1)
    strict = server.request("POST", PATH, {"fieldValidation": "Strict"}, body=old()).json()["message"]
    assert strict == f"{READ_AS_V1BETA1}strict decoding error: " + ", ".join(
        f'unknown field "{path}"' for path in UNKNOWN_TO_V1BETA1
    )


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"version": 5}, f"number into Go struct field {SPEC}.spec.version of type string"),
        (
            {"preserveUnknownFields": "no"},
            f"string into Go struct field {SPEC}.spec.preserveUnknownFields of type bool",
        ),
        (
            {"conversion": 5},
            f"number into Go struct field {SPEC}.spec.conversion of type v1beta1.CustomResourceConversion",
        ),
    ],
)
def test_a_wrong_type_in_v1beta1(server: InMemoryServer, spec: dict[str, Any], wanted: str) -> None:
    answer = server.request("POST", PATH, body=old(**spec))
    assert answer.json()["message"] == f"{READ_AS_V1BETA1}json: cannot unmarshal {wanted}"


def test_schemas_are_stored_as_go_writes_them() -> None:
    schema = {
        "description": "",
        "default": None,
        "enum": [None, 1],
        "minimum": 0,
        "nullable": False,
        "x-kubernetes-preserve-unknown-fields": False,
        "items": [{"type": "string", "z": 1}],
        "additionalProperties": False,
        "dependencies": {"a": ["b"], "c": {"type": "object"}, "d": 5},
        "properties": {"a": None},
        "required": [],
    }
    read, unknown = TYPES.read("JSONSchemaProps", schema)
    assert unknown == []
    assert read == {
        "enum": [None, 1],
        "minimum": 0,
        "x-kubernetes-preserve-unknown-fields": False,
        "items": [{"type": "string"}],
        "additionalProperties": False,
        "dependencies": {"a": ["b"], "c": {"type": "object"}, "d": None},
        "properties": {"a": {}},
    }
    assert TYPES.read("JSONSchemaProps", {"items": "x"}) == ({"items": None}, [])


def test_it_is_validated(server: InMemoryServer) -> None:
    obj = crontabs()
    obj["metadata"]["name"] = "other.example.com"
    refused = server.request("POST", PATH, body=obj)
    assert refused.status == 422
    assert (
        'metadata.name: Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group'
        in (refused.json()["message"])
    )
    warned = server.request(
        "POST", PATH, body=crontabs({"type": "object", "properties": {"a": {"type": "string", "format": "nope"}}})
    )
    assert (warned.status, "unrecognized format" in warned.headers["warning"]) == (201, True)


def test_without_a_storage_version_none_is_remembered(server: InMemoryServer) -> None:
    """As 1.36.3 refuses OpenTelemetry's OpAMPBridge without one."""
    obj = crontabs()
    for version in obj["spec"]["versions"]:
        version["storage"] = False
    message = server.request("POST", PATH, body=obj).json()["message"]
    assert message.endswith("status.storedVersions: Invalid value: null: must have at least one stored version]")


def test_it_is_patched_and_applied(server: InMemoryServer) -> None:
    path = f"{PATH}/crontabs.example.com"
    server.request("POST", PATH, body=crontabs())
    patched = server.request("PATCH", path, headers=STRATEGIC, body={"spec": {"names": {"shortNames": ["ct"]}}}).json()
    assert patched["spec"]["names"]["shortNames"] == ["ct"]
    versions = [{"name": "v1", "served": False}]
    refused = server.request("PATCH", path, headers=STRATEGIC, body={"spec": {"versions": versions}})
    assert refused.status == 422, "a list of versions is replaced, not merged"
    applied = server.request(
        "PATCH", path, {"fieldManager": "me", "force": "true"}, APPLY, crontabs({"type": "object", "nullable": False})
    )
    assert applied.status == 200
    mine = next(each for each in applied.json()["metadata"]["managedFields"] if each["manager"] == "me")
    assert mine["fieldsV1"]["f:spec"] == {
        "f:group": {},
        "f:names": {"f:kind": {}, "f:plural": {}},
        "f:scope": {},
        "f:versions": {},
    }


def test_the_first_delete_marks_it(server: InMemoryServer) -> None:
    path = f"{PATH}/crontabs.example.com"
    server.request("POST", PATH, body=crontabs())
    marked = server.request("DELETE", path, body={"propagationPolicy": "Foreground"}).json()
    assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert marked["status"]["conditions"][0]["reason"] == "InstanceDeletionPending"
    again = server.request("DELETE", path).json()
    assert again["metadata"]["resourceVersion"] == marked["metadata"]["resourceVersion"]
    released = server.request("PATCH", path, headers=MERGE, body={"metadata": {"finalizers": []}})
    assert released.status == 200
    assert server.request("GET", path).status == 404


@pytest.mark.parametrize("path", ["/openapi/v3/apis/apiextensions.k8s.io/v1", "/openapi/v2"])
def test_the_schema_of_schemas_refers_to_itself(server: InMemoryServer, path: str) -> None:
    document = server.request("GET", path, headers={"Accept": "application/json"}).json()
    schemas = document["components"]["schemas"] if "components" in document else document["definitions"]
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    root = "#/components/schemas/" if "components" in document else "#/definitions/"
    assert schemas[name]["properties"]["properties"]["additionalProperties"] == {"$ref": root + name}
    assert schemas[name]["properties"].keys() == {each.name for each in TYPES._structs["JSONSchemaProps"]}
    spec = schemas["io.k8s.api.apiextensions.v1.CustomResourceDefinition"]["properties"]["spec"]["properties"]
    schema = spec["versions"]["items"]["properties"]["schema"]["properties"]["openAPIV3Schema"]
    assert root + name in str(schema)


def test_a_large_definition_is_judged_like_a_small_one(server: InMemoryServer) -> None:
    """In a thread, where there are some: its errors and warnings are the same."""
    texts = {f"p{n}": {"type": "string"} for n in range(MOST_INLINE)}
    large = crontabs({"type": "object", "properties": {**texts, "a": {"type": "string", "format": "nonesuch"}}})
    is_slow = CUSTOM_RESOURCE_DEFINITION.behaviour.storing.is_slow
    assert is_slow(large)
    assert not is_slow(crontabs())
    assert not is_slow(crontabs({"type": "object", "description": "x" * 10 * MOST_INLINE}))
    answer = server.request("POST", PATH, body=large)
    assert answer.status == 201, answer.body
    assert "nonesuch" in answer.headers["warning"]
    texts["b"] = {"type": "strnig"}
    refused = server.request("POST", PATH, body=crontabs({"type": "object", "properties": texts}))
    assert refused.status == 422
    assert '"strnig"' in refused.json()["message"]
