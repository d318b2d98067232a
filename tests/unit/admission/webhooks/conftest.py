"""An API in memory, and webhooks over TLS on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.client.conftest import Turning
from tests.webhooks.admission import EVERY
from tests.webhooks.admitted import Admitted
from tests.webhooks.server import Certified, Webhook, certified, serving


@pytest.fixture(scope="package")
def certificates() -> Certified:
    return certified()


@pytest.fixture(scope="package")
def webhooks(certificates: Certified, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    with serving(EVERY, certificates.context(tmp_path_factory.mktemp("webhooks"))) as served:
        yield served


@pytest.fixture
def admitted() -> Iterator[Admitted]:
    turning = Turning()
    made = Admitted(turning)
    yield made
    made.stop()
    turning.close()
