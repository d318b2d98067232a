"""What a request meets while the server stops: behaviour H12, H16."""

from __future__ import annotations

import json

import pytest
from twisted.internet.defer import Deferred

from extapi.http.request import Peer, Request
from extapi.http.response import Response
from extapi.listener.requestinfo import request_info
from extapi.server.loopback import BodyBytes
from tests.unit.verbs.sample import WIDGETS, Shop


def from_the_network(shop: Shop, path: str) -> Response:
    """The answer of the whole chain to a GET that has come over the network, with no credentials."""
    call = Request(
        "GET", path, request_info("GET", path, {}), {}, {}, BodyBytes(b""), Peer("192.0.2.1"), "id", 0.0, 60.0
    )
    found: list[Response] = []
    Deferred.fromCoroutine(_answer(shop, call)).addCallback(found.append)
    (response,) = found
    return response


async def _answer(shop: Shop, call: Request) -> Response:
    return await shop.server.server.handler(call)


def test_requests_are_answered_until_the_server_refuses_them(shop_served: Shop) -> None:
    shop_served.server.server.shutdown.requested = True
    assert from_the_network(shop_served, "/version").status == 200


def test_late_requests_are_503(shop_served: Shop) -> None:
    """Behaviour H12, H16: always JSON."""
    shop_served.server.server.shutdown.refusing = True
    answer = from_the_network(shop_served, WIDGETS)
    headers = dict(answer.headers)
    assert answer.status == 503
    assert headers["Content-Type"] == "application/json"
    assert headers["Retry-After"] == "1"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert isinstance(answer.body, bytes)
    status = json.loads(answer.body)
    assert (status["message"], status["reason"]) == ("apiserver is shutting down", "ServiceUnavailable")


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/readyz", "/livez/ping", "/healthz/ping", "/readyz/ping"])
def test_health_is_answered_to_the_end(shop_served: Shop, path: str) -> None:
    shop_served.server.server.shutdown.refusing = True
    assert from_the_network(shop_served, path).status == 200


def test_what_was_let_in_may_still_ask_within_the_process(shop_served: Shop) -> None:
    """An admission plugin that reads an object while its request is finished: 503 would fail that request, too."""
    shop_served.server.server.shutdown.refusing = True
    assert shop_served.request("GET", WIDGETS).status == 200
