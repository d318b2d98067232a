from __future__ import annotations

from tests.unit.verbs.sample import shop_served

__all__ = ["shop_served"]
