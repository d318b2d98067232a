"""The end of a listener: each request of which a byte was sent when it began to drain is answered.

The listener's 503 belongs to the server (``server/shutdown``); here the handler goes on answering.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest

from extapi.listener.acceptor import HALF_OPEN, TURN
from extapi.listener.state import Limits
from tests.wire.conftest import Wire
from tests.wire.harness import Client
from tests.wire.test_requests import get, post

FAREWELL = Limits().farewell


def until_closed(client: Client) -> None:
    client.until(lambda: client.closed_cleanly and client.ended)


def until_drained(wire: Wire, done: Sequence[object], *clients: Client) -> None:
    """The end of all connections, without a reset, within the time that idle ones have."""
    wire.reactor.advance(FAREWELL + HALF_OPEN)
    for client in clients:
        until_closed(client)
        client.close()
    wire.reactor.until(lambda: bool(done))


def test_idle_connections_end_and_the_others_finish(wire: Wire) -> None:
    idle, silent, busy, watch = (wire.connect() for _ in range(4))
    idle.ask(get("/x"))
    busy.send(get("/wait"))
    watch.send(get("/apis/g/v1/things?watch=1"))
    watch.until(lambda: b"event" in watch.got)
    done = wire.reactor.start(wire.listener.drain(30))
    answer = watch.take()
    assert (answer.body, answer.whole) == (b"event", True)
    for client in (idle, silent, watch):
        client.settle()
        assert not client.ended
    wire.reactor.advance(FAREWELL)
    for client in (idle, silent, watch):
        until_closed(client)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(wire.address)
    assert done == []
    wire.echo.gates[0].callback(None)
    answer = busy.take()
    assert (answer.body, answer.one("connection")) == (b"echo /wait", "close")
    until_closed(busy)
    for client in (idle, silent, watch, busy):
        client.close()
    wire.reactor.until(lambda: bool(done))


def test_idle_connection_may_ask_once_more(wire: Wire) -> None:
    """Go reuses an idle connection until it sees the close: a POST that crosses it is lost and not tried again."""
    client = wire.connect()
    client.ask(get("/x"))
    done = wire.reactor.start(wire.listener.drain(30))
    wire.reactor.advance(FAREWELL - 0.1)
    answer = client.ask(post("/last", b"y"))
    assert (answer.status, answer.one("connection")) == (200, "close")
    until_drained(wire, done, client)


def test_request_in_the_buffer_when_the_time_is_over(wire: Wire) -> None:
    client = wire.connect()
    client.ask(get("/x"))
    done = wire.reactor.start(wire.listener.drain(30))
    client.send(get("/last"))
    wire.reactor.rightNow += FAREWELL
    assert client.take().body == b"echo /last"
    until_drained(wire, done, client)


@pytest.mark.parametrize("queued", [1, 64, 100])
def test_connections_that_nobody_has_accepted_yet(wire: Wire, queued: int) -> None:
    """They wait in the kernel's queue, here also because the limit of connections (20) is reached, with a request each."""
    socks = []
    for _ in range(queued):
        sock = socket.socket()
        sock.connect(wire.address)
        socks.append(sock)
    done = wire.reactor.start(wire.listener.drain(30))
    clients = [Client(wire.reactor, sock, wire.context, handshake=False) for sock in socks]
    wire.clients.extend(clients)
    answered = 0
    for client in clients:
        client.pump()
    for client in clients:
        client.until(lambda client=client: client.secured)  # type: ignore[misc]  # mypy infers no type for a default
        client.send(get("/x"))
    for client in clients:
        answer = client.take()
        answered += (answer.body, answer.one("connection")) == (b"echo /x", "close")
    assert answered == queued
    until_drained(wire, done, *clients)


def test_queue_of_the_kernel_that_is_longer_than_a_turn(wire: Wire) -> None:
    """More than one turn accepts."""
    queued = 3 * TURN
    socks = [socket.create_connection(wire.address) for _ in range(queued)]
    done = wire.reactor.start(wire.listener.drain(30))
    wire.reactor.turn()
    assert wire.listener.connections == queued
    for sock in socks:
        sock.close()
    wire.reactor.advance(HALF_OPEN)
    wire.reactor.until(lambda: bool(done))


def test_no_connection_is_taken_and_then_dropped(wire: Wire) -> None:
    """Between accept(2) and close(2) a handshake may complete: the kernel drops SYNs before, so that none begins."""
    done = wire.reactor.start(wire.listener.drain(30))
    late = socket.socket()
    late.setblocking(False)
    with pytest.raises(BlockingIOError):
        late.connect(wire.address)
    wire.reactor.turn()
    assert wire.listener.connections == 0
    with pytest.raises(BlockingIOError):
        late.recv(1)  # neither connected nor refused
    wire.reactor.advance(HALF_OPEN)
    wire.reactor.until(lambda: bool(done))
    late.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(wire.address)


