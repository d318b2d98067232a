"""The first version: pizzas list names of toppings, repeated for quantity; and the toppings themselves."""

from __future__ import annotations

from typing import Annotated

from extapi import Description, MaxItems, MaxLength, MinLength, Object, Struct
from extapi.pizza.limits import MAX_TOTAL

Name = Annotated[str, MinLength(1), MaxLength(253)]


class PizzaSpec(Struct):
    """What is on the pizza."""

    toppings: Annotated[
        list[Name],
        MaxItems(MAX_TOTAL),
        Description("Names of toppings; a name that occurs twice is put on twice."),
    ] = ["tomato", "mozzarella", "salami"]


class PizzaStatus(Struct):
    """What the restaurant found out about the pizza."""

    cost: Annotated[str | None, Description("The cost of all toppings together.")] = None


class Pizza(Object):
    """A pizza, as a list of the names of its toppings."""

    spec: PizzaSpec = PizzaSpec()
    status: PizzaStatus = PizzaStatus()


class ToppingSpec(Struct):
    """What a topping is."""

    cost: Annotated[str, MinLength(1), MaxLength(64), Description("The cost of one portion: a quantity such as 1.50.")]


class Topping(Object):
    """A topping that the restaurant offers. Its name is what pizzas list."""

    spec: ToppingSpec
