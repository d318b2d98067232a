"""Conversions between the versions and the hub. The server converts metadata itself."""

from __future__ import annotations

from extapi.pizza import internal, v1alpha1, v1beta1


def from_v1alpha1(pizza: v1alpha1.Pizza) -> internal.Pizza:
    """Count the names; toppings keep the order in which they first occur."""
    counts: dict[str, int] = {}
    for name in pizza.spec.toppings:
        counts[name] = counts.get(name, 0) + 1
    return internal.Pizza(
        spec=internal.PizzaSpec(
            toppings=[internal.PizzaTopping(name=name, quantity=count) for name, count in counts.items()]
        ),
        status=internal.PizzaStatus(cost=pizza.status.cost),
    )


def to_v1alpha1(pizza: internal.Pizza) -> v1alpha1.Pizza:
    """Repeat each name. Validation has bounded the quantities before anything was stored."""
    return v1alpha1.Pizza(
        spec=v1alpha1.PizzaSpec(
            toppings=[topping.name for topping in pizza.spec.toppings for _ in range(topping.quantity)]
        ),
        status=v1alpha1.PizzaStatus(cost=pizza.status.cost),
    )


def from_v1beta1(pizza: v1beta1.Pizza) -> internal.Pizza:
    """Copy the fields; both types have the same."""
    return internal.Pizza(
        spec=internal.PizzaSpec(
            toppings=[internal.PizzaTopping(name=t.name, quantity=t.quantity) for t in pizza.spec.toppings]
        ),
        status=internal.PizzaStatus(cost=pizza.status.cost),
    )


def to_v1beta1(pizza: internal.Pizza) -> v1beta1.Pizza:
    """Copy the fields; both types have the same."""
    return v1beta1.Pizza(
        spec=v1beta1.PizzaSpec(
            toppings=[v1beta1.PizzaTopping(name=t.name, quantity=t.quantity) for t in pizza.spec.toppings]
        ),
        status=v1beta1.PizzaStatus(cost=pizza.status.cost),
    )
