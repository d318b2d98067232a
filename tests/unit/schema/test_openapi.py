from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from extapi.api.definition import CLUSTER
from extapi.schema.openapi import ResourceModel, SubresourceModel, TypeModel, openapi_v2, openapi_v3
from extapi.schema.openapi_model import operation_name
from extapi.schema.structural import from_openapi

GROUP = "restaurant.programming-kubernetes.info"
ROOT = f"/apis/{GROUP}/v1beta1"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
SCHEMA: dict[str, Any] = {
    "description": "A pizza.",
    "type": "object",
    "required": ["spec"],
    "properties": {
        "kind": {"type": "string"},
        "spec": {
            "type": "object",
            "required": ["maybe", "size"],
            "properties": {
                "maybe": {"type": "string", "nullable": True},
                "size": {"type": "integer", "format": "int64", "enum": [1, 2]},
                "port": {"x-kubernetes-int-or-string": True},
                "ported": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "small": {"x-kubernetes-int-or-string": True, "anyOf": [{"maxLength": 1}, {"maximum": 1}]},
                "list": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                    "x-kubernetes-list-type": "atomic",
                },
                "openList": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "open": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"a": {"type": "string"}},
                },
                "map": {
                    "type": "object",
                    "additionalProperties": {"type": "string", "nullable": True},
                    "required": ["x"],
                },
                "shut": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object"}},
                },
                "any": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
            "oneOf": [{"required": ["size"]}],
            "not": {"required": ["list"]},
        },
    },
}


def model(**more: Any) -> ResourceModel:
    fields: dict[str, Any] = {
        "group": GROUP,
        "version": "v1beta1",
        "kind": "Pizza",
        "list_kind": "PizzaList",
        "plural": "pizzas",
        "singular": "pizza",
        "structural": from_openapi(SCHEMA),
    }
    return ResourceModel(**(fields | more))


TOPPING = {
    "kind": "Topping",
    "list_kind": "ToppingList",
    "plural": "toppings",
    "singular": "topping",
    "scope": CLUSTER,
    "status": False,
}


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield path, method, operation


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for sub in value.values():
            yield from references(sub)
    elif isinstance(value, list):
        for sub in value:
            yield from references(sub)


def v3() -> dict[str, Any]:
    return openapi_v3(GROUP, "v1beta1", [model(**TOPPING), model(), model(version="v1alpha1")])


def v2() -> dict[str, Any]:
    return openapi_v2([model(**TOPPING), model(), model(version="v1alpha1")])


NAMESPACED = f"{ROOT}/namespaces/{{namespace}}/pizzas"
ID = "RestaurantProgrammingKubernetesInfoV1beta1"


def test_the_operations_of_a_kind_are_those_of_a_custom_resource() -> None:
    found = {
        (path, method): (operation["operationId"], operation["x-kubernetes-action"])
        for path, method, operation in operations(openapi_v3(GROUP, "v1beta1", [model()]))
    }
    assert found == {
        (f"{ROOT}/pizzas", "get"): (f"list{ID}PizzaForAllNamespaces", "list"),
        (NAMESPACED, "get"): (f"list{ID}NamespacedPizza", "list"),
        (NAMESPACED, "post"): (f"create{ID}NamespacedPizza", "post"),
        (NAMESPACED, "delete"): (f"delete{ID}CollectionNamespacedPizza", "deletecollection"),
        (f"{NAMESPACED}/{{name}}", "get"): (f"read{ID}NamespacedPizza", "get"),
        (f"{NAMESPACED}/{{name}}", "put"): (f"replace{ID}NamespacedPizza", "put"),
        (f"{NAMESPACED}/{{name}}", "patch"): (f"patch{ID}NamespacedPizza", "patch"),
        (f"{NAMESPACED}/{{name}}", "delete"): (f"delete{ID}NamespacedPizza", "delete"),
        (f"{NAMESPACED}/{{name}}/status", "get"): (f"read{ID}NamespacedPizzaStatus", "get"),
        (f"{NAMESPACED}/{{name}}/status", "put"): (f"replace{ID}NamespacedPizzaStatus", "put"),
        (f"{NAMESPACED}/{{name}}/status", "patch"): (f"patch{ID}NamespacedPizzaStatus", "patch"),
    }


