"""Bodies that come slowly, or never: time, places and memory, over TLS under a clock that a test moves."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.api.user import User
from extapi.http.request import Request
from extapi.http.response import Response
from extapi.listener.body import GRACE, RATE, BodyMemory
from extapi.server.inflight import InFlight, Room
from tests.wire.conftest import Wire
from tests.wire.harness import Client
from tests.wire.test_connections import ended
from tests.wire.test_requests import get, post

NEVER = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
CHUNKED = b"POST /x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
EXPECT = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"


def begun(wire: Wire, data: bytes) -> Client:
    """A connection on which ``data`` was sent, and its request handed to the handler."""
    calls = len(wire.echo.calls)
    client = wire.connect()
    client.send(data)
    client.until(lambda: len(wire.echo.calls) > calls)
    return client


def sent(wire: Wire, client: Client, data: bytes) -> None:
    """Send a part of the only body that is under way, and wait until it has been read."""
    exchanges: Any = wire.listener._shared.working
    (body,) = [each.body for each in exchanges if each.body is not None]
    size = body._size + len(data)
    client.send(b"%x\r\n%b\r\n" % (len(data), data))
    client.until(lambda: body._size >= size)


def test_a_body_that_never_comes_is_408(wire: Wire) -> None:
    client = begun(wire, NEVER % b"/x")
    wire.reactor.advance(GRACE - 0.1)
    assert not ended(client)
    wire.reactor.advance(0.1)
    answer = client.take()
    assert (answer.status, answer.one("connection")) == (408, "close")
    assert ended(client)
    assert wire.echo.ended == ["/x"]


@pytest.mark.parametrize(("size", "allowed"), [(1, 10), (RATE // 2, 20)])
def test_chunks_that_trickle(wire: Wire, size: int, allowed: int) -> None:
    client = begun(wire, CHUNKED)
    seconds = 0
    while not ended(client):
        sent(wire, client, b"y" * size)
        wire.reactor.advance(1)
        seconds += 1
        assert seconds < 60
    assert client.take().status == 408
    assert allowed <= seconds <= allowed + 1


def test_the_clock_runs_only_while_somebody_wants_the_body(wire: Wire) -> None:
    client = begun(wire, EXPECT % b"/wait")
    wire.reactor.advance(45)
    assert client.got == b""
    wire.echo.gates[0].callback(None)
    client.until(lambda: b"100 Continue" in client.got)
    client.got = b""
    wire.reactor.advance(GRACE - 0.1)
    client.send(b"y" * 100)
    assert client.take().body == b"y" * 100
    wire.reactor.advance(80)  # and not afterwards
    assert not ended(client)
    assert client.ask(get("/x")).status == 200


def test_a_body_that_is_late_once_does_not_shorten_the_next(wire: Wire) -> None:
    client = begun(wire, NEVER % b"/x")
    wire.reactor.advance(9)
    client.send(b"y" * 100)
    assert client.take().status == 200
    client.send(NEVER % b"/y")
    client.settle()
    wire.reactor.advance(9)
    client.send(b"y" * 100)
    assert client.take().status == 200


class Slots:
    """Two places for writes in front of the echo."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.room = Room(2, 2)
        self.inflight = InFlight(wire.echo, self.room)
        wire.listener._shared.handler = self

    async def __call__(self, call: Request) -> Response:
        call.user = User("bob", groups=("system:authenticated",))
        return await self.inflight(call)

    @property
    def taken(self) -> int:
        return self.room.writes.taken


def test_bodies_that_never_come_hold_no_places(wire: Wire) -> None:
    slots = Slots(wire)
    slow = [begun(wire, NEVER % b"/x") for _ in range(6)]
    assert (len(wire.echo.calls), slots.taken) == (6, 0)
    assert wire.connect().ask(post("/x", b"here")).body == b"here"
    for client in slow:
        client.send(b"y" * 100)
        assert client.take().body == b"y" * 100
    assert slots.taken == 0


