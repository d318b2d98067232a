"""Older kubectls than the one we install: a short session with each; what they send differs (JSON or protobuf)."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.kubernetes import kubectls
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.pizzas import GROUP, pizza
from tests.kubernetes.shop import Running, Shop
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")


@kubectls.EACH
def test_a_session(shop: Shop) -> None:
    namespace = shop.namespace
    said = json.loads(shop("version", "-o", "json"))
    assert f"1.{said['clientVersion']['minor']}" == shop.kubectl.home.name, "its caches are named after it"
    assert said["serverVersion"]["major"] == "1"

    # What is made without a file.
    assert shop("create", "namespace", f"n-{namespace}") == f"namespace/n-{namespace} created\n"
    assert shop("delete", "namespace", f"n-{namespace}", "--timeout=40s").startswith(
        f'namespace "n-{namespace}" deleted'
    )
    for what, made in {
        "configmap menu --from-literal=tomato=1": "configmap/menu",
        "secret generic recipe --from-literal=sauce=basil": "secret/recipe",
        "serviceaccount robot": "serviceaccount/robot",
        "role cook --verb=get,list --resource=pizzas": f"role.{RBAC}/cook",
        f"rolebinding cooks --role=cook --serviceaccount={namespace}:robot": f"rolebinding.{RBAC}/cooks",
    }.items():
        assert shop("create", *what.split()) == f"{made} created\n"
    assert shop.read("cm", "menu")["data"] == {"tomato": "1"}
    assert shop("create", "token", "robot").count(".") == 2

    # Rights.
    robot = f"--as=system:serviceaccount:{namespace}:robot"
    until(lambda: shop.kubectl.run("-n", namespace, "auth", "can-i", "list", "pizzas", robot).stdout == "yes\n")
    assert shop.kubectl.run("-n", namespace, "auth", "can-i", "delete", "pizzas", robot).stdout == "no\n"
    assert f"pizzas.{GROUP}" in shop("auth", "can-i", "--list", robot)
    assert "kubernetes-admin" in shop("auth", "whoami")

    # Pizzas and core kinds: applied, changed, shown, explained, watched, deleted.
    objects = [
        pizza("mine", tomato=1),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "c"}},
    ]
    text = yaml.safe_dump_all(objects)
    both = [f"pizza.{GROUP}/mine", "configmap/a"]
    for state in ("created", "unchanged"):
        assert shop("apply", "-f", "-", stdin=text).splitlines() == [f"{name} {state}" for name in both]
    assert shop("apply", "-f", "-", stdin=text.replace("b: c", "b: d")).splitlines()[1] == "configmap/a configured"
    assert shop.read("cm", "a")["data"] == {"b": "d"}
    until(lambda: shop.costs("mine", "1.50"))
    assert shop("get", "pz", "--no-headers").split()[:3] == ["mine", "tomato", "1.50"]
    assert shop("label", "pz/mine", "cm/a", "hot=yes").splitlines() == [f"{name} labeled" for name in both]
    assert shop("patch", "cm", "a", "-p", '{"data":{"e":"f"}}') == "configmap/a patched\n"
    assert shop.read("cm", "a")["data"] == {"b": "d", "e": "f"}
    assert "Cost: 1.50" in " ".join(shop("describe", "pz", "mine").split())
    assert "How many portions" in shop("explain", "pizzas.spec.toppings.quantity")
    assert "immutable" in shop("explain", "configmaps", "--recursive")
    assert "pizzas" in shop("api-resources", f"--api-group={GROUP}", "-o", "name")
    watch = Running(shop, "get", "pz", "-w", "--no-headers")
    try:
        assert watch.line().startswith("mine tomato 1.50 ")
        shop("patch", "pz", "mine", "--type=merge", "-p", '{"spec":{"toppings":[{"name":"olives"}]}}')
        assert watch.line().startswith("mine olives 1.50 ")
    finally:
        watch.end()
    assert f'pizza.{GROUP} "mine" deleted' in shop("delete", "pz", "--all")
    assert "NotFound" in shop.refused("get", "pz", "mine")
