"""Connections: time, slow and silent peers, back-pressure, streams, and the end of the listener."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from extapi.http.response import Chunk
from extapi.listener.body import RATE
from extapi.listener.state import Limits
from tests.wire.conftest import Wire
from tests.wire.harness import Client
from tests.wire.test_requests import get, post


def ended(client: Client) -> bool:
    client.settle()
    return client.ended


def until_closed(client: Client) -> None:
    client.until(lambda: client.closed_cleanly and client.ended)


def test_slow_head_is_cut_off(wire: Wire) -> None:
    client = wire.connect()
    for byte in get("/x")[:31]:  # a byte a second
        client.send(bytes([byte]))
        client.settle()
        wire.reactor.advance(1)
    assert not ended(client)
    wire.reactor.advance(1)
    assert ended(client)
    assert (client.got, wire.echo.calls) == (b"", [])


def test_slow_head_of_a_later_request_is_cut_off(wire: Wire) -> None:
    client = wire.connect()
    client.ask(get("/x"))
    wire.reactor.advance(80)
    client.send(b"GET")
    client.settle()
    wire.reactor.advance(31)
    assert not ended(client)
    wire.reactor.advance(1)
    assert ended(client)


def test_connection_that_never_asks_is_ended(wire: Wire) -> None:
    client = wire.connect()
    wire.reactor.advance(31)
    assert not ended(client)
    wire.reactor.advance(1)
    assert ended(client)
    assert client.closed_cleanly


def test_idle_connection_is_ended(wire: Wire) -> None:
    client = wire.connect()
    for _ in range(3):
        client.ask(get("/x"))
        wire.reactor.advance(89)
        assert not ended(client)
    wire.reactor.advance(1)
    assert ended(client)
    assert client.closed_cleanly


def test_request_that_comes_as_the_connection_is_about_to_end(wire: Wire) -> None:
    """Timers run before descriptors are read: what is in the socket's buffer by then is answered."""
    client = wire.connect()
    client.ask(get("/x"))
    client.send(get("/last"))
    wire.reactor.rightNow += 90  # the request and the end of its time are there in the same turn
    assert client.take().body == b"echo /last"


