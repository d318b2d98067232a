"""Every version through the hub and back loses nothing; v1alpha1 keeps the count of names, not their order."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, strategies as st

from extapi.conversion.hub import HubConverter
from extapi.pizza import api
from extapi.registry.served import ServedKind
from tests.unit.pizza.restaurant import GROUP

(PIZZA,) = [kind for kind in api.groups[0].kinds if kind.name == "Pizza"]
CONVERTER = HubConverter(PIZZA, GROUP)
SERVED = ServedKind(PIZZA, GROUP)

names = st.sampled_from(["tomato", "mozzarella", "salami", "onion", "a.b-c"])
metadata = st.fixed_dictionaries(
    {"name": names}, optional={"labels": st.dictionaries(names, st.text(max_size=5), max_size=2)}
)
status = st.one_of(st.none(), st.just({"cost": "1.50"}))
alphas = st.lists(names, min_size=1, max_size=40)
betas = st.lists(
    st.fixed_dictionaries({"name": names, "quantity": st.integers(1, 100)}),
    min_size=1,
    max_size=5,
    unique_by=lambda topping: topping["name"],
)


def pizza(version: str, toppings: Any, meta: dict[str, Any], state: dict[str, Any] | None) -> dict[str, Any]:
    found = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Pizza",
        "metadata": meta,
        "spec": {"toppings": toppings},
    }
    return found if state is None else {**found, "status": state}


@given(betas, metadata, status)
def test_v1beta1_through_v1alpha1_and_back(toppings: Any, meta: dict[str, Any], state: dict[str, Any] | None) -> None:
    original = pizza("v1beta1", toppings, meta, state)
    there = CONVERTER.convert(original, "v1beta1", "v1alpha1")
    back = CONVERTER.convert(there, "v1alpha1", "v1beta1")
    SERVED.prune_and_default(back, "v1beta1")  # a converter leaves out what the default is
    quantities = [(topping["name"], topping.get("quantity", 1)) for topping in back["spec"]["toppings"]]
    assert quantities == [(topping["name"], topping["quantity"]) for topping in toppings]
    assert {key: value for key, value in back.items() if key != "spec"} == {
        key: value for key, value in original.items() if key != "spec"
    }


@given(alphas, metadata, status)
def test_v1alpha1_through_v1beta1_and_back(toppings: Any, meta: dict[str, Any], state: dict[str, Any] | None) -> None:
    original = pizza("v1alpha1", toppings, meta, state)
    back = CONVERTER.convert(CONVERTER.convert(original, "v1alpha1", "v1beta1"), "v1beta1", "v1alpha1")
    SERVED.prune_and_default(back, "v1alpha1")
    assert Counter(back["spec"]["toppings"]) == Counter(toppings)
    assert list(dict.fromkeys(back["spec"]["toppings"])) == list(dict.fromkeys(toppings))
    assert {key: value for key, value in back.items() if key != "spec"} == {
        key: value for key, value in original.items() if key != "spec"
    }
