"""Server-side apply with the oldest and the newest kubectl, of pizzas and of the control plane's own kinds.

``test_last_applied.py`` has the way from client-side apply and back.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kubernetes import kubectls
from tests.kubernetes.pizzas import GROUP, PIZZA, pizza
from tests.kubernetes.shop import Shop
from tests.waiting import until

pytestmark = [pytest.mark.usefixtures("menu"), kubectls.BOTH_ENDS]

SIDE = ("apply", "--server-side", "-f", "-")


def config(name: str, *, labels: Any = None, **toppings: int) -> str:
    wanted = pizza(name, **toppings)
    wanted["metadata"] = {"name": name, **({"labels": labels} if labels else {})}
    return json.dumps(wanted)


def config_map(name: str, **data: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def managers(shop: Shop, *what: str) -> dict[str, str]:
    found = json.loads(shop("get", *what, "-o", "json", "--show-managed-fields"))["metadata"]["managedFields"]
    return {entry["manager"]: entry["operation"] for entry in found if not entry.get("subresource")}


def test_a_pizza_is_applied_again_and_again(shop: Shop) -> None:
    applied = f"pizza.{GROUP}/mine serverside-applied\n"
    assert shop(*SIDE, stdin=config("mine", tomato=1)) == applied
    assert managers(shop, PIZZA, "mine") == {"kubectl": "Apply"}
    until(lambda: shop.costs("mine", "1.50"))
    revision = shop.path("mine", ".metadata.resourceVersion")
    assert shop(*SIDE, stdin=config("mine", tomato=1)) == applied
    assert shop.path("mine", ".metadata.resourceVersion") == revision
    shop(*SIDE, stdin=config("mine", labels={"a": "b"}, tomato=2))
    assert shop.path("mine", ".metadata.labels.a") == "b"
    shop(*SIDE, stdin=config("mine", tomato=2))
    assert shop.path("mine", ".metadata.labels") == ""


def test_a_conflict_is_explained_and_forced(shop: Shop) -> None:
    shop(*SIDE, "--field-manager=baker", stdin=config("both", tomato=1))
    told = shop.refused(*SIDE, "--field-manager=waiter", stdin=config("both", tomato=2))
    assert 'Apply failed with 1 conflict: conflict with "baker": .spec.toppings' in told
    assert "--force-conflicts" in told
    shop(*SIDE, "--field-manager=waiter", "--force-conflicts", stdin=config("both", tomato=2))
    assert shop.path("both", ".spec.toppings[0].quantity") == "2"
    assert managers(shop, PIZZA, "both")["waiter"] == "Apply"


def test_a_difference_is_shown_before(shop: Shop) -> None:
    shop(*SIDE, stdin=config("shown", labels={"a": "old"}, tomato=1))
    result = shop.kubectl.run(
        "-n", shop.namespace, "diff", "--server-side", "-f", "-", stdin=config("shown", labels={"a": "new"}, tomato=1)
    )
    assert result.returncode == 1, result.stderr
    assert "-    a: old" in result.stdout
    assert "+    a: new" in result.stdout
    assert shop("diff", "--server-side", "-f", "-", stdin=config("shown", labels={"a": "old"}, tomato=1)) == ""
    other = ("diff", "--server-side", "--field-manager=waiter", "-f", "-")
    assert 'conflict with "kubectl": .spec.toppings' in shop.refused(*other, stdin=config("shown", tomato=2))
    forced = shop.kubectl.run(
        "-n", shop.namespace, *other, "--force-conflicts", stdin=config("shown", labels={"a": "old"}, tomato=2)
    )
    assert (forced.returncode, "-    quantity: 1\n+    quantity: 2\n" in forced.stdout) == (1, True), forced.stderr
    assert shop.path("shown", ".metadata.labels.a") == "old"
    assert managers(shop, PIZZA, "shown") == {"kubectl": "Apply"}


def test_versions_are_one_object(shop: Shop) -> None:
    """The older version names toppings alone; who applies it shares them with who applies the newer one."""
    shop(*SIDE, "--field-manager=new", stdin=config("old", tomato=1))
    old = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "Pizza",
        "metadata": {"name": "old", "labels": {"from": "alpha"}},
    }
    shop(*SIDE, "--field-manager=old", stdin=json.dumps(old))
    assert shop.path("old", ".metadata.labels.from") == "alpha"
    assert managers(shop, PIZZA, "old") == {"new": "Apply", "old": "Apply"}


def test_a_config_map_has_two_appliers(shop: Shop) -> None:
    assert shop(*SIDE, "--field-manager=one", stdin=config_map("c", a="1")) == "configmap/c serverside-applied\n"
    shop(*SIDE, "--field-manager=two", stdin=config_map("c", b="2"))
    assert shop.read("configmap", "c")["data"] == {"a": "1", "b": "2"}
    assert 'conflict with "one": .data.a' in shop.refused(*SIDE, "--field-manager=two", stdin=config_map("c", a="3"))
    shop(*SIDE, "--field-manager=one", stdin=config_map("c"))
    assert shop.read("configmap", "c")["data"] == {"b": "2"}


@pytest.mark.parametrize("side", [["--server-side"], []], ids=["server", "client"])
def test_sets_are_pruned(shop: Shop, side: list[str]) -> None:
    """``--prune`` with an apply set, which a config map records: what it no longer has goes, all others stay."""
    shop = shop.with_variables(KUBECTL_APPLYSET="true")

    def apply(owner: str, *names: str) -> list[str]:
        objects = [each for name in names for each in (config(name, tomato=1), config_map(name))]
        pruning = ("apply", *side, "--prune", f"--applyset=configmap/{owner}", "-f", "-")
        return shop(*pruning, stdin="\n".join(objects)).splitlines()

    shop.make(json.loads(config("free", tomato=1)), json.loads(config_map("free")))
    apply("theirs", "other")
    apply("set", "kept", "dropped")
    assert set(apply("set", "kept")) >= {"configmap/dropped pruned", f"pizza.{GROUP}/dropped pruned"}
    assert shop("get", PIZZA, "-o", "name").split() == [f"pizza.{GROUP}/{name}" for name in ("free", "kept", "other")]
    maps = shop("get", "configmap", "-o", "name").split()
    assert set(maps) - {"configmap/kube-root-ca.crt"} == {
        f"configmap/{name}" for name in ("free", "kept", "other", "set", "theirs")
    }
    parent = shop.read("configmap", "set")["metadata"]
    member = shop.read(PIZZA, "kept")["metadata"]
    assert member["labels"]["applyset.kubernetes.io/part-of"] == parent["labels"]["applyset.kubernetes.io/id"]
    assert parent["annotations"]["applyset.kubernetes.io/contains-group-kinds"] == f"ConfigMap,Pizza.{GROUP}"