def test_kernel_that_has_no_filter(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sandbox may not let us: the queue is emptied and closed at once."""
    monkeypatch.setattr("extapi.listener.acceptor._SO_ATTACH_FILTER", 9999)
    client = wire.connect(handshake=False)
    done = wire.reactor.start(wire.listener.drain(30))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(wire.address)
    client.until(lambda: client.secured)
    assert client.ask(get("/x")).status == 200
    until_drained(wire, done, client)


def test_handshake_under_way_is_finished(wire: Wire) -> None:
    client = wire.connect(handshake=False)
    client.pump()  # the ClientHello
    wire.reactor.until(lambda: any(each.stream.heard for each in wire.listener._shared.connections))
    done = wire.reactor.start(wire.listener.drain(30))
    wire.reactor.advance(9.9)
    client.until(lambda: client.secured)
    assert client.ask(get("/x")).status == 200
    until_drained(wire, done, client)


def test_connection_that_never_says_a_word_does_not_hold_up_the_end(wire: Wire) -> None:
    with socket.create_connection(wire.address):
        wire.reactor.until(lambda: wire.listener.connections == 1)
        done = wire.reactor.start(wire.listener.drain(30))
        wire.reactor.advance(FAREWELL)
        wire.reactor.until(lambda: bool(done))


REQUESTS = get("/one") + post("/two", b"body") + get("/wait") + get("/four")


@pytest.mark.parametrize("sent", range(1, len(REQUESTS) + 1))
def test_drain_at_each_byte_of_pipelined_requests(wire: Wire, sent: int) -> None:
    """Whatever had been sent, to the byte, when the drain began: each request that had begun is answered, in order."""
    ends = [len(get("/one"))]
    for request in (post("/two", b"body"), get("/wait"), get("/four")):
        ends.append(ends[-1] + len(request))
    begun = sum(1 for start in (0, *ends[:-1]) if start < sent)
    client = wire.connect()
    client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.send(REQUESTS[:sent])
    client.settle()
    done = wire.reactor.start(wire.listener.drain(50))
    for byte in range(sent, ends[begun - 1]):  # the rest of what has begun comes slowly
        wire.reactor.advance(0.1)
        client.send(REQUESTS[byte : byte + 1])
        client.settle()
    if begun >= 3:
        wire.reactor.until(lambda: bool(wire.echo.gates))
        wire.echo.gates[0].callback(None)
    bodies = [client.take().body for _ in range(begun)]
    assert bodies == [b"echo /one", b"body", b"echo /wait", b"echo /four"][:begun]
    until_drained(wire, done, client)


def test_pipelined_requests_that_wait_in_the_socket(wire: Wire) -> None:
    """More than is read ahead: only the last answer says close, since a client reads none after it (RFC 9112, 9.6)."""
    client = wire.connect()
    client.send(get("/wait") + get("/" + "x" * 8000) * 50)
    wire.reactor.until(lambda: bool(wire.echo.gates))
    done = wire.reactor.start(wire.listener.drain(30))
    wire.reactor.advance(10)
    wire.echo.gates[0].callback(None)
    answers = [client.take() for _ in range(51)]
    assert [answer.status for answer in answers] == [200] * 51
    assert [answer.one("connection") for answer in answers] == [""] * 50 + ["close"]
    until_drained(wire, done, client)


def test_request_behind_a_watch(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/apis/g/v1/things?watch=1") + get("/x"))
    client.until(lambda: b"event" in client.got)
    done = wire.reactor.start(wire.listener.drain(30))
    assert client.take().whole
    answer = client.take()
    assert (answer.body, answer.one("connection")) == (b"echo /x", "close")
    until_drained(wire, done, client)


def test_peer_that_never_stops_asking_is_let_go(wire: Wire) -> None:
    client = wire.connect()
    client.ask(get("/x"))
    done = wire.reactor.start(wire.listener.drain(30))
    answer = client.ask(get("/x") + b"GET")  # always one more has begun
    assert answer.one("connection") == ""
    wire.reactor.advance(FAREWELL)
    answer = client.ask(get("/x")[3:] + b"GET")
    assert answer.one("connection") == "close"
    until_drained(wire, done, client)


def test_head_that_never_ends_has_its_usual_time(wire: Wire) -> None:
    client = wire.connect()
    client.send(b"GET")
    client.settle()
    done = wire.reactor.start(wire.listener.drain(60))
    wire.reactor.advance(Limits().head - 1)
    client.settle()
    assert not client.ended
    wire.reactor.advance(1)
    until_drained(wire, done, client)
    assert client.got == b""


def test_what_takes_too_long_is_aborted(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/wait"))
    wire.reactor.until(lambda: bool(wire.echo.gates))
    done = wire.reactor.start(wire.listener.drain(5))
    wire.reactor.advance(4.9)
    assert done == []
    wire.reactor.advance(0.2)
    assert done == [None]
    client.until(lambda: client.ended)
    assert wire.echo.cancelled == ["/wait"]


def test_abort_while_connections_are_still_accepted(wire: Wire) -> None:
    wire.connect()
    assert wire.reactor.pass_time(wire.listener.drain(HALF_OPEN / 2)) is None
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(wire.address)


def test_a_write_whose_peer_is_gone_is_waited_for(wire: Wire) -> None:
    client = wire.connect()
    client.send(post("/wait", b"x"))
    wire.reactor.until(lambda: bool(wire.echo.gates))
    client.close()
    done = wire.reactor.start(wire.listener.drain(5))
    wire.reactor.until(lambda: wire.listener.connections == 0)
    wire.reactor.advance(HALF_OPEN)
    assert done == []
    wire.echo.gates[0].callback(None)
    assert done == [None]
