"""An operator written with kopf reacts to pizzas: with the rights of its service account, finalizers, patches, events."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.kitchen import CHANGES, FINALIZER, STATE
from tests.kubernetes.pizzas import GROUP, PIZZA, pizza
from tests.kubernetes.second import SecondServer
from tests.kubernetes.shop import Shop
from tests.kubernetes.twin_schema import KIND, OURS, PLURAL, VERSION
from tests.waiting import until

ROOT = Path(__file__).parents[2]
RIGHTS = [
    {"apiGroups": [GROUP, OURS], "resources": ["pizzas", PLURAL], "verbs": ["list", "watch", "patch"]},
    {"apiGroups": [OURS], "resources": [f"{PLURAL}/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
]
"""What it does with the objects of its namespace, and what kopf itself asks of the whole cluster."""
OBSERVES = [
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]},
    {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["list", "watch"]},
]


@dataclass(frozen=True)
class Operator:
    """It, and the file with what it says."""

    process: subprocess.Popen[bytes]
    log: Path


@pytest.fixture
def operator(shop: Shop, menu: dict[str, str], gadgets: SecondServer, tmp_path: Path) -> Iterator[Operator]:
    """``kopf run`` under a service account that may only what it needs."""
    shop("create", "serviceaccount", "kitchen")
    shop.make({"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "kitchen"}, "rules": RIGHTS})
    shop("create", "rolebinding", "kitchen", "--role=kitchen", f"--serviceaccount={shop.namespace}:kitchen")
    everywhere = f"kitchen-{shop.namespace}"
    shop.make({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": everywhere}, "rules": OBSERVES})
    account = f"--serviceaccount={shop.namespace}:kitchen"
    shop("create", "clusterrolebinding", everywhere, f"--clusterrole={everywhere}", account)
    who = f"--as=system:serviceaccount:{shop.namespace}:kitchen"
    # The extension servers may remember a refusal for some seconds.
    until(lambda: shop.kubectl.run("-n", shop.namespace, "get", f"{PIZZA},{PLURAL}.{OURS}", who).returncode == 0)
    settings = yaml.safe_load(shop.kubectl.kubeconfig.read_text())
    settings["users"][0]["user"] = {"token": shop("create", "token", "kitchen").strip()}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch(0o600)
    kubeconfig.write_text(yaml.safe_dump(settings))
    command = [
        sys.executable,
        "-m",
        "kopf",
        "run",
        "--standalone",
        "-n",
        shop.namespace,
        "-m",
        "tests.kubernetes.kitchen",
    ]
    log = tmp_path / "kopf.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, env=os.environ | {"KUBECONFIG": str(kubeconfig)}
        )
    try:
        yield Operator(process, log)
        # It obeys, and ends well.
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        shop("delete", "clusterrole,clusterrolebinding", everywhere)


def reasons(shop: Shop, name: str) -> list[str]:
    found = shop("get", "events", f"--field-selector=involvedObject.name={name}", "-o", "jsonpath={.items[*].reason}")
    return found.split()


def test_it_follows_the_life_of_a_pizza(shop: Shop, operator: Operator) -> None:
    def metadata(name: str) -> dict[str, Any]:
        assert operator.process.poll() is None, operator.log.read_text()
        found: dict[str, Any] = shop.read("pz", name)["metadata"]
        return found

    shop.make(pizza("mine", tomato=1))
    until(lambda: metadata("mine").get("annotations", {}).get(STATE) == "baked", 30)
    assert metadata("mine")["finalizers"] == [FINALIZER]
    until(lambda: "Baked" in reasons(shop, "mine"))
    until(lambda: shop.costs("mine", "1.50"))
    # A change of what it looks at, and one of what it does not.
    shop("patch", "pz", "mine", "--type=merge", "-p", '{"spec":{"toppings":[{"name":"olives"}]}}')
    until(lambda: metadata("mine")["annotations"].get(CHANGES) == "1", 30)
    shop("label", "pz", "mine", "hot=yes")
    shop("patch", "pz", "mine", "--type=merge", "-p", '{"spec":{"toppings":[{"name":"salami"}]}}')
    until(lambda: metadata("mine")["annotations"].get(CHANGES) == "2", 30)
    shop("delete", "pz", "mine", "--timeout=30s")
    until(lambda: "Eaten" in reasons(shop, "mine"))
    assert "forbidden" not in operator.log.read_text()


def test_it_writes_the_status(shop: Shop, operator: Operator) -> None:
    made = {"apiVersion": f"{OURS}/{VERSION}", "kind": KIND, "metadata": {"name": "one"}, "spec": {"size": 3}}
    shop("create", "-f", "-", stdin=json.dumps(made))
    gadget = f"{PLURAL}.{OURS}"
    shop("wait", f"{gadget}/one", "--for=jsonpath={.status.ready}=true", "--timeout=30s")
    assert shop.read(gadget, "one")["spec"]["size"] == 3
