"""A TLS connection on a socket: plaintext in, plaintext out, driven by the reactor as a descriptor.

Responsible for the handshake, for order and back-pressure, and for ending a connection cleanly. Knows nothing of HTTP.
The queue keeps references to the caller's bytes, so that a thousand slow peers share one copy of what all of them get;
its size is :attr:`TLSStream.pending`, which the caller bounds. Uses only public interfaces: pyOpenSSL's
``Connection(context, socket)``, Twisted's ``IReadWriteDescriptor`` and ``IReactorFDSet``.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from cryptography import x509
from OpenSSL import SSL
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.interfaces import IReadWriteDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

from extapi.clock import stop_timer
from extapi.listener.proxyprotocol import refused
from extapi.listener.tls import TLSConnection

RECORD = 16 * 1024
"""The most plaintext in a TLS record (RFC 8446, section 5.1): SSL_read returns one record per call."""
TURN = 1 << 20
"""Bytes a connection may move, in either direction, before the others get their turn."""
HANDSHAKE = 10.0
"""Seconds a peer has for the handshake."""
KEEPALIVE = 60
"""Seconds of silence after which the kernel checks whether the peer's machine is still there."""
FLUSH = 30.0
"""Seconds for the peer of a closing connection to take what is still queued."""
LINGER = 2.0
"""Seconds to wait for the peer to close after us, so that a reset does not destroy what it has yet to read."""

_RESET = struct.pack("ii", 1, 0)


def _ended(*_: object) -> Any:
    """Send or receive on a stream that has ended."""
    raise SSL.ZeroReturnError


class Application(Protocol):
    """What a stream serves. No method is called after :meth:`disconnected`."""

    def secured(self) -> None:
        """The handshake is done."""
        ...

    def received(self, data: bytes) -> None:
        """Plaintext has arrived; at most one record."""
        ...

    def drained(self) -> None:
        """The socket has taken what was queued."""
        ...

    def disconnected(self, reason: BaseException) -> None:
        """The connection has ended; called exactly once."""
        ...


