from __future__ import annotations

import msgspec
import pytest
from twisted.internet.defer import Deferred

from extapi.client.transport import ClientRequest, ClientResponse
from extapi.codec.strictjson import encode
from extapi.registry.stored import TURN
from tests.unit.verbs.sample import ALPHAS, WIDGETS, Shop


def fill(shop: Shop, count: int) -> None:
    """Put ``count`` copies of one widget into the store, past the server."""
    shop.create("w")
    key = next(
        entry.key
        for entry in shop.server.run(shop.server.backend.page(b"/registry/", at=None, after=b"", limit=0)).entries
        if entry.key.endswith(b"/w")
    )
    stored = shop.server.run(shop.server.backend.get(key))
    assert stored is not None
    obj = msgspec.json.decode(stored.value)
    for number in range(count):
        copy = encode({**obj, "metadata": {**obj["metadata"], "name": f"w{number:05}"}})
        shop.server.run(shop.server.backend.commit(f"{key.decode()}{number:05}".encode(), copy, expected=0))


def test_a_long_list_lets_others_have_their_turn(shop_served: Shop) -> None:
    fill(shop_served, 2 * TURN)
    answers: list[ClientResponse] = []
    listing = Deferred.fromCoroutine(shop_served.server.server.transport().send(ClientRequest("GET", WIDGETS)))
    listing.addCallback(answers.append)
    assert answers == []
    # Somebody else, in between; and a write that comes after the list has been taken is not in it.
    shop_served.create("zz")
    for _ in range(1_000):  # two in memory; as long as its dice say on a store that lags
        if not answers:
            shop_served.advance(0.001)
    (answer,) = answers
    listed = msgspec.json.decode(shop_served.server.run(answer.read()))
    names = [item["metadata"]["name"] for item in listed["items"]]
    assert names == ["w", *(f"w{number:05}" for number in range(2 * TURN))]


@pytest.mark.parametrize("shop_anywhere", ["memory"], indirect=True)  # on one that is behind, it waits for the log
def test_a_long_list_of_what_has_been_read_before_does_not_wait(shop_served: Shop) -> None:
    fill(shop_served, 2 * TURN)
    shop_served.request("GET", WIDGETS)
    again = Deferred.fromCoroutine(shop_served.server.server.transport().send(ClientRequest("GET", WIDGETS)))
    assert again.called
    assert len(shop_served.request("GET", WIDGETS).json()["items"]) == 2 * TURN + 1


def test_a_list_is_in_its_version_whatever_was_read_before(shop_served: Shop) -> None:
    fill(shop_served, 3)
    shop_served.create("x", spec={"size": 7})
    for path, size in ((WIDGETS, {"size": 7}), (ALPHAS, {"inches": "7in"}), (WIDGETS, {"size": 7})):
        items = shop_served.request("GET", path).json()["items"]
        assert {item["apiVersion"] for item in items} == {path.split("/namespaces")[0].removeprefix("/apis/")}
        assert {name: items[-1]["spec"][name] for name in size} == size
