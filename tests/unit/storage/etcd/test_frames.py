"""Frames and header blocks: what RFC 9113 and RFC 7541 say, their examples, and peers that break the rules."""

from __future__ import annotations

import contextlib
import itertools
import struct

import pytest
from hpack import Encoder
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from extapi.storage.etcd import frames
from extapi.storage.etcd.frames import Data, Event, FrameReader, GoAway, Headers, ProtocolViolation, frame

GREETING = frames.settings({})
STATUS_200 = b"\x88"
"""``:status: 200`` in the static table (RFC 7541, appendix A)."""


def read(data: bytes, reader: FrameReader | None = None) -> list[Event]:
    """What the bytes say, after the greeting."""
    if reader is None:
        reader = FrameReader()
        list(reader.feed(GREETING))
    return list(reader.feed(data))


def test_the_greeting_is_settings() -> None:
    reader = FrameReader()
    payload = struct.pack(">HLHLHL", 3, 100, 4, 1 << 20, 5, 1 << 15)
    assert list(reader.feed(frame(frames.SETTINGS, 0, 0, payload))) == [
        frames.Settings({3: 100, 4: 1 << 20, 5: 1 << 15})
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46" + bytes(64),
        frame(frames.PING, 0, 0, bytes(8)),
        frame(frames.SETTINGS, frames.ACK, 0),
    ],
    ids=["http1", "tls", "ping", "ack"],
)
def test_a_peer_that_does_not_speak_http2_is_found_out(data: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        list(FrameReader().feed(data + bytes(1 << 21)))


def test_data_and_trailers() -> None:
    trailers = Encoder().encode([("grpc-status", "0"), ("grpc-message", "")])
    data = (
        frame(frames.HEADERS, frames.END_HEADERS, 1, STATUS_200)
        + frame(frames.DATA, 0, 1, b"abc")
        + frame(frames.DATA, frames.PADDED, 1, b"\x02de\0\0")
        + frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, trailers)
    )
    assert read(data) == [
        Headers(1, {":status": "200"}, last=False),
        Data(1, b"abc", 3, last=False),
        Data(1, b"de", 5, last=False),
        Headers(1, {"grpc-status": "0", "grpc-message": ""}, last=True),
    ]


def test_a_header_block_in_parts_with_padding_and_priority() -> None:
    block = Encoder().encode([(":status", "200"), ("content-type", "application/grpc")], huffman=True)
    first = b"\x03" + bytes(5) + block[:2] + bytes(3)
    data = (
        frame(frames.HEADERS, frames.PADDED | frames.PRIORITIZED | frames.END_STREAM, 3, first)
        + frame(frames.CONTINUATION, 0, 3, block[2:4])
        + frame(frames.CONTINUATION, frames.END_HEADERS, 3, block[4:])
    )
    assert read(data) == [Headers(3, {":status": "200", "content-type": "application/grpc"}, last=True)]


def test_huffman_as_in_the_rfc() -> None:
    """RFC 7541, section C.6.1, first value: ``private`` and others, here as literals without indexing."""
    block = b"\x00\x0dcache-control" + bytes.fromhex("85aec3771a4b")
    assert read(frame(frames.HEADERS, frames.END_HEADERS, 1, block)) == [
        Headers(1, {"cache-control": "private"}, last=False)
    ]


def test_a_change_of_the_tables_size_is_taken_and_not_remembered() -> None:
    reader = FrameReader()
    list(reader.feed(GREETING))
    for _ in range(2):
        (event,) = read(frame(frames.HEADERS, frames.END_HEADERS, 1, b"\x20" + STATUS_200), reader)
        assert event == Headers(1, {":status": "200"}, last=False)
    assert reader._blocks == {}
    read(frame(frames.HEADERS, frames.END_HEADERS, 1, STATUS_200), reader)
    assert list(reader._blocks) == [STATUS_200]


def test_only_so_many_blocks_are_remembered() -> None:
    reader = FrameReader()
    list(reader.feed(GREETING))
    for number in range(200):
        block = frames.header_block([(b"n", b"%d" % number)])
        assert read(frame(frames.HEADERS, frames.END_HEADERS, 1, block), reader) == [
            Headers(1, {"n": str(number)}, last=False)
        ]
    assert len(reader._blocks) == 64


def test_what_is_written_can_be_read_by_others() -> None:
    from hpack import Decoder  # noqa: PLC0415 - the reference

    headers = [(b":path", b"/etcdserverpb.KV/Range"), (b"token", b"x" * 500), (b"long", b"y" * 127), (b"e", b"")]
    assert Decoder().decode(frames.header_block(headers), raw=True) == headers


