"""What servers on one etcd take: ``extapi serve`` of the pizza API, loaded over TLS, with watchers that read in this process."""

from __future__ import annotations

import json
import selectors
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.load import PIZZAS, exchange, pizza, request, run
from tests.bench.scale.etcdside import PREFIX
from tests.bench.server import Server
from tests.etcds import Etcd

OBJECTS = 16
"""Pizzas that are written again and again."""
_CONNECTIONS = 8


def server(directory: Path, etcd: Etcd) -> Server:
    """One more on the etcd; ready."""
    directory.mkdir()
    to_etcd = ("--storage=etcd:", f"--etcd-servers={etcd.url}", f"--etcd-prefix={PREFIX}")
    return Server(directory, flags=(*to_etcd, "--connection-requests=0"))  # the load keeps its connections


def create(to: Server) -> None:
    """The pizzas that are written later."""
    run(to, "CREATE", lambda n: request("POST", PIZZAS, pizza(f"p-{n}")), count=OBJECTS, status=201)


def patch(to: Server, writes: int) -> float:
    """CPU microseconds of the server per merge patch."""
    return run(to, "merge PATCH", _patch(0), count=writes, connections=_CONNECTIONS).micros


def get(of: Server, reads: int) -> float:
    """CPU microseconds of the server per consistent GET."""
    return run(of, "GET", lambda _: request("GET", f"{PIZZAS}/p-7"), count=reads, connections=16).micros


def _patch(begin: int) -> Callable[[int], bytes]:
    def make(n: int) -> bytes:
        body = {"metadata": {"labels": {"turn": str(begin + n)}}}
        return request("PATCH", f"{PIZZAS}/p-{n % OBJECTS}", body, "application/merge-patch+json")

    return make


@dataclass(frozen=True)
class Watched:
    """What the servers took while they delivered, in their order."""

    cpu: Sequence[float]
    """Microseconds."""
    memory: Sequence[float]
    """Bytes that were added while the watches were opened."""
    received: int
    """Bytes that one watcher has read, on average."""


def watched(servers: Sequence[Server], watchers: int, writes: int) -> Watched:
    """Open ``watchers`` on each server, then patch through the first one until all have all of it."""
    before = [each.rss() for each in servers]
    selector = selectors.DefaultSelector()
    connections = []
    for each in servers:
        revision = _revision(each)
        for _ in range(watchers):
            connection = each.connect()
            connection.sendall(request("GET", f"{PIZZAS}?watch=true&resourceVersion={revision}"))
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ)
            connections.append(connection)
    memory = [(each.rss() - rss) * 1e6 for each, rss in zip(servers, before, strict=True)]
    cpu = [each.cpu() for each in servers]
    writer = threading.Thread(
        target=run,
        args=(servers[0], "merge PATCH", _patch(watchers * 1_000_000)),
        kwargs={"count": writes, "connections": _CONNECTIONS},
    )
    writer.start()
    wanted = writes // _CONNECTIONS * _CONNECTIONS * len(connections)
    delivered = received = 0
    while delivered < wanted:
        ready = selector.select(60)
        if not ready:
            raise RuntimeError(f"{delivered} of {wanted} events arrived")
        for key, _mask in ready:
            events, size = _read(key.fileobj)  # type: ignore[arg-type]
            delivered += events
            received += size
    writer.join()
    used = [each.cpu() - first for each, first in zip(servers, cpu, strict=True)]
    for connection in connections:
        selector.unregister(connection)
        connection.close()
    return Watched(used, memory, received // len(connections))


def _read(connection: ssl.SSLSocket) -> tuple[int, int]:
    """The events that can be read now, and their bytes."""
    events = size = 0
    while True:
        try:
            data = connection.recv(65536)
        except ssl.SSLWantReadError:
            return events, size
        if not data:
            raise ConnectionError("a watch ended")
        events += data.count(b'{"type":"MODIFIED"')
        size += len(data)


def _revision(of: Server) -> str:
    with of.connect() as connection:
        _, body = exchange(connection, request("GET", f"{PIZZAS}?limit=1"))
    return str(json.loads(body)["metadata"]["resourceVersion"])
