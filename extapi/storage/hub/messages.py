"""What the hub and a worker tell one another, and their frames: four bytes with the length, then msgpack. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from extapi.storage.base import KeyValue, LogEvent

LARGEST_VALUE: Final = 64 * 1024 * 1024
"""Bytes of a value that is passed on; the API takes a twentieth of it."""
LARGEST_FRAME: Final = 2 * LARGEST_VALUE + 1024 * 1024
"""A change has the value before, too."""
PART_BYTES: Final = 4 * 1024 * 1024
"""After how many bytes of values the changes of one group go on in another frame."""
_LENGTH: Final = 4


class Commit(msgspec.Struct, array_like=True, tag="commit", frozen=True, gc=False):
    """From a worker: :meth:`extapi.storage.base.Backend.commit`. The answer has the same number."""

    number: int
    key: bytes
    value: bytes | None
    expected: int


class Compact(msgspec.Struct, array_like=True, tag="compact", frozen=True, gc=False):
    """From a worker: :meth:`extapi.storage.base.Backend.compact`."""

    number: int
    revision: int
    expected: int


class Hello(msgspec.Struct, array_like=True, tag="hello", frozen=True, gc=False):
    """From the hub, first: what follows begins after this revision."""

    current: int


class Changes(msgspec.Struct, array_like=True, tag="changes", frozen=True, gc=False):
    """From the hub: a part of the log, without a gap to what came before."""

    changes: list[LogEvent]
    progress: int


class HubAnswer(msgspec.Struct, array_like=True, tag="answer", frozen=True, gc=False):
    """From the hub: the result of a call."""

    number: int
    result: int


class HubConflict(msgspec.Struct, array_like=True, tag="conflict", frozen=True, gc=False):
    """From the hub: :class:`~extapi.storage.base.RevisionConflict`."""

    number: int
    live: KeyValue | None


class Ahead(msgspec.Struct, array_like=True, tag="ahead", frozen=True, gc=False):
    """From the hub: :class:`~extapi.storage.base.Future`."""

    number: int
    current: int


class HubRefused(msgspec.Struct, array_like=True, tag="refused", frozen=True, gc=False):
    """From the hub: the store cannot be written now, and nothing was."""

    number: int
    why: str
    overloaded: bool
    """Whether only too many writes wait."""


class Refusing(msgspec.Struct, array_like=True, tag="refusing", frozen=True, gc=False):
    """From the hub: whether the store refuses writes, whoever's they are."""

    refuses: bool


Request = Commit | Compact
Message = Hello | Changes | HubAnswer | HubConflict | Ahead | HubRefused | Refusing

_encode = msgspec.msgpack.Encoder().encode
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_messages: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)


def frame(message: Request | Message) -> bytes:
    """A message with its length."""
    return framed(_encode(message))


def framed(body: bytes) -> bytes:
    """A body with its length."""
    return len(body).to_bytes(_LENGTH, "big") + body


class MalformedFrame(ValueError):
    """What came is nothing that the other side sends."""


def read_request(body: bytes) -> Request:
    """What a worker asks for.

    Raises:
        MalformedFrame: Nothing.
    """
    try:
        return _requests.decode(body)
    except msgspec.MsgspecError as error:
        raise MalformedFrame(str(error)) from error


def read_message(body: bytes) -> Message:
    """What the hub says.

    Raises:
        MalformedFrame: Nothing.
    """
    try:
        return _messages.decode(body)
    except msgspec.MsgspecError as error:
        raise MalformedFrame(str(error)) from error


class Frames:
    """Cuts a stream into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies of the frames that ``data`` completes.

        Raises:
            MalformedFrame: A frame says that it is longer than any that is sent.
        """
        buffer = self._buffer
        buffer += data
        at = 0
        try:
            while len(buffer) - at >= _LENGTH:
                size = int.from_bytes(buffer[at : at + _LENGTH], "big")
                if size > LARGEST_FRAME:
                    raise MalformedFrame(f"a frame of {size} bytes")
                end = at + _LENGTH + size
                if len(buffer) < end:
                    break
                body = bytes(buffer[at + _LENGTH : end])
                at = end
                yield body
        finally:
            del buffer[:at]


def parts(changes: Sequence[LogEvent], current: int) -> Iterator[Changes]:
    """A group of changes as messages of a bounded size; the last one reaches ``current``."""
    part: list[LogEvent] = []
    size = 0
    for change in changes:
        more = len(change.value or b"") + len(change.previous or b"")
        if part and size + more > PART_BYTES:
            yield Changes(part, part[-1].revision)
            part, size = [], 0
        part.append(change)
        size += more
    yield Changes(part, current)
