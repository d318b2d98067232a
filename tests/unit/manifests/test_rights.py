"""The rights: of the server's own account, and of users by the roles that Kubernetes aggregates."""

from __future__ import annotations

from typing import Any

import yaml

from extapi import PolicyRule
from extapi.api.definition import Api
from extapi.manifests.files import render
from extapi.manifests.settings import make_settings
from tests.unit.manifests.apis import library, reviews
from tests.unit.manifests.rendering import rendered

WEBHOOKS = {
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": [
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    ],
    "verbs": ["get", "list", "watch"],
}


class Sweeper:
    """Runs in one process, or in each."""

    def __init__(self, *, everywhere: bool) -> None:
        self.each_process = everywhere

    async def run(self, _context: Any) -> None: ...


def test_pods_on_one_etcd_elect_who_runs_the_controllers() -> None:
    """By the Lease of the first group's name; RBAC cannot restrict create to a name."""
    etcd: dict[str, Any] = {"storage": "etcd:", "etcd_servers": "https://etcd:2379", "replicas": 3}
    objects = rendered(name="shop", namespace="mall", **etcd)
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    assert objects["lease-role"]["rules"] == [
        {**leases, "verbs": ["create"]},
        {**leases, "resourceNames": ["restaurant.programming-kubernetes.info"], "verbs": ["get", "update"]},
    ]
    assert objects["lease-role"]["metadata"]["namespace"] == "mall"
    binding = objects["lease-role-binding"]
    assert binding["roleRef"]["name"] == objects["lease-role"]["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "shop", "namespace": "mall"}]
    # Where nothing has to be elected, no right is given.
    assert "lease-role" not in rendered()
    for controllers in ([], [Sweeper(everywhere=True)]):
        assert "lease-role" not in rendered(Api(*library.groups, controllers=controllers), **etcd)
    assert "lease-role" in rendered(Api(*library.groups, controllers=[Sweeper(everywhere=False)]), **etcd)


def test_the_rights_of_the_server() -> None:
    """As "Set up an extension API server" has them, and the namespaces for NamespaceLifecycle."""
    objects = rendered()
    assert objects["auth-delegator"]["kind"] == "ClusterRoleBinding"
    assert objects["auth-delegator"]["roleRef"]["name"] == "system:auth-delegator"
    reader = objects["authentication-reader"]
    assert (reader["kind"], reader["metadata"]["namespace"]) == ("RoleBinding", "kube-system")
    assert reader["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": "extension-apiserver-authentication-reader",
    }
    assert objects["server-role"]["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        WEBHOOKS,
    ]


def test_users_get_what_discovery_lists() -> None:
    objects = rendered(library)
    label = "rbac.authorization.k8s.io/aggregate-to-"
    labels = {name: objects[f"{name}-role"]["metadata"]["labels"] for name in ("view", "edit")}
    assert {key for key in labels["view"] if key.startswith(label)} == {f"{label}view"}
    assert {key for key in labels["edit"] if key.startswith(label)} == {f"{label}edit", f"{label}admin"}
    granted = {
        (name, group, resource): set(rule["verbs"])
        for name in ("view", "edit")
        for rule in objects[f"{name}-role"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    every, write = {"get", "list", "watch"}, {"create", "delete", "deletecollection", "patch", "update"}
    books = "library.example.com"
    assert granted == {
        ("view", books, "books"): every,
        ("view", books, "readers"): every,
        ("view", books, "books/status"): {"get"},
        ("view", books, "books/loan"): {"get"},
        ("view", books, "books/place"): {"get"},
        ("view", "archive.example.com", "chests"): every,
        ("view", "archive.example.com", "chests/status"): {"get"},
        ("view", "archive.example.com", "chests/scale"): {"get"},
        ("edit", books, "books"): write,
        ("edit", books, "readers"): write,
        ("edit", books, "books/loan"): {"update", "patch"},
        ("edit", books, "books/place"): {"update", "patch"},
        ("edit", "archive.example.com", "chests"): write,
        ("edit", "archive.example.com", "chests/scale"): {"update", "patch"},
    }


def test_what_can_only_be_created_needs_no_role_to_view() -> None:
    objects = rendered(reviews)
    assert "view-role" not in objects
    assert objects["edit-role"]["rules"][0]["verbs"] == ["create"]


def test_what_the_api_needs_is_a_part_of_the_servers_role() -> None:
    rule = PolicyRule(api_groups=[""], resources=["secrets"], verbs=["get", "create"], resource_names=["tls"])
    needing = Api(*library.groups, needs=[rule, PolicyRule.for_events()])
    files = render(make_settings(needing, "some.module:api"), needing)
    (role,) = [file for file in files if file.name == "server-role.yaml"]
    assert yaml.safe_load(role.text)["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        WEBHOOKS,
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["tls"], "verbs": ["get", "create"]},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    ]
    assert "Api(needs=[...])" in role.why
    without = {file.name: file.text for file in render(make_settings(library, "some.module:api"), library)}
    assert "needs" not in without["server-role.yaml"]
    for file in files:
        if file is not role:
            assert file.text == without[file.name]
