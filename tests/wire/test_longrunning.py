"""Long-running requests: the body arrives while the response leaves, without a deadline, until one side ends."""

from __future__ import annotations

import socket

import pytest

from extapi.listener.body import AHEAD
from tests.wire.conftest import Wire

ASK = b"%b /shout%b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def test_a_body_is_answered_piece_by_piece_while_it_arrives(wire: Wire) -> None:
    client = wire.connect()
    client.send((ASK % (b"POST", b"")) + chunk(b"one"))
    client.until(lambda: client.got.endswith(chunk(b"ONE")))
    wire.reactor.advance(10_000)  # neither the deadline of a request nor the pace of a body matters
    client.send(chunk(b"two"))
    client.until(lambda: client.got.endswith(chunk(b"TWO")))
    client.send(b"0\r\n\r\n")
    client.until(lambda: client.got.endswith(b"0\r\n\r\n"))
    assert wire.finished[0][:3] == ("/shout", 200, 6)


def test_a_client_that_waits_for_100_is_told_to_continue(wire: Wire) -> None:
    client = wire.connect()
    client.send(b"POST /shout HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    client.until(lambda: b"HTTP/1.1 100 Continue\r\n\r\n" in client.got)
    client.send(b"one")
    client.until(lambda: client.got.endswith(chunk(b"ONE") + b"0\r\n\r\n"))


def test_a_body_that_nobody_reads_waits_at_the_client(wire: Wire) -> None:
    client = wire.connect()
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
    client.send(ASK % (b"POST", b"?wait=1"))
    client.until(lambda: bool(wire.echo.gates))
    size = 1 << 22
    client.send(b"%x\r\n" % size + b"x" * size + b"\r\n")
    client.settle()
    (request,) = wire.echo.calls
    assert request.body.kept <= 2 * AHEAD  # type: ignore[attr-defined]  # it is a RequestBody
    wire.echo.gates[0].callback(None)
    client.until(lambda: wire.echo.pieces == size)
    assert request.body.kept == 0  # type: ignore[attr-defined]  # it is a RequestBody


@pytest.mark.parametrize("method", [b"GET", b"POST"])
@pytest.mark.parametrize(
    ("query", "told"), [(b"", "unexpected EOF"), (b"?wait=1", "producer"), (b"?hold=1", "/shout?hold=1")]
)
def test_it_ends_when_its_client_leaves(wire: Wire, method: bytes, query: bytes, told: str) -> None:
    client = wire.connect()
    client.send(ASK % (method, query))
    wire.reactor.until(lambda: bool(wire.echo.calls))
    client.settle()
    client.close()
    wire.reactor.until(lambda: told in (*wire.echo.ended, *wire.echo.cancelled))
    wire.reactor.until(lambda: wire.listener.working == 0)


def test_the_deadline_does_not_end_one_that_had_to_wait_first(wire: Wire) -> None:
    client = wire.connect()
    client.send(ASK % (b"POST", b"?hold=1"))
    wire.reactor.until(lambda: bool(wire.echo.gates))
    wire.reactor.advance(1000)
    wire.echo.gates[0].callback(None)
    client.send(chunk(b"late"))
    client.until(lambda: client.got.endswith(chunk(b"LATE")))


def test_a_broken_body_breaks_the_response_off(wire: Wire) -> None:
    client = wire.connect()
    client.send((ASK % (b"POST", b"")) + chunk(b"one"))
    client.until(lambda: client.got.endswith(chunk(b"ONE")))
    client.send(b"no chunk\r\n")
    client.until(lambda: client.ended)
    assert not client.got.endswith(b"0\r\n\r\n")


def test_what_is_left_of_a_body_ends_the_connection(wire: Wire) -> None:
    client = wire.connect()
    client.send((ASK % (b"POST", b"")) + chunk(b"one"))
    client.until(lambda: client.got.endswith(chunk(b"ONE")))
    assert b"Connection: close\r\n" in client.got


def test_parting_words_are_sent_when_a_server_ends(wire: Wire) -> None:
    client = wire.connect()
    client.send(b"GET /upgrade HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n")
    client.until(lambda: b"\r\n\r\n" in client.got)
    (peer,) = wire.echo.sinks
    peer.parting = b"goodbye"  # type: ignore[attr-defined]  # it is a Duplex
    done = wire.reactor.start(wire.listener.drain())
    client.until(lambda: client.ended)
    assert client.got.endswith(b"\r\n\r\ngoodbye")
    client.close()
    wire.reactor.advance(1)
    wire.reactor.until(lambda: bool(done))
