"""kubectl scales an aggregated kind, by rights that are for ``scale`` alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.kubernetes import kubectls
from tests.kubernetes.control_plane import ControlPlane, Kubectl
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.second import SecondServer
from tests.kubernetes.shop import Shop
from tests.kubernetes.twin_schema import OURS, PLURAL, VERSION
from tests.waiting import until

RESOURCE = f"{PLURAL}.{OURS}"


def gadget(**spec: Any) -> str:
    obj = {"apiVersion": f"{OURS}/{VERSION}", "kind": "Gadget", "metadata": {"name": "one"}, "spec": spec}
    return json.dumps(obj)


@pytest.fixture
def path(gadgets: SecondServer, control_plane: ControlPlane, namespace: str) -> str:
    """That of a gadget of size 3."""
    base = f"/apis/{OURS}/{VERSION}/namespaces/{namespace}/{PLURAL}"
    control_plane.client.request("POST", base, json.loads(gadget(size=3)))
    return f"{base}/one"


@kubectls.BOTH_ENDS
def test_kubectl_scales(control_plane: ControlPlane, shop: Shop, path: str) -> None:
    scaled = f"gadget.{OURS}/one scaled\n"
    assert shop("scale", RESOURCE, "one", "--replicas=5") == scaled
    wrong = shop.refused("scale", RESOURCE, "one", "--current-replicas=3", "--replicas=6")
    assert "Expected replicas to be 3, was 5" in wrong
    assert shop("scale", RESOURCE, "one", "--current-replicas=5", "--replicas=6") == scaled
    found: dict[str, Any] = control_plane.client.get(path)
    assert (found["spec"]["size"], found["metadata"]["generation"]) == (6, 3)
    shown = shop("get", RESOURCE, "one", "--subresource=scale", "--no-headers").split()
    assert shown[:3] == ["one", "6", "0"]
    assert "should be less than or equal to 100" in shop.refused("scale", RESOURCE, "one", "--replicas=101")


@kubectls.BOTH_ENDS
def test_who_applies_leaves_the_scale_to_who_scales(shop: Shop, path: str) -> None:
    side = ("apply", "--server-side", "--field-manager=team", "--force-conflicts", "-f", "-")
    shop(*side, stdin=gadget(size=3))
    shop("scale", RESOURCE, "one", "--replicas=5")
    told = shop.refused(*(word for word in side if word != "--force-conflicts"), stdin=gadget(size=3))
    assert 'conflict with "kubectl" with subresource "scale" using' in told
    assert ": .spec.size" in told
    shop(*side, stdin=gadget(color="green"))
    assert shop.read(RESOURCE, "one")["spec"] == {"size": 5, "color": "green"}
    shop(*side, stdin=gadget(size=3))
    assert shop("get", RESOURCE, "one", "--subresource=scale", "--no-headers").split()[:3] == ["one", "3", "0"]


def test_a_right_to_scale_is_no_right_to_write(
    control_plane: ControlPlane, user_kubectl: Callable[..., Kubectl], namespace: str, path: str
) -> None:
    rules = [{"apiGroups": [OURS], "resources": [f"{PLURAL}/scale"], "verbs": ["get", "patch", "update"]},
             {"apiGroups": [OURS], "resources": [PLURAL], "verbs": ["get"]}]  # fmt: skip
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "scalers"}, "rules": rules}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "scalers"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "scalers"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "sam"}],
    }
    base = f"/apis/{RBAC}/v1/namespaces/{namespace}"
    control_plane.client.request("POST", f"{base}/roles", role)
    control_plane.client.request("POST", f"{base}/rolebindings", binding)
    sam = user_kubectl("sam")
    until(lambda: sam.run("scale", RESOURCE, "one", "--replicas=4", "-n", namespace).returncode == 0, 30)
    patch = sam.run("patch", RESOURCE, "one", "--type=merge", "-p", json.dumps({"spec": {"size": 9}}), "-n", namespace)
    assert "Forbidden" in patch.stderr or "forbidden" in patch.stderr
    found: dict[str, Any] = control_plane.client.get(path)
    assert found["spec"]["size"] == 4
