"""What a request meets while the server stops: spec H12, H16."""

from __future__ import annotations

import pytest

from tests.unit.verbs.sample import WIDGETS, Shop, failure


def test_requests_are_answered_until_the_server_refuses_them(shop_served: Shop) -> None:
    shop_served.server.server.shutdown.requested = True
    assert shop_served.request("GET", WIDGETS).status == 200


def test_late_requests_are_503(shop_served: Shop) -> None:
    """H12, H16: always JSON, and the connection ends."""
    shop_served.server.server.shutdown.refusing = True
    answer = shop_served.request("GET", WIDGETS, headers={"Accept": "application/yaml"})
    assert answer.status == 503
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["x-content-type-options"] == "nosniff"
    status = failure(answer)
    assert (status["message"], status["reason"]) == ("apiserver is shutting down", "ServiceUnavailable")


@pytest.mark.parametrize("path", ["/livez", "/healthz/ping", "/readyz/ping"])
def test_health_is_answered_to_the_end(shop_served: Shop, path: str) -> None:
    shop_served.server.server.shutdown.refusing = True
    assert shop_served.request("GET", path).status == 200
