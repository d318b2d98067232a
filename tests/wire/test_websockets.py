"""WebSockets and other protocols on a real connection, with clients that break every rule, do not read, or just leave."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import globalLogPublisher
from wsproto.frame_protocol import FrameProtocol, Opcode

from extapi import ConnectionClosed, UpgradedConnection, WebSocket
from extapi.http.messages import MESSAGE, PARTING, MessageConnection, message_frame
from extapi.http.request import Request
from extapi.http.response import Chunk, Duplex, Response, Sink, Upgraded
from extapi.http.websocket import HandshakeRefused, handshake
from extapi.verbs import watch
from extapi.verbs.sessions import AHEAD, FAREWELL, HIGH, STALLED, BodyStream, UpgradedSession, WebSocketSession
from tests.wire.conftest import Wire
from tests.wire.harness import Client

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ASK = (
    "GET /{} HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    f"Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
MASK = b"\x01\x02\x03\x04"


def frame(first: int, payload: bytes = b"", *, length: bytes | None = None, mask: bytes = MASK) -> bytes:
    """A client's frame: its first byte, and the payload, masked; ``length`` in place of its own."""
    if length is None:
        size = len(payload)
        length = (
            bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2) if size < 65536 else b"\x7f" + size.to_bytes(8)
        )
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload)) if len(payload) < 4096 else _masked(payload)
    return bytes([first, length[0] | 0x80]) + length[1:] + mask + masked


