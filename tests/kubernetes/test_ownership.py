"""What belongs to what: owners on either side of the aggregator, the namespace of a server that died, and quotas.

``test_deletion.py`` has what each part does by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes import second
from tests.kubernetes.calling import MERGE, Caller
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.kubernetes.killing import kill
from tests.kubernetes.ledger import GROUP as LEDGER, PLURAL as LINES, line, lines_path
from tests.kubernetes.pizzas import PIZZA, pizza, pizzas_path
from tests.kubernetes.second import SecondServer
from tests.kubernetes.test_deletion import config_map, gone, made, maps_path, no_errors_about_us, owned
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")

HELD = "example.com/held"
PAIRS = {"map-of-pizza": ("pizza", "map"), "pizza-of-map": ("map", "pizza"), "pizza-of-pizza": ("pizza", "pizza")}
"""The owner's kind and the dependent's."""


class Things:
    """Pizzas and ConfigMaps of one namespace, by kind and name."""

    def __init__(self, admin: Caller, namespace: str) -> None:
        self._admin = admin
        self._paths = {"pizza": pizzas_path(namespace), "map": maps_path(namespace)}

    def at(self, kind: str, name: str) -> str:
        """Its path."""
        return f"{self._paths[kind]}/{name}"

    def make(self, kind: str, name: str, by: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
        """Create one, owned by another if there is one; a foreground deletion of that one waits for it."""
        obj = pizza(name, tomato=1) if kind == "pizza" else config_map(name)
        obj["metadata"] |= metadata
        return made(self._admin, self._paths[kind], obj if by is None else owned(obj, by, blocks=True))

    def metadata(self, kind: str, name: str) -> dict[str, Any]:
        """Of one that is there."""
        found: dict[str, Any] = self._admin("GET", self.at(kind, name)).json["metadata"]
        return found

    def gone(self, kind: str, name: str) -> bool:
        """Whether there is none."""
        return gone(self._admin, self.at(kind, name))

    def release(self, kind: str, name: str) -> None:
        """Take its finalizers off."""
        patch = {"metadata": {"finalizers": None}}
        assert self._admin("PATCH", self.at(kind, name), patch, content_type=MERGE).status == 200

    def delete(self, kind: str, name: str, policy: str) -> None:
        """Delete it with that propagation policy."""
        assert self._admin("DELETE", f"{self.at(kind, name)}?propagationPolicy={policy}").status == 200

    def settle(self, name: str) -> None:
        """Until the collector knows all that was made up to now: it deletes, in order, what has an owner that never was.

        It learns of a new kind within half a minute.
        """
        ghost = config_map("ghost", uid="00000000-0000-0000-0000-000000000000")
        for kind in self._paths:
            self.make(kind, name, ghost)
        until(lambda: all(self.gone(kind, name) for kind in self._paths), 60)


def test_owners_and_dependents_on_either_side(admin: Caller, namespace: str, control_plane: ControlPlane) -> None:
    things = Things(admin, namespace)
    things.settle("first")
    policies = ("Background", "Foreground", "Orphan")
    for name, (owner, dependent) in PAIRS.items():
        for policy in policies:
            by = things.make(owner, f"{name}-{policy}-owner".lower())
            held = [HELD] if policy == "Foreground" else []
            things.make(dependent, f"{name}-{policy}".lower(), by, finalizers=held)
    things.settle("second")
    for name, (owner, _) in PAIRS.items():
        for policy in policies:
            things.delete(owner, f"{name}-{policy}-owner".lower(), policy)

    for name, (owner, dependent) in PAIRS.items():
        in_the_background(things, owner, dependent, f"{name}-background")
        in_the_foreground(things, owner, dependent, f"{name}-foreground")
        orphaned(things, owner, dependent, f"{name}-orphan")
    no_errors_about_us(control_plane)


def in_the_background(things: Things, owner: str, dependent: str, name: str) -> None:
    """The owner has gone at once, and its dependents go after it."""
    assert things.gone(owner, f"{name}-owner")
    until(lambda: things.gone(dependent, name), 30)


def in_the_foreground(things: Things, owner: str, dependent: str, name: str) -> None:
    """The owner waits for a dependent, which is held up until it is released."""
    until(lambda: "deletionTimestamp" in things.metadata(dependent, name), 30)
    assert things.metadata(owner, f"{name}-owner")["finalizers"] == ["foregroundDeletion"]
    things.release(dependent, name)
    until(lambda: things.gone(owner, f"{name}-owner"), 30)
    assert things.gone(dependent, name)


def orphaned(things: Things, owner: str, dependent: str, name: str) -> None:
    """The owner goes; the dependent stays, and belongs to nobody."""
    until(lambda: things.gone(owner, f"{name}-owner"), 30)
    left = things.metadata(dependent, name)
    assert "ownerReferences" not in left
    assert "deletionTimestamp" not in left


@pytest.mark.needs("quota")
def test_a_quota_counts_pizzas_and_limits_none(admin: Caller, namespace: str, control_plane: ControlPlane) -> None:
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    pizzas, maps = f"count/{PIZZA}", "count/configmaps"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    until(lambda: not gone(admin, maps_path(namespace) + "/kube-root-ca.crt"), 30)
    made(admin, path, quota | {"spec": {"hard": {pizzas: "2", maps: "2"}}})
    until(lambda: admin("GET", f"{path}/few").json["status"].get("used", {}).get(maps) == "1", 90)
    # kube-apiserver asks the quota about objects of its own, and of nobody else's.
    made(admin, maps_path(namespace), config_map("one"))
    refused = admin("POST", maps_path(namespace), config_map("two"))
    assert refused.status == 403
    assert "exceeded quota: few" in refused.message
    for name in ("a", "b", "c"):
        made(admin, pizzas_path(namespace), pizza(name, tomato=1))
    numbers = count(10)

    def used(*, after_change: bool = False) -> str | None:
        """What the quota says is used; what is created is counted when the quota changes, or within five minutes."""
        if after_change:
            patch = {"spec": {"hard": {maps: str(next(numbers))}}}
            assert admin("PATCH", f"{path}/few", patch, content_type=MERGE).status == 200
        return admin("GET", f"{path}/few").json["status"]["used"].get(pizzas)  # type: ignore[no-any-return]  # JSON

    # The controller learns of a new kind within half a minute.
    until(lambda: used(after_change=True) == "3", 90)
    # What is deleted is counted soon.
    assert admin("DELETE", pizzas_path(namespace) + "/a").status == 200
    until(lambda: used() == "2", 90)
    no_errors_about_us(control_plane)


@pytest.fixture
def ledger(control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path) -> Iterator[SecondServer]:
    with second.running(control_plane, "tests.kubernetes.ledger:api", tmp_path) as server:
        yield server


def no_others_wait(admin: Caller) -> None:
    """Until the controller has begun with all namespaces that tests before this one have deleted.

    It takes them up in the order of their deletion, each five seconds after it, and asks for the objects of every kind.
    Until a namespace's turn has come nothing is said about it, so that what is before it must not count as its time.
    """
    path = "/api/v1/namespaces/in-turn"
    made(admin, "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "in-turn"}})
    assert admin("DELETE", path).status == 200
    until(lambda: gone(admin, path), 600)


def test_a_namespace_waits_for_a_server_that_has_just_died(admin: Caller, ledger: SecondServer) -> None:
    """kube-apiserver still takes it for available, so that the namespace is told by a request that fails."""
    name = "bereft"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    made(admin, "/api/v1/namespaces", namespace)
    for step in range(5):
        made(admin, lines_path(name), line(f"line-{step}", step))
    held = line("held", 5)
    held["metadata"]["finalizers"] = [HELD]
    made(admin, lines_path(name), held)
    no_others_wait(admin)
    kill(ledger)
    assert admin("DELETE", f"/api/v1/namespaces/{name}").status == 200

    def conditions() -> dict[str, str]:
        """The messages of those that are true."""
        status = admin("GET", f"/api/v1/namespaces/{name}").json["status"]
        assert status["phase"] == "Terminating"
        return {each["type"]: each["message"] for each in status.get("conditions", ()) if each["status"] == "True"}

    told = until(conditions, 60)
    # Which of both depends on what kube-apiserver has noticed by then.
    assert "Failed to delete all resource types, 1 remaining" in told.get(
        "NamespaceDeletionContentFailure", ""
    ) or f"{LEDGER}/v1" in told.get("NamespaceDeletionDiscoveryFailure", ""), told
    ledger.start()
    ledger.wait_available()
    wanted = f"{LINES}.{LEDGER} has 1 resource instances"
    until(lambda: wanted in conditions().get("NamespaceContentRemaining", ""), 60)
    assert [item["metadata"]["name"] for item in admin("GET", lines_path(name)).json["items"]] == ["held"]
    released = admin("PATCH", lines_path(name) + "/held", {"metadata": {"finalizers": None}}, content_type=MERGE)
    assert released.status == 200
    until(lambda: gone(admin, f"/api/v1/namespaces/{name}"), 60)
    assert admin("GET", lines_path(name)).json["items"] == []
