"""Fixtures of the tests that run ``extapi serve`` without a control plane."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.cluster import Cluster
from tests.conformance.serving import Serving


@pytest.fixture(scope="session")
def cluster_kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Leads to something that knows one namespace, and nothing else."""
    cluster = Cluster()
    yield cluster.kubeconfig(tmp_path_factory.mktemp("cluster") / "kubeconfig")
    cluster.stop()


@pytest.fixture
def serving(tmp_path: Path, cluster_kubeconfig: Path) -> Iterator[Serving]:
    """A server that has not been started yet."""
    made = Serving(tmp_path, cluster_kubeconfig)
    yield made
    made.close()