def test_a_cluster_wide_kind_has_no_namespaces() -> None:
    document = openapi_v3(GROUP, "v1beta1", [model(**TOPPING)])
    assert list(document["paths"]) == [f"{ROOT}/toppings", f"{ROOT}/toppings/{{name}}"]
    assert document["paths"][f"{ROOT}/toppings"]["post"]["operationId"] == f"create{ID}Topping"


def test_operations_of_verbs_that_are_not_served_are_left_out() -> None:
    document = openapi_v3(GROUP, "v1beta1", [model(verbs=["get"], status=False)])
    assert [(path, method) for path, method, _ in operations(document)] == [(f"{NAMESPACED}/{{name}}", "get")]
    document = openapi_v3(GROUP, "v1beta1", [model(verbs=["create"], status=True)])
    assert [(path, method) for path, method, _ in operations(document)] == [(NAMESPACED, "post")]


@pytest.mark.parametrize("document", [v2(), v3()], ids=["v2", "v3"])
def test_what_kubectl_asks_of_operations_that_write(document: dict[str, Any]) -> None:
    for path, method, operation in operations(document):
        assert operation["x-kubernetes-group-version-kind"]["group"] == GROUP, path
        names = {parameter["name"] for parameter in operation.get("parameters", ())} - {"body"}
        if method in {"post", "put", "patch"}:
            assert {"dryRun", "fieldManager", "fieldValidation"} <= names
            assert ("force" in names) == (method == "patch")
        elif operation["x-kubernetes-action"] in {"list", "deletecollection"}:
            assert {"labelSelector", "fieldSelector", "limit", "continue", "resourceVersion"} <= names
            assert ("watch" in names) == (operation["x-kubernetes-action"] == "list")


@pytest.mark.parametrize(
    ("document", "prefix", "schemas"),
    [
        (v2(), "#/definitions/", v2()["definitions"]),
        (v3(), "#/components/schemas/", v3()["components"]["schemas"]),
    ],
    ids=["v2", "v3"],
)
def test_every_reference_leads_somewhere(document: dict[str, Any], prefix: str, schemas: dict[str, Any]) -> None:
    found = set(references(document))
    assert found
    assert {reference.removeprefix(prefix) for reference in found} <= schemas.keys()


@pytest.mark.parametrize("document", [v2(), v3()], ids=["v2", "v3"])
def test_every_name_in_a_path_is_a_parameter(document: dict[str, Any]) -> None:
    for path, item in document["paths"].items():
        named = {parameter["name"] for parameter in item["parameters"] if parameter["in"] == "path"}
        assert named == {part.strip("{}") for part in path.split("/") if part.startswith("{")}
        assert all(parameter["required"] for parameter in item["parameters"] if parameter["in"] == "path")


