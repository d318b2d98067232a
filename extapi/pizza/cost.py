"""Fills in ``status.cost``: a small controller, which may run twice or start anew at any time and comes to the same."""

from __future__ import annotations

from typing import Any

from extapi import Context, Informer, NotFound, Quantity
from extapi.pizza.admission import GROUP, TOPPINGS

PIZZAS = (GROUP, "v1beta1", "pizzas")


class CostController:
    """Adds up what a pizza's toppings cost, whenever the pizza or a topping changes."""

    async def run(self, context: Context) -> None:
        """Follow pizzas and toppings; price each pizza that may have changed its cost."""
        queue = context.queue()

        def pizza_changed(_event: str, pizza: dict[str, Any]) -> None:
            queue.add((pizza["metadata"]["namespace"], pizza["metadata"]["name"]))

        def topping_changed(_event: str, topping: dict[str, Any]) -> None:
            name = topping["metadata"]["name"]
            for pizza in pizzas.items():
                if any(each["name"] == name for each in pizza["spec"]["toppings"]):
                    pizza_changed("", pizza)

        pizzas = context.informer(*PIZZAS, on_change=pizza_changed)
        toppings = context.informer(*TOPPINGS, on_change=topping_changed)

        async def work(key: tuple[str, str]) -> None:
            namespace, name = key
            pizza = pizzas.get(namespace, name)
            cost = None if pizza is None else price(pizza, toppings)
            if pizza is None or pizza.get("status", {}).get("cost") == cost:
                return
            try:
                await context.patch_status(*PIZZAS, name, {"cost": cost}, namespace=namespace)
            except NotFound:
                return  # eaten meanwhile

        await pizzas.wait_synced()
        await toppings.wait_synced()
        await queue.each(work)


def price(pizza: dict[str, Any], toppings: Informer) -> str | None:
    """The sum over all toppings of cost times quantity; None while one of them has no known cost."""
    total = Quantity.parse("0")
    for each in pizza["spec"]["toppings"]:
        topping = toppings.get("", each["name"])
        if topping is None:
            return None
        total += Quantity.parse(topping["spec"]["cost"]) * each["quantity"]
    return shown(total)


def shown(cost: Quantity) -> str:
    """As a price is written: at least two digits after the point. Kubernetes' own form of 1.50 would be 1500m."""
    whole, nanos = divmod(cost.nanos, 10**9)
    return f"{whole}.{f'{nanos:09d}'.rstrip('0').ljust(2, '0')}"
