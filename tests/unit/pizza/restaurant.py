"""The example served in memory, with the toppings that most tests need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extapi.pizza import api
from extapi.testing import InMemoryServer, ServerResponse, serve

GROUP = "restaurant.programming-kubernetes.info"
ALPHA = f"/apis/{GROUP}/v1alpha1"
BETA = f"/apis/{GROUP}/v1beta1"
DEFAULT = [{"name": name, "quantity": 1} for name in ("tomato", "mozzarella", "salami")]


class Restaurant:
    """The server, and short ways to order."""

    def __init__(self, server: InMemoryServer) -> None:
        self.server = server

    def offer(self, name: str, cost: str = "1.50") -> ServerResponse:
        """Create a topping."""
        topping = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "Topping",
            "metadata": {"name": name},
            "spec": {"cost": cost},
        }
        return self.server.request("POST", f"{ALPHA}/toppings", body=topping)

    def order(self, spec: Any = ..., *, version: str = "v1beta1", name: str = "p") -> ServerResponse:
        """Create a pizza; without ``spec`` that is missing."""
        pizza = {"apiVersion": f"{GROUP}/{version}", "kind": "Pizza", "metadata": {"name": name}}
        if spec is not ...:
            pizza["spec"] = spec
        return self.server.request("POST", f"/apis/{GROUP}/{version}/namespaces/default/pizzas", body=pizza)

    def change(self, patch: Any, name: str = "p") -> ServerResponse:
        """Merge into a v1beta1 pizza."""
        headers = {"Content-Type": "application/merge-patch+json"}
        return self.server.request("PATCH", f"{BETA}/namespaces/default/pizzas/{name}", headers=headers, body=patch)

    def pizza(self, version: str = "v1beta1", name: str = "p") -> dict[str, Any]:
        """The pizza as it is now."""
        found: dict[str, Any] = self.server.request(
            "GET", f"/apis/{GROUP}/{version}/namespaces/default/pizzas/{name}"
        ).json()
        return found


@pytest.fixture
def closed() -> Iterator[Restaurant]:
    """No topping is offered yet."""
    with serve(api) as server:
        yield Restaurant(server)


@pytest.fixture
def restaurant(closed: Restaurant) -> Restaurant:
    for name in ("tomato", "mozzarella", "salami"):
        assert closed.offer(name).status == 201
    return closed
