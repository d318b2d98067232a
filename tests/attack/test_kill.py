"""The short form of :mod:`tests.attack.kill`: nothing that was acknowledged is lost, and nothing else is there."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attack.cluster import Cluster
from tests.attack.kill import MOMENTS, Kills
from tests.attack.storekill import Store

STORES = 8
SERVERS = 8


@pytest.fixture
def kills(tmp_path: Path) -> Iterator[Kills]:
    cluster = Cluster()
    made = Kills(tmp_path, cluster, random.SystemRandom().randrange(10**6))
    yield made
    made.close()
    cluster.stop()


def test_servers(kills: Kills) -> None:
    while kills.kills.total() < SERVERS:
        kills.round()
        assert not kills.violations(), f"seed {kills.ledger.seed}"
    assert set(kills.kills) <= set(MOMENTS)
    assert sum(judge.events for judge in kills.judges) > 0


def test_stores(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.db", seed=random.SystemRandom().randrange(10**6))
    while store.kills < STORES:
        store.round()
        assert not store.violations
    assert store.acknowledged > 0
