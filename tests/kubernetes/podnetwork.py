"""The network of one pod: a namespace of its own, joined to this one by a pair of virtual interfaces.

kube-apiserver reaches the pod at the pod's address. The pod reaches kube-apiserver, which listens on loopback alone, at
the address of the Service ``kubernetes``: that address is within the namespace, and what arrives there is passed on.
Needs root and iproute2.
"""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NETWORKS = ipaddress.ip_network("198.19.0.0/16")
"""For tests of networks (RFC 2544), so that nobody has them; each process takes four addresses by its number."""
_CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class PodNetwork:
    """``name``: of the namespace; ``address``: the pod's."""

    name: str
    address: str

    @property
    def file(self) -> Path:
        """What processes enter the namespace by."""
        return Path("/run/netns") / self.name


@contextlib.contextmanager
def pod_network() -> Iterator[PodNetwork]:
    """Made, and removed in the end."""
    number = os.getpid()
    name, outside, inside = f"extapi-pod-{number}", f"xo{number}", f"xi{number}"
    first = int(_NETWORKS.network_address) + 4 * (number % (_NETWORKS.num_addresses // 4))
    here, there = (str(ipaddress.ip_address(first + offset)) for offset in (1, 2))
    ip("netns", "add", name)
    try:
        ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", name)
        ip("address", "add", f"{here}/30", "dev", outside)
        ip("link", "set", outside, "up")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "address", "add", f"{there}/30", "dev", inside)
        ip("-n", name, "link", "set", inside, "up")
        yield PodNetwork(name, there)
    finally:
        ip("netns", "delete", name)  # and the pair with it


def ip(*arguments: str) -> None:
    """Run ``ip``.

    Raises:
        RuntimeError: It failed, or is not there.
    """
    try:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
        why = done.stderr.strip() if done.returncode else ""
    except FileNotFoundError:
        why = "there is no such program"
    if why:
        raise RuntimeError(
            f"ip {' '.join(arguments)}: {why}. This test makes networks of its own: it needs root, and iproute2"
        )


@contextlib.contextmanager
def service(network: PodNetwork, address: str, port: int, target: int) -> Iterator[None]:
    """Let connections that the pod makes to ``address``, a Service's, end at ``target`` on our own loopback."""
    ip("-n", network.name, "address", "replace", f"{address}/32", "dev", "lo")
    listening = _listen_within(network.file, address, port)
    ends: list[socket.socket] = [listening]
    accepting = threading.Thread(target=_accept, args=(listening, target, ends), daemon=True)
    accepting.start()
    try:
        yield
    finally:
        for each in ends:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        accepting.join(10)
        for each in ends:
            each.close()


def _listen_within(namespace: Path, address: str, port: int) -> socket.socket:
    """A listening socket of another network namespace: a thread goes there, and ends."""
    made: list[socket.socket | OSError] = []

    def work() -> None:
        # os.setns came with Python 3.12. A namespace is a thread's own.
        libc = ctypes.CDLL(None, use_errno=True)
        with namespace.open("rb") as file:
            if libc.setns(file.fileno(), _CLONE_NEWNET) != 0:
                made.append(OSError(ctypes.get_errno(), "setns"))
                return
        try:
            made.append(socket.create_server((address, port)))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    (found,) = made
    if isinstance(found, OSError):
        raise found
    return found


def _accept(listening: socket.socket, target: int, ends: list[socket.socket]) -> None:
    while True:
        try:
            there, _ = listening.accept()
        except OSError:
            return  # it was shut down
        here = socket.create_connection(("127.0.0.1", target))
        ends += (here, there)
        for source, sink in ((here, there), (there, here)):
            threading.Thread(target=_copy, args=(source, sink), daemon=True).start()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Until one end is over; the other side hears of it."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
