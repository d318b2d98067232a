from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from extapi.api.behaviour import OpenAPIRules
from extapi.api.definition import CLUSTER
from extapi.controlplane.builtin.behaviour import BuiltInOpenAPI
from extapi.schema.openapi import document as documents, v2 as older, v3 as newer
from extapi.schema.openapi.model import ResourceModel, SubresourceModel, TypeModel
from extapi.schema.openapi.operations import operation_name
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
                "color": {"type": "string", "default": "red"},
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


def openapi_v3(group: str, version: str, models: Iterable[ResourceModel]) -> dict[str, Any]:
    chosen = [each for each in models if (each.group, each.version) == (group, version)]
    return documents.openapi_v3([documents.v3_part(each) for each in chosen])


def openapi_v2(models: Iterable[ResourceModel]) -> dict[str, Any]:
    return documents.openapi_v2([documents.v2_part(each) for each in models])


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield path, method, operation


def parameters(document: dict[str, Any], path: str, method: str) -> dict[str, Any]:
    """Those of an operation and of its path, by name."""
    item = document["paths"][path]
    given = [*item["parameters"], *item[method].get("parameters", ())]
    found = [
        document["parameters"][one["$ref"].removeprefix("#/parameters/")] if "$ref" in one else one for one in given
    ]
    return {one["name"]: one for one in found}


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
        names = parameters(document, path, method).keys()
        if method in {"post", "put", "patch"}:
            assert {"dryRun", "fieldManager", "fieldValidation"} <= names
            assert ("force" in names) == (method == "patch")
            # Before 1.27, kubectl looks for these in the operation and follows no references.
            own = {parameter.get("name") for parameter in operation["parameters"]}
            assert {"dryRun", "fieldValidation"} <= own
        elif operation["x-kubernetes-action"] in {"list", "deletecollection"}:
            assert {"labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"} <= names


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
    shared = {reference for reference in found if reference.startswith("#/parameters/")}
    assert {reference.removeprefix(prefix) for reference in found - shared} <= schemas.keys()
    assert {reference.removeprefix("#/parameters/") for reference in shared} == set(document.get("parameters", ()))


@pytest.mark.parametrize("document", [v2(), v3()], ids=["v2", "v3"])
def test_every_name_in_a_path_is_a_parameter(document: dict[str, Any]) -> None:
    for path, method, _ in operations(document):
        named = {name: one for name, one in parameters(document, path, method).items() if one["in"] == "path"}
        assert named.keys() == {part.strip("{}") for part in path.split("/") if part.startswith("{")}
        assert all(parameter["required"] for parameter in named.values())
        assert "pretty" in parameters(document, path, method)


def test_parameters_are_shared_under_the_names_of_kube_apiserver() -> None:
    """As 1.36.3 names them: its merged document would rename what is called otherwise, or says something else."""
    document = v2()
    assert {
        "allowWatchBookmarks-HC2hJt-J", "body-2Y1dVQaQ", "body-78PwaGsr", "continue-QfD61s0i", "fieldManager-7c6nTn1T",
        "fieldManager-Qy4HdaTW", "fieldSelector-xIcQKXFG", "force-tOGGb0Yi", "gracePeriodSeconds--K5HaBOS",
        "labelSelector-5Zw57w4C", "limit-1NfNmdNH", "namespace-vgWSWtn3", "orphanDependents-uRB25kX5",
        "pretty-tJGM1-ng", "propagationPolicy-6jk3prlO", "resourceVersion-5WAnf1kx", "resourceVersionMatch-t8XhRHeC",
        "sendInitialEvents-rLXlEK_k", "shardSelector-Kgyki_3_", "timeoutSeconds-yvYezaOC", "watch-XNNPZGbK",
        "ignoreStoreReadErrorWithClusterBreakingPotential-QbNkfIqj",
    } == document["parameters"].keys()  # fmt: skip
    assert all("$ref" not in one for one in document["parameters"].values())
    everywhere = document["paths"][f"{ROOT}/pizzas"]
    assert {"$ref": "#/parameters/watch-XNNPZGbK"} in everywhere["parameters"], "its one operation shares all"
    assert "parameters" not in everywhere["get"]