@implementer(IReadWriteDescriptor)
class TLSStream:
    """The server's end of a connection. Reading starts at once.

    Args:
        reactor: Provides IReactorFDSet and IReactorTime.
        context: Certificate, key and settings.
        sock: A connected stream socket, which the stream owns from now on.
        application: What the stream serves.
        handshake: Seconds after which a peer without a complete handshake is dropped.

    Attributes:
        pending: Bytes queued that the socket has not taken yet.
        secured: The handshake is done.
        heard: The peer has sent something.
        gone: The connection has ended.
    """

    def __init__(
        self,
        reactor: Any,
        context: SSL.Context,
        sock: socket.socket,
        application: Application,
        *,
        handshake: float = HANDSHAKE,
    ) -> None:
        sock.setblocking(False)
        self._reactor = reactor
        self._socket = sock
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            self._set(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # A machine that has vanished sends nothing, and a quiet watch would never notice.
            self._set(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._set(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE)
            self._set(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE // 4)
        self._descriptor = sock.fileno()
        self._application = application
        self._tls = tls = TLSConnection(context, sock)
        tls.set_accept_state()
        self._send: Callable[[bytes | memoryview], int] = tls.send
        self._recv: Callable[[int], bytes] = tls.recv
        self._queue: deque[bytes | memoryview] = deque()
        self.pending = 0
        self.secured = False
        self._writing = False
        self._read_wants_write = False
        self._write_wants_read = False
        self._paused = False
        self._closing = False
        self._shut = False
        self.heard = False
        self.gone = False
        self._timer = reactor.callLater(handshake, self._late)
        reactor.addReader(self)

    # -- called by the reactor

    def fileno(self) -> int:
        """The descriptor; also after the end, because the reactor may ask."""
        return self._descriptor

    def logPrefix(self) -> str:  # noqa: N802 - named by Twisted's ILoggingContext
        """A name for Twisted's log."""
        return "tls"

    def doRead(self) -> BaseException | None:  # noqa: N802 - named by Twisted's IReadDescriptor
        """Read what has arrived; the result says why the connection has ended, if it has."""
        self.heard = True
        if self._shut:
            return self._discard()
        if not self.secured and ((why := self._handshake()) is not None or not self.secured):
            return why
        budget = TURN
        while not (self._paused or self.gone or self._closing):
            try:
                data = self._recv(RECORD)
            except SSL.WantReadError:
                break
            except SSL.WantWriteError:
                self._read_wants_write = True
                self._want_write()
                break
            except SSL.ZeroReturnError:
                return ConnectionDone()
            except (SSL.Error, OSError):
                return ConnectionLost()
            self._read_wants_write = False
            self._application.received(data)
            budget -= len(data)
            # A record is read whole, and what follows it is still in the socket, which makes the descriptor readable.
            if len(data) < RECORD:
                break
            if budget <= 0:
                self._reactor.callLater(0, self._again)
                break
        if self._write_wants_read and not self.gone:
            return self._flush()
        return None

    def doWrite(self) -> BaseException | None:  # noqa: N802 - named by Twisted's IWriteDescriptor
        """Send what is queued; the result says why the connection has ended, if it has."""
        if self._read_wants_write:
            self._read_wants_write = False
            why = self.doRead()
            if why is not None or self.gone:
                return why
        return self._flush()

    def connectionLost(self, reason: BaseException | Failure) -> None:  # noqa: N802 - named by Twisted
        """The connection has ended: release everything and tell the application."""
        if self.gone:
            return
        self.gone = True
        # Before the descriptor is closed, because its number is given to the next connection.
        self._reactor.removeReader(self)
        self._reactor.removeWriter(self)
        self._cancel_timer()
        self._queue.clear()
        self.pending = 0
        self._socket.close()
        # Free OpenSSL's 50 kB now: a stream is part of reference cycles, and garbage collection may come late.
        del self._tls
        self._send = self._recv = _ended
        cause = reason.value if isinstance(reason, Failure) else reason
        self._application.disconnected(cause or ConnectionLost())

    # -- called by the application

    def write(self, data: bytes | memoryview, *, more: bool = False) -> None:
        """Send what the socket takes now, and queue the rest in order. Never blocks, never raises.

        ``data`` is kept by reference and must not change. After :meth:`close` or the end it is dropped. ``more``: only queue
        it, because more is written in this turn, and then comes a :meth:`flush`.
        """
        if self._closing or self.gone or not data:
            return
        if more or self._queue or len(data) > RECORD:
            self._queue.append(data)
            self.pending += len(data)
            if not more:
                self.flush()
            return
        try:
            self._send(data)
        except (SSL.WantWriteError, SSL.WantReadError):
            self._want_write()
            self._queue.append(data)
            self.pending = len(data)
        except (SSL.Error, OSError):
            self.abort()

    def flush(self) -> None:
        """Send what is queued, unless the socket is full: then it is sent later."""
        if self._queue and not self._writing and self._flush(announce=False) is not None:
            self.abort()

    def close(self) -> None:
        """End after what is queued: send close_notify and FIN, then wait a moment for the peer to close."""
        if self._closing or self.gone:
            return
        self._closing = True
        if not self.secured:
            self.abort()
        elif self._queue:
            self.pause()  # input is not wanted any more, and unread input would keep the reactor busy
            self._set_timer(FLUSH, self._late)
        else:
            self._shutdown()

    def abort(self) -> None:
        """End at the next turn of the reactor with a reset, which shows the peer that something is missing."""
        if self.gone:
            return
        self._closing = True
        self.pause()
        self._queue.clear()
        self.pending = 0
        self._set(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        # Not at once: the application may be in the middle of something.
        self._set_timer(0, lambda: self.connectionLost(ConnectionLost()))

    @property
    def ending(self) -> bool:
        """Whether what is written now is dropped."""
        return self._closing or self.gone

    @property
    def readable(self) -> bool:
        """Whether something has arrived that :meth:`Application.received` has not got yet."""
        if self.ending:
            return False
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except OSError:  # nothing has arrived, or the peer has left
            return False

    def pause(self) -> None:
        """Stop reading, so that the peer has to wait."""
        if not self._paused and not self.gone:
            self._paused = True
            self._reactor.removeReader(self)

    def resume(self) -> None:
        """Continue reading."""
        if self._paused and not self._closing:
            self._paused = False
            self._reactor.addReader(self)

    def certificates(self) -> tuple[x509.Certificate, ...]:
        """What the peer presented, leaf first, not verified; empty if there is nothing, or one of them cannot be parsed."""
        try:
            leaf = self._tls.get_peer_certificate(as_cryptography=True)
            if leaf is None:
                return ()
            # On the server's side, OpenSSL's chain may or may not begin with the leaf.
            chain = self._tls.get_peer_cert_chain(as_cryptography=True) or []
        except ValueError:
            return ()
        return (leaf, *(one for one in chain if one != leaf))

    # -- within

    def _handshake(self) -> BaseException | None:
        try:
            self._tls.do_handshake()
        except SSL.WantReadError:
            return None
        except SSL.WantWriteError:
            self._read_wants_write = True
            self._want_write()
            return None
        except (SSL.Error, OSError):
            return refused(self._socket)
        self.secured = True
        self._cancel_timer()
        self._application.secured()
        return None

    def _again(self) -> None:
        if not self._paused and not self.gone and not self._shut:
            why = self.doRead()
            if why is not None:
                self.connectionLost(why)

    def _flush(self, *, announce: bool = True) -> BaseException | None:
        """Send as much of the queue as the socket takes; if ``announce``, tell the application when it is empty."""
        queue, budget = self._queue, TURN
        self._write_wants_read = False
        # Full packets: to send one costs more than to encrypt a record.
        self._set(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        try:
            while queue and budget > 0:
                sent = self._send(queue[0])
                queue.popleft()
                self.pending -= sent
                budget -= sent
        except SSL.WantWriteError:
            pass
        except SSL.WantReadError:
            self._write_wants_read = True
        except (SSL.Error, OSError):
            return ConnectionLost()
        finally:
            self._set(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        if queue and not self._write_wants_read:
            self._want_write()
            return None
        if self._writing:
            self._writing = False
            self._reactor.removeWriter(self)
        if not queue and announce and not self.gone:
            if self._closing:
                self._shutdown()
            elif self.secured:
                self._application.drained()
        return None

    def _want_write(self) -> None:
        if not self._writing:
            self._writing = True
            self._reactor.addWriter(self)

    def _shutdown(self) -> None:
        if self._shut:
            return
        try:
            self._tls.shutdown()
        except (SSL.WantWriteError, SSL.WantReadError):
            pass  # the close_notify did not fit: send the FIN alone
        except (SSL.Error, OSError):
            self.abort()
            return
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self._shut = True
        self._reactor.addReader(self)
        self._set_timer(LINGER, lambda: self.connectionLost(ConnectionDone()))

    def _discard(self) -> BaseException | None:
        """After we have closed: discard what still arrives, undecrypted, until the peer closes."""
        try:
            for _ in range(TURN // 65536):
                if not self._socket.recv(65536):
                    return ConnectionDone()
        except BlockingIOError:
            return None
        except OSError:
            return ConnectionLost()
        return None

    def _late(self) -> None:
        self._timer = None
        self._set(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connectionLost(TimeoutError())

    def _set(self, level: int, option: int, value: int | bytes) -> None:
        """Set an option of the socket, which may be gone, or none of TCP."""
        with contextlib.suppress(OSError):
            self._socket.setsockopt(level, option, value)

    def _set_timer(self, seconds: float, call: Any) -> None:
        self._cancel_timer()
        self._timer = self._reactor.callLater(seconds, call)

    def _cancel_timer(self) -> None:
        stop_timer(self._timer)
        self._timer = None
