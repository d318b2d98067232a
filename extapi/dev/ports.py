"""TCP ports on loopback: finding free ones, and saying clearly when a wanted one is taken."""

from __future__ import annotations

import errno
import socket
from collections.abc import Collection

from extapi.dev.failure import DevFailure

LOOPBACK = "127.0.0.1"


def choose(wanted: int, option: str, *, taken: Collection[int] = ()) -> int:
    """``wanted`` if nothing listens there, or any free port if it is 0.

    Args:
        option: The command-line option that ``wanted`` comes from, for the message.
        taken: Ports that are already promised to others.

    Raises:
        DevFailure: The port is in use, or may not be used.
    """
    while True:
        port = _probe(wanted, option)
        if port not in taken:
            return port
        if wanted:
            raise DevFailure(f"port {wanted} is requested twice (choose another one with {option})")


def _probe(wanted: int, option: str) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Servers set this, too: a port whose last connections are in TIME_WAIT is not in use.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, wanted))
        except OSError as error:
            reason = "is already in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
            raise DevFailure(f"port {wanted} on {LOOPBACK} {reason} (choose another one with {option})") from error
        port: int = probe.getsockname()[1]
        return port
