from __future__ import annotations

from tests.unit.pizza.restaurant import closed, restaurant

__all__ = ["closed", "restaurant"]
