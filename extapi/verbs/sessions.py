"""What a connecter's answer does on its connection: streams a body, or runs an author's session, and ends both in bounded time.

A session is told of the end of its connection in one way: reading ends, sending raises ConnectionClosed. It then has
:data:`FAREWELL` seconds, after which it is cancelled. A client that leaves data unread for :data:`STALLED` seconds is cut off.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from extapi.api.connect import ConnectionClosed, UpgradedConnection, WebSocket
from extapi.clock import Clock, stop_timer
from extapi.http.response import PIECE, Chunk, Duplex, Sink

HIGH = 4 * PIECE
"""Bytes that may wait for a client before who sends has to wait."""
AHEAD = PIECE
"""Bytes from a client that may wait for the session before the client has to wait."""
FAREWELL = 10.0
"""Seconds for a session after its connection has ended."""
STALLED = 300.0
"""Seconds in which a client has to take what waits for it."""

EACH = 64
"""Bytes that a message takes beside its content."""
NORMAL, GOING_AWAY, INTERNAL_ERROR = 1000, 1001, 1011
"""Codes of RFC 6455, section 7.4.1."""

M = TypeVar("M", bound="str | bytes")

_log = Logger()


async def taken(sink: Sink, clock: Clock) -> None:
    """Wait until the client has taken what it was sent, if that is much; a client that does not is cut off."""
    if sink.pending <= HIGH or sink.closed:
        return
    late = clock.callLater(STALLED, sink.abort)
    try:
        await sink.drained()
    finally:
        stop_timer(late)


class BodyStream:
    """The body of a response whose pieces come from an author's iterator; a :data:`~extapi.http.response.Streaming`."""

    def __init__(self, pieces: AsyncIterable[str | bytes], clock: Clock) -> None:
        self._pieces = pieces
        self._clock = clock

    async def __call__(self, sink: Sink) -> None:
        """Send the pieces until there are no more, or the client leaves: then the iterator is cancelled."""
        copying = Deferred.fromCoroutine(self._copy(sink))
        sink.on_closed(copying.cancel)
        try:
            await copying
        except CancelledError:
            if not sink.closed:
                raise

    def close(self) -> None:
        """Drop the body: nobody reads it, as for HEAD."""
        close = getattr(self._pieces, "aclose", None)
        if close is not None:
            Deferred.fromCoroutine(close()).addErrback(_unread)

    async def _copy(self, sink: Sink) -> None:
        try:
            async for piece in self._pieces:
                data = piece.encode() if isinstance(piece, str) else bytes(piece)
                for at in range(0, len(data), PIECE):
                    sink.write(Chunk(data[at : at + PIECE]))
                await taken(sink, self._clock)
                if sink.closed:
                    return
        finally:
            close = getattr(self._pieces, "aclose", None)
            if close is not None:
                await close()


class _Inbox(Generic[M]):
    """What has come from a client and the session has not read yet; ``hold`` makes the client wait while that is much."""

    def __init__(self, hold: Callable[[bool], None]) -> None:
        self._hold = hold
        self._items: deque[M] = deque()
        self._size = 0
        self._waiting: Deferred[None] | None = None
        self.ended = False
        """Nothing more will come."""

    def put(self, item: M) -> None:
        """Something has come."""
        self._items.append(item)
        self._size += len(item) + EACH
        if self._size >= AHEAD:
            self._hold(True)
        self._wake()

    def end(self) -> None:
        """The connection has ended."""
        self.ended = True
        self._wake()

    async def take(self) -> M | None:
        """The next one, as soon as there is one; None at the end."""
        while not self._items:
            if self.ended:
                return None
            self._waiting = Deferred()
            await self._waiting
        item = self._items.popleft()
        self._size -= len(item) + EACH
        if self._size < AHEAD:
            self._hold(False)
        return item

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)


async def _sent(connection: Duplex, clock: Clock, data: bytes) -> None:
    """Send bytes, and wait if the client is behind.

    Raises:
        ConnectionClosed: The client has left, or does not read.
    """
    if connection.closed:
        raise ConnectionClosed
    connection.write(Chunk(data))
    await taken(connection, clock)
    if connection.closed:
        raise ConnectionClosed


