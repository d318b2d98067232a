from __future__ import annotations

import pytest

from tests.unit.registry.pair import pair
from tests.unit.verbs.sample import Shop, shop_anywhere

__all__ = ["pair", "shop_anywhere"]


@pytest.fixture
def shop_served(shop_anywhere: Shop) -> Shop:
    """Each story here is told on a cache that is behind, too."""
    return shop_anywhere
