"""The listening socket: accepts connections, within bounds, and reports when it dies.

Knows nothing of TLS or HTTP: each connection is passed on as a plain socket.
"""

from __future__ import annotations

import ctypes
import errno
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from twisted.internet.interfaces import IReadDescriptor
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from extapi.client.authority import authority
from extapi.listener.address import Address, parse_address

BACKLOG = 1024
TURN = 64
"""Connections accepted before other descriptors get their turn."""
CROWDED = 1.0
"""Seconds between attempts to close connections that can be spared, while others wait."""
RETRY = 0.5
"""Seconds to wait when the process or the system is out of descriptors or memory."""
HALF_OPEN = 0.25
"""Seconds at shutdown for TCP handshakes that have begun: enough for some round trips, even between regions."""

_SO_ATTACH_FILTER = 26
# Classic BPF (Linux, Documentation/networking/filter.rst), applied to a segment from its TCP header on: load the byte of
# flags; if SYN is set, keep 0 bytes of the segment, which drops it; otherwise keep all of it.
_NO_SYN = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in ((0x30, 0, 0, 13), (0x45, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))
)

_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_OF_THE_PEER = frozenset(
    {
        # Linux reports pending errors of the new connection through accept(2): they end that connection, not the socket.
        errno.ECONNABORTED,
        errno.EPERM,
        errno.EINTR,
        errno.EPROTO,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENONET,
        errno.ENOPROTOOPT,
        errno.EOPNOTSUPP,
        errno.ETIMEDOUT,
    }
)


_MAPPED = "::ffff:"
"""What the kernel writes before an IPv4 address of a socket of IPv6."""


class BindError(Exception):
    """Listening on the address failed; the text names it and says why."""


def bind(interface: str, port: int, *, backlog: int = BACKLOG, shared: bool = False) -> socket.socket:
    """A listening socket on an IP address and a port.

    Args:
        interface: An IPv4 or IPv6 address; empty, ``0.0.0.0`` and ``::`` are all addresses of both families.
        port: The port; 0 for any free one.
        backlog: The length of the kernel's queue.
        shared: Listen beside other sockets of this user that are shared; the kernel spreads connections over them.

    Raises:
        BindError: The address is not one, or cannot be listened on.
    """
    with _bound(interface, port, shared=shared) as sock:
        sock.listen(backlog)
        return sock


def hold(interface: str, port: int) -> socket.socket:
    """A socket that keeps a port for sockets of :func:`bind` that are shared, and does not listen itself.

    Nobody else may use the port when it is taken, and while it is kept nobody can take it in this way, or alone.

    Args:
        interface: As of :func:`bind`.
        port: The port; 0 for any free one.

    Raises:
        BindError: The address is not one, or the port is in use.
    """
    with _bound(interface, port) as sock:
        # In this order: the port was not shared when it was bound, and with SO_REUSEADDR others could bind it, too.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        return sock


@contextmanager
def _bound(interface: str, port: int, *, shared: bool = False) -> Iterator[socket.socket]:
    """A socket on an address; closed if the block fails.

    Source: Go's ``net`` ipsock_posix.go favoriteAddrFamily, by which k8s.io/apiserver listens: a wildcard is one of both families.
    """
    try:
        address = parse_address(interface)
    except ValueError:
        raise BindError(f"cannot listen on {interface!r}: not an IP address") from None
    try:
        sock, host = _opened(address)
        with _closed_on_error(sock):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            sock.bind((host, port))
            yield sock
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BindError(f"cannot listen on {authority(str(address), port)}: {why}") from error


def _opened(address: Address) -> tuple[socket.socket, str]:
    """A socket for an address, and what to bind it to."""
    if address.version == 4 and not address.is_unspecified:
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM), str(address)
    try:
        sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    except OSError:
        if not address.is_unspecified:
            raise
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM), "0.0.0.0"  # noqa: S104 - a kernel without IPv6
    with _closed_on_error(sock):
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not address.is_unspecified))
    return sock, "::" if address.is_unspecified else str(address)