def test_a_body_that_comes_when_all_places_are_taken_is_429(wire: Wire) -> None:
    slots = Slots(wire)
    late = begun(wire, NEVER % b"/x")
    working = [begun(wire, post("/wait", b"w")) for _ in range(2)]
    assert slots.taken == 2
    late.send(b"y" * 100)
    answer = late.take()
    assert (answer.status, answer.one("retry-after")) == (429, "1")
    assert answer.body == b"Too many requests, please try again later.\n"
    assert not ended(late)  # it was read to its end: the connection is as good as before
    for gate in wire.echo.gates:
        gate.callback(None)
    assert [client.take().body for client in working] == [b"w", b"w"]
    assert slots.taken == 0
    assert late.ask(post("/x", b"again")).body == b"again"


def test_a_peer_that_goes_away_leaves_its_place_once(wire: Wire) -> None:
    slots = Slots(wire)
    for target, data in ((b"/x", NEVER), (b"/wait", NEVER)):
        client = begun(wire, data % target)
        client.close()
        wire.reactor.until(lambda: wire.listener.connections == 0)
    assert slots.taken == 1  # what a write has begun is never cut off
    wire.echo.gates[0].callback(None)
    assert slots.taken == 0
    reading = begun(wire, get("/wait"))
    assert slots.room.reads.taken == 1
    reading.close()
    wire.reactor.until(lambda: wire.listener.connections == 0)
    assert slots.room.reads.taken == 0


def test_a_slow_body_gives_its_place_back_once(wire: Wire) -> None:
    slots = Slots(wire)
    client = begun(wire, NEVER % b"/x")
    wire.reactor.advance(GRACE)
    assert (client.take().status, slots.taken) == (408, 0)


def part(wire: Wire, size: int) -> Client:
    """A body of 300,000 bytes, ``size`` of which have come."""
    memory = wire.listener._shared.bodies
    client = begun(wire, post("/x", b"y" * 300_000)[:-300_000])
    total = memory.total + size
    client.send(b"y" * size)
    client.until(lambda: memory.total >= total or bool(wire.finished))
    return client


def test_bodies_together_have_room_for_so_much(wire: Wire) -> None:
    """Who has taken the most for the longest time has to go, and only as many as have to."""
    memory = wire.listener._shared.bodies = BodyMemory(1_000_000)
    hoarders = [part(wire, 250_000) for _ in range(3)]
    small = part(wire, 1000)
    wire.reactor.advance(5)
    assert memory.total == 751_000
    quick = part(wire, 260_000)
    assert [status for _, status, *_ in wire.finished] == [429]
    refused = [client for client in (*hoarders, small, quick) if ended(client)]
    assert len(refused) == 1
    assert refused[0] in hoarders
    assert refused[0].take().status == 429
    quick.send(b"y" * 40_000)
    assert quick.take().status == 200
    small.send(b"y" * 299_000)
    assert small.take().status == 200
    for client in hoarders:
        client.close()
    wire.reactor.until(lambda: wire.listener.connections == 2)
    assert (memory.total, memory._bodies) == (0, {})


def test_what_nobody_reads_counts_as_well(wire: Wire) -> None:
    memory = wire.listener._shared.bodies = BodyMemory(1_000_000)
    waiting = begun(wire, post("/wait", b"y" * 300_000)[:-100])
    waiting.until(lambda: memory.total > 60_000)
    waiting.settle()
    assert 60_000 < memory.total < 100_000  # as much as is read ahead
    ignored = begun(wire, post("/ignore", b"y" * 300_000)[:-100])
    assert ignored.take().status == 200
    wire.echo.gates[0].callback(None)
    waiting.close()
    ignored.close()
    wire.reactor.until(lambda: wire.listener.connections == 0)
    assert (memory.total, memory._bodies) == (0, {})
