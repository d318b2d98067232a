"""``extapi crd export``: what it prints is accepted by kube-apiserver, strictly, and served."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import yaml

from tests.kubernetes.control_plane import ControlPlane, Kubectl
from tests.waiting import until

pytestmark = pytest.mark.needs("crd")

TARGETS = [
    "extapi.pizza:api",
    "examples.wardle:api",
    "tests.differential.twin:api",
    "tests.kubernetes.rulekinds:api",
    "tests.kubernetes.apis:gadgets",
    "tests.kubernetes.apis:probes",
    "tests.kubernetes.ledger:api",
    "tests.kubernetes.connecting:api",
]
HOOKS = "--conversion-webhook-url=https://localhost:9/convert"


@contextlib.contextmanager
def renamed(manifests: str, group: str) -> Iterator[list[dict[str, Any]]]:
    """The definitions in another group: those of their own are served already, for other tests."""
    found = list(yaml.safe_load_all(manifests))
    for definition in found:
        definition["spec"]["group"] = group
        definition["metadata"]["name"] = f"{definition['spec']['names']['plural']}.{group}"
    yield found


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_printed_is_accepted_strictly(control_plane: ControlPlane, kubectl: Kubectl, target: str) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "extapi", "crd", "export", target, HOOKS], capture_output=True, text=True, check=False
    )
    group = f"exported{TARGETS.index(target)}.example.com"
    with renamed(printed.stdout, group) as definitions:
        assert definitions, printed.stderr
        text = "\n---\n".join(json.dumps(each) for each in definitions)
        try:
            kubectl("create", "--validate=strict", "-f", "-", stdin=text)
            for each in definitions:
                path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{each['metadata']['name']}"
                until(partial(established, control_plane, path))
        finally:
            kubectl.run("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=text)


def established(control_plane: ControlPlane, path: str) -> bool:
    """Whether a definition is served; its schema has to be structural for that."""
    status = control_plane.client.get(path)["status"]
    # null until kube-apiserver has looked at it
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    assert "NonStructuralSchema" not in conditions
    return conditions.get("Established") == "True"
