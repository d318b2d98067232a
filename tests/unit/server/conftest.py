from __future__ import annotations

from tests.unit.server.cluster import cluster_served
from tests.unit.verbs.sample import shop_served

__all__ = ["cluster_served", "shop_served"]
