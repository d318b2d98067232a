"""Watches that an author's code serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi import Api, Group, Kind, ObjectEvent, RESTRequest, User, Version
from extapi.api.declaration import DeclarationError
from extapi.registry import authorwatch
from extapi.testing import serve
from tests.unit.registry.orders import ALL, GROUP, ORDERS, Order, Orders, logged, order, shop

ALICE, BOB = (User(name, groups=("system:masters",)) for name in ("alice", "bob"))


class Mine:
    """Everybody sees an order of his own, then what is pushed."""

    def __init__(self) -> None:
        self.asked: list[RESTRequest] = []
        self.closed = 0
        self.stubborn: Deferred[None] | None = None
        """What it waits for instead of ending when it is cancelled."""
        self._queues: list[tuple[list[Any], list[Deferred[None]]]] = []

    def push(self, *events: Any) -> None:
        for queue, waiting in self._queues:
            queue.extend(events)
            if waiting:
                waiting.pop().callback(None)

    async def list(self, request: RESTRequest) -> list[Order]:
        return [order(f"of-{request.user.name}")]

    async def watch(self, request: RESTRequest) -> AsyncIterator[Any]:
        self.asked.append(request)
        queue: list[Any] = []
        waiting: list[Deferred[None]] = []
        self._queues.append((queue, waiting))
        try:
            for each in await self.list(request):
                yield ObjectEvent("ADDED", each)
            while True:
                while queue:
                    event = queue.pop(0)
                    if isinstance(event, Exception):
                        raise event
                    if event == "end":
                        return
                    yield event
                waiting.append(Deferred())
                try:
                    await waiting[-1]
                except CancelledError:
                    if self.stubborn is None:
                        raise
                    await self.stubborn
        finally:
            self.closed += 1


def seen(stream: Any) -> list[tuple[str, str]]:
    return [(kind, obj["metadata"]["name"]) for kind, obj in stream.events]


def api(mine: Any) -> Api:
    kind = Kind(
        "Order", storage="v1", status=False, versions={"v1": Version(Order, selectable=[".spec.note"])}, rest=mine
    )
    return Api(Group(GROUP, kind))


def test_each_user_has_a_watch_of_his_own() -> None:
    mine = Mine()
    with serve(api(mine)) as server:
        (resource,) = server.request("GET", f"/apis/{GROUP}/v1").json()["resources"]
        assert set(resource["verbs"]) == {"list", "watch"}
        streams = [server.watch(ALL, user=user) for user in (ALICE, BOB)]
        mine.push(ObjectEvent("MODIFIED", order("both", 2, resource_version="17")))
        server.advance(1)
        assert [seen(stream)[0] for stream in streams] == [("ADDED", "of-alice"), ("ADDED", "of-bob")]
        assert seen(streams[0])[1:] == [("MODIFIED", "both")]
        assert streams[0].events[1][1]["metadata"]["resourceVersion"] == "17"
        assert [asked.user.name for asked in mine.asked] == ["alice", "bob"]
        streams[0].close()
        server.advance(1)
        assert mine.closed == 1
    assert mine.closed == 2  # the server has ended the other one
    assert streams[1].ended
    assert streams[1].error is None


def test_selectors_select_events() -> None:
    """Behaviour F12."""
    mine = Mine()
    with serve(api(mine)) as server:
        stream = server.watch(ALL, {"labelSelector": "color=red"})
        for kind, color in (("MODIFIED", "red"), ("MODIFIED", "red"), ("MODIFIED", "blue"), ("DELETED", "blue")):
            mine.push(ObjectEvent(kind, order("a", labels={"color": color})))  # type: ignore[arg-type]  # they are literals
        server.advance(1)
        assert seen(stream) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
        elsewhere = server.watch(ORDERS.replace("default", "other"))
        mine.push(ObjectEvent("ADDED", order("here")), ObjectEvent("ADDED", order("there", namespace="other")))
        server.advance(1)
        assert seen(elsewhere) == [("ADDED", "there")]


def test_tables_and_metadata() -> None:
    with serve(api(Mine())) as server:
        table = server.watch(ALL, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}, user=ALICE)
        assert table.events[0][1]["rows"][0]["cells"][0] == "of-alice"
        partial = server.watch(
            ALL, headers={"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}, user=ALICE
        )
        assert partial.events[0][1]["kind"] == "PartialObjectMetadata"


def test_no_watch_resumes() -> None:
    """A client is told so, and lists: nothing is skipped in silence."""
    with serve(api(Mine())) as server:
        ((kind, status),) = server.watch(ALL, {"resourceVersion": "17"}).events
        assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
        query = {"watch": "true", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        answer = server.request("GET", ALL, {**query, "allowWatchBookmarks": "true"})
        assert (answer.status, answer.json()["reason"]) == (422, "Invalid")


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (KeyError("gone"), "watch raised an exception"),
        (17, "watch: it yielded a value of type int instead of an ObjectEvent"),
        (ObjectEvent("BOOKMARK", order("a")), "watch: it yielded a value of type ObjectEvent"),  # type: ignore[arg-type]  # the mistake
        (ObjectEvent("ADDED", order("")), "watch: it yielded an object without a name"),
        (ObjectEvent("ADDED", order("a", resource_version="x")), "a resourceVersion that is no number"),
    ],
)
def test_a_watch_that_fails_is_named_and_ends(event: Any, why: str) -> None:
    mine = Mine()
    with serve(api(mine)) as server, logged() as lines:
        stream = server.watch(ALL)
        mine.push(event)
        server.advance(1)
        (line,) = [line for line in lines if line.startswith("a watch of orders failed: ")]
        assert why in line
        assert stream.ended
        assert stream.error is None
        assert len(stream.events) == 1
        assert mine.closed == 1


def test_what_is_no_order_is_an_error_event() -> None:
    mine = Mine()
    with serve(api(mine)) as server:
        stream = server.watch(ALL)
        mine.push(ObjectEvent("ADDED", "nonsense"))
        server.advance(1)
        kind, status = stream.events[-1]
        assert (kind, status["code"]) == ("ERROR", 500)
        assert stream.ended


def test_a_watch_may_end_by_itself_and_ends_in_time() -> None:
    mine = Mine()
    with serve(api(mine)) as server:
        first, second = server.watch(ALL), server.watch(ALL, {"timeoutSeconds": "5"})
        mine.push("end")
        server.advance(1)
        assert first.ended
        third = server.watch(ALL, {"timeoutSeconds": "5"})
        server.advance(6)
        assert second.ended
        assert third.ended
        assert third.error is None
        assert mine.closed == 3


def test_code_that_cannot_be_cancelled_keeps_no_connection() -> None:
    mine = Mine()
    mine.stubborn = Deferred()
    with serve(api(mine)) as server:
        stream = server.watch(ALL, {"timeoutSeconds": "5"})
        server.advance(6)
        assert stream.ended
        assert stream.error is None
        assert mine.closed == 0
        mine.stubborn.callback(None)
        assert mine.closed == 0  # it goes on, and is closed with its next event
        mine.push(ObjectEvent("ADDED", order("a")))
        assert mine.closed == 1
        assert len(stream.events) == 1


def test_a_watch_with_selectors_remembers_so_many_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authorwatch, "MAX_SHOWN", 3)
    mine = Mine()
    with serve(api(mine)) as server, logged() as lines:
        stream = server.watch(ORDERS)
        mine.push(*(ObjectEvent("ADDED", order(f"o{n}")) for n in range(5)))
        server.advance(1)
        assert len(stream.events) == 3
        assert any("more than 3 objects" in line for line in lines)


def test_watches_of_a_kind_that_goes_end() -> None:
    mine = Mine()
    with serve(api(mine)) as server:
        stream = server.watch(ALL)
        server.run(server.server.replace(server.server._served.catalogue.groups))
        server.advance(1)
        assert not stream.ended
        server.run(server.server.replace(api(Mine()).groups))
        server.advance(1)
        assert stream.ended


class Both(Orders):
    async def watch(self, request: RESTRequest) -> AsyncIterator[Any]:
        yield None


class NotGenerating:
    async def list(self, request: RESTRequest) -> list[Any]:
        return []

    async def watch(self, request: RESTRequest) -> Any:
        return None


class Unlisted:
    async def watch(self, request: RESTRequest) -> AsyncIterator[Any]:
        yield None


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        (Both(), "rest has the methods changes and watch"),
        (NotGenerating(), r"rest: watch is no async generator; write async def watch\(self, request\) with yield"),
        (Unlisted(), "rest has none of the methods|rest has a method watch but no method list"),
    ],
)
def test_what_cannot_watch_is_refused_at_start(rest: Any, why: str) -> None:
    with pytest.raises(DeclarationError, match=why):
        shop(rest)
