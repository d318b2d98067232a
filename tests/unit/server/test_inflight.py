"""A bound on what is in work: behaviour H7."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi import NotFound, Review
from extapi.api.user import MASTERS, User
from extapi.client.transport import ClientRequest, ClientResponse
from extapi.http.request import Request
from extapi.http.response import Response
from extapi.server.inflight import InFlight, Room
from extapi.testing import InMemoryServer, serve
from tests.unit.client.building import call, run
from tests.unit.verbs.sample import WIDGETS, Plugin, shop, widget

BOB = User("bob")
BOSS = User("boss", groups=(MASTERS,))


class Busy:
    """A server with room for one write, which hangs in a plugin until it is let go."""

    def __init__(self, server: InMemoryServer, plugin: Plugin) -> None:
        self.server = server
        self.gate: Deferred[None] = Deferred()
        plugin.on_validate = self._wait
        self.first: Deferred[ClientResponse] = self.send("hanging")

    async def _wait(self, review: Review) -> None:
        if review.object.metadata.name == "hanging":
            await self.gate

    def send(self, name: str) -> Deferred[ClientResponse]:
        body = b'{"apiVersion":"shop.example.com/v1","kind":"Widget","metadata":{"name":"%b"}}' % name.encode()

        async def send() -> ClientResponse:
            return await self.server.server.transport(BOB).send(ClientRequest("POST", WIDGETS, body=body))

        return Deferred.fromCoroutine(send())


@pytest.fixture
def busy() -> Iterator[Busy]:
    plugin = Plugin()
    with serve(shop(plugin), reads=1, writes=1) as server:
        yield Busy(server, plugin)


def test_one_write_too_many_is_429(busy: Busy) -> None:
    answer = busy.server.request("POST", WIDGETS, body=widget("x"), user=BOB)
    assert answer.status == 429
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.body.strip() == b"Too many requests, please try again later."


def test_there_is_room_again_when_one_is_done(busy: Busy) -> None:
    busy.gate.callback(None)
    assert busy.first.called
    assert busy.server.request("POST", WIDGETS, body=widget("x"), user=BOB).status == 201


def test_reads_have_a_pool_of_their_own(busy: Busy) -> None:
    assert busy.server.request("GET", WIDGETS, user=BOB).status == 200


def test_watches_do_not_count(busy: Busy) -> None:
    revision = int(busy.server.request("GET", WIDGETS).json()["metadata"]["resourceVersion"])

    async def wait() -> ClientResponse:
        query = [("resourceVersion", str(revision + 1))]
        return await busy.server.server.transport(BOB).send(ClientRequest("GET", WIDGETS, query))

    waiting = Deferred.fromCoroutine(wait())
    assert busy.server.request("GET", WIDGETS, user=BOB).status == 429
    for _ in range(3):
        assert busy.server.watch(WIDGETS, user=BOB).reply.status == 200
    assert not waiting.called


def test_operators_get_through(busy: Busy) -> None:
    assert busy.server.request("POST", WIDGETS, body=widget("x"), user=BOSS).status == 201


def test_zero_is_no_bound() -> None:
    with serve(shop(), reads=0, writes=0) as server:
        assert server.request("POST", WIDGETS, body=widget("x"), user=BOB).status == 201


ANONYMOUS = User("system:anonymous", groups=("system:unauthenticated",))


def test_nobody_in_particular_gets_a_part_of_the_places() -> None:
    plugin = Plugin()
    with serve(shop(plugin), writes=8) as server:
        gate: Deferred[None] = Deferred()

        async def wait(review: Review) -> None:
            await gate

        plugin.on_validate = wait

        def send(user: User, name: str) -> Deferred[ClientResponse]:
            body = b'{"apiVersion":"shop.example.com/v1","kind":"Widget","metadata":{"name":"%b"}}' % name.encode()
            return Deferred.fromCoroutine(server.server.transport(user).send(ClientRequest("POST", WIDGETS, body=body)))

        strangers = [send(ANONYMOUS, f"s{number}") for number in range(10)]
        assert sum(each.called for each in strangers) == 8  # refused: two are at work
        known = [send(BOB, f"k{number}") for number in range(10)]
        assert sum(each.called for each in known) == 4
        gate.callback(None)
        assert [server.run(_status(each)) for each in strangers].count(201) == 2
        assert [server.run(_status(each)) for each in known].count(201) == 6


async def _status(reply: Deferred[ClientResponse]) -> int:
    return (await reply).status


def test_probes_get_through(busy: Busy) -> None:
    revision = int(busy.server.request("GET", WIDGETS).json()["metadata"]["resourceVersion"])

    async def wait() -> ClientResponse:
        query = [("resourceVersion", str(revision + 1))]
        return await busy.server.server.transport(BOB).send(ClientRequest("GET", WIDGETS, query))

    Deferred.fromCoroutine(wait())
    assert busy.server.request("GET", "/version", user=ANONYMOUS).status == 429
    for path in ("/livez", "/readyz", "/healthz"):
        assert busy.server.request("GET", path, user=ANONYMOUS).status == 200


@pytest.mark.parametrize("error", [NotFound.path(), CancelledError(), ValueError("a bug")])
def test_a_request_that_fails_leaves_its_place(error: Exception) -> None:
    fails = True

    async def handler(_: Request) -> Response:
        if fails:
            raise error
        return Response(200)

    stage = InFlight(handler, Room(1, 1))

    async def passed() -> Response:
        return await stage(call())

    for _ in range(3):
        with pytest.raises(type(error)):
            run(passed())
    fails = False
    assert run(passed()).status == 200