class _Socket:
    """:class:`extapi.api.connect.WebSocket` on a connection."""

    def __init__(self, connection: Duplex, clock: Clock, protocol: str) -> None:
        from extapi.http import messages  # noqa: PLC0415 - the library is only loaded where used

        self._connection = connection
        self._clock = clock
        self._frame = messages.message_frame
        self._messages = messages.MessageConnection(connection, self._received)
        self._inbox: _Inbox[str | bytes] = _Inbox(self._messages.hold)
        self.protocol = protocol

    def start(self) -> _Inbox[str | bytes]:
        """Begin to read."""
        self._messages.start(GOING_AWAY)
        return self._inbox

    async def receive(self) -> str | bytes:
        """See :class:`extapi.api.connect.WebSocket`."""
        message = await self._inbox.take()
        if message is None:
            raise ConnectionClosed
        return message

    async def __aiter__(self) -> AsyncIterator[str | bytes]:
        """See :class:`extapi.api.connect.WebSocket`."""
        while (message := await self._inbox.take()) is not None:
            yield message

    async def send(self, message: str | bytes) -> None:
        """See :class:`extapi.api.connect.WebSocket`."""
        text = isinstance(message, str)
        data = message.encode() if isinstance(message, str) else bytes(message)
        await _sent(self._connection, self._clock, self._frame(data, text=text))

    def close(self, code: int = 1000, reason: str = "") -> None:
        """See :class:`extapi.api.connect.WebSocket`."""
        if not self._connection.closed:
            self._messages.close(code, reason)

    async def parted(self) -> None:
        """Wait for the client's Close, but not for long."""
        await self._messages.parted(self._clock)

    def _received(self, message: str | bytes) -> None:
        self._inbox.put(message)


class _Stream:
    """:class:`extapi.api.connect.UpgradedConnection` on a connection."""

    def __init__(self, connection: Duplex, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._inbox: _Inbox[bytes] = _Inbox(self._hold)

    def start(self) -> _Inbox[bytes]:
        """Begin to read."""
        self._connection.receive(self._inbox.put)
        return self._inbox

    async def read(self) -> bytes:
        """See :class:`extapi.api.connect.UpgradedConnection`."""
        return await self._inbox.take() or b""

    async def write(self, data: bytes) -> None:
        """See :class:`extapi.api.connect.UpgradedConnection`."""
        await _sent(self._connection, self._clock, bytes(data))

    def _hold(self, held: bool) -> None:
        if held:
            self._connection.pause()
        else:
            self._connection.resume()


class WebSocketSession:
    """Runs an author's session on a WebSocket, after its handshake.

    Args:
        session: The author's coroutine.
        protocol: The subprotocol that was chosen.
        clock: For deadlines.
        what: The request, for the log.
    """

    def __init__(self, session: Callable[[WebSocket], Awaitable[None]], protocol: str, clock: Clock, what: str) -> None:
        self._session = session
        self._protocol = protocol
        self._clock = clock
        self._what = what

    async def __call__(self, connection: Duplex) -> None:
        """Run until the session is over, then close, and let the client do so, too."""
        socket = _Socket(connection, self._clock, self._protocol)
        inbox = socket.start()
        well = await _run(self._session(socket), connection, inbox, self._clock, self._what)
        socket.close(NORMAL if well else INTERNAL_ERROR)
        await socket.parted()


class UpgradedSession:
    """Runs an author's session on a connection after 101. The arguments are those of :class:`WebSocketSession`."""

    def __init__(self, session: Callable[[UpgradedConnection], Awaitable[None]], clock: Clock, what: str) -> None:
        self._session = session
        self._clock = clock
        self._what = what

    async def __call__(self, connection: Duplex) -> None:
        """Run until the session is over; if it fails, the connection is broken off."""
        stream = _Stream(connection, self._clock)
        inbox = stream.start()
        if not await _run(self._session(stream), connection, inbox, self._clock, self._what):
            connection.abort()


async def _run(work: Awaitable[None], connection: Duplex, inbox: _Inbox[Any], clock: Clock, what: str) -> bool:
    """Run a session to its end, or until its connection has ended and it does not; whether it went well."""
    running = Deferred.fromCoroutine(_awaited(work))
    timer: Any = None

    def ended() -> None:
        nonlocal timer
        inbox.end()
        if not running.called:
            timer = clock.callLater(FAREWELL, running.cancel)

    connection.on_closed(ended)
    try:
        await running
    except ConnectionClosed:
        return True
    except CancelledError:
        _log.warn("{what}: the session did not end with its connection, and was cancelled", what=what)
    except Exception:  # noqa: BLE001 - what an author's code raises ends this connection, and nothing else
        _log.failure("{what}: the session failed", what=what)
    else:
        return True
    finally:
        stop_timer(timer)
    return False


async def _awaited(work: Awaitable[None]) -> None:
    await work


def _unread(failure: Failure) -> None:
    _log.failure("the iterator of a body that nobody reads failed", failure)
