"""A WebSocket's messages on an upgraded connection, in frames that wsproto reads and writes (RFC 6455, section 5).

Knows neither what messages mean nor who sends them. Whatever a client sends is bounded: a message in bytes, unread answers to
its pings by the connection's queue. There are no extensions. Import this only where a WebSocket is served: wsproto takes 50 ms.
"""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from twisted.internet.defer import Deferred
from wsproto.frame_protocol import CloseReason, FrameProtocol, Opcode, ParseFailed

from extapi.clock import Clock, stop_timer
from extapi.http.response import PIECE, Chunk, Duplex

MESSAGE = 1 << 20
"""Bytes of a message from a client, in all its fragments; for text, characters."""
HIGH = 4 * PIECE
"""Bytes that may wait for a client before nothing more is read from it."""
NOT_UTF8 = "a text is not UTF-8"
"""Why a connection is closed with 1007."""
PARTING = 2.0
"""Seconds for a client to answer a Close frame, before its connection is closed all the same."""


def message_frame(data: bytes, *, text: bool) -> bytes:
    """A whole message in one frame. A server's frames are not masked, so all its clients may share them."""
    protocol = FrameProtocol(client=False, extensions=[])
    return bytes(protocol.send_data(data.decode() if text else data))


def close_frame(code: int, reason: str = "") -> bytes:
    """A Close frame; the reason is cut to fit."""
    return bytes(FrameProtocol(client=False, extensions=[]).close(code, reason or None))


class MessageConnection:
    """The server's end of a WebSocket: answers pings, and ends when the client closes or breaks the protocol.

    Args:
        connection: The connection, after its 101.
        received: Called with each message; without it, messages are dropped unread.
        limit: Bytes of a message.

    Attributes:
        code: The code of the client's Close frame; 1006 until one has come, as RFC 6455, section 7.1.5, has it.
    """

    def __init__(
        self, connection: Duplex, received: Callable[[str | bytes], None] | None = None, *, limit: int = MESSAGE
    ) -> None:
        self._connection = connection
        self._received = received
        self._limit = limit
        self._protocol = FrameProtocol(client=False, extensions=[])
        self._text = StringIO()
        self._data = bytearray()
        self._size = 0
        self._behind = False  # the client does not read what it is sent
        self._held = False
        self._done = False
        """Nothing more is read: the client has closed, or broken the protocol."""
        self._parted: Deferred[None] | None = None
        self.code = int(CloseReason.ABNORMAL_CLOSURE)

    def start(self, parting: int = CloseReason.NORMAL_CLOSURE) -> None:
        """Begin to read. ``parting`` is the code that the client is sent if the server ends the connection from outside."""
        self._connection.parting = close_frame(parting)
        self._connection.receive(self._feed)

    def close(self, code: int = CloseReason.NORMAL_CLOSURE, reason: str = "") -> None:
        """End the connection after what was written: a Close frame, and nothing after that."""
        self._connection.parting = close_frame(code, reason)
        self._connection.close()

    async def parted(self, clock: Clock) -> None:
        """Wait until the client has answered the Close frame that it was sent, or left, or :data:`PARTING` has passed.

        Who closes the TCP connection before that may destroy what the client has not read yet (RFC 6455, section 7.1.1). A
        client that has broken the protocol is not waited for (section 7.1.7).
        """
        if self._done:
            return
        waiting: Deferred[None] = Deferred()
        self._parted = waiting
        timer = clock.callLater(PARTING, self._finish)
        self._connection.on_left(self._finish)
        self._held = self._behind = False
        self._regulate()
        try:
            await waiting
        finally:
            stop_timer(timer)

    def _finish(self) -> None:
        self._done = True
        waiting, self._parted = self._parted, None
        if waiting is not None:
            waiting.callback(None)

    def hold(self, held: bool) -> None:
        """Read nothing more for now, because messages are not wanted yet; or read on."""
        if held != self._held:
            self._held = held
            self._regulate()

    def _feed(self, data: bytes) -> None:
        if self._deaf():
            return
        protocol = self._protocol
        protocol.receive_bytes(data)
        try:
            for frame in protocol.received_frames():
                if frame.opcode is Opcode.CLOSE:
                    self.code = int(frame.payload[0]) if isinstance(frame.payload, tuple) else self.code
                    self._end()
                elif self._over():
                    continue  # it is only waited for the Close
                elif frame.opcode is Opcode.PING:
                    self._connection.write(Chunk(bytes(protocol.pong(_bytes(frame.payload)))))
                elif not frame.opcode.iscontrol() and self._received is not None:
                    self._collect(frame.payload, last=frame.message_finished)
                if self._deaf():
                    return
        except ParseFailed as error:
            # wsproto's text for what is no UTF-8 depends on the pieces in which it came.
            self._end(error.code, NOT_UTF8 if error.code == CloseReason.INVALID_FRAME_PAYLOAD_DATA else str(error))
            return
        if self._connection.pending > HIGH and not self._behind:
            self._behind = True
            self._regulate()
            Deferred.fromCoroutine(self._relieve())

    def _over(self) -> bool:
        return self._connection.closed

    def _deaf(self) -> bool:
        return self._done

    def _end(self, code: int = CloseReason.NORMAL_CLOSURE, reason: str = "") -> None:
        """Read nothing more, and close unless that has been done."""
        if not self._over():
            self.close(code, reason)
        self._finish()

    def _collect(self, payload: object, *, last: bool) -> None:
        """Take a part of a message, and pass on the message with its last part."""
        text = isinstance(payload, str)
        if isinstance(payload, str):
            self._text.write(payload)
        else:
            self._data += _bytes(payload)
        self._size += len(payload) if isinstance(payload, str | bytes | bytearray) else 0
        if self._size > self._limit:
            self._end(CloseReason.MESSAGE_TOO_BIG, f"a message may have {self._limit} bytes")
            return
        if not last:
            return
        message: str | bytes = self._text.getvalue() if text else bytes(self._data)
        self._text, self._data, self._size = StringIO(), bytearray(), 0
        if self._received is not None:
            self._received(message)

    async def _relieve(self) -> None:
        """Read on once the client has read what it was sent."""
        await self._connection.drained()
        self._behind = False
        self._regulate()

    def _regulate(self) -> None:
        if self._held or self._behind:
            self._connection.pause()
        else:
            self._connection.resume()


def _bytes(payload: object) -> bytes:
    return bytes(payload) if isinstance(payload, bytes | bytearray) else b""