@pytest.mark.parametrize("document", [v2(), v3()], ids=["v2", "v3"])
def test_selectable_fields_are_published_with_the_kind_and_its_list(document: dict[str, Any]) -> None:
    chosen = [model(selectable=("spec.size", "spec.port"))]
    fields = [{"fieldPath": "spec.size"}, {"fieldPath": "spec.port"}]
    more = openapi_v2(chosen)["definitions"] if "swagger" in document else openapi_v3(GROUP, "v1beta1", chosen)
    schemas = more if "swagger" in document else more["components"]["schemas"]
    for name in ("Pizza", "PizzaList"):
        kind = f"info.programming-kubernetes.restaurant.v1beta1.{name}"
        assert schemas[kind]["x-kubernetes-selectable-fields"] == fields
        before = document["definitions"] if "swagger" in document else document["components"]["schemas"]
        assert "x-kubernetes-selectable-fields" not in before[kind]


def test_what_kubernetes_describes_is_described_in_its_words() -> None:
    """A schema that differs by one word gets another name in kube-apiserver's merged document."""
    kind = v3()["components"]["schemas"]["info.programming-kubernetes.restaurant.v1beta1.Pizza"]["properties"]
    docs = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
    assert kind["apiVersion"]["description"] == (
        "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized "
        f"schemas to the latest internal value, and may reject unrecognized values. More info: {docs}#resources"
    )
    assert kind["metadata"]["description"] == f"Standard object's metadata. More info: {docs}#metadata"
    embedded = kind["spec"]["properties"]["shut"]["properties"]
    assert embedded["kind"]["description"].startswith("kind is a string value representing the type of this object.")
    listed = v3()["components"]["schemas"]["info.programming-kubernetes.restaurant.v1beta1.PizzaList"]["properties"]
    assert listed["metadata"]["description"] == f"Standard list metadata. More info: {docs}#types-kinds"


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
    assert spec["properties"]["color"] == {"type": "string"}, "kube-apiserver publishes no defaults in this version"
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


def test_in_v2_the_members_of_what_may_be_null_stay_required() -> None:
    """As 1.36.3 publishes OpenShift's ControllerConfig: the loop comes after the properties have gone."""
    inner = {
        "type": "object",
        "nullable": True,
        "required": ["a"],
        "properties": {"a": {"type": "string", "nullable": True}},
    }
    schema = from_openapi({"type": "object", "properties": {"f": inner}})
    found = older.kind_schema(schema, TypeModel(group=GROUP, version="v1", kind="Pizza"))
    assert found["properties"]["f"] == {"required": ["a"]}


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
    assert list(one["patch"]["responses"]) == ["200", "401"]
    for media in (one["get"]["responses"]["200"], one["put"]["requestBody"], one["delete"]["requestBody"]):
        assert list(media["content"]) == ["application/json", "application/yaml"]
    assert "requestBody" not in v3()["paths"][NAMESPACED]["delete"]
    assert "requestBody" not in one["get"]
    one = v2()["paths"][f"{NAMESPACED}/{{name}}"]
    assert one["patch"]["consumes"] == ["application/json-patch+json", "application/merge-patch+json"]
    body = parameters(v2(), f"{NAMESPACED}/{{name}}", "put")["body"]
    assert body["schema"]["$ref"].endswith(".Pizza")
    assert "required" not in parameters(v2(), f"{NAMESPACED}/{{name}}", "delete")["body"]
    assert one["put"]["consumes"] == ["application/json", "application/yaml"]
    assert list(one["patch"]["responses"]) == ["200", "401"]
    assert "body" not in parameters(v2(), NAMESPACED, "delete")


def test_kinds_of_kubernetes_are_written_as_the_built_in_groups_are() -> None:
    """As 1.36.3 publishes ConfigMaps: a patch may create, deletecollection takes options, bodies are of any type."""
    document = openapi_v3("", "v1", [account()])
    collection, one = document["paths"][CORE], document["paths"][f"{CORE}/{{name}}"]
    assert list(one["patch"]["responses"]) == ["200", "201", "401"]
    assert "parameters" not in one["get"]
    assert list(collection["delete"]["requestBody"]["content"]) == ["*/*"]
    assert {"propagationPolicy", "labelSelector"} <= parameters(document, CORE, "delete").keys()
    assert "watch" not in parameters(document, CORE, "delete")