@contextmanager
def _closed_on_error(sock: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        sock.close()
        raise


def _peer(address: Any) -> str:
    """The IP address of a peer; an IPv4 address is told as one, also by a socket of both families."""
    host = str(address[0]) if address else ""
    return host.removeprefix(_MAPPED) if host.startswith(_MAPPED) and "." in host else host


@implementer(IReadDescriptor)
class Acceptor:
    """Accepts on a listening socket until :meth:`stop`.

    Args:
        reactor: Provides IReactorFDSet and IReactorTime.
        sock: The listening socket; the acceptor owns it from now on.
        accepted: Called with each connection's socket and the peer's IP address.
        died: Called once if the socket fails for good.
        limit: Connections that may be open at a time. More wait in the kernel's queue until :meth:`released` is called.
        crowded: Called now and then while connections wait, to close some.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        sock: socket.socket,
        *,
        accepted: Callable[[socket.socket, str], None],
        died: Callable[[BaseException], None],
        limit: int,
        crowded: Callable[[], None] = lambda: None,
    ) -> None:
        sock.setblocking(False)
        self._reactor = reactor
        self._socket = sock
        self._descriptor = sock.fileno()
        self._accepted = accepted
        self._died = died
        self._limit = limit
        self._crowded = crowded
        self._crowd_timer: Any = None
        self._open = 0
        self._stopped = False
        self._finished: Callable[[], None] | None = None
        self._retry: Any = None
        host, port = sock.getsockname()[:2]
        self.address: tuple[str, int] = (host, port)
        """The address and port it listens on."""
        reactor.addReader(self)

    @property
    def listening(self) -> bool:
        """Whether the socket is neither stopped nor dead."""
        return not self._stopped

    def fileno(self) -> int:
        """The descriptor; also after the end, because the reactor may ask."""
        return self._descriptor

    def logPrefix(self) -> str:  # noqa: N802 - named by Twisted's ILoggingContext
        """A name for Twisted's log."""
        return "acceptor"

    def doRead(self) -> BaseException | None:  # noqa: N802 - named by Twisted's IReadDescriptor
        """Accept what is waiting.

        Returns:
            Why the socket is dead, or None.
        """
        for number in range(TURN):
            if self._stopped:
                break
            if self._open >= self._limit and self._finished is None:
                if number:
                    break  # if another connection waits, the socket is still readable
                self._reactor.removeReader(self)
                self._log.warn("at the limit of {limit} open connections: new ones wait", limit=self._limit)
                self._make_room()
                break
            try:
                sock, address = self._socket.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in _OF_THE_PEER:
                    continue
                if error.errno not in _EXHAUSTED:
                    return error
                # The waiting connection keeps the socket readable: without a pause this would spin.
                self._log.error("cannot accept connections: {error}; trying again", error=error)
                self._reactor.removeReader(self)
                if self._finished is None:
                    self._retry = self._reactor.callLater(RETRY, self._resume)
                break
            self._open += 1
            self._accepted(sock, _peer(address))
        return None

    def connectionLost(self, reason: BaseException | Failure) -> None:  # noqa: N802 - named by Twisted
        """The socket has failed."""
        if self._stopped:
            return
        self.stop()
        cause = reason.value if isinstance(reason, Failure) else reason
        self._died(cause or OSError("the listening socket is gone"))

    def released(self) -> None:
        """An accepted connection has ended."""
        self._open -= 1
        self._cancel_crowd_timer()
        if self._open == self._limit - 1 and self._retry is None and not self._stopped and self._finished is None:
            self._reactor.addReader(self)

    def finish(self, done: Callable[[], None]) -> None:
        """Accept every connection that has begun, whatever the limit, then close the socket and call ``done``.

        Closing a listening socket resets the connections in its queue, and those that complete their TCP handshake
        between the last accept(2) and close(2). So the kernel is told to drop further SYNs first; handshakes under way
        complete, and the queue is empty when the socket is closed. Dropped clients retry a second later, and are
        refused then.
        """
        if self._stopped or self._finished is not None:
            done()
            return
        self._finished = done
        self._cancel_retry()
        self._cancel_crowd_timer()
        if self._drop_new():
            self._reactor.addReader(self)
            self._retry = self._reactor.callLater(HALF_OPEN, self._close)
            self._take_all()
        else:
            self._close()

    def stop(self) -> None:
        """Close the listening socket now. Accepted connections live on."""
        if self._stopped:
            return
        self._stopped = True
        self._reactor.removeReader(self)
        self._cancel_retry()
        self._cancel_crowd_timer()
        self._socket.close()
        finished, self._finished = self._finished, None
        if finished is not None:
            finished()

    def _close(self) -> None:
        self._retry = None
        self._take_all()
        self.stop()

    def _take_all(self) -> None:
        """Accept until the queue is empty; a full one takes several turns."""
        before = -1
        for _ in range(BACKLOG):
            if self._stopped or self._open == before:
                break
            before = self._open
            why = self.doRead()
            if why is not None:
                self.connectionLost(why)

    def _drop_new(self) -> bool:
        """Have the kernel drop SYNs.

        Returns:
            Whether it does.
        """
        if self._socket.family not in (socket.AF_INET, socket.AF_INET6):
            return False
        program = ctypes.create_string_buffer(_NO_SYN, len(_NO_SYN))
        try:
            self._socket.setsockopt(
                socket.SOL_SOCKET,
                _SO_ATTACH_FILTER,
                struct.pack("HP", len(_NO_SYN) // 8, ctypes.addressof(program)),
            )
        except OSError:
            return False  # not Linux, or a sandbox without socket filters
        return True

    def _cancel_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _cancel_crowd_timer(self) -> None:
        if self._crowd_timer is not None:
            self._crowd_timer.cancel()
            self._crowd_timer = None

    def _make_room(self) -> None:
        self._crowd_timer = self._reactor.callLater(CROWDED, self._make_room)
        self._crowded()

    def _resume(self) -> None:
        self._retry = None
        self._reactor.addReader(self)
