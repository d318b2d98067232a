"""HTTP/2 frames and header blocks as bytes, and bytes as frames: what a gRPC client needs of RFC 9113 and RFC 7541.

Must not know sockets, streams' owners or gRPC. :class:`FrameReader` checks everything that a peer may get wrong and that this
client relies on; it never holds more than one frame and one header block.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from hpack import Decoder, HPACKError

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client sends first (RFC 9113, section 3.4)."""

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
"""Types of frames (RFC 9113, section 6)."""

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITIZED: Final = 0x20
_SPLIT: Final = END_HEADERS | PADDED | PRIORITIZED
"""What says whether a header block is the whole payload of its frame."""

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = range(1, 6)
"""Identifiers of settings (RFC 9113, section 6.5.2)."""

NO_ERROR, PROTOCOL_ERROR = 0x0, 0x1
FLOW_CONTROL_ERROR: Final = 0x3
FRAME_SIZE_ERROR: Final = 0x6
REFUSED_STREAM: Final = 0x7
CANCEL: Final = 0x8
COMPRESSION_ERROR: Final = 0x9
ENHANCE_YOUR_CALM: Final = 0xB
"""Error codes (RFC 9113, section 7)."""

WINDOW: Final = 65535
"""The window of a connection, and of streams before the peer's settings (RFC 9113, section 6.9.2)."""
MOST_WINDOW: Final = 2**31 - 1
LEAST_FRAME: Final = 16384
"""Every peer accepts frames of this size (RFC 9113, section 4.2)."""
FRAME: Final = 1 << 20
"""The largest frame that is accepted, in bytes, so that a large answer comes in few pieces."""
BLOCK: Final = 16 * 1024
"""The largest header block that is accepted, in bytes, compressed or not. etcd's have some hundred."""
_REMEMBERED: Final = 64
"""How many different header blocks are remembered with their headers."""
_HEAD: Final = struct.Struct(">HBBBL")
"""The head of a frame: its length, of which the first two bytes are one number here; type, flags, stream."""


class ProtocolViolation(Exception):
    """The peer broke the rules, or a bound; the connection has to be given up. ``code``: for GOAWAY."""

    def __init__(self, why: str, code: int = PROTOCOL_ERROR) -> None:
        super().__init__(why)
        self.code = code


class Data(NamedTuple):
    """A part of a stream's body."""

    stream: int
    data: bytes
    size: int
    """Bytes that count for flow control: with padding."""
    last: bool


class Headers(NamedTuple):
    """A whole header block: headers, or trailers."""

    stream: int
    headers: dict[str, str]
    """If a name comes twice, the last value."""
    last: bool


class Reset(NamedTuple):
    """The peer gave a stream up."""

    stream: int
    code: int


class Settings(NamedTuple):
    """The peer's settings; to be acknowledged."""

    values: dict[int, int]


class Ping(NamedTuple):
    """To be answered with the same bytes."""

    data: bytes


class Pong(NamedTuple):
    """The answer to a PING."""

    data: bytes


class GoAway(NamedTuple):
    """The peer accepts no further streams; those above ``last`` have not been worked on, and never will be."""

    last: int
    code: int
    why: str


class WindowUpdate(NamedTuple):
    """More may be sent; ``stream`` 0: on the connection."""

    stream: int
    more: int


Event = Data | Headers | Reset | Settings | Ping | Pong | GoAway | WindowUpdate


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame as bytes."""
    size = len(payload)
    return _HEAD.pack(size >> 8, size & 255, kind, flags, stream) + payload


def settings(values: dict[int, int]) -> bytes:
    """A SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HL", *item) for item in values.items()))


def window_update(stream: int, more: int) -> bytes:
    """A WINDOW_UPDATE frame."""
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">L", more))


def reset(stream: int, code: int) -> bytes:
    """An RST_STREAM frame."""
    return frame(RST_STREAM, 0, stream, struct.pack(">L", code))


def go_away(code: int) -> bytes:
    """A GOAWAY frame of a client, which has accepted no streams."""
    return frame(GOAWAY, 0, 0, struct.pack(">LL", 0, code))