@pytest.mark.parametrize("document", [v2(), v3()], ids=["v2", "v3"])
def test_operation_ids_are_unique(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(ids) == len(set(ids))


def test_the_order_of_resources_does_not_matter() -> None:
    models = [model(), model(**TOPPING), model(version="v1alpha1")]
    assert json.dumps(openapi_v2(models)) == json.dumps(openapi_v2(reversed(models)))
    assert json.dumps(openapi_v3(GROUP, "v1beta1", models)) == json.dumps(
        openapi_v3(GROUP, "v1beta1", reversed(models))
    )


def test_v3_holds_one_group_version_and_v2_all() -> None:
    name = "info.programming-kubernetes.restaurant"
    assert f"{name}.v1beta1.Pizza" in v3()["components"]["schemas"]
    assert f"{name}.v1alpha1.Pizza" not in v3()["components"]["schemas"]
    assert {f"{name}.v1beta1.Pizza", f"{name}.v1alpha1.Pizza", f"{name}.v1beta1.ToppingList"} <= v2()[
        "definitions"
    ].keys()
    assert f"/apis/{GROUP}/v1alpha1/pizzas" in v2()["paths"]
    assert f"/apis/{GROUP}/v1alpha1/pizzas" not in v3()["paths"]


def test_nothing_in_v3_is_lost_by_clients_written_in_go() -> None:
    """Members of k8s.io/kube-openapi/pkg/spec3 are ``omitempty``: an empty list would be there once and then no more."""

    def empty(value: Any) -> bool:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return value == [] or any(empty(each) for each in inner)

    assert not empty(v3()["paths"])


def test_the_schema_of_a_kind_in_v3() -> None:
    kind = v3()["components"]["schemas"]["info.programming-kubernetes.restaurant.v1beta1.Pizza"]
    assert kind["x-kubernetes-group-version-kind"] == [{"group": GROUP, "kind": "Pizza", "version": "v1beta1"}]
    assert list(kind["properties"]) == ["apiVersion", "kind", "spec", "metadata"]
    assert kind["properties"]["metadata"]["allOf"] == [{"$ref": f"#/components/schemas/{META}ObjectMeta"}]
    spec = kind["properties"]["spec"]
    either = [{"type": "integer"}, {"type": "string"}]
    assert spec["properties"]["port"] == {"x-kubernetes-int-or-string": True, "anyOf": either}
    assert spec["properties"]["ported"] == {"x-kubernetes-int-or-string": True, "anyOf": either}
    assert spec["properties"]["small"]["allOf"] == [{"anyOf": either}]
    assert spec["properties"]["maybe"] == {"type": "string", "nullable": True}
    assert spec["properties"]["list"]["x-kubernetes-list-type"] == "atomic"
    assert spec["oneOf"] == [{"required": ["size"]}]
    assert list(spec["properties"]["shut"]["properties"]) == ["spec", "apiVersion", "kind", "metadata"]
    assert spec["properties"]["shut"]["required"] == ["kind", "apiVersion"]
    assert list(spec["properties"]["any"]["properties"]) == ["apiVersion", "kind", "metadata"]


def test_the_schema_of_a_kind_in_v2_says_what_old_kubectl_can_take() -> None:
    kind = v2()["definitions"]["info.programming-kubernetes.restaurant.v1beta1.Pizza"]
    assert kind["properties"]["metadata"]["$ref"] == f"#/definitions/{META}ObjectMeta"
    spec = kind["properties"]["spec"]
    assert "oneOf" not in spec
    assert "not" not in spec
    assert spec["required"] == ["size"]
    assert spec["properties"]["maybe"] == {}
    assert spec["properties"]["port"] == {"x-kubernetes-int-or-string": True}
    assert spec["properties"]["openList"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert spec["properties"]["open"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert spec["properties"]["map"] == {"type": "object", "additionalProperties": {}}
    assert spec["properties"]["shut"]["required"] == ["kind", "apiVersion"]
    assert spec["properties"]["any"] == {
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-embedded-resource": True,
    }


def test_an_open_kind_is_just_an_object_in_v2() -> None:
    schema = from_openapi({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    kind = openapi_v2([model(structural=schema)])["definitions"]["info.programming-kubernetes.restaurant.v1beta1.Pizza"]
    gvk = {"group": GROUP, "kind": "Pizza", "version": "v1beta1"}
    assert kind == {"type": "object", "x-kubernetes-group-version-kind": [gvk]}


def test_the_schema_of_a_list() -> None:
    name = "info.programming-kubernetes.restaurant.v1beta1.Pizza"
    document = v3()["components"]["schemas"][f"{name}List"]
    assert document["required"] == ["items"]
    assert document["properties"]["items"]["items"] == {"$ref": f"#/components/schemas/{name}"}
    assert document["x-kubernetes-group-version-kind"] == [{"group": GROUP, "kind": "PizzaList", "version": "v1beta1"}]
    assert v2()["definitions"][f"{name}List"]["properties"]["items"]["items"] == {"$ref": f"#/definitions/{name}"}


def test_bodies_answers_and_media_types() -> None:
    one = v3()["paths"][f"{NAMESPACED}/{{name}}"]
    assert list(one["patch"]["requestBody"]["content"]) == [
        "application/json-patch+json",
        "application/merge-patch+json",
    ]
    assert one["patch"]["requestBody"]["required"] is True
    assert "required" not in one["delete"]["requestBody"]
    assert list(one["put"]["responses"]) == ["200", "201", "401"]
    assert list(one["get"]["responses"]["200"]["content"]) == ["application/json", "application/yaml"]
    assert "requestBody" not in one["get"]
    one = v2()["paths"][f"{NAMESPACED}/{{name}}"]
    assert one["patch"]["consumes"] == ["application/json-patch+json", "application/merge-patch+json"]
    assert one["put"]["parameters"][0]["schema"]["$ref"].endswith(".Pizza")
    assert "required" not in one["delete"]["parameters"][0]


@pytest.mark.parametrize(
    ("text", "name"),
    [("stable.example.com", "StableExampleCom"), ("a-b.c", "ABC"), ("v1beta1", "V1beta1"), ("x_y", "X_y")],
)
def test_names_in_operation_ids(text: str, name: str) -> None:
    assert operation_name(text) == name


NATIVE = {"group": "", "version": "v1", "native": True}
CORE = "/api/v1/namespaces/{namespace}/serviceaccounts"
REQUEST = TypeModel(group="authentication.k8s.io", version="v1", kind="TokenRequest", native=True)


def account(**more: Any) -> ResourceModel:
    """A kind of the core group with a path that speaks a kind of another group."""
    names = {"kind": "ServiceAccount", "list_kind": "ServiceAccountList", "plural": "serviceaccounts"}
    token = SubresourceModel(path="token", verbs=["create"], type=REQUEST, structural=from_openapi(SCHEMA))
    return model(**NATIVE, **names, status=False, subresources=[token], **more)


def test_the_core_group_is_named_as_kubernetes_names_it() -> None:
    """Paths, ids, tags and schemas as 1.36.3 publishes them."""
    document = openapi_v3("", "v1", [account()])
    found = {(path, method): operation["operationId"] for path, method, operation in operations(document)}
    assert found[CORE, "post"] == "createCoreV1NamespacedServiceAccount"
    assert found["/api/v1/serviceaccounts", "get"] == "listCoreV1ServiceAccountForAllNamespaces"
    create = document["paths"][CORE]["post"]
    assert create["tags"] == ["core_v1"]
    assert create["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "ServiceAccount"}
    assert {"io.k8s.api.core.v1.ServiceAccount", "io.k8s.api.core.v1.ServiceAccountList"} <= document["components"][
        "schemas"
    ].keys()


@pytest.mark.parametrize("more", [{}, {"native": False}])
def test_other_groups_of_kubernetes_are_named_by_their_first_part(more: dict[str, bool]) -> None:
    names = {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "Role", "plural": "roles", "native": True}
    role = model(**{**names, **more})
    create = openapi_v3(role.group, "v1", [role])["paths"][
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles"
    ]["post"]
    if role.native:
        assert role.name == "io.k8s.api.rbac.v1.Role"
        assert (create["operationId"], create["tags"]) == (
            "createRbacAuthorizationV1NamespacedRole",
            ["rbacAuthorization_v1"],
        )
    else:  # as a custom resource of the same group would be named
        assert role.name == "io.k8s.authorization.rbac.v1.Role"
        assert create["operationId"] == "createRbacAuthorizationK8sIoV1NamespacedRole"


def test_a_subresource_speaks_its_own_kind() -> None:
    """As 1.36.3 publishes serviceaccounts/token."""
    name = "io.k8s.api.authentication.v1.TokenRequest"
    document = openapi_v3("", "v1", [account()])
    item = document["paths"][f"{CORE}/{{name}}/token"]
    assert set(item) == {"parameters", "post"}
    post = item["post"]
    assert post["operationId"] == "createCoreV1NamespacedServiceAccountToken"
    assert post["description"] == "create token of a ServiceAccount"
    assert (post["x-kubernetes-action"], post["tags"]) == ("post", ["core_v1"])
    assert post["x-kubernetes-group-version-kind"] == REQUEST.gvk
    body = {"schema": {"$ref": f"#/components/schemas/{name}"}}
    assert post["requestBody"]["content"] == {"*/*": body}
    assert post["responses"]["201"]["content"]["application/json"] == body
    assert document["components"]["schemas"][name]["x-kubernetes-group-version-kind"] == [REQUEST.gvk]
    old = openapi_v2([account()])
    assert old["paths"][f"{CORE}/{{name}}/token"]["post"]["x-kubernetes-group-version-kind"] == REQUEST.gvk
    assert old["definitions"][name]["x-kubernetes-group-version-kind"] == [REQUEST.gvk]


def test_a_subresource_that_is_part_of_the_object() -> None:
    """As 1.36.3 publishes namespaces/finalize, and what other verbs would be called."""
    of = TypeModel(group="", version="v1", kind="Namespace", native=True)
    finalize = SubresourceModel(path="finalize", verbs=["get", "update", "patch", "delete"], type=of)
    names = {"kind": "Namespace", "list_kind": "NamespaceList", "plural": "namespaces", "scope": CLUSTER}
    document = openapi_v3("", "v1", [model(**NATIVE, **names, subresources=[finalize])])
    item = document["paths"]["/api/v1/namespaces/{name}/finalize"]
    assert {method: item[method]["operationId"] for method in item.keys() - {"parameters"}} == {
        "get": "readCoreV1NamespaceFinalize",
        "put": "replaceCoreV1NamespaceFinalize",
        "patch": "patchCoreV1NamespaceFinalize",
        "delete": "deleteCoreV1NamespaceFinalize",
    }
    assert item["put"]["description"] == "replace finalize of the specified Namespace"
    assert item["get"]["description"] == "read finalize of the specified Namespace"
    schemas = document["components"]["schemas"]
    assert item["put"]["requestBody"]["content"]["*/*"]["schema"]["$ref"].endswith("/io.k8s.api.core.v1.Namespace")
    assert [name for name in schemas if name.startswith("io.k8s.api.")] == [
        "io.k8s.api.core.v1.Namespace",
        "io.k8s.api.core.v1.NamespaceList",
    ]


@pytest.mark.parametrize("version", ["v2", "v3"])
def test_what_cannot_be_listed_has_no_list(version: str) -> None:
    """1.36.3 has no TokenReviewList; nor does it offer to watch what cannot be watched."""
    only = [account(verbs=["create"])]
    schemas = (
        openapi_v2(only)["definitions"] if version == "v2" else openapi_v3("", "v1", only)["components"]["schemas"]
    )
    assert "io.k8s.api.core.v1.ServiceAccount" in schemas
    assert "io.k8s.api.core.v1.ServiceAccountList" not in schemas
    listed = openapi_v3("", "v1", [account(verbs=["list"])])["paths"]["/api/v1/serviceaccounts"]["get"]
    parameters = {parameter["name"] for parameter in listed["parameters"]}
    assert "limit" in parameters
    assert "watch" not in parameters


def test_articles() -> None:
    text = openapi_v3(GROUP, "v1beta1", [model(kind="Oven")])["paths"][NAMESPACED]["post"]["description"]
    assert text == "create an Oven"
