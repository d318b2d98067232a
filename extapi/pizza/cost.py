"""Fills in ``status.cost``: a small, idempotent controller that may run twice or restart at any time."""

from __future__ import annotations

from typing import Any

from extapi import Context, Informer, NotFound, PolicyRule, Quantity
from extapi.pizza.admission import GROUP, TOPPINGS

PIZZAS = (GROUP, "v1beta1", "pizzas")


class CostController:
    """Adds up the cost of a pizza's toppings whenever the pizza or a topping changes."""

    needs = (
        PolicyRule(api_groups=[GROUP], resources=["pizzas", "toppings"], verbs=["list", "watch"]),
        PolicyRule(api_groups=[GROUP], resources=["pizzas/status"], verbs=["patch"]),
    )
    """What it does with the API's own kinds, for a cluster that serves them as CustomResourceDefinitions."""

    async def run(self, context: Context) -> None:
        """Follow pizzas and toppings, and price every pizza whose cost may have changed."""
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
                return  # eaten in the meantime

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
    """A price with at least two decimals. Kubernetes would write 1.50 as 1500m."""
    whole, nanos = divmod(cost.nanos, 10**9)
    return f"{whole}.{f'{nanos:09d}'.rstrip('0').ljust(2, '0')}"