def header_block(headers: Iterator[tuple[bytes, bytes]] | list[tuple[bytes, bytes]]) -> bytes:
    """Headers as literals that the peer never puts into a table (RFC 7541, section 6.2.3), so that it has no state."""
    return b"".join(b"\x10" + _text(name) + _text(value) for name, value in headers)


def _text(text: bytes) -> bytes:
    """A string literal without Huffman coding: its length, with a prefix of 7 bits, and its bytes (RFC 7541, section 5)."""
    length = len(text)
    if length < 127:
        return bytes((length,)) + text
    length -= 127
    encoded = bytearray((127,))
    while length >= 128:
        encoded.append(length & 127 | 128)
        length >>= 7
    encoded.append(length)
    return bytes(encoded) + text


class FrameReader:
    """Takes the peer's bytes apart.

    We ask for a header table of size 0, so equal blocks mean equal headers, and each is decoded once. A block that changes
    the size of the table (a peer may, up to what we allow, which is 0) is never remembered.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._wanted = _HEAD.size
        """So many bytes are needed before anything can be done."""
        self._decoder = Decoder(max_header_list_size=BLOCK)
        self._decoder.max_allowed_table_size = 0
        self._decoder.header_table_size = 0
        self._blocks: dict[bytes, dict[str, str]] = {}
        self._block: bytearray | None = None
        """A header block that CONTINUATION frames have to complete."""
        self._block_stream = 0
        self._block_last = False
        self._greeted = False

    def feed(self, data: bytes) -> Iterator[Event]:
        """What whole frames say, in order. Must be iterated to the end.

        Raises:
            ProtocolViolation: The peer broke the rules, or a bound.
        """
        if self._buffer:  # so that a large frame that comes in many pieces is not copied for each of them
            self._buffer += data
            if len(self._buffer) < self._wanted:
                return
            data, self._buffer = bytes(self._buffer), bytearray()
        at, end = 0, len(data)
        self._wanted = _HEAD.size
        try:
            while end - at >= _HEAD.size:
                high, low, kind, flags, stream = _HEAD.unpack_from(data, at)
                size = high << 8 | low
                if size > FRAME:
                    raise ProtocolViolation(f"a frame of {size} bytes", FRAME_SIZE_ERROR)
                start = at + _HEAD.size
                if end - start < size:
                    self._wanted = _HEAD.size + size
                    break
                at = start + size
                if not self._greeted:
                    self._greet(kind, flags)
                event = self._event(kind, flags, stream & MOST_WINDOW, data[start:at])
                if event is not None:
                    yield event
        finally:
            if at < end:
                self._buffer += data[at:]

    def _greet(self, kind: int, flags: int) -> None:
        """The first frame is SETTINGS (RFC 9113, section 3.4); a peer that speaks HTTP/1.1 or TLS is found out here."""
        if kind != SETTINGS or flags & ACK:
            raise ProtocolViolation("the peer does not speak HTTP/2: its first frame is not SETTINGS")
        self._greeted = True

    def _event(self, kind: int, flags: int, stream: int, payload: bytes) -> Event | None:
        if self._block is not None and (kind != CONTINUATION or stream != self._block_stream):
            raise ProtocolViolation("a header block is interrupted")
        if kind == DATA:
            return Data(_stream(stream), _unpadded(flags, payload), len(payload), bool(flags & END_STREAM))
        if kind == HEADERS:
            if flags & _SPLIT == END_HEADERS and payload in self._blocks:  # nearly always
                return Headers(_stream(stream), self._blocks[payload], bool(flags & END_STREAM))
            payload = _unpadded(flags, payload)
            if flags & PRIORITIZED:
                if len(payload) < 5:
                    raise ProtocolViolation("a HEADERS frame is too short", FRAME_SIZE_ERROR)
                payload = payload[5:]
            self._block = bytearray()
            self._block_stream, self._block_last = _stream(stream), bool(flags & END_STREAM)
            return self._continued(flags, payload)
        if kind == CONTINUATION:
            if self._block is None:
                raise ProtocolViolation("a CONTINUATION frame continues nothing")
            return self._continued(flags, payload)
        return _control(kind, flags, stream, payload)

    def _continued(self, flags: int, payload: bytes) -> Headers | None:
        """One part of a header block. An empty one that does not end it is refused, since there might be any number."""
        block = self._block
        assert block is not None  # noqa: S101 - for the type checker
        if not payload and not flags & END_HEADERS:
            raise ProtocolViolation("a part of a header block is empty", ENHANCE_YOUR_CALM)
        block += payload
        if len(block) > BLOCK:
            raise ProtocolViolation(f"a header block of more than {BLOCK} bytes", ENHANCE_YOUR_CALM)
        if not flags & END_HEADERS:
            return None
        self._block = None
        return Headers(self._block_stream, self._decoded(bytes(block)), self._block_last)

    def _decoded(self, block: bytes) -> dict[str, str]:
        known = self._blocks.get(block)
        if known is None:
            try:
                known = {_latin(name): _latin(value) for name, value in self._decoder.decode(block, raw=True)}
            except HPACKError as error:
                raise ProtocolViolation(f"headers cannot be decoded: {error}", COMPRESSION_ERROR) from error
            if len(self._blocks) < _REMEMBERED and block and block[0] & 0xE0 != 0x20:
                self._blocks[block] = known
        return known


def _latin(text: bytes | str) -> str:
    return text.decode("latin-1") if isinstance(text, bytes) else text


def _stream(number: int) -> int:
    """A stream of ours, which has an odd number (RFC 9113, section 5.1.1)."""
    if not number & 1:
        raise ProtocolViolation(f"a frame belongs to stream {number}, which no client opens")
    return number


def _unpadded(flags: int, payload: bytes) -> bytes:
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise ProtocolViolation("a frame is nothing but padding")
    return payload[1 : len(payload) - payload[0]]


_SIZES = {RST_STREAM: 4, PING: 8, WINDOW_UPDATE: 4, PRIORITY: 5}
"""Bytes of a payload that has always the same."""


def _control(kind: int, flags: int, stream: int, payload: bytes) -> Event | None:
    """Frames that carry no content. Unknown ones are ignored, as RFC 9113, section 5.5, demands."""
    if _SIZES.get(kind, len(payload)) != len(payload):
        raise ProtocolViolation(f"a frame of type {kind} with {len(payload)} bytes", FRAME_SIZE_ERROR)
    if kind in (SETTINGS, PING, GOAWAY) and stream:
        raise ProtocolViolation(f"a frame of type {kind} belongs to a stream")
    if kind == WINDOW_UPDATE:
        more = int.from_bytes(payload, "big") & MOST_WINDOW
        if not more:
            raise ProtocolViolation("a window update of 0")
        return WindowUpdate(stream, more)
    if kind == PING:
        return Pong(payload) if flags & ACK else Ping(payload)
    if kind == RST_STREAM:
        return Reset(_stream(stream), int.from_bytes(payload, "big"))
    if kind == SETTINGS:
        return _settings(flags, payload)
    if kind == GOAWAY:
        if len(payload) < 8:
            raise ProtocolViolation("a GOAWAY frame is too short", FRAME_SIZE_ERROR)
        last, code = struct.unpack_from(">LL", payload)
        return GoAway(last & MOST_WINDOW, code, payload[8:264].decode("latin-1"))
    if kind == PUSH_PROMISE:
        raise ProtocolViolation("the peer pushes, which we do not allow")
    return None


def _settings(flags: int, payload: bytes) -> Settings | None:
    if flags & ACK:
        if payload:
            raise ProtocolViolation("an acknowledgement of settings with content", FRAME_SIZE_ERROR)
        return None
    if len(payload) % 6:
        raise ProtocolViolation("settings are cut off", FRAME_SIZE_ERROR)
    values = dict(struct.iter_unpack(">HL", payload))
    if values.get(INITIAL_WINDOW_SIZE, 0) > MOST_WINDOW:
        raise ProtocolViolation("an initial window that is too large", FLOW_CONTROL_ERROR)
    if not LEAST_FRAME <= values.get(MAX_FRAME_SIZE, LEAST_FRAME) < 1 << 24:
        raise ProtocolViolation("a frame size that is not allowed")
    return Settings(values)
