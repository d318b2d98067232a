"""Loopback and its TCP ports: which address the machine has, free ports, and saying clearly when a wanted one is taken."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Collection
from pathlib import Path

from extapi.dev.failure import DevFailure

LOOPBACK = "127.0.0.1"
LOOPBACK_IPV6 = "::1"
_SECONDS = 5.0
"""For a connection that takes no time where it can be made."""


def loopback() -> str:
    """The loopback address that this machine has: :data:`LOOPBACK`, or else :data:`LOOPBACK_IPV6`.

    Raises:
        DevFailure: It has neither.
    """
    refused = []
    for host in (LOOPBACK, LOOPBACK_IPV6):
        try:
            _reach(host)
        except OSError as error:
            refused.append(f"{host}: {os.strerror(error.errno) if error.errno else error}")
        else:
            return host
    raise DevFailure(
        f"there is no loopback address to listen on ({'; '.join(refused)}): bring the interface up with ip link set lo up"
    )


def _reach(host: str) -> None:
    """Connect to an address. While the interface is down, as in a new network namespace, 127.0.0.1 can be bound all the same."""
    with socket.create_server((host, 0), family=_family(host)) as server:
        socket.create_connection(server.getsockname()[:2], timeout=_SECONDS).close()


def check_localhost(host: str, hosts: Path = Path("/etc/hosts")) -> None:
    """See that Go's resolver takes ``localhost`` for ``host``, if that is :data:`LOOPBACK_IPV6`.

    kube-apiserver finds the extension server by this name: a Service can have a name of another server, and no IPv6 address.

    Raises:
        DevFailure: It does not.

    Source: Go's ``net`` hosts.go.
    """
    if host != LOOPBACK_IPV6:
        return
    try:
        lines = [line.partition("#")[0].split() for line in hosts.read_text(errors="replace").splitlines()]
    except OSError:
        lines = []
    if not any(line[:1] == [host] and "localhost" in line[1:] for line in lines):
        raise DevFailure(
            f"localhost is not {host} in {hosts}, and the real kube-apiserver reaches the extension server by that name: "
            f"add the line {host} localhost"
        )


def choose(wanted: int, option: str, *, host: str = LOOPBACK, taken: Collection[int] = ()) -> int:
    """``wanted`` if nothing listens there, or any free port if it is 0.

    Args:
        wanted: The port, or 0.
        option: The command-line option that ``wanted`` comes from, for the message.
        host: The loopback address.
        taken: Ports that are already promised to others.

    Raises:
        DevFailure: The port is in use, or may not be used; or none is free.
    """
    while True:
        port = _probe(host, wanted, option)
        if port not in taken:
            return port
        if wanted:
            raise DevFailure(f"port {wanted} is requested twice (choose another one with {option})")


def _probe(host: str, wanted: int, option: str) -> int:
    try:
        return _bound(host, wanted)
    except OSError as error:
        if not wanted:
            raise DevFailure(f"no free port on {host}: {error.strerror} (name one with {option})") from error
        reason = "is already in use" if error.errno == errno.EADDRINUSE else f"cannot be used: {error.strerror}"
        raise DevFailure(f"port {wanted} on {host} {reason} (choose another one with {option})") from error


def _bound(host: str, wanted: int) -> int:
    """The port of a socket that was bound to an address for a moment."""
    with socket.socket(_family(host), socket.SOCK_STREAM) as probe:
        # Servers set this, too: a port whose last connections are in TIME_WAIT is not in use.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, wanted))
        port: int = probe.getsockname()[1]
        return port


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
