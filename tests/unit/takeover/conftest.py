"""Fixtures of the takeover's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from extapi.privatereactor import private_reactor
from tests.unit.takeover.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A live definition, and a store to be filled."""
    with private_reactor() as reactor:
        made = World(reactor, tmp_path / "store.sqlite")
        yield made
        made.close()
