"""Peers that are slow, mute, deaf, rude or many, while others want to be served.

``python -m tests.attack.slow --seconds 40``: each kind of peer for so long, with a byte per second where bytes are due; the
requests of a client that behaves are timed meanwhile. Afterwards descriptors and memory have to be back where they were.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import resource
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.attack.cluster import Cluster
from tests.attack.process import descriptors, resident
from tests.attack.table import exit_status, say, table
from tests.attack.writing import LINES, MERGE, TARGET
from tests.conformance.serving import Serving
from tests.kubernetes.ledger import line
from tests.waiting import until

ALICE = {"X-Remote-User": "alice", "X-Remote-Group": "system:authenticated"}
"""Somebody for whom the bounds count: they do not for ``system:masters``."""
_WHO = "Host: localhost\r\nX-Remote-User: alice\r\nX-Remote-Group: system:authenticated\r\n"
_RESET = struct.pack("ii", 1, 0)
LARGE = 25
"""Objects with :data:`FILLING` characters each: a list of them has 5 MB."""
FILLING = 200_000
HELLO = bytes.fromhex("1603010200010001fc0303")
"""The beginning of a ClientHello (RFC 8446, 4.1.2)."""

Peer = socket.socket


class Room:
    """One server, the peers that attack it, and one client that behaves."""

    def __init__(self, directory: Path, cluster: Cluster) -> None:
        self.serving = Serving(directory, cluster.kubeconfig(directory / "kubeconfig"), target=TARGET)
        self.serving.start()
        assert self.serving.process is not None
        self.pid = self.serving.process.pid
        self.peers: list[Peer] = []
        self.problems: list[str] = []
        for number in range(LARGE):
            body = line(f"large-{number}", 0)
            body["metadata"]["annotations"] = {"filling": "x" * FILLING}
            assert self.serving.request("POST", LINES, body)[0] == 201
        assert self.serving.request("POST", LINES, line("small", 0))[0] == 201
        self.others(5)
        self.baseline = descriptors(self.pid)

    # -- peers

    def plain(self, data: bytes = b"", *, receive: int = 0) -> Peer:
        """A TCP connection."""
        made = socket.socket()
        if receive:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        made.settimeout(60)
        made.connect(("127.0.0.1", self.serving.port))
        made.sendall(data)
        self.peers.append(made)
        return made

    def secured(self, data: bytes, *, receive: int = 0) -> Peer:
        """A connection with TLS, as the front proxy."""
        made = self.plain(receive=receive)
        self.peers.remove(made)
        stream = self.serving.context.wrap_socket(made, server_hostname="localhost")
        stream.sendall(data)
        self.peers.append(stream)
        return stream

    def leave(self) -> None:
        """All peers hang up, without a word."""
        peers, self.peers = self.peers, []
        for each in peers:
            with contextlib.suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            each.close()

    # -- those who behave

    def others(self, rounds: int, *, latencies: list[float] | None = None) -> None:
        """Reads and writes of somebody who behaves: each is answered as if nobody else were there."""
        connection = self.serving.connect()
        try:
            for number in range(rounds):
                self._ask(connection, "GET", f"{LINES}/small", None, latencies)
                self._ask(connection, "GET", f"{LINES}?limit=1", None, latencies)
                body = {"spec": {"step": time.monotonic_ns() + number}}
                self._ask(connection, "PATCH", f"{LINES}/small", body, latencies)
        except (OSError, http.client.HTTPException) as error:
            self.problems.append(f"somebody who behaves was not served: {error!r}")
        finally:
            connection.close()

    def _ask(
        self, connection: http.client.HTTPSConnection, method: str, path: str, body: Any, latencies: list[float] | None
    ) -> None:
        begun = time.monotonic()
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {**ALICE, "Content-Type": MERGE})
        answer = connection.getresponse()
        text = answer.read()
        if latencies is not None:
            latencies.append(time.monotonic() - begun)
        if answer.status != 200:
            self.problems.append(f"{method} {path}: {answer.status} {text[:200]!r}")

    def back(self, seconds: float = 60) -> None:
        """The server lets go of everything that the peers took."""
        try:
            until(lambda: descriptors(self.pid) <= self.baseline + 2, seconds)
        except AssertionError:
            self.problems.append(f"{descriptors(self.pid)} descriptors are open, and were {self.baseline}")

    def events(self, count: int) -> None:
        """Write so many changes of large objects."""
        for number in range(count):
            body = {"metadata": {"annotations": {"filling": f"{number:08}" * (FILLING // 8)}}}
            status, answer = self.serving.request("PATCH", f"{LINES}/large-{number % LARGE}", body, MERGE)
            if status != 200:
                self.problems.append(f"{status} {answer}")

    def close(self) -> None:
        """End everything."""
        self.leave()
        self.serving.close()


def mute(room: Room, count: int) -> None:
    """Connect, and do not even begin the handshake."""
    for _ in range(count):
        room.plain()


def handshakes(room: Room, count: int) -> None:
    """Begin a handshake, and stop."""
    for _ in range(count):
        room.plain(HELLO)


def heads(room: Room, count: int) -> None:
    """A head that does not end."""
    for _ in range(count):
        room.secured(f"GET {LINES}/small HTTP/1.1\r\n{_WHO}X-Slow: ".encode())


def bodies(room: Room, count: int) -> None:
    """POSTs whose bodies do not come."""
    for _ in range(count):
        room.secured(
            f"POST {LINES} HTTP/1.1\r\n{_WHO}Content-Type: application/json\r\nContent-Length: 9999\r\n\r\n{{".encode()
        )


def deaf_lists(room: Room, count: int) -> None:
    """Lists of 5 MB that nobody reads."""
    for _ in range(count):
        room.secured(f"GET {LINES} HTTP/1.1\r\n{_WHO}\r\n".encode(), receive=4096)


def deaf_watches(room: Room, count: int) -> None:
    """Watches that nobody reads, of more than they may leave waiting."""
    revision = room.serving.request("GET", f"{LINES}?limit=1")[1]["metadata"]["resourceVersion"]
    for _ in range(count):
        room.secured(f"GET {LINES}?watch=1&resourceVersion={revision} HTTP/1.1\r\n{_WHO}\r\n".encode(), receive=4096)
    room.events(60)


def half_closed(room: Room, count: int) -> None:
    """Watches of peers that have ended their half of the connection, without an end of TLS."""
    for _ in range(count):
        stream = room.secured(f"GET {LINES}?watch=1 HTTP/1.1\r\n{_WHO}\r\n".encode())
        socket.socket.shutdown(stream, socket.SHUT_WR)


def torn(room: Room, count: int) -> None:
    """Resets in the middle of a TLS record."""
    for _ in range(count):
        stream = room.secured(b"")
        room.peers.remove(stream)
        bare = socket.socket(fileno=stream.detach())
        bare.send(bytes.fromhex("1703034000") + b"\0" * 100)  # a record of 16 kB, of which 100 bytes come
        bare.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        bare.close()


def idle(room: Room, count: int) -> None:
    """Ask once, and stay."""
    for _ in range(count):
        room.secured(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")


def flood(room: Room, count: int) -> None:
    """Connect and leave at once, again and again."""
    for _ in range(count):
        room.plain(HELLO)
        room.leave()


KINDS: dict[str, tuple[Callable[[Room, int], None], int, int]] = {
    "mute": (mute, 100, 1000),
    "half a ClientHello": (handshakes, 100, 1000),
    "heads that do not end": (heads, 100, 500),
    "bodies that do not come": (bodies, 260, 260),
    "lists of 5 MB that nobody reads": (deaf_lists, 10, 40),
    "watches that nobody reads": (deaf_watches, 10, 100),
    "watches of half-closed peers": (half_closed, 30, 300),
    "resets within a TLS record": (torn, 50, 1000),
    "idle": (idle, 100, 9000),
    "flood of connections": (flood, 200, 5000),
}
"""By name: the attack, how many peers in the short form, how many in the long one."""


def _pump(room: Room, over: threading.Event) -> None:
    """A byte per second for every peer that has one to say."""
    while not over.wait(1):
        for each in list(room.peers):
            with contextlib.suppress(OSError, ValueError):
                each.setblocking(False)
                each.send(b"x")


def _percentile(latencies: list[float], part: float) -> float:
    return sorted(latencies)[int(len(latencies) * part)] * 1000


def main(arguments: list[str]) -> int:
    """The long form; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.slow", description=__doc__)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--bound", type=float, default=500, help="milliseconds that the p99 of others may reach")
    parser.add_argument("--only", default="", help="a part of the names of the kinds")
    options = parser.parse_args(arguments)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    cluster = Cluster()
    rows: list[tuple[str, object]] = []
    with tempfile.TemporaryDirectory() as directory:
        room = Room(Path(directory), cluster)
        try:
            latencies: list[float] = []
            room.others(300, latencies=latencies)
            rows.append(("nobody else", _row(room, 0, latencies)))
            for name, (attack, _, count) in KINDS.items():
                if options.only not in name:
                    continue
                count = min(count, hard - 1000)  # noqa: PLW2901 - as many as this machine allows
                rows.append((name, _attacked(room, name, attack, count, options.seconds, options.bound)))
                say(f"{name}: {rows[-1][1]}")
            resting = resident(room.pid)
            for attack, count, _ in KINDS.values():
                attack(room, count)
                room.leave()
            room.back(120)
            growth = resident(room.pid) / resting
            rows.append(("memory after all of it once more, of before", f"{growth:.3f}"))
            if growth > 1.1:
                room.problems.append(f"memory grew to {growth:.3f} of what it was")
            if room.serving.log.read_text().count("Traceback"):
                room.problems.append("there are tracebacks in the log")
        finally:
            room.close()
            cluster.stop()
    table("slow peers: count, p50 and p99 of others in ms, MB", rows)
    return exit_status(room.problems)


def _row(room: Room, count: int, latencies: list[float]) -> str:
    p50, p99 = _percentile(latencies, 0.5), _percentile(latencies, 0.99)
    return f"{count:,}; {p50:.1f}; {p99:.1f}; {resident(room.pid) / 1e6:.0f}"


def _attacked(
    room: Room, name: str, attack: Callable[[Room, int], None], count: int, seconds: float, bound: float
) -> str:
    over = threading.Event()
    pump = threading.Thread(target=_pump, args=(room, over), daemon=True)
    latencies: list[float] = []
    limit = time.monotonic() + seconds
    attacker = threading.Thread(target=attack, args=(room, count), daemon=True)
    attacker.start()
    if name in {"heads that do not end", "bodies that do not come", "half a ClientHello"}:
        pump.start()
    while attacker.is_alive() or time.monotonic() < limit:
        room.others(5, latencies=latencies)
        time.sleep(0.02)
    attacker.join()
    row = _row(room, count, latencies)
    over.set()
    if pump.ident:
        pump.join()
    room.leave()
    room.back()
    p99 = _percentile(latencies, 0.99)
    if p99 > bound:
        room.problems.append(f"{name}: p99 of others is {p99:.0f} ms")
    return row


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
