"""The preferred version: pizzas list each topping once, with its quantity."""

from __future__ import annotations

from typing import Annotated

from extapi import Description, ListMap, Maximum, MaxItems, MaxLength, Minimum, MinLength, Object, Rule, Struct
from extapi.pizza.limits import MAX_QUANTITY, MAX_TOTAL


class PizzaTopping(Struct):
    """One kind of topping, and how much of it."""

    name: Annotated[str, MinLength(1), MaxLength(253), Description("The name of a Topping object.")]
    quantity: Annotated[
        int, Minimum(1), Maximum(MAX_QUANTITY), Description("How many portions of this topping go on the pizza.")
    ] = 1


class PizzaSpec(Struct):
    """What is on the pizza."""

    toppings: Annotated[
        list[PizzaTopping],
        ListMap("name"),
        MaxItems(MAX_TOTAL),
        Rule(
            f"self.map(topping, has(topping.quantity) ? topping.quantity : 1).sum() <= {MAX_TOTAL}",
            message=f"must not be more than {MAX_TOTAL} toppings together",
        ),
        Description("The toppings of the pizza, each name once."),
    ] = [PizzaTopping(name="tomato"), PizzaTopping(name="mozzarella"), PizzaTopping(name="salami")]


class PizzaStatus(Struct):
    """What the restaurant found out about the pizza."""

    cost: Annotated[str | None, Description("The cost of all toppings together.")] = None


class Pizza(Object):
    """A pizza with its toppings and their quantities."""

    spec: PizzaSpec = PizzaSpec()
    status: PizzaStatus = PizzaStatus()