def _masked(payload: bytes) -> bytes:
    key = int.from_bytes((MASK * (len(payload) // 4 + 1))[: len(payload)])
    return (int.from_bytes(payload) ^ key).to_bytes(len(payload))


class Peer:
    """A client after its handshake; its frames are read by wsproto."""

    def __init__(self, wire: Wire, path: str, *, receive_buffer: int = 0, host: str = "Host: h") -> None:
        self.client: Client = wire.connect(receive_buffer=receive_buffer)
        self.client.send(ASK.format(path).replace("Host: h", host).encode())
        self.client.until(lambda: b"\r\n\r\n" in self.client.got)
        head, _, self.client.got = self.client.got.partition(b"\r\n\r\n")
        self.head = head.decode()
        self._frames = FrameProtocol(client=True, extensions=[])
        self.got: list[tuple[Opcode, Any]] = []

    def send(self, data: bytes) -> Peer:
        self.client.send(data)
        return self

    def until(self, condition: Callable[[list[tuple[Opcode, Any]]], bool]) -> None:
        def met() -> bool:
            data, self.client.got = self.client.got, b""
            self._frames.receive_bytes(data)
            self.got += [(each.opcode, each.payload) for each in self._frames.received_frames()]
            return condition(self.got)

        self.client.until(met)

    def closed(self) -> int:
        """The code of the server's Close frame, which is answered; nothing comes after it, and the connection ends."""
        code = self.told_to_close()
        self.client.send(frame(0x88, code.to_bytes(2)))
        self.client.until(lambda: self.client.ended)
        assert self.client.got == b""
        return code

    def told_to_close(self) -> int:
        """The code of the server's Close frame."""
        self.until(lambda got: bool(got) and got[-1][0] is Opcode.CLOSE)
        return int(self.got[-1][1][0])

    def failed(self) -> int:
        """The code of the server's Close frame, after which it ends the connection at once."""
        code = self.told_to_close()
        self.client.until(lambda: self.client.ended)
        assert self.client.got == b""
        return code


@pytest.fixture
def sessions(wire: Wire) -> list[str]:
    """What became of the sessions of the handlers below, which are at the paths of their names."""
    told: list[str] = []

    def serve(name: str, session: Callable[[WebSocket], Awaitable[None]]) -> None:
        async def handler(call: Request) -> Response:
            call.long_running, call.deadline = True, float("inf")
            try:
                headers = handshake(
                    call, lambda offered: "" if not offered else offered[0] if "echo" in offered else None
                )
            except HandshakeRefused as refused:
                return refused.response
            return Response(101, headers, Upgraded(WebSocketSession(session, "", wire.reactor, name)))

        setattr(wire.echo, f"at_{name}", handler)

    async def echo(socket: WebSocket) -> None:
        async for message in socket:
            await socket.send(message)
        told.append("echo ended")

    async def deaf(socket: WebSocket) -> None:
        del socket
        try:
            await wire.echo.gate()
        except CancelledError:
            told.append("deaf cancelled")
            raise

    async def talking(socket: WebSocket) -> None:
        try:
            while True:
                await socket.send(b"x" * 65536)
                told.append("sent")
        except ConnectionClosed:
            told.append("talking ended")
            raise

    async def once(socket: WebSocket) -> None:
        told.append(repr(await socket.receive()))

    async def failing(socket: WebSocket) -> None:
        await socket.receive()
        raise ValueError("on purpose")

    async def closing(socket: WebSocket) -> None:
        socket.close(4000, "because")
        try:
            await socket.send("after that")
        except ConnectionClosed:
            told.append("closed")

    for session in (echo, deaf, talking, once, failing, closing):
        serve(session.__name__, session)
    return told


@pytest.fixture
def logged() -> Iterator[list[dict[str, Any]]]:
    """What is logged."""
    events: list[dict[str, Any]] = []

    observer: Any = events.append
    globalLogPublisher.addObserver(observer)
    yield events
    globalLogPublisher.removeObserver(observer)


def test_the_handshake_is_that_of_the_rfc(wire: Wire, sessions: list[str]) -> None:
    """RFC 6455, section 1.3, has this key and its answer."""
    del sessions
    peer = Peer(wire, "echo")
    lines = peer.head.split("\r\n")
    assert lines[0] == "HTTP/1.1 101 Switching Protocols"
    assert "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in lines
    assert lines.count("Connection: Upgrade") == 1


def test_messages_go_both_ways_whole_and_in_fragments(wire: Wire, sessions: list[str]) -> None:
    peer = Peer(wire, "echo")
    peer.send(frame(0x81, "grüß".encode()) + frame(0x82, b"\0\xff"))
    peer.send(
        frame(0x01, "grü".encode()[:-1]) + frame(0x89, b"ping") + frame(0x00, "ü".encode()[1:]) + frame(0x80, b"!")
    )
    peer.send(frame(0x82, b"y" * 100_000))
    peer.until(lambda got: sum(len(payload) for opcode, payload in got if opcode is not Opcode.PONG) >= 100_010)
    text = "".join(payload for opcode, payload in peer.got if opcode is Opcode.TEXT)
    assert text == "grüßgrü!"
    assert (Opcode.PONG, b"ping") in peer.got
    peer.send(frame(0x88, (1000).to_bytes(2)))
    assert peer.failed() == 1000
    assert sessions == ["echo ended"]


HOSTILE = {
    "unmasked": (b"\x81\x02hi", 1002),
    "bad UTF-8": (frame(0x81, b"\xff\xfe"), 1007),
    "bad UTF-8 across fragments": (frame(0x01, b"\xc3") + frame(0x80, b"\x28"), 1007),
    "cut UTF-8": (frame(0x81, b"\xc3"), 1007),
    "reserved bits": (frame(0xC1, b"hi"), 1002),
    "unknown opcode": (frame(0x83, b"hi"), 1002),
    "unknown control": (frame(0x8B, b"hi"), 1002),
    "fragmented ping": (frame(0x09, b"hi"), 1002),
    "long ping": (frame(0x89, b"x" * 126), 1002),
    "continuation of nothing": (frame(0x80, b"hi"), 1002),
    "a message within a message": (frame(0x01, b"hi") + frame(0x81, b"hi"), 1002),
    "a length of 2^63": (frame(0x82, length=b"\x7f" + b"\x80" + b"\0" * 7), 1002),
    "a length with leading zeros": (frame(0x82, b"hi", length=b"\x7e\0\2"), 1002),
    "a close of one byte": (frame(0x88, b"x"), 1002),
    "a close with a code that is none": (frame(0x88, (1005).to_bytes(2)), 1002),
    "a close with bad UTF-8": (frame(0x88, (1000).to_bytes(2) + b"\xff"), 1007),
    "too much in one frame": (frame(0x82, b"z" * (MESSAGE + 1)), 1009),
    "too much in fragments": (frame(0x02, b"z" * 65536) + frame(0x00, b"z" * 65536) * 16, 1009),
    "too much text": (frame(0x81, b"z" * (MESSAGE + 1)), 1009),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_broken_rule_ends_the_connection(wire: Wire, sessions: list[str], name: str) -> None:
    data, code = HOSTILE[name]
    peer = Peer(wire, "echo").send(data)
    assert peer.failed() == code
    assert sessions == ["echo ended"]


def test_a_message_of_exactly_the_limit_is_taken(wire: Wire, sessions: list[str]) -> None:
    peer = Peer(wire, "once").send(frame(0x82, b"z" * MESSAGE))
    assert peer.closed() == 1000
    assert len(sessions[0]) == MESSAGE + len("b''")


def test_an_endless_message_takes_no_memory_before_it_is_refused(wire: Wire, sessions: list[str]) -> None:
    """It announces 2^62 bytes; what is kept is bounded by the message's limit."""
    peer = Peer(wire, "deaf").send(frame(0x82, length=b"\x7f\x40" + b"\0" * 7))
    for _ in range(MESSAGE // 65536 + 1):
        peer.send(b"\0" * 65536)
    peer.until(lambda got: [opcode for opcode, _ in got] == [Opcode.CLOSE])
    wire.reactor.advance(FAREWELL)
    assert sessions == ["deaf cancelled"]
    assert peer.failed() == 1009


def test_empty_fragments_without_end_take_no_memory(wire: Wire, sessions: list[str]) -> None:
    del sessions
    peer = Peer(wire, "once").send(frame(0x02))
    for _ in range(200):
        peer.send(frame(0x00) * 100)
    peer.send(frame(0x80, b"end"))
    assert peer.closed() == 1000


def test_pings_of_who_does_not_read_the_answers_stop_being_read(wire: Wire, sessions: list[str]) -> None:
    del sessions
    peer = Peer(wire, "echo", receive_buffer=4096)
    peer.client.reading = False
    ping = frame(0x89, b"x" * 125)
    for _ in range(100):
        peer.send(ping * 1000)  # 13 MB in all, more than sockets take
    peer.client.settle()
    (connection,) = wire.listener._shared.connections
    assert HIGH // 2 < connection.stream.pending < 2 * HIGH
    assert connection.stream._paused
    peer.client.reading = True
    peer.client.until(lambda: not connection.stream._paused)


def test_messages_that_nobody_reads_make_their_sender_wait(wire: Wire, sessions: list[str]) -> None:
    del sessions
    peer = Peer(wire, "deaf")
    (connection,) = wire.listener._shared.connections
    peer.send(frame(0x82, b"x" * 1000) * 2)
    peer.client.settle()
    assert not connection.stream._paused
    peer.send(frame(0x82, b"x" * 1000) * (AHEAD // 1000))
    peer.client.settle()
    assert connection.stream._paused


def test_a_session_waits_for_a_client_that_does_not_read(wire: Wire, sessions: list[str]) -> None:
    peer = Peer(wire, "talking", receive_buffer=4096)
    peer.client.reading = False
    peer.client.settle()
    before = len(sessions)
    assert 0 < before < 200
    peer.client.settle()
    assert len(sessions) == before
    peer.client.reading = True
    peer.client.until(lambda: len(sessions) > before)


def test_a_client_that_takes_nothing_is_cut_off(wire: Wire, sessions: list[str]) -> None:
    peer = Peer(wire, "talking", receive_buffer=4096)
    peer.client.reading = False
    peer.client.settle()
    wire.reactor.advance(STALLED - 1)
    assert sessions[-1] == "sent"
    wire.reactor.advance(2)
    wire.reactor.until(lambda: sessions[-1] == "talking ended")
    wire.reactor.until(lambda: wire.listener.connections == 0)


@pytest.mark.parametrize("how", ["close", "leave", "shutdown"])
@pytest.mark.parametrize(
    ("name", "told"), [("echo", "echo ended"), ("talking", "talking ended"), ("deaf", "deaf cancelled")]
)
def test_a_session_is_told_of_the_end_and_has_a_while_left(
    wire: Wire, sessions: list[str], name: str, told: str, how: str
) -> None:
    peer = Peer(wire, name, receive_buffer=4096)
    if name == "talking":
        peer.client.reading = False
        peer.client.settle()
    done: list[Any] = []
    if how == "close":
        peer.send(frame(0x88, (1000).to_bytes(2)))
    elif how == "leave":
        peer.client.close()
    else:
        done = wire.reactor.start(wire.listener.drain())
    if name == "deaf":
        peer.client.settle() if how != "leave" else wire.reactor.turn(0.1)
        wire.reactor.advance(FAREWELL - 1)
        assert told not in sessions
        wire.reactor.advance(2)
    wire.reactor.until(lambda: told in sessions)
    if how == "shutdown":
        peer.client.reading = True
        assert peer.closed() == 1001
    wire.reactor.until(lambda: wire.listener.working == 0)
    if how == "shutdown":
        peer.client.close()
        wire.reactor.advance(1)
        wire.reactor.until(lambda: bool(done))


def test_a_session_that_fails_closes_with_an_internal_error(
    wire: Wire, sessions: list[str], logged: list[dict[str, Any]]
) -> None:
    del sessions
    peer = Peer(wire, "failing").send(frame(0x81, b"hi"))
    assert peer.closed() == 1011
    (failure,) = [event for event in logged if "log_failure" in event]
    assert isinstance(failure["log_failure"].value, ValueError)


def test_a_session_closes_with_a_code_of_its_own(wire: Wire, sessions: list[str]) -> None:
    peer = Peer(wire, "closing")
    assert peer.closed() == 4000
    assert peer.got[-1][1] == (4000, "because")
    assert sessions == ["closed"]


def test_a_client_has_a_while_to_close_too(wire: Wire, sessions: list[str]) -> None:
    """RFC 6455, section 7.1.1; what it sends meanwhile is dropped, section 1.4."""
    peer = Peer(wire, "once").send(frame(0x81, b"hi"))
    assert peer.told_to_close() == 1000
    assert sessions == ["'hi'"]
    peer.send(frame(0x81, b"more") + frame(0x89, b"ping") + frame(0x82, b"z" * (MESSAGE + 1)))
    wire.reactor.advance(PARTING - 0.1)
    peer.client.settle()
    assert not peer.client.ended
    assert wire.listener.working == 1
    wire.reactor.advance(0.2)
    peer.client.until(lambda: peer.client.ended)
    assert peer.client.got == b""


def test_a_connection_ends_once_both_have_closed(wire: Wire, sessions: list[str]) -> None:
    peer = Peer(wire, "closing")
    peer.told_to_close()
    peer.send(frame(0x01, b"cut off by the Clo") + frame(0x88, (4000).to_bytes(2)))
    peer.client.until(lambda: peer.client.ended)
    assert sessions == ["closed"]


@pytest.mark.parametrize("how", ["leaves", "breaks a rule"])
def test_a_client_that_has_gone_or_talks_nonsense_is_not_waited_for(wire: Wire, sessions: list[str], how: str) -> None:
    peer = Peer(wire, "once").send(frame(0x81, b"hi"))
    peer.told_to_close()
    if how == "leaves":
        peer.client.close()
    else:
        peer.send(b"\x81\x02hi")
    wire.reactor.until(lambda: wire.listener.working == 0)
    assert sessions == ["'hi'"]


def test_a_client_that_was_not_read_may_close(wire: Wire, sessions: list[str]) -> None:
    """Its messages had to wait because the session wanted none; then its Close must not wait behind them."""
    peer = Peer(wire, "deaf").send(frame(0x82, b"x" * 1000) * (2 * AHEAD // 1000))
    peer.client.settle()
    wire.echo.gates[-1].callback(None)
    assert peer.closed() == 1000
    assert sessions == []


def test_a_watch_that_is_over_has_its_client_close_too(wire: Wire) -> None:
    async def handler(call: Request) -> Response:
        async def over(sink: Sink) -> None:
            sink.write(Chunk(message_frame(b"{}", text=True)))

        return watch._websocket(call, over, wire.reactor)

    wire.echo.at_watch = handler  # type: ignore[attr-defined]  # found by its name
    peer = Peer(wire, "watch", host="Host: h\r\nOrigin: https://h")
    assert peer.told_to_close() == 1000
    assert peer.got[0] == (Opcode.TEXT, "{}")
    peer.client.settle()
    assert not peer.client.ended
    assert peer.closed() == 1000


def test_who_only_sends_ignores_messages_of_any_size(wire: Wire) -> None:
    """As a watch does."""
    ended: list[int] = []

    async def handler(call: Request) -> Response:
        async def run(connection: Duplex) -> None:
            messages = MessageConnection(connection)
            messages.start()
            end: Deferred[None] = Deferred()
            connection.on_closed(lambda: end.callback(None))
            await end
            ended.append(messages.code)

        return Response(101, handshake(call, lambda _: ""), Upgraded(run))

    wire.echo.at_mute = handler  # type: ignore[attr-defined]  # found by its name
    peer = Peer(wire, "mute").send(frame(0x82, b"z" * (MESSAGE + 1)) + frame(0x88, (1001).to_bytes(2)))
    assert peer.failed() == 1000
    assert ended == [1001]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 12"), 400),
        ((f"Sec-WebSocket-Key: {KEY}", "X: y"), 400),
        (("GET", "PUT"), 405),
        (("Sec-WebSocket-Key", "Sec-WebSocket-Protocol: other\r\nSec-WebSocket-Key"), 403),
    ],
)
def test_a_handshake_is_refused(wire: Wire, sessions: list[str], change: tuple[str, str], status: int) -> None:
    client = wire.connect()
    client.send(ASK.format("echo").replace(*change).encode())
    client.until(lambda: client.ended)
    assert client.got.startswith(f"HTTP/1.1 {status} ".encode())
    assert sessions == []


def upgrade(wire: Wire, session: Callable[[UpgradedConnection], Awaitable[None]]) -> Client:
    async def handler(call: Request) -> Response:
        del call
        return Response(101, [("Upgrade", "shout")], Upgraded(UpgradedSession(session, wire.reactor, "bytes")))

    wire.echo.at_bytes = handler  # type: ignore[attr-defined]  # found by its name
    client = wire.connect(receive_buffer=4096)
    client.send(b"GET /bytes HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\nearly")
    client.until(lambda: b"\r\n\r\n" in client.got)
    return client


def test_bytes_of_any_protocol_go_both_ways(wire: Wire) -> None:
    async def session(stream: UpgradedConnection) -> None:
        while (data := await stream.read()) != b"end":
            await stream.write(data.upper())

    client = upgrade(wire, session)
    client.until(lambda: client.got.endswith(b"EARLY"))
    client.send(b"more")
    client.until(lambda: client.got.endswith(b"EARLYMORE"))
    client.send(b"end")
    client.until(lambda: client.ended)
    assert client.closed_cleanly


def test_bytes_that_nobody_reads_wait_at_the_client(wire: Wire) -> None:
    async def session(stream: UpgradedConnection) -> None:
        await wire.echo.gate()
        while await stream.read():
            pass

    client = upgrade(wire, session)
    client.send(b"x" * (1 << 20))
    client.settle()
    (connection,) = wire.listener._shared.connections
    assert connection.stream._paused
    wire.echo.gates[0].callback(None)
    client.settle()
    assert not connection.stream._paused


def test_a_failing_session_breaks_the_connection_off(wire: Wire, logged: list[dict[str, Any]]) -> None:
    async def session(stream: UpgradedConnection) -> None:
        await stream.read()
        raise ValueError("on purpose")

    client = upgrade(wire, session)
    client.until(lambda: client.ended)
    assert not client.closed_cleanly
    assert any("log_failure" in event for event in logged)


def stream(
    wire: Wire, pieces: Callable[[], AsyncIterator[str | bytes]], method: bytes = b"GET", buffer: int = 0
) -> Client:
    async def handler(call: Request) -> Response:
        call.long_running, call.deadline = True, float("inf")
        return Response(200, body=BodyStream(pieces(), wire.reactor))

    wire.echo.at_pieced = handler  # type: ignore[attr-defined]  # found by its name
    client = wire.connect(receive_buffer=buffer)
    return client.send(method + b" /pieced HTTP/1.1\r\nHost: h\r\n\r\n")


def test_pieces_are_sent_as_they_come(wire: Wire) -> None:
    async def pieces() -> AsyncIterator[str | bytes]:
        yield "grüß"
        await wire.echo.gate()
        yield b"\xff"

    client = stream(wire, pieces)
    client.until(lambda: client.got.endswith("\r\n6\r\ngrüß\r\n".encode()))
    wire.echo.gates[0].callback(None)
    client.until(lambda: client.got.endswith(b"1\r\n\xff\r\n0\r\n\r\n"))


def test_the_iterator_is_ended_where_it_waits_when_the_client_leaves(wire: Wire) -> None:
    ended: list[str] = []

    async def pieces() -> AsyncIterator[str | bytes]:
        try:
            yield "one"
            await wire.echo.gate()
        finally:
            ended.append("ended")

    client = stream(wire, pieces)
    client.until(lambda: b"one" in client.got)
    client.close()
    wire.reactor.until(lambda: ended == ["ended"])
    wire.reactor.until(lambda: wire.listener.working == 0)


def test_the_iterator_waits_for_a_slow_client_which_is_cut_off_one_day(wire: Wire) -> None:
    made: list[int] = []
    ended: list[str] = []

    async def pieces() -> AsyncIterator[str | bytes]:
        try:
            for number in range(1000):
                made.append(number)
                yield b"x" * 65536
        finally:
            ended.append("ended")

    client = stream(wire, pieces, buffer=4096)
    client.reading = False
    client.settle()
    assert len(made) < 200
    wire.reactor.advance(STALLED + 1)
    wire.reactor.until(lambda: ended == ["ended"])
    wire.reactor.until(lambda: wire.listener.connections == 0)


def test_an_iterator_that_fails_breaks_the_body_off(wire: Wire, logged: list[dict[str, Any]]) -> None:
    async def pieces() -> AsyncIterator[str | bytes]:
        yield "one"
        raise ValueError("on purpose")

    client = stream(wire, pieces)
    client.until(lambda: client.ended)
    assert b"one" in client.got
    assert not client.got.endswith(b"0\r\n\r\n")
    assert any("log_failure" in event for event in logged)


def test_an_iterator_that_nobody_reads_is_closed(wire: Wire) -> None:
    begun: list[str] = []

    async def pieces() -> AsyncIterator[str | bytes]:
        begun.append("begun")
        yield "one"

    client = stream(wire, pieces, b"HEAD")
    client.until(lambda: client.got.endswith(b"\r\n\r\n"))
    client.settle()
    assert begun == []
    assert not client.ended


def test_a_shutdown_ends_a_stream_properly(wire: Wire) -> None:
    async def pieces() -> AsyncIterator[str | bytes]:
        yield "one"
        await wire.echo.gate()

    client = stream(wire, pieces)
    client.until(lambda: b"one" in client.got)
    done = wire.reactor.start(wire.listener.drain())
    client.until(lambda: client.got.endswith(b"0\r\n\r\n"))
    client.close()
    wire.reactor.advance(1)
    wire.reactor.until(lambda: bool(done))
