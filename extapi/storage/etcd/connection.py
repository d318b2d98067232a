"""One HTTP/2 connection with gRPC calls on it: windows, pings, and how each call ends. Knows no endpoints and no messages' meaning.

The windows for what comes are opened wide: what a reader has not taken is bounded by the largest message and by whoever
reads, not by flow control. What is sent keeps to the peer's windows.

Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md; RFC 9113.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from OpenSSL import SSL
from service_identity import VerificationError
from twisted.internet.protocol import Protocol

from extapi.clock import Clock, Timer, stop_timer
from extapi.storage.etcd import frames
from extapi.storage.etcd.call import Lost, NotBegun, NotGrpc, RpcCall, RpcError, grpc_message
from extapi.storage.etcd.frames import ProtocolViolation, frame
from extapi.storage.etcd.times import PING_SECONDS, PONG_SECONDS

_REFILL: Final = 1 << 24
"""Windows are given back after so many bytes."""
_CONTROL: Final = 10_000
"""So many pings and settings may come without content in between."""
_LAST_STREAM: Final = frames.MOST_WINDOW - 2


class RpcConnection(Protocol):
    """A connection.

    Args:
        clock: For pings.
        ping: The time between two of them, in seconds.
        ready: Is called when the peer's settings have come, so that calls may begin.
        gone: Is called once, when no new call may begin, with the reason; calls that run may go on.
    """

    transport: Any

    def __init__(
        self,
        clock: Clock,
        ready: Callable[[RpcConnection], None],
        gone: Callable[[RpcConnection, str], None],
        *,
        ping: float = PING_SECONDS,
    ) -> None:
        self._clock = clock
        self._ping_seconds = ping
        self._ready: Callable[[RpcConnection], None] | None = ready
        self._gone: Callable[[RpcConnection, str], None] | None = gone
        self._reader = frames.FrameReader()
        self._calls: dict[int, RpcCall] = {}
        self._blocked: dict[int, RpcCall] = {}
        """Calls whose messages wait for a window, in the order in which they began to."""
        self._next = 1
        self._window = frames.WINDOW
        self._initial = frames.WINDOW
        self._frame = frames.LEAST_FRAME
        self._most = frames.MOST_WINDOW
        self._received = 0
        self._control = 0
        self._heard = self._asked = False
        """Whether something came since the last ping, and whether there was one."""
        self._timer: Timer | None = None
        self._pings: list[bytes] = []
        """What PINGs brought that have to be answered."""
        self._pong_timer: Timer | None = None
        self._closed = self._retired = False
        self._why = "the connection was closed"
        self.usable = True
        """Whether calls may begin."""

    def connectionMade(self) -> None:  # noqa: N802 - named by Twisted
        """Say what we want: no table of headers, no pushes, wide windows, large frames.

        What is written is sent at once, as by grpc-go (``net.TCPConn.SetNoDelay``): else a call waits for up to 40 ms behind
        an answer to a PING that the peer has not acknowledged.
        """
        self.transport.setTcpNoDelay(True)
        self.transport.write(
            frames.PREFACE
            + frames.settings(
                {
                    frames.HEADER_TABLE_SIZE: 0,
                    frames.ENABLE_PUSH: 0,
                    frames.INITIAL_WINDOW_SIZE: frames.MOST_WINDOW,
                    frames.MAX_FRAME_SIZE: frames.FRAME,
                }
            )
            + frames.window_update(0, frames.MOST_WINDOW - frames.WINDOW)
        )

    # -- calls

    @property
    def full(self) -> bool:
        """Whether as many calls run as the peer allows."""
        return len(self._calls) >= self._most

    def begin(
        self,
        block: bytes,
        first: bytes,
        message: Callable[[bytes], None],
        end: Callable[[Exception | None], None],
        *,
        last: bool,
    ) -> RpcCall:
        """Begin a call.

        Args:
            block: The header block of the request.
            first: Its first message.
            message: Is called with each message that comes.
            end: Is called once, with None or with :class:`NotBegun`, :class:`Lost` or :class:`RpcError`; unless the call is
                cancelled.
            last: Whether no other message will follow.

        Raises:
            NotBegun: The connection takes no calls now.
        """
        if not self.usable or self.full:
            raise NotBegun(self._why if not self.usable else "too many calls are running")
        call = RpcCall(self, self._next, self._initial, message, end)
        self._next += 2
        self._calls[call.stream] = call
        if self._next > _LAST_STREAM:
            self._leave("the connection has no more streams")
        call.pending.append((grpc_message(first), last))
        self._flush(call, frame(frames.HEADERS, frames.END_HEADERS, call.stream, block))
        if self._timer is None and not self._closed:
            self._timer = self._clock.callLater(self._ping_seconds, self._beat)
        return call

    def send(self, call: RpcCall, data: bytes, *, last: bool) -> None:
        """Send what the windows allow, and the rest when they allow it."""
        if call.stream in self._calls:
            call.pending.append((data, last))
            self._flush(call)

    def _flush(self, call: RpcCall, head: bytes = b"") -> None:
        written = [head] if head else []
        while call.pending:
            data, last = call.pending[0]
            room = min(len(data), call.window, self._window, self._frame)
            if room <= 0:
                self._blocked[call.stream] = call
                break
            call.window -= room
            self._window -= room
            whole = room == len(data)
            written.append(frame(frames.DATA, frames.END_STREAM if last and whole else 0, call.stream, data[:room]))
            if whole:
                call.pending.popleft()
            else:
                call.pending[0] = (data[room:], last)
        if written:
            self.transport.write(b"".join(written))

    def _unblock(self) -> None:
        blocked, self._blocked = self._blocked, {}
        for call in blocked.values():
            self._flush(call)

    def cancel(self, call: RpcCall) -> None:
        """Forget a call."""
        if self._forget(call.stream) is not None:
            self.transport.write(frames.reset(call.stream, frames.CANCEL))
            if self._retired and not self._calls:
                self.close()

    def _forget(self, stream: int) -> RpcCall | None:
        self._blocked.pop(stream, None)
        return self._calls.pop(stream, None)

    def _end(self, stream: int, outcome: Exception | None) -> None:
        call = self._forget(stream)
        if call is not None:
            call.end(outcome)
            if self._retired and not self._calls:
                self.close()

    # -- what comes

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - named by Twisted
        """Frames, or parts of them."""
        self._heard = True
        try:
            for event in self._reader.feed(data):
                self._event(event)
        except ProtocolViolation as error:
            if not self._closed:
                self.transport.write(frames.go_away(error.code))
                self.close(f"the peer broke the protocol: {error}")

    def _event(self, event: frames.Event) -> None:
        if self._closed:
            return
        if isinstance(event, frames.Data):
            self._data(event)
        elif isinstance(event, frames.Headers):
            self._headers(event)
        elif isinstance(event, frames.WindowUpdate):
            self._widen(event)
        elif isinstance(event, frames.Reset):
            if event.code == frames.REFUSED_STREAM:
                self._end(event.stream, NotBegun("the peer refused the stream"))
            else:
                self._end(event.stream, Lost(f"the peer reset the stream, code {event.code}"))
        elif isinstance(event, frames.GoAway):
            self._going(event)
        else:
            self._control += 1
            if self._control > _CONTROL:
                raise ProtocolViolation("too many control frames", frames.ENHANCE_YOUR_CALM)
            if isinstance(event, frames.Settings):
                self._settings(event)
            elif isinstance(event, frames.Ping):
                self._pinged(event.data)

    def _data(self, event: frames.Data) -> None:
        self._control = 0
        self._check_opened(event.stream)
        updates = b""
        self._received += event.size
        if self._received > _REFILL:
            updates += frames.window_update(0, self._received)
            self._received = 0
        call = self._calls.get(event.stream)
        messages: list[bytes] = []
        if call is not None:
            if not call.begun:
                raise ProtocolViolation("a body without headers")
            messages = call.data(event.data)
            call.received += event.size
            if call.received > _REFILL and not event.last:  # a watch lives for weeks
                updates += frames.window_update(event.stream, call.received)
                call.received = 0
        if updates:
            self.transport.write(updates)
        for message in messages:
            if call is not None and event.stream in self._calls:
                call.message(message)
        if event.last:
            self._end(event.stream, Lost("the answer has no trailers"))

    def _check_opened(self, stream: int) -> None:
        if stream >= self._next:
            raise ProtocolViolation(f"a frame of stream {stream}, which was not opened")

    def _headers(self, event: frames.Headers) -> None:
        self._control = 0
        self._check_opened(event.stream)
        call = self._calls.get(event.stream)
        if call is None:
            return
        if event.last:
            self._end(event.stream, _outcome(event.headers, incomplete=call.incomplete))
        elif call.begun:
            raise ProtocolViolation("trailers that do not end the stream")
        elif not event.headers.get(":status", "").startswith("1"):  # 1xx: others follow
            call.begun = True

    def _widen(self, event: frames.WindowUpdate) -> None:
        if not event.stream:
            self._window += event.more
            if self._window > frames.MOST_WINDOW:
                raise ProtocolViolation("the window is too large", frames.FLOW_CONTROL_ERROR)
        else:
            call = self._calls.get(event.stream)
            if call is None:
                return
            call.window += event.more
            if call.window > frames.MOST_WINDOW:
                self.cancel(call)
                call.end(Lost("the peer opened the stream's window too wide"))
        if self._blocked:
            self._unblock()

    def _settings(self, event: frames.Settings) -> None:
        initial = event.values.get(frames.INITIAL_WINDOW_SIZE, self._initial)
        for call in self._calls.values():
            call.window += initial - self._initial
            if call.window > frames.MOST_WINDOW:
                raise ProtocolViolation("the window is too large", frames.FLOW_CONTROL_ERROR)
        self._initial = initial
        self._frame = min(event.values.get(frames.MAX_FRAME_SIZE, self._frame), frames.FRAME)
        self._most = event.values.get(frames.MAX_CONCURRENT_STREAMS, self._most)
        self.transport.write(frame(frames.SETTINGS, frames.ACK, 0))
        if self._blocked:
            self._unblock()
        ready, self._ready = self._ready, None
        if ready is not None:
            ready(self)

    def _going(self, event: frames.GoAway) -> None:
        """No new calls; those that the peer has not seen and will not see are refused, the others go on."""
        self._leave(f"the peer goes away: {event.why or event.code}")
        for stream in [stream for stream in self._calls if stream > event.last]:
            self._end(stream, NotBegun(self._why))
        if not self._calls:
            self.close(self._why)

    # -- signs of life, and the end

    def _pinged(self, data: bytes) -> None:
        """Answer a PING: soon, or at once if the peer sends another one, or may widen the windows for what waits."""
        self._pings.append(data)
        if self._blocked or len(self._pings) > 1:
            self._pong()
        elif self._pong_timer is None:
            self._pong_timer = self._clock.callLater(PONG_SECONDS, self._pong)

    def _pong(self) -> None:
        stop_timer(self._pong_timer)
        self._pong_timer = None
        pings, self._pings = self._pings, []
        self.transport.write(b"".join(frame(frames.PING, frames.ACK, 0, data) for data in pings))

    def _beat(self) -> None:
        """Ask for a sign of life; a peer that gave none since the last question is gone, whatever TCP believes."""
        self._timer = None
        if not self._calls:
            self._asked = False
            return
        if self._asked and not self._heard:
            self.close("the peer gives no sign of life")
            return
        self._asked, self._heard = True, False
        self.transport.write(frame(frames.PING, 0, 0, b"extapi\0\0"))
        self._timer = self._clock.callLater(self._ping_seconds, self._beat)

    def retire(self) -> None:
        """Begin no further calls, and close once those that run have ended."""
        self.usable = False
        self._retired = True
        if not self._calls:
            self.close()

    def close(self, why: str = "the connection was closed") -> None:
        """End the connection; calls that run are lost."""
        if self._closed:
            return
        self._why = why
        self._finish()
        self.transport.abortConnection()

    def connectionLost(self, reason: Any = None) -> None:  # noqa: N802 - named by Twisted
        """The transport is gone."""
        if not self._closed:
            message = _sentence(reason.value) if reason is not None else "no reason is known"
            self._why = f"the connection is lost: {message}" if self.usable else self._why
            self._finish()

    def _finish(self) -> None:
        self._closed = True
        stop_timer(self._timer)
        stop_timer(self._pong_timer)
        self._timer = self._pong_timer = None
        self._leave(self._why)
        for stream in list(self._calls):
            self._end(stream, Lost(self._why))

    def _leave(self, why: str) -> None:
        self._why = why
        self.usable = False
        gone, self._gone = self._gone, None
        if gone is not None:
            gone(self, why)


def _outcome(headers: Mapping[str, str], *, incomplete: bool) -> Exception | None:
    """How a call ended, as its trailers say; those of an answer without content come in its only header block."""
    status = headers.get("grpc-status", "")
    if not (status.isascii() and status.isdecimal() and len(status) < 4):
        return NotGrpc(headers.get(":status", "missing"))
    if int(status):
        return RpcError(int(status), unquote(headers.get("grpc-message", "")))
    return Lost("the last message is cut off") if incomplete else None


def _sentence(error: BaseException) -> str:
    """What an error of the network or of TLS says."""
    if isinstance(error, VerificationError):
        return "its certificate is for another name"
    if isinstance(error, SSL.Error):
        queue = error.args[0] if error.args and isinstance(error.args[0], list) else []
        return f"TLS: {'; '.join(str(item[-1]) for item in queue if item) or 'the connection was ended'}"
    return " ".join(str(error).split()) or type(error).__name__
