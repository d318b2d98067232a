"""Server-side apply with the real kubectl, of pizzas and of the control plane's own kinds."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.kubernetes.pizzas import GROUP, PIZZA, pizza
from tests.kubernetes.shop import Shop

pytestmark = pytest.mark.usefixtures("menu")

SIDE = ("apply", "--server-side", "-f", "-")


def config(name: str, *, labels: Any = None, **toppings: int) -> str:
    wanted = pizza(name, **toppings)
    wanted["metadata"] = {"name": name, **({"labels": labels} if labels else {})}
    return json.dumps(wanted)


def managers(shop: Shop, *what: str) -> dict[str, str]:
    found = json.loads(shop("get", *what, "-o", "json", "--show-managed-fields"))["metadata"]["managedFields"]
    return {entry["manager"]: entry["operation"] for entry in found if not entry.get("subresource")}


def test_a_pizza_is_applied_again_and_again(shop: Shop) -> None:
    applied = f"pizza.{GROUP}/mine serverside-applied\n"
    assert shop(*SIDE, stdin=config("mine", tomato=1)) == applied
    assert managers(shop, PIZZA, "mine") == {"kubectl": "Apply"}
    revision = shop.path("mine", ".metadata.resourceVersion")
    generation = shop.path("mine", ".metadata.generation")
    assert shop(*SIDE, stdin=config("mine", tomato=1)) == applied
    assert shop.path("mine", ".metadata.generation") == generation
    del revision  # the controller may have written the status since
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
    assert shop.path("shown", ".metadata.labels.a") == "old"


def test_what_was_applied_by_the_client_is_taken_over(shop: Shop) -> None:
    """Kubectl itself moves the fields of its client-side applies to the new manager."""
    shop("apply", "-f", "-", stdin=config("moved", labels={"a": "b"}, tomato=1))
    assert managers(shop, PIZZA, "moved") == {"kubectl-client-side-apply": "Update"}
    shop(*SIDE, stdin=config("moved", tomato=2))
    assert shop.path("moved", ".spec.toppings[0].quantity") == "2"
    assert shop.path("moved", ".metadata.labels") == ""
    assert managers(shop, PIZZA, "moved")["kubectl"] == "Apply"


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
    def data(**given: str) -> str:
        return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": given})

    assert shop(*SIDE, "--field-manager=one", stdin=data(a="1")) == "configmap/c serverside-applied\n"
    shop(*SIDE, "--field-manager=two", stdin=data(b="2"))
    assert shop.read("configmap", "c")["data"] == {"a": "1", "b": "2"}
    assert 'conflict with "one": .data.a' in shop.refused(*SIDE, "--field-manager=two", stdin=data(a="3"))
    shop(*SIDE, "--field-manager=one", stdin=data())
    assert shop.read("configmap", "c")["data"] == {"b": "2"}


def test_sets_are_pruned(shop: Shop) -> None:
    """``--prune`` with an apply set, which a config map records."""
    first = "\n---\n".join((config("kept", tomato=1), config("dropped", tomato=1)))
    pruning = (*SIDE, "--prune", "--applyset=configmap/set")
    for objects in (first, config("kept", tomato=1)):
        command = shop.kubectl.command("-n", shop.namespace, *pruning)
        environment = {**shop.kubectl.environment(), "KUBECTL_APPLYSET": "true"}
        done = subprocess.run(
            command, input=objects, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
    assert shop("get", PIZZA, "-o", "name") == f"pizza.{GROUP}/kept\n"
