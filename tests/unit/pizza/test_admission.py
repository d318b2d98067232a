"""Toppings on a pizza are toppings that the restaurant offers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.pizza.restaurant import ALPHA, BETA, GROUP, Restaurant
from tests.unit.verbs.sample import failure


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_a_topping_that_is_not_offered_is_refused_by_its_name(restaurant: Restaurant, version: str) -> None:
    toppings: list[Any] = ["salami", "ananas"]
    if version == "v1beta1":
        toppings = [{"name": name} for name in toppings]
    answer = restaurant.order({"toppings": toppings}, version=version)
    assert answer.status == 403
    assert failure(answer)["message"] == f'pizzas.{GROUP} "p" is forbidden: topping "ananas" not known'


def test_a_topping_that_was_offered_a_moment_ago_is_found(restaurant: Restaurant) -> None:
    """In the same turn: the plugin's copy cannot know it yet, so it looks again."""
    group, version = GROUP, f"{GROUP}/v1alpha1"
    topping = {"apiVersion": version, "kind": "Topping", "metadata": {"name": "new"}, "spec": {"cost": "1"}}
    pizza = {"apiVersion": version, "kind": "Pizza", "metadata": {"name": "p"}, "spec": {"toppings": ["new"]}}
    client = restaurant.server.client

    async def both() -> dict[str, Any]:
        await client.call("POST", f"/apis/{group}/v1alpha1/toppings", obj=topping)
        return await client.call("POST", f"{ALPHA}/namespaces/default/pizzas", obj=pizza)

    assert restaurant.server.run(both())["spec"] == {"toppings": ["new"]}


def test_what_was_on_the_pizza_may_stay(restaurant: Restaurant) -> None:
    """Though it is offered no more; new toppings must be."""
    restaurant.order({"toppings": [{"name": "salami"}]})
    assert restaurant.server.request("DELETE", f"{ALPHA}/toppings/salami").status == 200
    restaurant.server.advance(1)
    more = restaurant.change({"spec": {"toppings": [{"name": "salami", "quantity": 2}, {"name": "tomato"}]}})
    assert more.status == 200
    refused = restaurant.change({"spec": {"toppings": [{"name": "salami"}, {"name": "ananas"}]}})
    assert refused.status == 403
    assert restaurant.order({"toppings": [{"name": "salami"}]}, name="q").status == 403


def test_a_pizza_can_be_eaten_whatever_is_on_it(restaurant: Restaurant) -> None:
    restaurant.order({"toppings": [{"name": "salami"}]})
    restaurant.server.request("DELETE", f"{ALPHA}/toppings/salami")
    restaurant.server.advance(1)
    assert restaurant.server.request("DELETE", f"{BETA}/namespaces/default/pizzas/p").status == 200


def test_the_plugin_wants_to_be_started() -> None:
    """Not started it refuses to work, rather than let everything through."""
    from extapi.pizza.admission import ToppingsExist  # noqa: PLC0415 - only this test looks inside

    answered: list[object] = []
    try:
        ToppingsExist()._offered("salami").send(None)
    except RuntimeError as error:
        answered.append(str(error))
    assert answered == ["the plugin was not started"]
