"""kubectl scales an aggregated kind, by rights that are for ``scale`` alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.kubernetes.control_plane import ControlPlane, Kubectl
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.second import SecondServer
from tests.kubernetes.twin_schema import OURS, PLURAL, VERSION
from tests.waiting import until

RESOURCE = f"{PLURAL}.{OURS}"


@pytest.fixture
def path(gadgets: SecondServer, control_plane: ControlPlane, namespace: str) -> str:
    """That of a gadget of size 3."""
    gadget = {
        "apiVersion": f"{OURS}/{VERSION}",
        "kind": "Gadget",
        "metadata": {"name": "one"},
        "spec": {"size": 3},
    }
    base = f"/apis/{OURS}/{VERSION}/namespaces/{namespace}/{PLURAL}"
    control_plane.client.request("POST", base, gadget)
    return f"{base}/one"


def test_kubectl_scales(control_plane: ControlPlane, kubectl: Kubectl, namespace: str, path: str) -> None:
    assert kubectl("scale", RESOURCE, "one", "--replicas=5", "-n", namespace) == f"gadget.{OURS}/one scaled\n"
    expecting = ("--current-replicas=5", "--replicas=6")
    assert kubectl("scale", RESOURCE, "one", *expecting, "-n", namespace) == f"gadget.{OURS}/one scaled\n"
    found: dict[str, Any] = control_plane.client.get(path)
    assert (found["spec"]["size"], found["metadata"]["generation"]) == (6, 3)
    shown = kubectl("get", RESOURCE, "one", "--subresource=scale", "-n", namespace, "--no-headers").split()
    assert shown[:3] == ["one", "6", "0"]
    refused = kubectl.run("scale", RESOURCE, "one", "--replicas=101", "-n", namespace)
    assert refused.returncode != 0
    assert "should be less than or equal to 100" in refused.stderr


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
