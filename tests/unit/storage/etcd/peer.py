"""The other side of a connection, scripted by hand: it sends exactly the frames that a test wants, however wrong."""

from __future__ import annotations

import struct
from typing import Any

from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from extapi.storage.etcd import frames
from extapi.storage.etcd.call import RpcCall
from extapi.storage.etcd.connection import RpcConnection
from extapi.storage.etcd.frames import Data, Event, FrameReader, Headers, frame

OK = frame(frames.HEADERS, frames.END_HEADERS, 1, b"\x88")[9:]
BLOCK = frames.header_block([(b":path", b"/x")])


def message(data: bytes) -> bytes:
    """A gRPC message."""
    return struct.pack(">BL", 0, len(data)) + data


def begun(stream: int) -> bytes:
    """The headers of an answer."""
    return frame(frames.HEADERS, frames.END_HEADERS, stream, OK)


def body(stream: int, data: bytes, flags: int = 0) -> bytes:
    return frame(frames.DATA, flags, stream, data)


def trailers(stream: int, status: int = 0, text: str = "") -> bytes:
    """The end of an answer."""
    block = frames.header_block([(b"grpc-status", b"%d" % status), (b"grpc-message", text.encode())])
    return frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, block)


class Transport(StringTransport):
    """What was written, and whether the connection was given up."""

    aborted = False
    no_delay = False

    def setTcpNoDelay(self, enabled: bool) -> None:  # noqa: N802 - named by Twisted
        self.no_delay = enabled

    def abortConnection(self) -> None:  # noqa: N802 - named by Twisted
        self.aborted = True


class Peer:
    """A connection under test, and what its peer sees of it."""

    def __init__(self, settings: dict[int, int] | None = None, *, ready: bool = True) -> None:
        self.clock = Clock()
        self.transport: Any = Transport()  # type: ignore[no-untyped-call]  # Twisted's
        self.ready: list[RpcConnection] = []
        self.gone: list[str] = []
        self.connection = RpcConnection(self.clock, self.ready.append, lambda _, why: self.gone.append(why))
        self.connection.makeConnection(self.transport)  # type: ignore[no-untyped-call]  # Twisted's
        self._reader = FrameReader()
        self._preface = True
        self.outcomes: dict[int, list[Exception | None]] = {}
        self.messages: dict[int, list[bytes]] = {}
        self.seen()
        if ready:
            self.send(frames.settings(settings or {}))
            self.seen()

    def send(self, *data: bytes) -> None:
        """The peer sends."""
        for each in data:
            self.connection.dataReceived(each)

    def seen(self) -> list[Event]:
        """The frames that the peer got since the last time."""
        data = self.transport.value()
        self.transport.clear()
        if self._preface:
            assert data.startswith(frames.PREFACE)
            data, self._preface = data[len(frames.PREFACE) :], False
        return list(self._reader.feed(data))

    def sent_data(self) -> list[bytes]:
        """The parts of bodies that the peer got since the last time."""
        return [event.data for event in self.seen() if isinstance(event, Data)]

    def call(self, first: bytes = b"q", *, last: bool = True) -> RpcCall:
        """Begin a call."""
        outcomes: list[Exception | None] = []
        messages: list[bytes] = []
        call = self.connection.begin(BLOCK, first, messages.append, outcomes.append, last=last)
        self.outcomes[call.stream], self.messages[call.stream] = outcomes, messages
        return call

    def outcome(self, call: RpcCall) -> Exception | None:
        """How a call ended."""
        (outcome,) = self.outcomes[call.stream]
        return outcome

    def running(self, call: RpcCall) -> bool:
        return not self.outcomes[call.stream]


__all__ = ["Headers", "Peer", "begun", "body", "message", "trailers"]
