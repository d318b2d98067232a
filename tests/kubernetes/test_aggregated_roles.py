"""ClusterRoles that are added to view, edit and admin give the users of these their rights on pizzas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.kubernetes.calling import MERGE, Caller
from tests.kubernetes.control_plane import Kubectl
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.pizzas import GROUP, pizza, pizzas_path
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")

PEOPLE = ("view", "edit", "admin")
RULES: dict[str, list[dict[str, Any]]] = {
    "view": [
        {"apiGroups": [GROUP], "resources": ["pizzas", "toppings"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [GROUP], "resources": ["pizzas/status"], "verbs": ["get"]},
    ],
    "edit": [
        {
            "apiGroups": [GROUP],
            "resources": ["pizzas", "toppings"],
            "verbs": ["create", "delete", "deletecollection", "patch", "update"],
        }
    ],
}
"""What an API adds to each; admin has what edit has. The status is its controller's: nobody else writes it."""
ROLES = f"/apis/{RBAC}/v1/clusterroles"


def cluster_role(name: str) -> dict[str, Any]:
    """The ClusterRole that adds the rules above to ``name``."""
    targets = ["view"] if name == "view" else ["edit", "admin"]
    labels = {f"rbac.authorization.k8s.io/aggregate-to-{target}": "true" for target in targets}
    metadata = {"name": f"aggregated-pizzas-{name}", "labels": labels}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": RULES[name]}


@pytest.fixture
def people(kubectl: Kubectl, namespace: str, call_as: Callable[..., Caller]) -> Iterator[dict[str, Caller]]:
    """A user of each of the three in the namespace, under the name of the role, and somebody with none of them."""
    users = {name: f"{name}-of-{namespace}" for name in PEOPLE}
    for name, user in users.items():
        kubectl("-n", namespace, "create", "rolebinding", name, f"--clusterrole={name}", f"--user={user}")
    yield {name: call_as(user) for name, user in users.items()} | {"nobody": call_as(f"nobody-of-{namespace}")}
    kubectl("delete", "clusterrole", "--ignore-not-found", *(f"aggregated-pizzas-{name}" for name in RULES))


def held(admin: Caller, name: str) -> list[dict[str, Any]]:
    """The rules about our group that the controller has put into a ClusterRole."""
    rules = admin("GET", f"{ROLES}/{name}").json["rules"]
    return [rule for rule in rules if rule.get("apiGroups") == [GROUP]]


REQUESTS: dict[str, tuple[str, str, Any]] = {
    "list": ("GET", "", None),
    "watch": ("GET", "?watch=1", None),
    "get": ("GET", "/theirs", None),
    "get status": ("GET", "/theirs/status", None),
    "create": ("POST", "", pizza("mine", tomato=1)),
    "patch": ("PATCH", "/theirs", {"metadata": {"labels": {"seen": "yes"}}}),
    "patch status": ("PATCH", "/theirs/status", {"status": {"cost": "9"}}),
    "delete": ("DELETE", "/theirs", None),
    "deletecollection": ("DELETE", "?labelSelector=none%3Dof-them", None),
}
"""In an order in which each is possible."""
MAY = {
    "nobody": set[str](),
    "view": {"list", "get", "get status", "watch"},
    "edit": set(REQUESTS) - {"patch status"},
    "admin": set(REQUESTS) - {"patch status"},
}


def attempt(person: Caller, path: str, verb: str) -> int:
    """The code that they get for it; of a watch that begins nothing is read."""
    method, where, body = REQUESTS[verb]
    if verb != "watch":
        content_type = MERGE if method == "PATCH" else "application/json"
        return person(method, path + where, body, content_type=content_type).status
    connection = person.connect()
    try:
        connection.request(method, path + where)
        return connection.getresponse().status
    finally:
        connection.close()


def until_answered(person: Caller, path: str, status: int) -> None:
    """Until they get this code: rights come and go a moment after the objects that give them."""
    until(lambda: person("GET", path).status == status, 30)


def test_view_edit_and_admin_give_rights_on_pizzas(
    admin: Caller, kubectl: Kubectl, namespace: str, people: dict[str, Caller]
) -> None:
    path = pizzas_path(namespace)
    # What they hold of built-in kinds says that the bindings are in force, and gives nothing of pizzas.
    for name in PEOPLE:
        until_answered(people[name], f"/api/v1/namespaces/{namespace}/configmaps", 200)
        assert people[name]("GET", path).status == 403
    manifests = "\n---\n".join(json.dumps(cluster_role(name)) for name in RULES)
    kubectl("apply", "-f", "-", stdin=manifests)
    until(lambda: len(held(admin, "admin")) == 3, 30)
    assert (len(held(admin, "view")), len(held(admin, "edit"))) == (2, 3)
    for name, person in people.items():
        if name != "nobody":
            until_answered(person, path, 200)
        assert admin("POST", path, pizza("theirs", tomato=1)).status == 201
        allowed = {verb for verb in REQUESTS if attempt(person, path, verb) != 403}
        assert allowed == MAY[name], name
        # The binding is one of this namespace: it gives nothing elsewhere, and nothing of the whole cluster.
        for elsewhere in (pizzas_path("default"), f"/apis/{GROUP}/v1beta1/pizzas", f"/apis/{GROUP}/v1alpha1/toppings"):
            assert person("GET", elsewhere).status == 403
        assert admin("DELETE", path).status == 200
    # The same in the older version, and as the reviews tell it.
    assert people["view"]("GET", pizzas_path(namespace, "v1alpha1")).status == 200
    editor = ("-n", namespace, f"--as=edit-of-{namespace}")
    assert kubectl.run("auth", "can-i", "delete", "pz", *editor).stdout == "yes\n"
    assert kubectl.run("auth", "can-i", "patch", "pz", "--subresource=status", *editor).stdout == "no\n"

    kubectl("delete", "clusterrole", *(f"aggregated-pizzas-{name}" for name in RULES))
    until(lambda: not held(admin, "admin"), 30)
    for name in PEOPLE:
        until_answered(people[name], path, 403)


def test_an_admin_of_a_namespace_gives_others_what_admins_have_of_pizzas(
    admin: Caller, kubectl: Kubectl, namespace: str, people: dict[str, Caller]
) -> None:
    """Nobody gives away rights that they lack: an admin holds those on pizzas only once they are added to admin."""
    path = f"/apis/{RBAC}/v1/namespaces/{namespace}/roles"
    cook = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "cook"},
        "rules": [{"apiGroups": [GROUP], "resources": ["pizzas"], "verbs": ["create", "get"]}],
    }
    until(lambda: people["admin"]("GET", path).status == 200)
    refused = people["admin"]("POST", path, cook)
    assert refused.status == 403
    assert "attempting to grant RBAC permissions not currently held" in refused.message
    kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(cluster_role(name)) for name in RULES))
    until(lambda: people["admin"]("POST", path, cook).status == 201, 30)
    assert people["edit"]("POST", path, cook).status == 403
