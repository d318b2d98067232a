"""What may be ordered: defaults, bounds, and toppings that are offered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.pizza.restaurant import ALPHA, DEFAULT, GROUP, Restaurant
from tests.unit.verbs.sample import failure

NAMES = ["tomato", "mozzarella", "salami"]


@pytest.mark.parametrize("spec", [..., None, {}, {"toppings": None}, {"toppings": []}])
def test_a_bare_pizza_gets_the_usual_toppings(restaurant: Restaurant, spec: Any) -> None:
    answer = restaurant.order(spec)
    assert answer.status == 201, answer
    assert answer.json()["spec"] == {"toppings": DEFAULT}


@pytest.mark.parametrize("spec", [..., None, {}, {"toppings": None}, {"toppings": []}])
def test_so_it_does_in_the_first_version(restaurant: Restaurant, spec: Any) -> None:
    answer = restaurant.order(spec, version="v1alpha1")
    assert answer.status == 201, answer
    assert answer.json()["spec"] == {"toppings": NAMES}
    assert restaurant.pizza()["spec"] == {"toppings": DEFAULT}


def test_a_pizza_is_never_made_bare(restaurant: Restaurant) -> None:
    restaurant.order({"toppings": [{"name": "salami", "quantity": 2}]})
    assert restaurant.change({"spec": {"toppings": []}}).json()["spec"] == {"toppings": DEFAULT}


def test_both_versions_show_the_same_pizza(restaurant: Restaurant) -> None:
    restaurant.order({"toppings": ["salami", "tomato", "salami"]}, version="v1alpha1")
    assert restaurant.pizza()["spec"] == {
        "toppings": [{"name": "salami", "quantity": 2}, {"name": "tomato", "quantity": 1}]
    }
    assert restaurant.pizza("v1alpha1")["spec"] == {"toppings": ["salami", "salami", "tomato"]}


def test_a_quantity_is_one_unless_it_is_said(restaurant: Restaurant) -> None:
    answer = restaurant.order({"toppings": [{"name": "salami"}]})
    assert answer.json()["spec"]["toppings"] == [{"name": "salami", "quantity": 1}]


@pytest.mark.parametrize(("quantity", "why"), [(0, "greater than or equal to 1"), (101, "less than or equal to 100")])
def test_quantities_are_bounded(restaurant: Restaurant, quantity: int, why: str) -> None:
    answer = restaurant.order({"toppings": [{"name": "salami", "quantity": quantity}]})
    assert answer.status == 422
    assert f"spec.toppings[0].quantity: Invalid value: {quantity}" in failure(answer)["message"]
    assert why in failure(answer)["message"]


def test_a_hundred_is_enough_and_may_be_had(restaurant: Restaurant) -> None:
    assert restaurant.order({"toppings": [{"name": "salami", "quantity": 100}]}).status == 201
    assert len(restaurant.pizza("v1alpha1")["spec"]["toppings"]) == 100


def test_quantities_are_bounded_in_the_version_that_repeats_names(restaurant: Restaurant) -> None:
    assert restaurant.order({"toppings": ["salami"] * 100}, version="v1alpha1", name="a").status == 201
    answer = restaurant.order({"toppings": ["salami"] * 101}, version="v1alpha1")
    assert answer.status == 422
    assert failure(answer)["message"] == (
        f'Pizza.{GROUP} "p" is invalid: spec.toppings[0].quantity: Invalid value: 101: '
        "must not be more than 100 of one topping"
    )


def test_their_sum_is_bounded_in_both_versions(restaurant: Restaurant) -> None:
    toppings = [{"name": f"t{number}", "quantity": 100} for number in range(6)]
    answer = restaurant.order({"toppings": toppings})
    assert answer.status == 422
    assert failure(answer)["message"] == (
        f'Pizza.{GROUP} "p" is invalid: spec.toppings: Invalid value: must not be more than 500 toppings together'
    )
    names = [f"t{number % 6}" for number in range(501)]
    assert restaurant.order({"toppings": names}, version="v1alpha1").status == 422


def test_five_hundred_may_be_had(restaurant: Restaurant) -> None:
    for number in range(5):
        restaurant.offer(f"t{number}")
    toppings = [{"name": f"t{number}", "quantity": 100} for number in range(5)]
    assert restaurant.order({"toppings": toppings}).status == 201
    assert len(restaurant.pizza("v1alpha1")["spec"]["toppings"]) == 500


def test_a_name_is_listed_once_in_the_version_with_quantities(restaurant: Restaurant) -> None:
    """Behaviour J25."""
    answer = restaurant.order({"toppings": [{"name": "salami"}, {"name": "salami"}]})
    assert answer.status == 422
    assert "spec.toppings[1]: Duplicate value" in failure(answer)["message"]


@pytest.mark.parametrize(
    ("cost", "why"),
    [
        ("-1", "must be greater than or equal to 0"),
        ("cheap", "quantities must match the regular expression"),
        ("", "spec.cost"),
    ],
)
def test_a_topping_costs_something_that_can_be_added_up(restaurant: Restaurant, cost: str, why: str) -> None:
    answer = restaurant.offer("x", cost)
    assert answer.status == 422
    assert why in failure(answer)["message"]
    assert "spec.cost" in failure(answer)["message"]


@pytest.mark.parametrize("cost", ["0", "1", "1.50", "1500m", "2k"])
def test_costs_are_quantities(restaurant: Restaurant, cost: str) -> None:
    assert restaurant.offer("x", cost).json()["spec"] == {"cost": cost}


def test_toppings_are_listed_with_their_cost(restaurant: Restaurant) -> None:
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    table = restaurant.server.request("GET", f"{ALPHA}/toppings", headers=accept).json()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Cost", "Age"]
    assert table["rows"][0]["cells"][:2] == ["mozzarella", "1.50"]
