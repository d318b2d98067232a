"""Writes whose answer from the store is lost: they may have been done, and are never done again (behaviour K18)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from twisted.internet.task import Clock

from extapi.storage.base import Uncertain
from extapi.storage.memory import MemoryBackend
from extapi.testing import serve
from extapi.testing.memory import START
from tests.unit.verbs.sample import WIDGETS, Plugin, Shop, failure, shop, widget

APPEND = [{"op": "add", "path": "/metadata/finalizers/-", "value": "shop.example.com/more"}]


class Unanswered(MemoryBackend):
    """A store that on demand does what it is asked, and does not say so."""

    silent = False

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        revision = await super().commit(key, value, expected=expected)
        if self.silent:
            raise Uncertain("no answer came in time")
        return revision


class UnansweredShop(Shop):
    backend: Unanswered


@pytest.fixture
def unanswered() -> Iterator[UnansweredShop]:
    clock = Clock()
    clock.advance(START)
    plugin = Plugin()
    backend = Unanswered(clock)
    with serve(shop(plugin), clock=clock, backend=backend) as server:
        served = UnansweredShop(server, plugin)
        served.backend = backend
        yield served


@pytest.mark.parametrize(("verb", "left"), [("POST", 2), ("PUT", 1), ("PATCH", 1), ("DELETE", 0)])
def test_a_write_that_may_have_been_done_is_a_504_and_is_not_repeated(
    unanswered: UnansweredShop, verb: str, left: int
) -> None:
    """As in ``etcd3/store.go`` GuaranteedUpdate: an error of the transaction is returned, and only a conflict is tried again.

    The object is in the cache, which is older than the store by the write itself.
    """
    finalizers = [] if verb == "DELETE" else ["shop.example.com/one"]
    made = unanswered.create(finalizers=finalizers)
    unanswered.backend.silent = True
    if verb == "POST":
        answer = unanswered.request(verb, WIDGETS, body=widget("x"))
    elif verb == "PATCH":
        headers = {"Content-Type": "application/json-patch+json"}
        answer = unanswered.request(verb, f"{WIDGETS}/w", headers=headers, body=APPEND)
    else:
        body = {**made, "spec": {**made["spec"], "size": 9}} if verb == "PUT" else None
        answer = unanswered.request(verb, f"{WIDGETS}/w", body=body)
    assert (answer.status, failure(answer)["reason"]) == (504, "Timeout")
    unanswered.backend.silent = False
    items = unanswered.request("GET", WIDGETS).json()["items"]
    assert len(items) == left
    if verb == "PUT":
        assert items[0]["spec"]["size"] == 9
    if verb == "PATCH":
        assert items[0]["metadata"]["finalizers"] == ["shop.example.com/one", "shop.example.com/more"]
