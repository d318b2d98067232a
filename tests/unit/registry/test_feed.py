"""Starting and stopping feeds."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi import Api, Context, Review
from extapi.registry.feed import START_SECONDS, KindFeed
from extapi.registry.kinds import serve_kinds
from extapi.testing import serve
from tests.unit.registry.orders import ORDERS, Orders, order, served, shop


def test_a_server_starts_without_a_feed_that_hangs() -> None:
    orders = Orders()
    orders.hangs = True
    with served(orders) as server:  # which waits for the start of the server
        answer = server.request("GET", ORDERS)
        assert answer.status == 429
        assert server.request("GET", "/readyz").status == 200
        orders.hangs = False
        server.advance(60)
        assert server.request("GET", ORDERS).status == 200


def test_a_start_waits_for_the_first_list_but_not_for_long() -> None:
    clock, orders = Clock(), Orders()
    orders.hangs = True
    (kind,) = serve_kinds(shop(orders))
    feed = KindFeed(kind, clock, None)  # type: ignore[arg-type]  # no name is generated
    done: list[Any] = []
    Deferred.fromCoroutine(feed.start(None)).addBoth(done.append)
    clock.advance(START_SECONDS - 1)
    assert done == []
    clock.advance(2)
    assert done == [None]
    Deferred.fromCoroutine(feed.stop())
    clock.advance(60)
    assert clock.getDelayedCalls() == []


def test_locks_go_when_nobody_wants_them() -> None:
    (kind,) = serve_kinds(shop(Orders()))
    feed = KindFeed(kind, Clock(), None)  # type: ignore[arg-type]  # no name is generated
    order_of: list[str] = []
    gates: dict[str, Deferred[None]] = {"first": Deferred(), "second": Deferred()}

    async def write(name: str) -> None:
        async with feed.lock(b"key"):
            order_of.append(name)
            await gates[name]

    for name in gates:
        Deferred.fromCoroutine(write(name))
    assert order_of == ["first"]
    gates["first"].callback(None)
    assert order_of == ["first", "second"]
    gates["second"].callback(None)
    assert feed._locks == {}


class Prepared(Orders):
    """Needs its start before it can list."""

    started = 0

    async def start(self, context: Context) -> None:
        self.started += 1
        self.context = context

    async def list(self, request: Any) -> Any:
        assert self.started == 1
        return await super().list(request)


class Follower:
    """A plugin that waits for an informer of the fed kind."""

    async def start(self, context: Context) -> None:
        self.orders = context.informer("shop.example.com", "v1", "orders")
        await self.orders.wait_synced()

    async def validate(self, review: Review) -> None:
        return


def test_an_authors_object_starts_before_its_feed_and_others_after() -> None:
    orders, follower = Prepared(), Follower()
    orders.add(order("a"))
    with serve(Api(*shop(orders).groups, admission=[follower, orders])) as server:
        assert follower.orders.get("default", "a") is not None
        orders.push(order("a", 5))
        server.advance(1)
        found = follower.orders.get("default", "a")
        assert found is not None
        assert found["spec"]["size"] == 5
    assert orders.started == 1
