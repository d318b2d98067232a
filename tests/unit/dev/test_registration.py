from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from extapi.api.policyrule import PolicyRule
from extapi.dev.registration import GroupVersions, authorize, first_resources, register
from tests.unit.dev.servers import Recorder, recorder

APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
PIZZAS = GroupVersions("restaurant.example.com", ["v1beta1", "v1alpha1"])

CONFIGURATIONS = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Recorder]:
    with recorder(tmp_path) as running:
        yield running


def register_pizzas(server: Recorder, group: GroupVersions = PIZZAS) -> None:
    register(server.client(), [group], port=8443, ca=server.certificates.certificate("serving-ca"))


def test_each_version_has_an_api_service_and_the_preferred_one_comes_first(server: Recorder) -> None:
    register_pizzas(server)
    first = server.objects[f"{APISERVICES}/v1beta1.restaurant.example.com"]["spec"]
    second = server.objects[f"{APISERVICES}/v1alpha1.restaurant.example.com"]["spec"]
    assert (first["group"], first["version"]) == ("restaurant.example.com", "v1beta1")
    assert first["service"] == {"namespace": "extapi-dev", "name": "extension-server", "port": 8443}
    ca = server.certificates.certificate("serving-ca").read_bytes()
    assert base64.b64decode(first["caBundle"]) == base64.b64decode(second["caBundle"]) == ca
    assert first["versionPriority"] > second["versionPriority"] > 0
    assert first["groupPriorityMinimum"] == second["groupPriorityMinimum"] == 1000


def test_the_service_leads_to_this_machine(server: Recorder) -> None:
    register_pizzas(server)
    service = server.objects["/api/v1/namespaces/extapi-dev/services/extension-server"]
    assert service["spec"] == {"type": "ExternalName", "externalName": "localhost"}


def test_versions_of_an_earlier_run_go(server: Recorder) -> None:
    register_pizzas(server)
    register_pizzas(server, GroupVersions("restaurant.example.com", ["v1beta1"]))
    assert [path for path in server.objects if path.startswith(APISERVICES)] == [
        f"{APISERVICES}/v1beta1.restaurant.example.com"
    ]


def test_the_rights_are_bound_to_the_account_and_are_the_documented_ones(server: Recorder) -> None:
    authorize(server.client())
    account = {"kind": "ServiceAccount", "name": "extension-server", "namespace": "extapi-dev"}
    bound = {
        (obj["kind"], obj["metadata"].get("namespace"), obj["roleRef"]["kind"], obj["roleRef"]["name"])
        for obj in server.objects.values()
        if obj["kind"].endswith("Binding") and obj["subjects"] == [account]
    }
    assert bound == {
        ("ClusterRoleBinding", None, "ClusterRole", "system:auth-delegator"),
        ("RoleBinding", "kube-system", "Role", "extension-apiserver-authentication-reader"),
        ("ClusterRoleBinding", None, "ClusterRole", "extapi-dev:extension-server"),
    }
    rules = [rule for obj in server.objects.values() if obj["kind"] == "ClusterRole" for rule in obj["rules"]]
    assert rules == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["admissionregistration.k8s.io"], "resources": CONFIGURATIONS, "verbs": ["get", "list", "watch"]},
    ]


def test_what_the_api_needs_is_granted_too_and_taken_back_when_it_needs_it_no_more(server: Recorder) -> None:
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/extapi-dev:extension-server"
    authorize(server.client(), [PolicyRule(api_groups=[""], resources=["secrets"], verbs=["get"])])
    assert {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]} in server.objects[role]["rules"]
    authorize(server.client())
    assert [rule["resources"] for rule in server.objects[role]["rules"]] == [["namespaces"], CONFIGURATIONS]


def test_the_first_resources_are_those_of_a_preferred_version_without_subresources(server: Recorder) -> None:
    empty = GroupVersions("empty.example.com", ["v1"])
    server.objects["/apis/empty.example.com/v1"] = {"resources": []}
    found = [{"name": "pizzas"}, {"name": "pizzas/status"}, {"name": "toppings"}]
    server.objects["/apis/restaurant.example.com/v1beta1"] = {"resources": found}
    assert first_resources(server.client(), [empty, PIZZAS]) == ["pizzas", "toppings"]
    assert first_resources(server.client(), [empty]) == []
