"""Answers in trouble, and corners of their lives: nothing a handler or a peer does may harm the rest."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred, succeed

from extapi.http.request import Request
from extapi.http.response import Chunk, Response, Sink
from extapi.listener.acceptor import bind
from extapi.listener.listener import Listener
from extapi.listener.tls import ServingCertificate
from tests.certificates import Issued
from tests.wire.conftest import Wire
from tests.wire.harness import Client, SelectClock, client_context
from tests.wire.test_requests import get, post


def test_pieces_that_fail_have_no_proper_end(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(get("/broken"))
    assert (answer.body, answer.whole, client.closed_cleanly) == (b"one", False, False)


def test_the_head_leaves_with_the_pieces(wire: Wire) -> None:
    """In one segment: tcpi_data_segs_in of tcp(7)."""

    def segments() -> int:
        (count,) = struct.unpack_from("I", client.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 152)
        return int(count)

    client = wire.connect()
    client.settle()
    before = segments()
    assert client.ask(get("/list")).body == b"onetwo"
    assert segments() - before == 1


def test_empty_pieces_do_not_end_the_body(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(get("/list"))
    assert (answer.body, answer.whole) == (b"onetwo", True)


def ask_without_reading(wire: Wire, number: int) -> Client:
    client = wire.connect(receive_buffer=4096)
    client.reading = False
    for _ in range(number):
        client.send(post("/x", b"y" * 10_000))
        client.settle()
    return client


def test_answers_nobody_reads_hold_up_the_requests_behind_them(wire: Wire) -> None:
    client = ask_without_reading(wire, 1000)
    assert len(wire.echo.calls) < 1000
    wire.reactor.advance(89)
    client.settle()
    assert wire.listener.connections == 1
    wire.reactor.advance(1)
    wire.reactor.turn()
    assert wire.listener.connections == 0


def test_answers_go_on_when_the_reader_does(wire: Wire) -> None:
    client = ask_without_reading(wire, 1000)
    client.reading = True
    assert [len(client.take().body) for _ in range(1000)] == [10_000] * 1000


def test_peer_that_vanishes_in_the_middle_of_an_answer(wire: Wire) -> None:
    client = wire.connect(receive_buffer=4096)
    client.reading = False
    client.send(get("/pieces"))
    client.settle()
    client.close()
    wire.reactor.until(lambda: wire.listener.connections == 0)
    assert wire.finished[0][:2] == ("/pieces", 200)


def test_drain_lets_an_answer_on_its_way_finish(wire: Wire) -> None:
    client = wire.connect(receive_buffer=4096)
    client.reading = False
    client.send(get("/pieces"))
    client.settle()
    done = wire.reactor.start(wire.listener.drain(30))
    client.reading = True
    assert client.take().whole
    wire.reactor.advance(1)
    client.until(lambda: client.closed_cleanly)
    client.close()
    wire.reactor.until(lambda: bool(done))


def test_drain_of_a_listener_that_is_idle(wire: Wire) -> None:
    assert wire.reactor.pass_time(wire.listener.drain(30)) is None


def test_body_that_comes_while_a_stream_runs_is_dropped(wire: Wire) -> None:
    client = wire.connect()
    body = b"x" * 1_000_000
    client.send(post("/stream", body)[: -len(body)])
    client.until(lambda: b"one" in client.got)
    client.send(body)
    client.until(lambda: not client._unsent)
    wire.echo.gates[0].callback(None)
    answer = client.take()
    assert (answer.body, answer.one("connection")) == (b"onetwo", "close")


def test_sink_that_is_aborted_from_elsewhere_still_tells_its_producer(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/apis/g/v1/things?watch=1"))
    client.until(lambda: b"event" in client.got)
    wire.echo.sinks[0].abort()
    wire.reactor.until(lambda: wire.echo.ended[-1] == "watch")
    client.until(lambda: client.ended)
    assert not client.closed_cleanly


def serve(directory: Path, certificate: Issued, handler: object, **options: object) -> tuple[SelectClock, Listener]:
    reactor = SelectClock()
    tls = ServingCertificate(*certificate.save(directory, "server"))
    return reactor, Listener(reactor, handler, tls=tls, interface="127.0.0.1", port=0, **options)  # type: ignore[arg-type]  # options of any kind pass through here


def test_adopted_socket_client_certificate_and_failing_access_log(
    tmp_path: Path, server_certificate: Issued, serving_ca: Issued
) -> None:
    seen: list[Request] = []
    logged: list[int] = []

    def handler(call: Request) -> Deferred[Response]:  # anything that can be awaited will do
        seen.append(call)
        return succeed(Response(200, body=b"ok"))

    def finished(call: Request, status: int, size: int, seconds: float) -> None:
        logged.append(status)
        raise RuntimeError("on purpose")

    sock = bind("127.0.0.1", 0)
    reactor, listener = serve(tmp_path, server_certificate, handler, adopt=sock, on_finished=finished)
    address = listener.start()
    assert address == sock.getsockname()
    alice = serving_ca.intermediate("middle").leaf("alice")
    client = Client(reactor, socket.create_connection(address), client_context(serving_ca, alice))
    assert [client.ask(get("/x")).body for _ in range(2)] == [b"ok", b"ok"]
    assert logged == [200, 200]
    assert seen[0].peer is seen[1].peer
    assert seen[0].peer.certificates[:2] == alice.chain
    assert (seen[0].peer.address, seen[0].peer.loopback) == ("127.0.0.1", "")
    client.close()
    reactor.pass_time(listener.drain(1))


def test_producer_without_interest_in_the_end_is_cancelled(
    tmp_path: Path, server_certificate: Issued, serving_ca: Issued
) -> None:
    cancelled: list[bool] = []

    async def produce(sink: Sink) -> None:
        sink.write(Chunk(b"x"))
        try:
            await Deferred[None](lambda _: cancelled.append(True))
        finally:
            assert sink.closed

    async def handler(call: Request) -> Response:
        return Response(200, body=produce)

    reactor, listener = serve(tmp_path, server_certificate, handler)
    client = Client(reactor, socket.create_connection(listener.start()), client_context(serving_ca))
    client.send(get("/x"))
    client.until(lambda: b"1\r\nx" in client.got)
    client.close()
    reactor.until(lambda: bool(cancelled))
    assert (listener.working, listener.connections) == (0, 0)
    reactor.pass_time(listener.drain(1))


WATCH = b"GET /apis/g/v1/things?watch=1 HTTP/1.1\r\nHost: h\r\n\r\n"


def test_a_stream_that_is_closed_from_inside_ends_properly_and_the_connection_goes_on(wire: Wire) -> None:
    """What ends a watch that is not allowed any more: the next request on the connection is told so."""
    client = wire.connect()
    client.send(WATCH)
    client.until(lambda: b"event" in client.got)
    (sink,) = wire.echo.sinks
    sink.close()
    sink.write(Chunk(b"secret"))
    answer = client.take()
    assert (answer.body, answer.whole) == (b"event", True)
    assert wire.echo.ended[-1] == "watch"
    assert wire.finished[0][:3] == ("/apis/g/v1/things?watch=1", 200, len(b"event"))
    assert client.ask(get("/next")).body == b"echo /next"
    sink.close()  # of a stream that is long over
    assert client.ask(get("/last")).body == b"echo /last"


def test_a_stream_is_closed_from_inside_while_its_client_takes_nothing(wire: Wire) -> None:
    client = wire.connect(receive_buffer=4096)
    client.send(WATCH)
    client.until(lambda: b"event" in client.got)
    client.reading = False
    (sink,) = wire.echo.sinks
    for _ in range(100):
        sink.write(Chunk(b"x" * 65536))
    wire.reactor.turn()
    assert sink.pending
    sink.close()
    client.reading = True
    answer = client.take()
    assert (len(answer.body), answer.whole) == (5 + 100 * 65536, True)


def test_callback_that_fails_does_not_keep_others_from_the_end(
    tmp_path: Path, server_certificate: Issued, serving_ca: Issued
) -> None:
    told: list[str] = []

    def fail() -> None:
        told.append("first")
        raise RuntimeError("on purpose")

    async def produce(sink: Sink) -> None:
        end: Deferred[None] = Deferred()
        sink.on_closed(fail)
        sink.on_closed(lambda: end.callback(None))
        sink.write(Chunk(b"x"))
        await end
        told.append("ended")
        await sink.drained()  # returns at once: the sink is closed
        raise RuntimeError("on purpose")  # nobody is there to be told: it is only logged

    async def handler(call: Request) -> Response:
        return Response(200, body=produce)

    reactor, listener = serve(tmp_path, server_certificate, handler)
    client = Client(reactor, socket.create_connection(listener.start()), client_context(serving_ca))
    client.send(get("/x"))
    client.until(lambda: b"1\r\nx" in client.got)
    client.close()
    reactor.until(lambda: listener.working == 0)
    assert told == ["first", "ended"]
    reactor.pass_time(listener.drain(1))


def test_connection_that_cannot_be_set_up(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire.listener._tls, "context", None)
    with socket.create_connection(wire.address) as sock:
        wire.reactor.turn(1)
        sock.settimeout(5)
        assert sock.recv(1) == b""
    monkeypatch.undo()
    assert wire.connect().ask(get("/x")).status == 200


def test_listener_that_was_never_started(tmp_path: Path, server_certificate: Issued) -> None:
    async def handler(call: Request) -> Response:
        return Response(200)

    reactor, listener = serve(tmp_path, server_certificate, handler)
    listener.stop()
    assert reactor.pass_time(listener.drain(1)) is None