def test_control_frames() -> None:
    data = (
        frame(frames.PING, 0, 0, b"12345678")
        + frame(frames.PING, frames.ACK, 0, b"87654321")
        + frames.window_update(0, 5)
        + frames.window_update(7, 6)
        + frames.reset(9, frames.REFUSED_STREAM)
        + frame(frames.GOAWAY, 0, 0, struct.pack(">LL", 5, 11) + b"too_many_pings")
        + frame(frames.PRIORITY, 0, 1, bytes(5))
        + frame(0xFA, 0, 0, b"unknown")
        + frame(frames.SETTINGS, frames.ACK, 0)
    )
    assert read(data) == [
        frames.Ping(b"12345678"),
        frames.Pong(b"87654321"),
        frames.WindowUpdate(0, 5),
        frames.WindowUpdate(7, 6),
        frames.Reset(9, frames.REFUSED_STREAM),
        GoAway(5, 11, "too_many_pings"),
    ]


BROKEN = {
    "even stream": frame(frames.DATA, 0, 2, b"x"),
    "stream 0": frame(frames.HEADERS, frames.END_HEADERS, 0, STATUS_200),
    "padding alone": frame(frames.DATA, frames.PADDED, 1, b"\x01\0"[:1]),
    "padding without length": frame(frames.DATA, frames.PADDED, 1),
    "more padding than frame": frame(frames.HEADERS, frames.PADDED | frames.END_HEADERS, 1, b"\x09ab"),
    "priority cut off": frame(frames.HEADERS, frames.PRIORITIZED | frames.END_HEADERS, 1, b"abc"),
    "frame too large": struct.pack(">HBBBL", (frames.FRAME + 1) >> 8, 1, 0, 0, 1),
    "interrupted block": frame(frames.HEADERS, 0, 1, b"\x88") + frame(frames.PING, 0, 0, bytes(8)),
    "continuation of another": frame(frames.HEADERS, 0, 1, b"\x88") + frame(frames.CONTINUATION, 4, 3, b"\x88"),
    "continuation of nothing": frame(frames.CONTINUATION, frames.END_HEADERS, 1, b"\x88"),
    "empty continuations": frame(frames.HEADERS, 0, 1, b"\x88") + frame(frames.CONTINUATION, 0, 1) * 2,
    "block too large": frame(frames.HEADERS, 0, 1, b"\x00\x7f") + frame(frames.CONTINUATION, 0, 1, bytes(9000)) * 2,
    "headers too large": frame(
        frames.HEADERS, 4, 1, frames.header_block([(b"a", b"b" * 7000)] * 2 + [(b"", b"")] * 100)
    ),
    "not in the table": frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xbe"),
    "table too large": frame(frames.HEADERS, frames.END_HEADERS, 1, b"\x3f\xe1\x1f\x88"),
    "huffman nonsense": frame(frames.HEADERS, frames.END_HEADERS, 1, b"\x00\x84\xff\xff\xff\xff\x00"),
    "push": frame(frames.PUSH_PROMISE, 4, 1, bytes(5)),
    "ping too short": frame(frames.PING, 0, 0, b"1234"),
    "ping of a stream": frame(frames.PING, 0, 1, bytes(8)),
    "settings cut off": frame(frames.SETTINGS, 0, 0, b"12345"),
    "settings of a stream": frame(frames.SETTINGS, 0, 1),
    "acknowledgement with content": frame(frames.SETTINGS, frames.ACK, 0, bytes(6)),
    "window too large": frames.settings({4: 1 << 31}),
    "frames too small": frames.settings({5: 100}),
    "frames too large": frames.settings({5: 1 << 24}),
    "window update of 0": frames.window_update(1, 0),
    "window update too short": frame(frames.WINDOW_UPDATE, 0, 0, b"1"),
    "reset too short": frame(frames.RST_STREAM, 0, 1, b"1"),
    "goaway too short": frame(frames.GOAWAY, 0, 0, b"1234"),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_a_peer_that_breaks_the_rules_is_given_up(data: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        read(data)


EVERYTHING = (
    GREETING
    + frame(frames.HEADERS, 0, 1, b"\x88")
    + frame(frames.CONTINUATION, 4, 1, frames.header_block([(b"a", b"b")]))
    + frame(frames.DATA, frames.PADDED, 1, b"\x01hello\0")
    + frame(frames.PING, 0, 0, bytes(8))
    + frame(frames.DATA, frames.END_STREAM, 1)
)


@hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(0, len(EVERYTHING)), max_size=8))
def test_bytes_may_come_in_any_pieces(cuts: list[int]) -> None:
    whole = list(FrameReader().feed(EVERYTHING))
    assert len(whole) == 5
    reader, events = FrameReader(), []
    edges = [0, *sorted(cuts), len(EVERYTHING)]
    for start, end in itertools.pairwise(edges):
        events += list(reader.feed(EVERYTHING[start:end]))
    assert events == whole
    assert len(reader._buffer) == 0


@hypothesis_settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200), st.integers(0, len(EVERYTHING)))
def test_any_bytes_are_read_or_refused(garbage: bytes, at: int) -> None:
    """Nothing but :class:`ProtocolViolation` comes out, and no more is kept than one frame."""
    reader = FrameReader()
    with contextlib.suppress(ProtocolViolation):
        list(reader.feed(EVERYTHING[:at] + garbage + EVERYTHING[at:]))
    assert len(reader._buffer) <= frames.FRAME + 9
