from __future__ import annotations

from tests.unit.verbs.sample import shop_anywhere, shop_served

__all__ = ["shop_anywhere", "shop_served"]
