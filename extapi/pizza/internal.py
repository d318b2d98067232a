"""The hub: a pizza independent of versions. Only conversions and rules use these types."""

from __future__ import annotations

from extapi import Object, Struct


class PizzaTopping(Struct):
    name: str
    quantity: int = 1


class PizzaSpec(Struct):
    toppings: list[PizzaTopping] = []


class PizzaStatus(Struct):
    cost: str | None = None


class Pizza(Object):
    spec: PizzaSpec = PizzaSpec()
    status: PizzaStatus = PizzaStatus()
