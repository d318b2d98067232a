"""An API in memory, and policies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.admission.policies.policed import Policed
from tests.unit.client.conftest import Turning


@pytest.fixture
def policed() -> Iterator[Policed]:
    turning = Turning()
    made = Policed(turning)
    yield made
    made.stop()
    turning.close()