@pytest.mark.parametrize(
    ("text", "name"),
    [("stable.example.com", "StableExampleCom"), ("a-b.c", "ABC"), ("v1beta1", "V1beta1"), ("x_y", "X_y")],
)
def test_names_in_operation_ids(text: str, name: str) -> None:
    assert operation_name(text) == name


BUILT_IN = {"group": "", "version": "v1", "rules": BuiltInOpenAPI()}
CORE = "/api/v1/namespaces/{namespace}/serviceaccounts"
REQUEST = TypeModel(group="authentication.k8s.io", version="v1", kind="TokenRequest", rules=BuiltInOpenAPI())


def account(**more: Any) -> ResourceModel:
    """A kind of the core group with a path that speaks a kind of another group."""
    names = {"kind": "ServiceAccount", "list_kind": "ServiceAccountList", "plural": "serviceaccounts"}
    token = SubresourceModel(path="token", verbs=["create"], type=REQUEST, structural=from_openapi(SCHEMA))
    return model(**BUILT_IN, **names, status=False, subresources=[token], **more)


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


@pytest.mark.parametrize("rules", [BuiltInOpenAPI(), OpenAPIRules()])
def test_other_groups_of_kubernetes_are_named_by_their_first_part(rules: OpenAPIRules) -> None:
    names = {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "Role", "plural": "roles"}
    role = model(**names, rules=rules)
    create = openapi_v3(role.group, "v1", [role])["paths"][
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles"
    ]["post"]
    # As a custom resource of the same group is named, too: 1.36.3 has createTopologyNodeV1alpha1NodeResourceTopology.
    assert (create["operationId"], create["tags"]) == (
        "createRbacAuthorizationV1NamespacedRole",
        ["rbacAuthorization_v1"],
    )
    of_kubernetes = isinstance(rules, BuiltInOpenAPI)
    assert role.name == ("io.k8s.api.rbac.v1.Role" if of_kubernetes else "io.k8s.authorization.rbac.v1.Role")


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
    of = TypeModel(group="", version="v1", kind="Namespace", rules=BuiltInOpenAPI())
    finalize = SubresourceModel(path="finalize", verbs=["get", "update", "patch", "delete"], type=of)
    names = {"kind": "Namespace", "list_kind": "NamespaceList", "plural": "namespaces", "scope": CLUSTER}
    document = openapi_v3("", "v1", [model(**BUILT_IN, **names, subresources=[finalize])])
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
    assert listed["operationId"] == "listCoreV1ServiceAccountForAllNamespaces"
    names = parameters(openapi_v3("", "v1", [account(verbs=["list"])]), "/api/v1/serviceaccounts", "get").keys()
    assert "limit" in names
    assert "watch" not in names


def test_articles() -> None:
    for kind, described in (("Oven", "an Oven"), ("Sauces", "Sauces"), ("Glass", "a Glass")):
        text = openapi_v3(GROUP, "v1beta1", [model(kind=kind)])["paths"][NAMESPACED]["post"]["description"]
        assert text == f"create {described}"


@pytest.mark.parametrize("write", [older.kind_schema, newer.kind_schema])
def test_rules_are_published_in_both_versions(write: Any) -> None:
    """As apiextensions' ToStructuralOpenAPIV2 and ToKubeOpenAPI leave them."""
    rule = {"rule": "self > 0", "message": "no", "optionalOldSelf": False}
    node = {
        "type": "integer",
        "nullable": True,
        "x-kubernetes-validations": [{**rule, "reason": None, "fieldPath": ""}],
    }
    schema = {"type": "object", "properties": {"n": node}, "x-kubernetes-validations": [{"rule": "has(self.n)"}]}
    made = write(from_openapi(schema), TypeModel(group="a.example.com", version="v1", kind="A"))
    assert made["x-kubernetes-validations"] == [{"rule": "has(self.n)"}]
    assert made["properties"]["n"]["x-kubernetes-validations"] == [rule]
