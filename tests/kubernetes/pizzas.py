"""Objects of the pizza API, as a client writes them."""

from __future__ import annotations

from typing import Any

GROUP = "restaurant.programming-kubernetes.info"
PIZZA = f"pizzas.{GROUP}"
TOPPINGS_PATH = f"/apis/{GROUP}/v1alpha1/toppings"


def pizzas_path(namespace: str, version: str = "v1beta1") -> str:
    """The collection in a namespace."""
    return f"/apis/{GROUP}/{version}/namespaces/{namespace}/pizzas"


def topping(name: str, cost: str) -> dict[str, Any]:
    """A topping on offer."""
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "Topping",
        "metadata": {"name": name},
        "spec": {"cost": cost},
    }


def pizza(name: str, **quantities: int) -> dict[str, Any]:
    """A v1beta1 pizza; without toppings it gets the default ones."""
    made: dict[str, Any] = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Pizza", "metadata": {"name": name}}
    if quantities:
        made["spec"] = {"toppings": [{"name": key, "quantity": count} for key, count in quantities.items()]}
    return made


def old_pizza(name: str, *toppings: str) -> dict[str, Any]:
    """A v1alpha1 pizza."""
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "Pizza",
        "metadata": {"name": name},
        "spec": {"toppings": list(toppings)},
    }
