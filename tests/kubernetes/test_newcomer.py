"""What a newcomer types first: kubectl on the kinds that every cluster has, and on pizzas beside them."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import Kubectl
from tests.kubernetes.core_objects import RBAC, event, lease
from tests.kubernetes.pizzas import GROUP, PIZZA, pizza
from tests.kubernetes.shop import Shop
from tests.waiting import until

CREATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "configmap": (
        "configmap menu --from-literal=tomato=1 --from-literal=b=",
        "configmap/menu",
        {"data": {"tomato": "1", "b": ""}},
    ),
    "secret": (
        "secret generic recipe --from-literal=sauce=basil",
        "secret/recipe",
        {"data": {"sauce": base64.b64encode(b"basil").decode()}, "type": "Opaque"},
    ),
    "serviceaccount": ("serviceaccount robot", "serviceaccount/robot", {}),
    "role": (
        "role cook --verb=get,list --verb=patch --resource=pizzas --resource-name=mine",
        f"role.{RBAC}/cook",
        {
            "rules": [
                {
                    "apiGroups": [GROUP],
                    "resources": ["pizzas"],
                    "resourceNames": ["mine"],
                    "verbs": ["get", "list", "patch"],
                }
            ]
        },
    ),
    "rolebinding": (
        "rolebinding cooks --clusterrole=view --user=jane --group=cooks --serviceaccount=kitchen:robot",
        f"rolebinding.{RBAC}/cooks",
        {
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
            "subjects": [
                {"apiGroup": RBAC, "kind": "User", "name": "jane"},
                {"apiGroup": RBAC, "kind": "Group", "name": "cooks"},
                {"kind": "ServiceAccount", "name": "robot", "namespace": "kitchen"},
            ],
        },
    ),
    "service": (
        "service externalname pizzeria --external-name=pizza.example.com",
        "service/pizzeria",
        {"spec": {"type": "ExternalName", "externalName": "pizza.example.com"}},
    ),
}


RESOURCES = {
    "configmap": "configmaps",
    "secret": "secrets",
    "serviceaccount": "serviceaccounts",
    "service": "services",
    f"role.{RBAC}": f"roles.{RBAC}",
    f"rolebinding.{RBAC}": f"rolebindings.{RBAC}",
}


@pytest.mark.parametrize(("command", "printed", "expected"), CREATIONS.values(), ids=CREATIONS)
def test_kubectl_create(
    shop: Shop, extension_server: object, command: str, printed: str, expected: dict[str, Any]
) -> None:
    assert shop("create", *command.split(" ")) == f"{printed} created\n"
    made = shop.read(printed)
    assert {key: made[key] for key in expected if key != "spec"} == {
        key: value for key, value in expected.items() if key != "spec"
    }
    assert expected.get("spec", {}).items() <= made.get("spec", {}).items()
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == (printed.split("/")[1], shop.namespace)
    assert made["metadata"]["uid"]
    resource, name = RESOURCES[printed.split("/", maxsplit=1)[0]], printed.split("/")[1]
    assert f'{resource} "{name}" already exists\n' in shop.refused("create", *command.split(" "))
    kind = printed.split("/", maxsplit=1)[0]
    assert shop("delete", printed) == f'{kind} "{name}" deleted from {shop.namespace} namespace\n'
    assert f'{resource} "{name}" not found' in shop.refused("get", printed)


def test_kubectl_create_of_the_whole_cluster(kubectl: Kubectl, namespace: str) -> None:
    name = f"cook-{namespace}"
    assert kubectl(
        "create", "clusterrole", name, "--verb=get", "--non-resource-url=/menu", "--non-resource-url=/m/*"
    ) == (f"clusterrole.{RBAC}/{name} created\n")
    made = json.loads(kubectl("get", "clusterrole", name, "-o", "json"))
    assert made["rules"] == [{"nonResourceURLs": ["/menu", "/m/*"], "verbs": ["get"]}]
    kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", "--group=cooks")
    bound = json.loads(kubectl("get", "clusterrolebinding", name, "-o", "json"))
    assert bound["roleRef"] == {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    assert bound["subjects"] == [{"apiGroup": RBAC, "kind": "Group", "name": "cooks"}]
    assert "namespace" not in bound["metadata"]
    assert kubectl("auth", "can-i", "get", "/m/42", "--as=jane", "--as-group=cooks") == "yes\n"
    assert kubectl.run("auth", "can-i", "get", "/other", "--as=jane", "--as-group=cooks").stdout == "no\n"
    kubectl("delete", "clusterrolebinding,clusterrole", name)
    assert "NotFound" in kubectl.run("get", "clusterrole", name).stderr


def test_a_namespace_is_active_has_an_account_and_the_authority(kubectl: Kubectl, namespace: str) -> None:
    name = f"new-{namespace}"
    assert kubectl("create", "namespace", name) == f"namespace/{name} created\n"
    made = json.loads(kubectl("get", "namespace", name, "-o", "json"))
    assert made["status"] == {"phase": "Active"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
    kubectl("-n", name, "wait", "--for=create", "serviceaccount/default", "--timeout=20s")
    kubectl("-n", name, "wait", "--for=create", "configmap/kube-root-ca.crt", "--timeout=20s")
    authority = kubectl("-n", name, "get", "configmap", "kube-root-ca.crt", "-o", r"jsonpath={.data.ca\.crt}")
    assert authority.startswith("-----BEGIN CERTIFICATE-----\n")
    rows = {line.split()[0]: line.split()[1] for line in kubectl("get", "namespaces").splitlines()[1:]}
    assert {
        "default": "Active",
        "kube-system": "Active",
        "kube-public": "Active",
        name: "Active",
    }.items() <= rows.items()
    kubectl("delete", "namespace", name, "--wait=false")


def test_what_is_deleted_of_itself_comes_back(shop: Shop) -> None:
    shop("wait", "--for=create", "serviceaccount/default", "--timeout=20s")
    uid = shop.path("default", ".metadata.uid", "serviceaccount")
    shop("delete", "serviceaccount", "default", "--wait=false")
    until(lambda: shop.kubectl.run("-n", shop.namespace, "get", "sa", "default").returncode == 0)
    assert shop.path("default", ".metadata.uid", "serviceaccount") not in {"", uid}
    shop("delete", "configmap", "kube-root-ca.crt", "--wait=false", "--ignore-not-found")
    shop("wait", "--for=create", "configmap/kube-root-ca.crt", "--timeout=20s")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_cannot_be_deleted(kubectl: Kubectl, name: str) -> None:
    refused = kubectl.run("delete", "namespace", name).stderr
    assert refused == (
        f'Error from server (Forbidden): namespaces "{name}" is forbidden: this namespace may not be deleted\n'
    )


@pytest.mark.usefixtures("menu")
def test_deleting_a_namespace_empties_it(kubectl: Kubectl, admin: Caller, namespace: str) -> None:
    inside = Shop(kubectl, f"full-{namespace}")
    kubectl("create", "namespace", inside.namespace)
    inside("create", "configmap", "menu", "--from-literal=a=b")
    inside("create", "secret", "generic", "recipe")
    inside("create", "serviceaccount", "robot")
    inside("create", "role", "cook", "--verb=get", "--resource=pizzas")
    inside("create", "rolebinding", "cooks", "--role=cook", "--user=jane")
    inside("create", "service", "externalname", "pizzeria", "--external-name=localhost")
    inside("create", "-f", "-", stdin=json.dumps(event(inside.namespace, "e")))
    inside("create", "-f", "-", stdin=json.dumps(lease("oven")))
    inside.make(*(pizza(f"p{number}", tomato=1) for number in range(3)))
    done = kubectl("delete", "namespace", inside.namespace, "--wait", "--timeout=40s")
    assert done == f'namespace "{inside.namespace}" deleted\n'
    assert "NotFound" in kubectl.run("get", "namespace", inside.namespace).stderr
    kinds = f"configmaps,secrets,serviceaccounts,roles,rolebindings,services,events,leases,{PIZZA}"
    assert inside("get", kinds, "-o", "name") == ""


@pytest.mark.usefixtures("menu")
def test_events_are_shown_with_what_they_are_about(shop: Shop) -> None:
    shop.make(pizza("mine", tomato=1), pizza("yours", tomato=1))
    until(lambda: shop.costs("mine", "1.50"))
    mine = shop.read(PIZZA, "mine")
    about = {"apiVersion": mine["apiVersion"], "kind": "Pizza", "name": "mine", "uid": mine["metadata"]["uid"]}
    shop.make(event(shop.namespace, "burnt", **about))
    head, row = (line.split() for line in shop("get", "events").splitlines())
    assert head == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert row[1:] == ["Warning", "Burnt", "pizza/mine", "It", "is", "black."]
    described = shop("describe", "pz", "mine")
    last = " ".join(described.splitlines()[-1].split())
    assert last.startswith("Warning Burnt ")
    assert "(x3 over" in last
    assert last.endswith(" oven It is black.")
    assert "Events: <none>" in " ".join(shop("describe", "pz", "yours").split())
    assert "Burnt" in shop("events", "--for", "pizza/mine")
    assert "No events found" in shop.warned("events", "--for", "pizza/yours") + shop("events", "--for", "pizza/yours")
    for selector, found in (
        ("involvedObject.name=mine", True),
        ("involvedObject.kind=Pizza,type=Warning,reason=Burnt", True),
        ("involvedObject.name=yours", False),
        ("type!=Warning", False),
    ):
        assert (shop("get", "events", "--field-selector", selector, "-o", "name") == "event/burnt\n") is found, selector
    assert "field label not supported" in shop.refused("get", "events", "--field-selector", "message=a")


def test_describe_of_core_kinds(shop: Shop) -> None:
    shop("create", "configmap", "menu", "--from-literal=tomato=fresh")
    shop("create", "secret", "generic", "recipe", "--from-literal=sauce=basil")
    shop("create", "role", "cook", "--verb=get,list", "--resource=configmaps")
    shop("create", "rolebinding", "cooks", "--role=cook", "--user=jane")
    described = {
        what: shop("describe", *what.split()) for what in ("cm menu", "secret recipe", "role cook", "rolebinding cooks")
    }
    assert "tomato:\n----\nfresh\n" in described["cm menu"]
    assert "sauce:  5 bytes\n" in described["secret recipe"]
    assert ["configmaps", "[]", "[]", "[get", "list]"] in [line.split() for line in described["role cook"].splitlines()]
    assert ["User", "jane"] in [line.split() for line in described["rolebinding cooks"].splitlines()]
    status = shop.kubectl("describe", "namespace", shop.namespace)
    assert ["Status:", "Active"] in [line.split() for line in status.splitlines()]


def test_get_all_shows_the_category(shop: Shop) -> None:
    shop("create", "service", "externalname", "pizzeria", "--external-name=pizza.example.com")
    shop("create", "configmap", "menu")
    assert shop("get", "all", "-o", "name") == "service/pizzeria\n"
    row = shop("get", "all", "--no-headers").split()
    # kubectl writes the kind where several are in the category.
    assert row[0].removeprefix("service/") == "pizzeria"
    assert row[1:5] == ["ExternalName", "<none>", "pizza.example.com", "<none>"]


TABLES = {
    "namespace": ["NAME", "STATUS", "AGE"],
    "configmap": ["NAME", "DATA", "AGE"],
    "secret": ["NAME", "TYPE", "DATA", "AGE"],
    "serviceaccount": ["NAME", "AGE"],
    "service": ["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"],
    "role": ["NAME", "CREATED", "AT"],
    "rolebinding": ["NAME", "ROLE", "AGE"],
    "clusterrole": ["NAME", "CREATED", "AT"],
    "clusterrolebinding": ["NAME", "ROLE", "AGE"],
    "lease": ["NAME", "HOLDER", "AGE"],
    "apiservice": ["NAME", "SERVICE", "AVAILABLE", "AGE"],
}


@pytest.mark.parametrize(("kind", "head"), TABLES.items(), ids=TABLES)
def test_the_columns_of_each_kind(shop: Shop, kind: str, head: list[str]) -> None:
    """Looked at in kube-system, where each has something after the first start; otherwise one is made."""
    if kind == "configmap":
        shop("create", "configmap", "menu", "--from-literal=a=1", "--from-literal=b=2")
    elif kind == "secret":
        shop("create", "secret", "generic", "recipe", "--from-literal=sauce=basil")
    elif kind == "serviceaccount":
        shop("wait", "--for=create", "serviceaccount/default", "--timeout=20s")
    elif kind == "service":
        shop("create", "service", "externalname", "pizzeria", "--external-name=pizza.example.com")
    elif kind == "role":
        shop("create", "role", "cook", "--verb=get", "--resource=configmaps")
    elif kind == "rolebinding":
        shop("create", "rolebinding", "cooks", "--clusterrole=view", "--user=jane")
    elif kind == "lease":
        shop.make(lease("oven") | {"spec": {"holderIdentity": "jane"}})
    lines = shop("get", kind).splitlines()
    assert lines[0].split() == head
    rows = {line.split()[0]: line.split()[1:-1] for line in lines[1:]}
    expected = {
        "namespace": ("default", ["Active"]),
        "configmap": ("menu", ["2"]),
        "secret": ("recipe", ["Opaque", "1"]),
        "serviceaccount": ("default", []),
        "service": ("pizzeria", ["ExternalName", "<none>", "pizza.example.com", "<none>"]),
        "rolebinding": ("cooks", ["ClusterRole/view"]),
        "clusterrolebinding": ("cluster-admin", ["ClusterRole/cluster-admin"]),
        "lease": ("oven", ["jane"]),
        "apiservice": ("v1.", ["Local", "True"]),
        "role": ("cook", []),
        "clusterrole": ("view", []),
    }
    name, cells = expected[kind]
    assert rows[name] == cells


def test_api_resources_and_versions(kubectl: Kubectl, extension_server: object) -> None:
    listed = [line.split() for line in kubectl("api-resources", "--no-headers").splitlines()]
    for row in (
        ["namespaces", "ns", "v1", "false", "Namespace"],
        ["configmaps", "cm", "v1", "true", "ConfigMap"],
        ["secrets", "v1", "true", "Secret"],
        ["serviceaccounts", "sa", "v1", "true", "ServiceAccount"],
        ["services", "svc", "v1", "true", "Service"],
        ["events", "ev", "v1", "true", "Event"],
        ["leases", "coordination.k8s.io/v1", "true", "Lease"],
        ["roles", f"{RBAC}/v1", "true", "Role"],
        ["rolebindings", f"{RBAC}/v1", "true", "RoleBinding"],
        ["clusterroles", f"{RBAC}/v1", "false", "ClusterRole"],
        ["clusterrolebindings", f"{RBAC}/v1", "false", "ClusterRoleBinding"],
        ["apiservices", "apiregistration.k8s.io/v1", "false", "APIService"],
        ["tokenreviews", "authentication.k8s.io/v1", "false", "TokenReview"],
        ["selfsubjectreviews", "authentication.k8s.io/v1", "false", "SelfSubjectReview"],
        ["subjectaccessreviews", "authorization.k8s.io/v1", "false", "SubjectAccessReview"],
        ["localsubjectaccessreviews", "authorization.k8s.io/v1", "true", "LocalSubjectAccessReview"],
        ["selfsubjectaccessreviews", "authorization.k8s.io/v1", "false", "SelfSubjectAccessReview"],
        ["selfsubjectrulesreviews", "authorization.k8s.io/v1", "false", "SelfSubjectRulesReview"],
        ["pizzas", "pz", f"{GROUP}/v1beta1", "true", "Pizza"],
    ):
        assert row in listed
    reviews = kubectl("api-resources", "--verbs=create", "--namespaced=true", "-o", "name").split()
    assert "localsubjectaccessreviews.authorization.k8s.io" in reviews
    assert (
        "localsubjectaccessreviews.authorization.k8s.io"
        not in kubectl("api-resources", "--verbs=list", "-o", "name").split()
    )
    assert kubectl("api-resources", "--categories=all", "--api-group=", "-o", "name").split().count("services") == 1
    versions = set(kubectl("api-versions").splitlines())
    groups = ("apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "coordination.k8s.io", RBAC)
    assert {"v1", *(f"{group}/v1" for group in groups), f"{GROUP}/v1beta1", f"{GROUP}/v1alpha1"} <= versions


EXPLAINED = {
    "namespaces.spec.finalizers": ("Namespace", "v1", "finalizers <[]string>"),
    "configmaps.data": ("ConfigMap", "v1", "data <map[string]string>"),
    "configmap.immutable": ("ConfigMap", "v1", "immutable <boolean>"),
    "secret.type": ("Secret", "v1", "type <string>"),
    "services.spec.ports.port": ("Service", "v1", "port <integer>"),
    "services.spec.externalName": ("Service", "v1", "externalName <string>"),
    "sa.metadata.labels": ("ServiceAccount", "v1", "labels <map[string]string>"),
    "events.involvedObject.name": ("Event", "v1", "name <string>"),
    "leases.spec.leaseDurationSeconds": ("Lease", "v1", "leaseDurationSeconds <integer>"),
    "clusterroles.aggregationRule.clusterRoleSelectors": (
        "ClusterRole",
        "v1",
        "clusterRoleSelectors <[]LabelSelector>",
    ),
    "roles.rules.verbs": ("Role", "v1", "verbs <[]string>"),
    "rolebindings.roleRef": ("RoleBinding", "v1", "roleRef <RoleRef>"),
    "apiservices.spec.caBundle": ("APIService", "v1", "caBundle <string>"),
    "pizzas.spec.toppings.quantity": ("Pizza", "v1beta1", "quantity <integer>"),
}


@pytest.mark.usefixtures("menu")
@pytest.mark.parametrize(("field", "expected"), EXPLAINED.items(), ids=EXPLAINED)
def test_explain(kubectl: Kubectl, field: str, expected: tuple[str, str, str]) -> None:
    kind, version, line = expected
    said = [" ".join(each.split()) for each in kubectl("explain", field).splitlines()]
    assert f"KIND: {kind}" in said
    assert f"VERSION: {version}" in said
    # A type within another may have no name.
    nameless = re.sub(r"\b[A-Z]\w+", "Object", line)
    assert f"FIELD: {line}" in said or f"FIELD: {nameless}" in said
    described = said[said.index("DESCRIPTION:") + 1 :]
    assert any(len(each) > 10 for each in described), "there is a description"


@pytest.mark.usefixtures("menu")
@pytest.mark.parametrize("kind", ["namespace", "services", "events", "clusterroles", "pizzas"])
def test_explain_recursively(kubectl: Kubectl, kind: str) -> None:
    said = [" ".join(each.split()) for each in kubectl("explain", kind, "--recursive").splitlines()]
    wanted = {
        "namespace": "phase <string>",
        "services": "targetPort <IntOrString>",
        "events": "reportingComponent <string>",
        "clusterroles": "matchExpressions <[]LabelSelectorRequirement>",
        "pizzas": "quantity <integer>",
    }
    assert any(line.startswith((wanted[kind], re.sub(r"\b[A-Z]\w+", "Object", wanted[kind]))) for line in said)
    assert "resourceVersion <string>" in said
