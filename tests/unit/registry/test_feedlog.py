"""What an author's feed may do to the server: nothing. And what it says meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from extapi.registry import feedlog
from extapi.registry.feedlog import LIST_SECONDS, FeedLog
from extapi.registry.kinds import serve_kinds
from extapi.storage.base import Unavailable
from extapi.testing import InMemoryServer
from tests.unit.registry.orders import ORDERS, RELIST, Deleted, Orders, logged, order, served, shop


def status(server: InMemoryServer) -> int:
    return server.request("GET", ORDERS, {"resourceVersion": "0"}).status


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (ValueError("the connection is gone"), "changes raised an exception"),
        ("end", "changes: it ended, but has to yield changes for as long as the server runs"),
        (17, "changes: a value of type int cannot be read"),
        (order("Bad_Name"), 'changes: object "default/Bad_Name" breaks the rules of metadata: metadata.name'),
        (
            order("a", namespace=""),
            'changes: object "a" breaks the rules of metadata: metadata.namespace: Required value',
        ),
        (order("a", labels={"a": 1}), 'changes: object "default/a" cannot be read'),
        ({"metadata": {"name": "a", "namespace": "default"}, "spec": {"size": float("nan")}}, "is no JSON"),
        (
            {"metadata": {"name": "a", "namespace": "default"}, "spec": {"note": "x" * 7_000_000}},
            "the limit is 6291456",
        ),
    ],
)
def test_a_feed_that_fails_is_named_and_followed_again(change: Any, why: str) -> None:
    orders = Orders()
    orders.add(order("known"))
    with served(orders) as server, logged() as lines:
        stream = server.watch(ORDERS)
        orders.push(change)
        server.advance(0.05)
        (line,) = [line for line in lines if line.startswith("the feed of orders.shop.example.com failed: ")]
        assert why in line
        assert stream.ended
        assert stream.error is None
        assert [kind for kind, _ in stream.events] == ["ADDED"]  # no error: the client resumes
        server.advance(1)
        assert (orders.generators, orders.closed) == (2, 1)
        at = stream.events[0][1]["metadata"]["resourceVersion"]
        orders.push(order("known", 2))
        resumed = server.watch(ORDERS, {"resourceVersion": at})
        server.advance(1)
        assert [kind for kind, _ in resumed.events] == ["MODIFIED"]


def test_a_feed_that_fails_again_and_again_is_asked_ever_more_rarely() -> None:
    orders = Orders()
    with served(orders) as server:
        orders.broken = OSError("the database is gone")
        orders.push(RELIST)
        server.advance(0.1)
        before = orders.lists
        server.advance(120)
        # After pauses of 0.2, 0.4 and so on up to 10 s: some 17 times in two minutes.
        assert 12 <= orders.lists - before <= 22
        before = orders.lists
        for _ in range(50):
            answer = server.request("GET", ORDERS)
            assert answer.status == 429
            assert answer.headers["retry-after"]
        assert orders.lists == before  # clients cannot have it asked more often
        orders.broken = None
        server.advance(11)
        assert status(server) == 200


@pytest.mark.parametrize("error", [CancelledError(), SystemExit(1)])
def test_only_the_server_ends_a_feed(error: BaseException) -> None:
    """A call that something else has cancelled in the author's code, or its exit, ended the kind's log for ever."""
    orders = Orders()
    with served(orders) as server:
        orders.broken = error
        orders.push(RELIST)
        server.advance(1)
        orders.broken = None
        orders.push(error)
        server.advance(11)
        assert status(server) == 200
        stream = server.watch(ORDERS)
        orders.push(order("late"))
        server.advance(0.1)
        assert [obj["metadata"]["name"] for _, obj in stream.events] == ["late"]


def test_a_feed_that_fails_once_followed_is_asked_ever_more_rarely() -> None:
    """Its list is good each time, so each time there is something to watch."""
    orders = Orders()
    with served(orders) as server:
        for _ in range(1200):
            orders.push(OSError("gone"))
            server.advance(0.1)
        assert orders.generators < 30


def test_a_list_that_hangs_delays_only_who_asks() -> None:
    orders = Orders()
    orders.add(order("a"))
    with served(orders) as server, logged() as lines:
        stream = server.watch(ORDERS)
        orders.hangs = True
        answer = server.request("GET", ORDERS)
        assert (answer.status, answer.json()["reason"]) == (500, "ServerTimeout")
        assert any(f"list: it did not return within {LIST_SECONDS:g} s" in line for line in lines)
        orders.push(order("a", 2))
        server.advance(1)
        assert not stream.ended
        assert [kind for kind, _ in stream.events] == ["ADDED", "MODIFIED"]
        assert status(server) == 200


def test_reads_share_lists_but_get_none_that_began_before() -> None:
    orders = Orders()
    with served(orders) as server:
        orders.add(order("a"))
        log = next(iter(server.server._served.catalogue.feeds.values())).log
        before = orders.lists
        orders.hangs = True
        done: list[Any] = []
        for _ in range(5):
            Deferred.fromCoroutine(log.relist()).addBoth(done.append)
        assert orders.lists == before + 1
        orders.hangs = False
        server.advance(LIST_SECONDS + 1)
        assert orders.lists == before + 2
        assert isinstance(done[0].value, Unavailable)
        assert done[1:] == [None] * 4


def test_what_changes_during_a_list_is_newer() -> None:
    """The list shows each object as it was before or after; the change is what came last."""
    orders = SlowOrders()
    orders.add(order("a", 1), order("b", 1))
    with served(orders) as server:
        stream = server.watch(ORDERS)
        slow = orders.slow = Deferred()
        orders.push(RELIST)
        server.advance(0.1)
        log = next(iter(server.server._served.catalogue.feeds.values())).log
        server.run(log.put(order("a", 2)))
        server.run(log.put(order("new", 1)))
        server.run(log.remove(b"/registry/shop.example.com/orders/default/b"))
        slow.callback(None)
        server.advance(0.1)
        assert [(kind, obj["metadata"]["name"], obj["spec"]["size"]) for kind, obj in stream.events] == [
            ("ADDED", "a", 1),
            ("ADDED", "b", 1),
            ("MODIFIED", "a", 2),
            ("ADDED", "new", 1),
            ("DELETED", "b", 1),
        ]


class SlowOrders(Orders):
    """Reads the table, then takes its time."""

    slow: Deferred[None] | None = None

    async def list(self, request: Any) -> Any:
        found = await super().list(request)
        slow, self.slow = self.slow, None
        if slow is not None:
            await slow
        return found


@pytest.mark.parametrize(
    ("gives", "why"),
    [
        ("text", "list: it returned a value of type str instead of objects"),
        (7, "list: it returned a value of type int instead of objects"),
        ([order("a"), order("a", 2)], "list: two objects have the key /registry/shop.example.com/orders/default/a"),
    ],
)
def test_a_list_of_nonsense_is_named(gives: Any, why: str) -> None:
    orders = Orders()
    with served(orders) as server, logged() as lines:
        orders.gives = gives
        assert server.request("GET", ORDERS).status == 500
        assert f"the feed of orders.shop.example.com failed: {why}" in lines


def test_no_feed_has_more_objects_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedlog, "MAX_OBJECTS", 10)
    orders = Orders()
    with served(orders) as server, logged() as lines:
        orders.add(*(order(f"o{n}") for n in range(10)))
        assert server.request("GET", ORDERS).status == 200
        orders.push(order("one-more"))
        server.advance(0.05)
        assert "the feed of orders.shop.example.com failed: changes: there are more than 10 objects" in lines
        orders.add(order("o10"))
        server.advance(1)
        assert "the feed of orders.shop.example.com failed: list: there are more than 10 objects" in lines


def test_many_changes_leave_turns_to_others() -> None:
    """A generator that never waits must not have the reactor for itself."""
    clock = Clock()
    orders = EndlessOrders()
    (kind,) = serve_kinds(shop(orders))
    log = FeedLog(kind, clock)
    log.begin(None)
    Deferred.fromCoroutine(log.relist())
    assert orders.count == feedlog.TURN
    assert len(clock.getDelayedCalls()) == 1  # others have their turn before the next change
    log.stop()
    assert clock.getDelayedCalls() == []
    assert orders.count == feedlog.TURN


class EndlessOrders(Orders):
    """Yields for ever, and never waits."""

    count = 0

    async def changes(self, context: Any) -> Any:
        while True:
            self.count += 1
            yield Deleted(f"o{self.count}", "default")


def test_what_relists_at_once_has_one_generator() -> None:
    """The protocol allows RELIST as the first thing to yield."""
    orders = Orders()
    orders.push(RELIST, RELIST)
    orders.add(order("a"))
    with served(orders) as server:
        assert orders.generators == 1
        assert status(server) == 200
    assert orders.closed == 1


def test_a_log_that_was_not_begun_asks_nobody() -> None:
    orders = Orders()
    (kind,) = serve_kinds(shop(orders))
    log = FeedLog(kind, Clock())
    failures: list[Any] = []
    Deferred.fromCoroutine(log.revision()).addErrback(failures.append)
    Deferred.fromCoroutine(log.commit(b"key", b"value", expected=0)).addErrback(failures.append)
    assert [type(failure.value) for failure in failures] == [Unavailable, Unavailable]
    assert (orders.lists, orders.generators) == (0, 0)
