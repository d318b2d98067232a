"""What the supervisor and its processes tell one another: words over a socket that keeps them apart, some with a descriptor.

A descriptor is one end of a connection between two processes, which they could not make themselves: they have no names that
others could use as well. Must not know what the processes do.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from typing import Any, Final

from twisted.internet.interfaces import IReadDescriptor
from twisted.python.failure import Failure
from zope.interface import implementer

READY: Final = b"ready"
"""To the supervisor: this process does its work."""
IMPORTING: Final = b"importing"
IMPORTED: Final = b"imported"
"""To the supervisor: this process imports what the author has written; it has, or has told why not."""
HUB: Final = b"hub"
"""From a worker: it needs a connection to the hub. To the worker and to the hub: here it is."""
SCRAPE: Final = b"scrape"
SLIS: Final = b"slis"
"""With the number of another process, and a descriptor: that process is to write what its metrics say to it, all of them or
those of ``/metrics/slis``."""
_LONGEST: Final = 64

Heard = tuple[bytes, int, socket.socket | None]
"""A word, its number, and what was given along."""


def pair() -> tuple[socket.socket, socket.socket]:
    """The two ends of a control socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    theirs.setblocking(False)
    return ours, theirs


def tell(sock: socket.socket, word: bytes, number: int = 0, *, give: socket.socket | None = None) -> None:
    """Send a word; ``give`` goes along, and is closed here. If the other side takes nothing, that is all that happens."""
    given = [] if give is None else [give.fileno()]
    with contextlib.suppress(OSError):
        socket.send_fds(sock, [b"%s %d" % (word, number)], given)
    if give is not None:
        give.close()


def hear(sock: socket.socket) -> Heard | None:
    """The next word, with its number and what was given; None at the end.

    Raises:
        BlockingIOError: There is none yet.
    """
    try:
        data, given, _, _ = socket.recv_fds(sock, _LONGEST, 1)
    except BlockingIOError:
        raise
    except OSError:
        return None
    if not data:
        return None
    for descriptor in given[1:]:
        os.close(descriptor)
    word, _, number = data.partition(b" ")
    return word, int(number or 0), socket.socket(fileno=given[0]) if given else None


@implementer(IReadDescriptor)
class Control:
    """A process's end, in its reactor.

    Args:
        reactor: An ``IReactorFDSet``.
        sock: The socket.
        heard: Called with each word, its number, and what was given.
        ended: Called once when the supervisor is gone.
    """

    def __init__(
        self,
        reactor: Any,
        sock: socket.socket,
        heard: Callable[[bytes, int, socket.socket | None], None],
        ended: Callable[[], None],
    ) -> None:
        self._reactor = reactor
        self._socket = sock
        self._heard = heard
        self._ended = ended
        reactor.addReader(self)

    def tell(self, word: bytes, number: int = 0, *, give: socket.socket | None = None) -> None:
        """See :func:`tell`."""
        tell(self._socket, word, number, give=give)

    def fileno(self) -> int:
        """See ``IFileDescriptor``."""
        return self._socket.fileno()

    def doRead(self) -> None:  # noqa: N802 - named by Twisted
        """Hear what was said."""
        while True:
            try:
                heard = hear(self._socket)
            except BlockingIOError:
                return
            if heard is None:
                self._reactor.removeReader(self)
                self._ended()
                return
            self._heard(*heard)

    def connectionLost(self, reason: Failure) -> None:  # noqa: N802 - named by Twisted
        """The reactor stops."""

    def logPrefix(self) -> str:  # noqa: N802 - named by Twisted
        """A name for Twisted's log."""
        return "control"
