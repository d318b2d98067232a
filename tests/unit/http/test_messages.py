"""Messages in frames, fed with anything: what a WebSocket answers is well-formed, bounded, and ends (RFC 6455, section 5)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hypothesis import HealthCheck, example, given, settings, strategies as st
from wsproto.frame_protocol import FrameProtocol, Opcode

from extapi.http.messages import MessageConnection, close_frame, message_frame
from extapi.http.response import Chunk

LIMIT = 64
ANYTHING = settings(max_examples=300, database=None, deadline=None, suppress_health_check=list(HealthCheck))
MASK = b"\x0f\xf0\x55\xaa"


class Wire:
    """A :class:`~extapi.http.response.Duplex` whose client takes everything at once."""

    pending = 0

    def __init__(self) -> None:
        self.sent = b""
        self.parting = b""
        self.closed = False
        self.receiver: Callable[[bytes], None] = lambda _: None

    def write(self, chunk: Chunk) -> None:
        assert not self.closed
        self.sent += chunk.data

    def close(self) -> None:
        assert not self.closed
        self.sent += self.parting
        self.closed = True

    def receive(self, receiver: Callable[[bytes], None]) -> None:
        self.receiver = receiver

    def on_closed(self, callback: Callable[[], None]) -> None: ...

    def on_left(self, callback: Callable[[], None]) -> None: ...

    async def drained(self) -> None: ...

    def abort(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


def fed(pieces: list[bytes]) -> tuple[Wire, list[str | bytes], MessageConnection]:
    """What a connection did with these pieces, and the messages that came of them."""
    wire, got = Wire(), list[str | bytes]()
    connection = MessageConnection(wire, got.append, limit=LIMIT)
    connection.start()
    for piece in pieces:
        wire.receiver(piece)
    return wire, got, connection


def answered(wire: Wire) -> list[tuple[Opcode, object]]:
    """What a client reads of it."""
    client = FrameProtocol(client=True, extensions=[])
    client.receive_bytes(wire.sent)
    return [(frame.opcode, frame.payload) for frame in client.received_frames()]


def masked(first: int, payload: bytes) -> bytes:
    body = bytes(byte ^ MASK[at % 4] for at, byte in enumerate(payload))
    return bytes([first, 0x80 | len(payload)]) + MASK + body


FRAMES = st.one_of(
    st.binary(max_size=40),
    st.builds(
        masked,
        st.sampled_from([0x00, 0x01, 0x02, 0x80, 0x81, 0x82, 0x88, 0x89, 0x8A, 0x83, 0xC1, 0x08, 0x09]),
        st.one_of(st.binary(max_size=60), st.text(max_size=20).map(str.encode)),
    ),
)


@ANYTHING
@given(st.lists(FRAMES, max_size=12), st.lists(st.integers(0, 200), max_size=6))
@example([b"\x01\x80\x00\x00\x00\x00", b"\x00\x82\x00\x05\x00\x00\x00\xf0"], [13])
def test_anything_is_answered_with_frames_and_ends_with_a_close(frames: list[bytes], cuts: list[int]) -> None:
    data = b"".join(frames)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    wire, got, _ = fed([data[begin:end] for begin, end in pairwise(places)])
    found = answered(wire)
    assert {opcode for opcode, _ in found} <= {Opcode.PONG, Opcode.CLOSE}
    assert [opcode for opcode, _ in found[:-1]] == [Opcode.PONG] * (len(found) - 1) or not found
    assert wire.closed is (bool(found) and found[-1][0] is Opcode.CLOSE)
    assert all(len(message) <= LIMIT for message in got)
    assert len(wire.sent) <= len(data) + 200
    # In whatever pieces it comes.
    whole = fed([data])
    assert (whole[0].sent, whole[1]) == (wire.sent, got)


@ANYTHING
@given(st.lists(st.one_of(st.text(max_size=15), st.binary(max_size=60)), max_size=5))
def test_messages_of_a_client_come_through(messages: list[str | bytes]) -> None:
    client = FrameProtocol(client=True, extensions=[])
    wire, got, connection = fed([bytes(client.send_data(message)) for message in messages])
    assert got == messages
    assert (wire.sent, wire.closed, connection.code) == (b"", False, 1006)


@ANYTHING
@given(st.one_of(st.text(), st.binary()))
def test_messages_of_the_server_are_one_frame_each(message: str | bytes) -> None:
    text = isinstance(message, str)
    data = message.encode() if isinstance(message, str) else message
    wire = Wire()
    wire.sent = message_frame(data, text=text)
    assert answered(wire) == [(Opcode.TEXT if text else Opcode.BINARY, message)]


def test_a_client_says_why_it_closes() -> None:
    wire, _, connection = fed([masked(0x88, (4001).to_bytes(2) + b"bye")])
    assert (connection.code, answered(wire)) == (4001, [(Opcode.CLOSE, (1000, ""))])


def test_a_reason_is_cut_to_what_a_frame_holds() -> None:
    wire = Wire()
    wire.sent = close_frame(1002, "ü" * 100)
    assert answered(wire) == [(Opcode.CLOSE, (1002, "ü" * 61))]