def test_connection_at_work_is_not_idle(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/apis/g/v1/things?watch=1"))
    client.until(lambda: b"event" in client.got)
    for _ in range(10):
        wire.reactor.advance(90)
    assert not ended(client)


def test_handshake_that_takes_too_long(wire: Wire) -> None:
    client = wire.connect(handshake=False)
    wire.reactor.until(lambda: wire.listener.connections == 1)
    wire.reactor.advance(10)
    assert ended(client)
    assert wire.listener.connections == 0


def test_slow_body_is_bounded_by_the_deadline(wire: Wire) -> None:
    client = wire.connect()
    client.send(post("/x", b"y" * 100_000)[:-100_000])
    client.until(lambda: bool(wire.echo.calls))
    exchange: Any
    (exchange,) = wire.listener._shared.working
    body = exchange.body
    assert body is not None
    for number in range(59):
        client.send(b"y" * RATE)
        client.until(lambda: body._size == RATE * (number + 1))  # noqa: B023 - called at once
        wire.reactor.advance(1)
    assert not ended(client)
    wire.reactor.advance(1)
    assert client.take().status == 504
    assert ended(client)


def test_large_body_is_read_with_back_pressure(wire: Wire) -> None:
    client = wire.connect()
    body = bytes(range(256)) * 8192  # 2 MiB
    client.send(post("/wait", body))
    wire.reactor.until(lambda: bool(wire.echo.gates))
    client.settle()
    (connection,) = wire.listener._shared.connections
    assert connection.stream not in wire.reactor.readers  # the peer has to wait
    wire.echo.gates[0].callback(None)
    assert client.take().body == body
    assert client.ask(get("/next")).body == b"echo /next"


def test_body_that_nobody_reads_ends_the_connection(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(post("/ignore", b"y" * 1_000_000)[:-1])
    assert (answer.body, answer.one("connection")) == (b"ignored", "close")
    client.until(lambda: client.closed_cleanly)


def test_body_that_nobody_reads_but_all_of_it_came(wire: Wire) -> None:
    client = wire.connect()
    assert client.ask(post("/ignore", b"yy")).body == b"ignored"
    assert client.ask(get("/next")).body == b"echo /next"


def test_slow_reader_holds_up_the_pieces(wire: Wire) -> None:
    client = wire.connect(receive_buffer=4096)
    client.reading = False
    client.send(get("/pieces"))
    wire.reactor.until(lambda: wire.echo.pieces > 0)
    client.settle()
    assert wire.echo.pieces < 128
    client.reading = True
    answer = client.take()
    assert answer.body == b"".join(b"%08d" % number * 4096 for number in range(128))
    assert (answer.one("transfer-encoding"), answer.whole) == ("chunked", True)
    assert client.ask(get("/next")).body == b"echo /next"


def test_slow_reader_is_bounded_by_the_deadline(wire: Wire) -> None:
    client = wire.connect(receive_buffer=4096)
    client.reading = False
    client.send(get("/pieces"))
    wire.reactor.until(lambda: wire.echo.pieces > 0)
    client.settle()
    wire.reactor.advance(60)
    client.reading = True
    assert not client.take().whole
    client.until(lambda: client.ended)
    assert not client.closed_cleanly
    assert wire.finished[0][:2] == ("/pieces", 200)


def test_reader_that_never_takes_its_last_answer(wire: Wire) -> None:
    client = wire.connect(receive_buffer=4096)
    client.reading = False
    client.send(get("/pieces?length=0") * 3)  # enough to fill all buffers, then the last waits in the queue
    client.settle()
    for _ in range(4):
        wire.reactor.advance(60)
        client.settle()
    assert wire.listener.connections == 0


def test_big_body_in_one(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(get("/big"))
    assert answer.body == b"0123456789abcdef" * (1 << 17)
    assert answer.one("content-length") == str(1 << 21)
    assert client.ask(get("/next")).body == b"echo /next"


def test_pieces_of_known_length(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(get(f"/pieces?length={128 * 32768}"))
    assert (answer.one("content-length"), len(answer.body)) == (str(128 * 32768), 128 * 32768)
    assert client.ask(get("/next")).body == b"echo /next"


@pytest.mark.parametrize("length", [128 * 32768 - 1, 128 * 32768 + 1])
def test_pieces_of_another_length_than_announced(wire: Wire, length: int) -> None:
    client = wire.connect()
    answer = client.ask(get(f"/pieces?length={length}"))
    assert len(answer.body) < length
    assert (client.ended, client.closed_cleanly) == (True, False)


def test_stream_is_flushed_framed_and_ended(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/stream"))
    client.until(lambda: client.got.endswith(b"\r\n\r\n3\r\none\r\n"))
    wire.echo.gates[0].callback(None)
    answer = client.take()
    assert (answer.body, answer.whole) == (b"onetwo", True)
    assert client.ask(get("/next")).body == b"echo /next"
    assert wire.finished[0][:3] == ("/stream", 200, 6)


@pytest.mark.parametrize("then", ["raise", "abort"])
def test_stream_that_fails_has_no_proper_end(wire: Wire, then: str) -> None:
    client = wire.connect()
    client.send(get(f"/stream?then={then}"))
    client.until(lambda: b"one" in client.got)
    wire.echo.gates[0].callback(None)
    assert not client.take().whole
    assert (client.ended, client.closed_cleanly) == (True, False)


def test_stream_to_a_slow_reader(wire: Wire) -> None:
    client = wire.connect(receive_buffer=4096)
    client.send(get("/stream"))
    client.until(lambda: b"one" in client.got)
    client.reading = False
    sink = wire.echo.sinks[0]
    for _ in range(100):
        sink.write(Chunk(b"x" * 100_000))
    assert sink.pending > 1_000_000
    wire.echo.gates[0].callback(None)
    client.settle()
    assert "producer" not in wire.echo.ended  # it waits until all is taken
    client.reading = True
    answer = client.take()
    assert (answer.body, answer.whole) == (b"one" + b"x" * 10_000_000 + b"two", True)
    assert sink.pending == 0


def test_peer_that_goes_ends_the_watch(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/apis/g/v1/things?watch=1"))
    client.until(lambda: b"event" in client.got)
    client.close()
    wire.reactor.until(lambda: wire.echo.ended == ["/apis/g/v1/things?watch=1", "watch"])
    assert wire.echo.sinks[0].closed
    wire.echo.sinks[0].write(Chunk(b"dropped"))
    late: list[bool] = []
    wire.echo.sinks[0].on_closed(lambda: late.append(True))
    assert late == [True]
    assert (wire.listener.connections, wire.listener.working) == (0, 0)


def test_peer_that_goes_cancels_the_handler(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/wait"))
    wire.reactor.until(lambda: bool(wire.echo.gates))
    client.close()
    wire.reactor.until(lambda: wire.listener.working == 0)
    assert wire.echo.cancelled == ["/wait"]
    assert wire.finished[0][:3] == ("/wait", 0, 0)


def test_peer_that_goes_does_not_cancel_a_write(wire: Wire) -> None:
    client = wire.connect()
    client.send(post("/wait", b"x"))
    wire.reactor.until(lambda: bool(wire.echo.gates))
    client.close()
    wire.reactor.until(lambda: wire.listener.connections == 0)
    assert (wire.echo.cancelled, wire.listener.working) == ([], 1)
    wire.echo.gates[0].callback(None)
    assert wire.echo.ended == ["/wait"]
    assert wire.listener.working == 0


def test_peer_that_goes_in_the_middle_of_its_body(wire: Wire) -> None:
    client = wire.connect()
    client.send(post("/x", b"yy")[:-1])
    wire.reactor.until(lambda: bool(wire.echo.calls))
    client.close()
    wire.reactor.until(lambda: wire.echo.ended == ["/x"])


def test_half_closed_peer_gets_what_was_answered_at_once(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/x"))
    client.sock.shutdown(socket.SHUT_WR)
    assert client.take().body == b"echo /x"
    client.until(lambda: client.ended)


def test_half_closed_peer_counts_as_gone(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/wait"))
    wire.reactor.until(lambda: bool(wire.echo.gates))
    client.sock.shutdown(socket.SHUT_WR)
    client.until(lambda: client.ended)
    assert wire.echo.cancelled == ["/wait"]


def test_garbage_instead_of_a_handshake(wire: Wire) -> None:
    with socket.create_connection(wire.address) as sock:
        sock.sendall(get("/x"))
        wire.reactor.until(lambda: wire.listener.connections == 1)
        wire.reactor.until(lambda: wire.listener.connections == 0)
    assert wire.connect().ask(get("/x")).status == 200


def test_connections_are_bounded(wire: Wire) -> None:
    clients = [wire.connect() for _ in range(20)]
    for connection in wire.listener._shared.connections:
        connection.peer.authenticated = True
    waiting = wire.connect(handshake=False)
    waiting.settle()
    assert (wire.listener.connections, waiting.secured) == (20, False)
    clients[0].close()
    waiting.until(lambda: waiting.secured)
    assert waiting.ask(get("/x")).status == 200


def test_strangers_make_room(wire: Wire) -> None:
    """One address cannot keep all connections by leaving them idle; who proved an identity keeps them."""
    known = wire.connect()
    known.ask(get("/x"))
    (connection,) = wire.listener._shared.connections
    connection.peer.authenticated = True
    busy = wire.connect()
    busy.send(get("/wait"))
    busy.settle()
    wire.reactor.advance(1)
    oldest = wire.connect()
    wire.reactor.advance(1)
    others = [wire.connect() for _ in range(17)]
    newcomer = wire.connect()
    assert newcomer.ask(get("/x")).status == 200
    assert ended(oldest)
    assert not oldest.closed_cleanly  # so that nobody takes it for an answer
    assert not any(ended(client) for client in (known, busy, *others))
    wire.echo.gates[0].callback(None)
    assert busy.take().status == 200


def test_room_is_made_where_most_strangers_are(wire: Wire) -> None:
    few = []
    for _ in range(5):
        sock = socket.socket()
        sock.bind(("127.0.0.2", 0))
        sock.connect(wire.address)
        few.append(Client(wire.reactor, sock, wire.context))
        wire.clients.append(few[-1])
    wire.reactor.advance(1)
    many = [wire.connect() for _ in range(15)]
    assert wire.connect().ask(get("/x")).status == 200
    assert not any(ended(client) for client in few)
    assert sum(ended(client) for client in many) == 1


def test_room_is_looked_for_again_while_others_wait(wire: Wire) -> None:
    clients = [wire.connect() for _ in range(20)]
    for client in clients:
        client.send(get("/wait"))
        client.settle()
    waiting = wire.connect(handshake=False)
    waiting.settle()
    assert not waiting.secured
    wire.echo.gates[3].callback(None)
    clients[3].take()
    waiting.settle()
    assert not waiting.secured
    wire.reactor.advance(1)
    waiting.until(lambda: waiting.secured)
    assert ended(clients[3])


def test_dead_socket_is_reported_and_connections_live_on(wire: Wire) -> None:
    client = wire.connect()
    acceptor = wire.listener._acceptor
    assert acceptor is not None
    acceptor._socket.shutdown(socket.SHUT_RDWR)  # accept(2) fails with EINVAL from now on
    wire.reactor.until(lambda: bool(wire.died))
    assert isinstance(wire.died[0], OSError)
    assert client.ask(get("/x")).status == 200


def test_listener_starts_once(wire: Wire) -> None:
    with pytest.raises(RuntimeError):
        wire.listener.start()


def test_limits_follow_go() -> None:
    assert (Limits().request, Limits().idle, Limits().head) == (60, 90, 32)
