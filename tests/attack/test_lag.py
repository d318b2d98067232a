"""The short form of :mod:`tests.attack.lag`."""

from __future__ import annotations

import pytest

from tests.attack.lag import Simulation


@pytest.mark.parametrize("seed", range(8))
def test_clients_never_notice_that_a_cache_is_behind(seed: int) -> None:
    Simulation(seed).run(300)
