"""The end of a connection's life (``--connection-requests``): announced by a response, and no request is lost by it.

RFC 9112, section 9.6: whoever sends ``Connection: close`` processes no further request on that connection. So it is only sent
where none has begun to arrive.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from extapi.listener.listener import Listener
from extapi.listener.sink import StreamSink
from extapi.listener.state import Limits, ListenerState
from extapi.listener.tls import ServingCertificate
from tests.certificates import Issued
from tests.wire.conftest import Echo, Wire
from tests.wire.harness import Client, SelectClock
from tests.wire.test_requests import get, post
from tests.wire.test_upgrades import ASK


class Middle(Random):
    """Every life is as long as the limits say."""

    def random(self) -> float:
        return 0.5


@pytest.fixture
def short(server_certificate: Issued, trusting: ssl.SSLContext, tmp_path: Path) -> Iterator[Wire]:
    """Connections serve three requests."""
    reactor, echo = SelectClock(), Echo()
    listener = Listener(
        reactor,
        echo,
        tls=ServingCertificate(*server_certificate.save(tmp_path, "server")),
        interface="127.0.0.1",
        port=0,
        limits=Limits(requests=3),
        random=Middle(),
    )
    running = Wire(reactor, listener, echo, listener.start(), trusting, [], [])
    yield running
    for client in running.clients:
        client.close()
    reactor.pass_time(listener.drain(0))


def until_closed(client: Client) -> None:
    client.until(lambda: client.closed_cleanly and client.ended)


def test_the_last_response_says_so(short: Wire) -> None:
    client = short.connect()
    answers = [client.ask(get(f"/{number}")) for number in range(3)]
    assert [answer.one("connection") for answer in answers] == ["", "", "close"]
    assert [answer.body for answer in answers] == [b"echo /0", b"echo /1", b"echo /2"]
    until_closed(client)


def test_requests_that_are_on_their_way_are_answered_first(short: Wire) -> None:
    """A pipelining client reads no response after the one that says close."""
    client = short.connect()
    client.send(b"".join(get(f"/{number}") for number in range(5)))
    answers = [client.take() for _ in range(5)]
    assert [answer.body for answer in answers] == [b"echo /%d" % number for number in range(5)]
    assert [answer.one("connection") for answer in answers] == ["", "", "", "", "close"]
    until_closed(client)


def test_a_request_that_has_begun_to_arrive_is_answered_too(short: Wire) -> None:
    client = short.connect()
    for number in range(2):
        client.ask(get(f"/{number}"))
    last = get("/3")
    client.send(get("/2") + last[:10])
    answer = client.take()
    assert (answer.body, answer.one("connection")) == (b"echo /2", "")
    client.send(last[10:])
    answer = client.take()
    assert (answer.body, answer.one("connection")) == (b"echo /3", "close")
    until_closed(client)


def test_a_body_that_is_still_arriving_does_not_count_as_a_request(short: Wire) -> None:
    client = short.connect()
    for number in range(2):
        client.ask(get(f"/{number}"))
    answer = client.ask(post("/x", b"body"))
    assert (answer.body, answer.one("connection")) == (b"body", "close")
    until_closed(client)


def test_the_end_of_a_stream_is_not_the_end_of_its_connection(short: Wire) -> None:
    """A watch lives for as long as its client wants; the response after it tells."""
    client = short.connect()
    for number in range(2):
        client.ask(get(f"/{number}"))
    client.send(get("/apis/g/v1/things?watch=1"))
    client.until(lambda: b"event" in client.got)
    short.reactor.advance(3600)
    client.settle()
    assert not client.ended
    sink = short.echo.sinks[0]
    assert isinstance(sink, StreamSink)
    sink.close()
    watch = client.take()
    assert (watch.body, watch.whole, watch.one("connection")) == (b"event", True, "")
    answer = client.ask(get("/after"))
    assert (answer.body, answer.one("connection")) == (b"echo /after", "close")
    until_closed(client)


def test_an_upgraded_connection_is_left_alone(short: Wire) -> None:
    client = short.connect()
    for number in range(2):
        client.ask(get(f"/{number}"))
    client.send(ASK % b"")
    client.until(lambda: client.got.endswith(b"\r\n\r\n"))
    assert b"Connection: Upgrade\r\n" in client.got
    short.reactor.advance(3600)
    client.send(b"hello")
    client.until(lambda: client.got.endswith(b"HELLO"))
    assert not client.ended


def test_an_old_connection_ends_with_its_next_response(short: Wire) -> None:
    """Never while it is idle: a request may be on its way then."""
    client = short.connect()
    short.reactor.advance(1)
    assert client.ask(get("/early")).one("connection") == ""
    short.reactor.advance(60)
    client.settle()
    assert not client.ended
    short.reactor.rightNow += Limits().life  # no timer of ours fires: the idle time is not what ends it
    answer = client.ask(get("/late"))
    assert (answer.body, answer.one("connection")) == (b"echo /late", "close")
    until_closed(client)


def test_http_1_0_ends_as_before(short: Wire) -> None:
    client = short.connect()
    answer = client.ask(b"GET /x HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
    assert answer.one("connection") == "keep-alive"
    client.ask(get("/y"))
    assert client.ask(b"GET /x HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n").one("connection") == "close"
    until_closed(client)


def test_lives_differ_by_a_fifth_either_way() -> None:
    """Else the connections that began together would end together."""
    handler: Any = None  # is not called
    random = Random(7)  # noqa: S311 - a test's
    shared = ListenerState(SelectClock(), handler, Limits(requests=1000), random=random)
    lives = [shared.life() for _ in range(2000)]
    requests, until = [life.requests for life in lives], [life.until for life in lives]
    assert 800 <= min(requests) < 810
    assert 1190 < max(requests) <= 1200
    assert 240 <= min(until) < 242
    assert 358 < max(until) <= 360
    few = ListenerState(SelectClock(), handler, Limits(requests=1), random=random)
    assert {few.life().requests for _ in range(100)} == {1}


def test_by_default_a_connection_is_used_for_as_long_as_its_client_wants(wire: Wire) -> None:
    client = wire.connect()
    assert {client.ask(get("/x")).one("connection") for _ in range(50)} == {""}
    for _ in range(10):
        wire.reactor.advance(80)
        assert client.ask(get("/x")).one("connection") == ""
