"""Requests to go on in another protocol (RFC 9110, 7.8): 101, then bytes both ways until one side ends."""

from __future__ import annotations

from typing import Any

from extapi.listener.body import AHEAD
from tests.wire.conftest import Wire

ASK = b"GET /upgrade%b HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n"


def test_the_head_says_what_happens(wire: Wire) -> None:
    client = wire.connect()
    client.send(ASK % b"")
    client.until(lambda: b"\r\n\r\n" in client.got)
    lines = client.got.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 101 Switching Protocols"
    assert lines.count(b"Connection: Upgrade") == 1
    assert b"Upgrade: shout" in lines
    assert not any(line.lower().startswith((b"content-length", b"transfer-encoding")) for line in lines)


def test_bytes_go_both_ways_until_the_handler_returns(wire: Wire) -> None:
    client = wire.connect()
    client.send((ASK % b"") + b"early ")
    client.until(lambda: client.got.endswith(b"\r\n\r\nEARLY "))
    client.send(b"GET / HTTP\r\n\r\n")
    client.until(lambda: client.got.endswith(b"EARLY GET / HTTP\r\n\r\n"))
    client.send(b"end.")
    client.until(lambda: client.ended)
    assert client.got.endswith(b"END.")
    assert client.closed_cleanly
    assert wire.echo.ended == ["/upgrade", "upgraded"]
    ((target, status, size, _),) = wire.finished
    assert (target, status, size) == ("/upgrade", 101, len(b"early GET / HTTP\r\n\r\nend."))


def test_a_client_that_goes_is_told_of(wire: Wire) -> None:
    client = wire.connect()
    client.send(ASK % b"")
    client.until(lambda: b"\r\n\r\n" in client.got)
    client.close()
    wire.reactor.until(lambda: "upgraded" in wire.echo.ended)


def test_it_is_closed_from_inside(wire: Wire) -> None:
    client = wire.connect()
    client.send(ASK % b"")
    client.until(lambda: b"\r\n\r\n" in client.got)
    wire.echo.sinks[0].close()
    client.until(lambda: client.ended)
    assert client.closed_cleanly
    assert wire.echo.ended[-1] == "upgraded"


def test_there_is_no_deadline_any_more(wire: Wire) -> None:
    client = wire.connect()
    client.send(ASK % b"")
    client.until(lambda: b"\r\n\r\n" in client.got)
    wire.reactor.advance(10_000)
    client.send(b"late.")
    client.until(lambda: client.got.endswith(b"LATE."))


def test_what_comes_before_the_answer_is_kept_and_bounded(wire: Wire) -> None:
    client = wire.connect()
    size = 3 * AHEAD
    client.send((ASK % b"?wait=1") + b"x" * size)
    client.settle()
    connection: Any
    (connection,) = wire.listener._shared.connections
    assert len(connection._early) < 2 * AHEAD
    wire.echo.gates[0].callback(None)
    client.until(lambda: client.got.endswith(b"X" * size))


def test_the_handler_can_hold_the_client_up(wire: Wire) -> None:
    client = wire.connect()
    client.send(ASK % b"")
    client.until(lambda: b"\r\n\r\n" in client.got)
    (peer,) = wire.echo.sinks
    peer.pause()  # type: ignore[attr-defined]  # it is a Duplex
    client.send(b"held")
    client.settle()
    assert client.got.endswith(b"\r\n\r\n")
    peer.resume()  # type: ignore[attr-defined]  # it is a Duplex
    client.until(lambda: client.got.endswith(b"HELD"))


def test_a_server_that_ends_ends_it(wire: Wire) -> None:
    client = wire.connect()
    client.send(ASK % b"")
    client.until(lambda: b"\r\n\r\n" in client.got)
    done = wire.reactor.start(wire.listener.drain())
    client.until(lambda: client.ended)
    client.close()
    wire.reactor.advance(1)
    wire.reactor.until(lambda: bool(done))
    assert wire.echo.ended[-1] == "upgraded"
