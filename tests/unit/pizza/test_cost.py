"""The controller that prices pizzas."""

from __future__ import annotations

import pytest

from extapi import Api, ApiError, Conflict, NotFound, Quantity, Review
from extapi.pizza import api
from extapi.pizza.cost import CostController, shown
from extapi.testing import serve
from tests.unit.pizza.restaurant import ALPHA, BETA, Restaurant

MERGE = {"Content-Type": "application/merge-patch+json"}


def cost(restaurant: Restaurant, name: str = "p") -> str | None:
    restaurant.server.advance(2)
    found: str | None = restaurant.pizza(name=name).get("status", {}).get("cost")
    return found


def reprice(restaurant: Restaurant, name: str, price: str) -> None:
    body = {"spec": {"cost": price}}
    assert restaurant.server.request("PATCH", f"{ALPHA}/toppings/{name}", headers=MERGE, body=body).status == 200


def test_a_pizza_costs_what_its_toppings_cost(restaurant: Restaurant) -> None:
    restaurant.offer("truffle", "20.25")
    restaurant.order({"toppings": [{"name": "salami", "quantity": 3}, {"name": "truffle"}]})
    assert cost(restaurant) == "24.75"
    assert restaurant.pizza("v1alpha1")["status"] == {"cost": "24.75"}


def test_the_cost_is_shown_in_tables(restaurant: Restaurant) -> None:
    restaurant.order()
    restaurant.server.advance(2)
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    table = restaurant.server.request("GET", f"{BETA}/pizzas", headers=accept).json()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Toppings", "Cost", "Age"]
    assert table["rows"][0]["cells"][2] == "4.50"


def test_the_cost_follows_the_pizza(restaurant: Restaurant) -> None:
    restaurant.order({"toppings": [{"name": "salami"}]})
    assert cost(restaurant) == "1.50"
    restaurant.change({"spec": {"toppings": [{"name": "salami", "quantity": 2}]}})
    assert cost(restaurant) == "3.00"


def test_the_cost_follows_the_prices(restaurant: Restaurant) -> None:
    """Of those pizzas only that the topping is on."""
    restaurant.order({"toppings": [{"name": "salami", "quantity": 2}]}, name="p")
    restaurant.order({"toppings": [{"name": "tomato"}]}, name="q")
    assert (cost(restaurant), cost(restaurant, "q")) == ("3.00", "1.50")
    other = restaurant.pizza(name="q")
    reprice(restaurant, "salami", "2")
    assert cost(restaurant) == "4.00"
    assert restaurant.pizza(name="q") == other


def test_a_topping_without_a_price_leaves_the_pizza_without_one(restaurant: Restaurant) -> None:
    restaurant.order({"toppings": [{"name": "salami"}]})
    assert cost(restaurant) == "1.50"
    restaurant.server.request("DELETE", f"{ALPHA}/toppings/salami")
    assert cost(restaurant) is None
    restaurant.offer("salami", "1")
    assert cost(restaurant) == "1.00"


class Counting:
    """Counts writes of status."""

    def __init__(self) -> None:
        self.writes = 0

    async def validate(self, review: Review) -> None:
        self.writes += review.subresource == "status"


def test_what_is_right_is_not_written_again() -> None:
    counting = Counting()
    with serve(Api(*api.groups, admission=[*api.admission, counting], controllers=[CostController()])) as server:
        restaurant = Restaurant(server)
        restaurant.offer("salami")
        restaurant.order({"toppings": [{"name": "salami"}]})
        assert cost(restaurant) == "1.50"
        reprice(restaurant, "salami", "1500m")
        assert cost(restaurant) == "1.50"
    assert counting.writes == 1


def test_two_controllers_come_to_the_same() -> None:
    """It may run twice at any time."""
    twice = Api(*api.groups, admission=api.admission, controllers=[CostController(), CostController()])
    with serve(twice) as server:
        restaurant = Restaurant(server)
        for name in ("tomato", "mozzarella", "salami"):
            restaurant.offer(name)
        restaurant.order()
        assert cost(restaurant) == "4.50"
        before = restaurant.pizza()
        server.advance(60)
        assert restaurant.pizza() == before


def test_a_cost_that_somebody_else_wrote_is_put_right(restaurant: Restaurant) -> None:
    restaurant.order()
    path = f"{BETA}/namespaces/default/pizzas/p/status"
    restaurant.server.request("PATCH", path, headers=MERGE, body={"status": {"cost": "0"}})
    assert cost(restaurant) == "4.50"


def test_a_pizza_that_is_eaten_at_once_is_no_trouble(restaurant: Restaurant) -> None:
    restaurant.order()
    restaurant.server.request("DELETE", f"{BETA}/namespaces/default/pizzas/p")
    restaurant.server.advance(2)
    restaurant.order(name="q")
    assert cost(restaurant, "q") == "4.50"


@pytest.mark.parametrize(
    ("quantity", "text"),
    [("0", "0.00"), ("1", "1.00"), ("1500m", "1.50"), ("1.125", "1.125"), ("1k", "1000.00"), ("1n", "0.000000001")],
)
def test_how_prices_are_written(quantity: str, text: str) -> None:
    assert shown(Quantity.parse(quantity)) == text


class Moody:
    """Refuses the first status writes, as a busy server or another writer may."""

    def __init__(self, times: int, error: ApiError) -> None:
        self.left = times
        self.error = error

    async def validate(self, review: Review) -> None:
        if review.subresource == "status" and self.left:
            self.left -= 1
            raise self.error


def moody(error: ApiError) -> tuple[Moody, Api]:
    plugin = Moody(3, error)
    return plugin, Api(*api.groups, admission=[*api.admission, plugin], controllers=[CostController()])


def test_what_could_not_be_written_is_tried_again() -> None:
    plugin, changed = moody(Conflict("somebody else was faster"))
    with serve(changed) as server:
        restaurant = Restaurant(server)
        restaurant.offer("salami")
        restaurant.order({"toppings": [{"name": "salami"}]})
        server.advance(60)
        assert cost(restaurant) == "1.50"
    assert plugin.left == 0


def test_what_is_gone_is_not_tried_again() -> None:
    plugin, changed = moody(NotFound("gone"))
    with serve(changed) as server:
        restaurant = Restaurant(server)
        restaurant.offer("salami")
        restaurant.order({"toppings": [{"name": "salami"}]})
        server.advance(60)
        assert cost(restaurant) is None
    assert plugin.left == 2
