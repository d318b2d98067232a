"""A control plane with an aggregator, and a started, available extension server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from extapi.privatereactor import private_reactor
from tests.unit.controlplane.aggregator.cluster import Backend, Cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with private_reactor() as reactor:
        made = Cluster(reactor, tmp_path)
        made.start()
        yield made
        made.stop()


@pytest.fixture
def backend(cluster: Cluster) -> Backend:
    """Serves the group version of :data:`~tests.unit.controlplane.aggregator.cluster.NAME`, and is available."""
    started = cluster.backend()
    cluster.register(started.number)
    cluster.available()
    started.seen.clear()
    return started
