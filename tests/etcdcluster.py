"""Three real members of etcd on loopback, whose peers reach one another through relays that can cut one of them off."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from extapi.storage.etcd import wire
from extapi.storage.etcd.channel import Channel
from extapi.storage.etcd.endpoints import EtcdAccess, EtcdOptions
from tests.etcds import Etcd
from tests.lastingport import lasting_port

_SOURCE = re.compile(rb"^X-PeerURLs: *(\S+)\r$", re.MULTILINE | re.IGNORECASE)
"""Says which member a connection comes from (``etcd/server/etcdserver/api/rafthttp`` setPeerURLsHeader)."""
_HEAD = 64 * 1024
_FAST = ("--heartbeat-interval=50", "--election-timeout=500", "--grpc-keepalive-min-time=100ms")


class Relay(threading.Thread):
    """Passes on what comes to one member from its peers, unless one of the two is cut off."""

    def __init__(self, target: int, cut: set[str]) -> None:
        super().__init__(daemon=True)
        self._target = target
        self._cut = cut
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._open: list[tuple[str, socket.socket, socket.socket]] = []
        self._lock = threading.Lock()

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._pass, args=(connection,), daemon=True).start()

    def _pass(self, connection: socket.socket) -> None:
        head = b""
        with connection, contextlib.suppress(OSError), socket.socket() as further:
            while b"\r\n\r\n" not in head and len(head) < _HEAD:
                part = connection.recv(_HEAD)
                if not part:
                    return
                head += part
            found = _SOURCE.search(head)
            source = found[1].decode() if found else ""
            with self._lock:
                if {source, self.url} & self._cut:
                    return
                self._open.append((source, connection, further))
            further.connect(("127.0.0.1", self._target))
            further.sendall(head)
            back = threading.Thread(target=_pump, args=(further, connection), daemon=True)
            back.start()
            _pump(connection, further)
            back.join()

    def obey(self) -> None:
        """End what passes from or to a member that is cut off."""
        with self._lock:
            for source, *ends in self._open:
                if {source, self.url} & self._cut:
                    for end in ends:
                        with contextlib.suppress(OSError):
                            end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Take no further connections."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(_HEAD):
            target.sendall(part)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class EtcdCluster:
    """The members, in a directory each."""

    def __init__(self, directory: Path) -> None:
        self._cut: set[str] = set()
        ports = [lasting_port() for _ in range(3)]
        self._relays = [Relay(port, self._cut) for port in ports]
        peers = [(f"m{number}", relay.url) for number, relay in enumerate(self._relays)]
        self.members = []
        for (name, _), port in zip(peers, ports, strict=True):
            home = directory / name
            home.mkdir()
            self.members.append(
                Etcd(home, lasting_port(), False, _FAST, name=name, peers=peers, peer=f"http://127.0.0.1:{port}")
            )

    def start(self) -> None:
        """Start them; returns when they take connections, which is when they have a leader."""
        for relay in self._relays:
            relay.start()
        for member in self.members:
            member.spawn()
        for member in self.members:
            member.wait()

    def options(self, prefix: str, *, first: Etcd | None = None, **rest: object) -> EtcdOptions:
        """How a store reaches them; ``first`` is the one that it tries first."""
        order = sorted(self.members, key=lambda member: member is not first)
        return order[0].options(prefix, servers=tuple(member.url for member in order), **rest)

    def cut_off(self, member: Etcd) -> None:
        """Its peers no longer reach it, nor it them; clients do."""
        self._cut.add(dict(member.peers)[member.name])
        for relay in self._relays:
            relay.obey()

    async def leader(self, reactor: Any) -> Etcd:
        """The member that leads, once there is one; all of them must be there."""
        while True:
            for member in self.members:
                own, leading = await _status(reactor, member)
                if own == leading:
                    return member

    def heal(self) -> None:
        """Let all of them run and reach one another."""
        self._cut.clear()
        for member in self.members:
            assert member.process is not None
            if member.process.poll() is None:
                member.resume()
            else:
                member.start()

    def close(self) -> None:
        """End them."""
        for member in self.members:
            if member.process is not None:
                member.kill()
        for relay in self._relays:
            relay.close()


async def _status(reactor: Any, member: Etcd) -> tuple[int, int]:
    """Who a member is, and who leads, as it knows."""
    channel = Channel(reactor, EtcdAccess(member.options("/x")))
    try:
        answer = await channel.call(wire.STATUS, b"", repeatable=True, seconds=30)
    finally:
        channel.close()
    fields = {field: part for field, _, part in wire._fields(answer) if part}
    own = next(number for field, number, _ in wire._fields(fields[1]) if field == 2)
    return own, wire.status_answer(answer).leader


@contextlib.contextmanager
def etcd_cluster(directory: Path) -> Iterator[EtcdCluster]:
    """Three members, until the end of the block."""
    cluster = EtcdCluster(directory)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()
