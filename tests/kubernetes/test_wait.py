"""``kubectl wait`` of the oldest and of the newest release: for a value, a condition, a deletion, a creation."""

from __future__ import annotations

import json

import pytest

from tests.kubernetes import kubectls
from tests.kubernetes.pizzas import GROUP, pizza
from tests.kubernetes.second import SecondServer
from tests.kubernetes.shop import Running, Shop
from tests.kubernetes.twin_schema import OURS, PLURAL, VERSION

pytestmark = pytest.mark.usefixtures("menu")

GADGET = f"{PLURAL}.{OURS}/one"
TIMELY = "--timeout=20s"


def test_for_a_creation(shop: Shop, watching: list[Running]) -> None:
    """The oldest kubectl cannot."""
    watching.append(Running(shop, "wait", "pz/later", "--for=create", TIMELY))
    shop.make(pizza("later", tomato=1))
    assert watching[0].line() == f"pizza.{GROUP}/later condition met"


@kubectls.BOTH_ENDS
def test_for_values_and_a_deletion(shop: Shop, watching: list[Running]) -> None:
    shop.make(pizza("later", tomato=1), pizza("cold", tomato=1))
    assert shop("wait", "pz/later", "--for=jsonpath={.status.cost}=1.50", TIMELY).endswith("condition met\n")
    watching.append(Running(shop, "wait", "pz/later", "--for=delete", TIMELY))
    watching.append(Running(shop, "wait", "pz/later", "--for=jsonpath={.metadata.labels.a}=b", TIMELY))
    shop("label", "pz", "later", "a=b")
    assert watching[1].line().endswith("condition met")
    shop("delete", "pz", "later", "--wait=false")
    assert watching[0].line().endswith("condition met")
    in_vain = ("wait", "pz/cold", "--for=jsonpath={.spec.toppings[0].name}=none", "--timeout=1s")
    assert "timed out waiting for the condition" in shop.refused(*in_vain)
    # Here connecting counts as well.
    assert "timed out waiting for the condition" in shop.refused("wait", "pz/cold", "--for=delete", "--timeout=2s")
    assert "NotFound" in shop.refused("wait", "pz/never", "--for=jsonpath={.status.cost}=1.50", TIMELY)


@kubectls.BOTH_ENDS
def test_for_a_condition(shop: Shop, gadgets: SecondServer, watching: list[Running]) -> None:
    obj = {"apiVersion": f"{OURS}/{VERSION}", "kind": "Gadget", "metadata": {"name": "one"}, "spec": {"size": 1}}
    shop.make(obj)
    watching.append(Running(shop, "wait", GADGET, "--for=condition=Ready", TIMELY))
    watching.append(Running(shop, "wait", GADGET, "--for=condition=ready=false", TIMELY))

    def become(status: str) -> None:
        conditions = json.dumps({"status": {"conditions": [{"type": "Ready", "status": status}]}})
        shop("patch", GADGET, "--subresource=status", "--type=merge", "-p", conditions)

    become("False")
    assert watching[1].line() == f"gadget.{OURS}/one condition met"
    assert "timed out" in shop.refused("wait", GADGET, "--for=condition=Ready", "--timeout=100ms")
    become("True")
    assert watching[0].line() == f"gadget.{OURS}/one condition met"
    assert shop("wait", GADGET, "--for=condition=Ready", TIMELY) == f"gadget.{OURS}/one condition met\n"
