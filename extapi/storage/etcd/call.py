"""A gRPC call on a connection: its messages out of the bytes of its stream, and how it can end. Knows no frames on the wire.

Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from extapi.storage.etcd.frames import ProtocolViolation

MESSAGE: Final = 256 * 1024 * 1024
"""The largest message that is accepted, in bytes."""
_HEAD: Final = 5
"""Bytes before each message: whether it is compressed, and its length."""


class NotBegun(Exception):
    """The peer has certainly not worked on the call: it can be made again elsewhere."""


class Lost(Exception):
    """The call ended without an answer; whether the peer has worked on it is unknown."""


class NotGrpc(Lost):
    """Something that does not speak gRPC has answered; ``status`` is that of HTTP."""

    def __init__(self, status: str) -> None:
        super().__init__(f"the answer has no gRPC status; its HTTP status is {status}")


class RpcError(Exception):
    """The peer answered with an error.

    ``code`` is gRPC's (https://grpc.io/docs/guides/status-codes/).
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message or f"gRPC status {code}")
        self.code = code


def grpc_message(message: bytes) -> bytes:
    """A message as it is sent: not compressed, its length before it."""
    return struct.pack(">BL", 0, len(message)) + message


class Carrier(Protocol):
    """What carries calls."""

    def send(self, call: RpcCall, data: bytes, *, last: bool) -> None:
        """Send bytes of a call."""
        ...

    def cancel(self, call: RpcCall) -> None:
        """Forget a call, and tell the peer."""
        ...


class RpcCall:
    """A running call."""

    __slots__ = (
        "_buffer",
        "_wanted",
        "begun",
        "carrier",
        "end",
        "message",
        "pending",
        "received",
        "stream",
        "window",
    )

    def __init__(
        self,
        carrier: Carrier,
        stream: int,
        window: int,
        message: Callable[[bytes], None],
        end: Callable[[Exception | None], None],
    ) -> None:
        self.carrier = carrier
        self.stream = stream
        self.window = window
        """Bytes that may be sent."""
        self.message = message
        self.end = end
        self.received = 0
        """Bytes that came since the window was given back."""
        self.begun = False
        """Whether the headers of the answer have come."""
        self.pending: deque[tuple[bytes, bool]] = deque()
        """What waits for the window."""
        self._buffer = bytearray()
        self._wanted = _HEAD

    def send(self, message: bytes, *, last: bool = False) -> None:
        """Send a message; nothing if the call has ended."""
        self.carrier.send(self, grpc_message(message), last=last)

    def cancel(self) -> None:
        """End the call from this side: neither ``message`` nor ``end`` is called any more."""
        self.carrier.cancel(self)

    def data(self, data: bytes) -> list[bytes]:
        """Whole messages that are complete with these bytes.

        Raises:
            ProtocolViolation: A message is compressed, or too large.
        """
        if self._buffer:  # so that a large message that comes in many frames is not copied for each of them
            self._buffer += data
            if len(self._buffer) < self._wanted:
                return []
            data, self._buffer = bytes(self._buffer), bytearray()
        elif (
            len(data) >= _HEAD and data[0] == 0 and int.from_bytes(data[1:_HEAD], "big") == len(data) - _HEAD <= MESSAGE
        ):
            return [data[_HEAD:]]  # one message, as nearly always
        messages = []
        at = 0
        self._wanted = _HEAD
        while len(data) - at >= _HEAD:
            compressed, size = struct.unpack_from(">BL", data, at)
            if compressed or size > MESSAGE:
                what = "is compressed, which was not offered" if compressed else f"of {size} bytes is too large"
                raise ProtocolViolation(f"a message {what}")
            if len(data) - at < _HEAD + size:
                self._wanted = _HEAD + size
                break
            messages.append(data[at + _HEAD : at + _HEAD + size])
            at += _HEAD + size
        if at < len(data):
            self._buffer += data[at:]
        return messages

    @property
    def incomplete(self) -> bool:
        """Whether a message has begun that is not complete."""
        return bool(self._buffer)
