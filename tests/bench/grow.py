"""What grows with what is stored and with who watches: ``scripts/bench --grow [--quick]``.

One store grows from 1,000 objects to 200,000; at each size a server is started on it and loaded. Then watches are opened
on a server with few objects. Each figure has beside it its ratio to that of the smallest size. At last, two stores of the same
objects, with their managed fields and without, show what these take in memory.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from extapi.codec.strictjson import decode, encode
from extapi.privatereactor import drive, private_reactor
from extapi.storage.keys import KeyLayout
from extapi.storage.url import open_backend
from tests.bench.load import PIZZAS, exchange, pizza, request, run, seed, watch
from tests.bench.server import Server
from tests.bench.table import table

SIZES = (1_000, 10_000, 100_000, 200_000)
WATCHERS = (100, 1_000, 9_900)
"""The listener's bound is 10,000 connections, and the load needs some, too."""
DELIVERIES = 100_000
"""Events that are delivered with each number of watchers, together."""
KEPT = 50_000
"""Objects with managed fields, and without."""
CREATED = 1_000
"""Objects that the CREATEs add at each size."""
_LISTED = 200_000_000
"""Bytes of the lists by label, together."""
_AT_ONCE = 500
"""Writes that wait for one transaction while the store is filled."""
_LAYOUT = KeyLayout("restaurant.programming-kubernetes.info", "pizzas", namespaced=True)

Measure = Callable[[Server, int], float]
"""Measures a server; the second argument divides the load: 1, or 10 with ``--quick``."""


def _get(server: Server, scale: int) -> float:
    def make(n: int) -> bytes:
        return request("GET", f"{PIZZAS}/p-{n % 400}")

    run(server, "GET", make, count=400)  # each is converted once
    return run(server, "GET", make, count=12_000 // scale, connections=4).micros


def _list(server: Server, scale: int) -> float:
    data = request("GET", f"{PIZZAS}?limit=500")
    run(server, "LIST of 500", lambda _: data, count=1)
    return run(server, "LIST of 500", lambda _: data, count=800 // scale, connections=2).micros


def _selected(selector: str) -> Measure:
    """Measures lists of all objects with a label: more of them the smaller they are, since CPU time has a clock of 10 ms."""

    def measure(server: Server, scale: int) -> float:
        data = request("GET", f"{PIZZAS}?labelSelector={selector}")
        with server.connect() as connection:
            _, body = exchange(connection, data)  # each object is converted once
        count = min(400, max(10, _LISTED // len(body))) // scale
        return run(server, "LIST by label", lambda _: data, count=max(count, 1)).micros / 1000

    return measure


def _patch(server: Server, scale: int) -> float:
    def make(n: int) -> bytes:
        body = {"metadata": {"labels": {"turn": str(n)}}}
        return request("PATCH", f"{PIZZAS}/p-{n % 400}", body, "application/merge-patch+json")

    run(server, "merge PATCH", make, count=400)
    return run(server, "merge PATCH", make, count=4_000 // scale, connections=8).micros


def _create(server: Server, _scale: int) -> float:
    def make(n: int) -> bytes:
        return request("POST", PIZZAS, pizza(f"new-{server.port}-{n}", n))

    return run(server, "CREATE", make, count=CREATED, connections=8, status=201).micros


ROWS: Mapping[str, Measure] = {
    "GET, CPU us": _get,
    "LIST of 500, CPU us": _list,
    "LIST of a tenth by label, CPU ms": _selected("batch%3D3"),
    "LIST of all by label, CPU ms": _selected("app%3Dbench"),
    "merge PATCH, CPU us": _patch,
    "CREATE, CPU us": _create,
}
"""What is measured at each size, in this order: CREATE comes last, because it adds objects."""


def main(say: Callable[[str], None], directory: Path, *, quick: bool) -> None:
    """Measure everything and print two tables.

    Args:
        say: Prints a line.
        directory: For the store, empty.
        quick: A tenth of the load, and only the two smallest sizes.
    """
    scale, sizes, numbers = (10, SIZES[:2], WATCHERS[:2]) if quick else (1, SIZES, WATCHERS)
    _allow_many_files()
    server = Server(directory)
    try:
        seed(server)
        run(server, "seed", lambda n: request("POST", PIZZAS, pizza(f"p-{n}", n)), count=1, status=201)
    finally:
        server.stop()
    columns = []
    for index, size in enumerate(sizes):
        fill(directory, size - index * CREATED)
        columns.append(_at_size(directory, scale))
        say(f"measured with {size:,} objects")
    say("")
    for line in table("stored objects", [f"{size:,}" for size in sizes], columns):
        say(line)
    watched = directory / "watched"
    watched.mkdir()
    server = Server(watched)
    try:
        seed(server)
        run(server, "seed", lambda n: request("POST", PIZZAS, pizza(f"p-{n}", n)), count=400, status=201)
        columns = [_watched(server, number, scale) for number in numbers]
    finally:
        server.stop()
    say("")
    for line in table("watchers", [f"{number:,}" for number in numbers], columns):
        say(line)
    say("")
    kept = KEPT // (5 if quick else 1)
    columns = [_kept(directory, kept, managed=managed) for managed in (False, True)]
    more = {name: columns[1][name] - columns[0][name] for name in columns[0]}
    titles = [f"{kept:,} objects without managed fields", "with them", "more"]
    for line in table("bytes per object", titles, [*columns, more]):
        say(line)


def _at_size(directory: Path, scale: int) -> dict[str, float]:
    """All figures of a server that is started on the store as it is now."""
    server = Server(directory)
    try:
        found = {"start to ready, s": server.started, "start, CPU ms": server.cpu() / 1000, "RSS, MB": server.rss()}
        found |= {name: measure(server, scale) for name, measure in ROWS.items()}
        found["RSS after the load, MB"] = server.rss()
        return found
    finally:
        server.stop()


def _watched(server: Server, number: int, scale: int) -> dict[str, float]:
    """The figures of so many watches."""
    memory: list[float] = []
    result = watch(server, number, DELIVERIES // number // scale, opened=lambda: memory.append(server.rss()))
    return {
        "an event to one watcher, CPU us": result.micros,
        "an event to all watchers, ms": result.percentile(0.5),
        "RSS with all watches open, MB": memory[0],
    }


def _kept(directory: Path, number: int, *, managed: bool) -> dict[str, float]:
    """What an object takes, in the store and in memory: when the server has started, and after it was listed."""
    home = directory / ("managed" if managed else "bare")
    home.mkdir()
    server = Server(home)
    try:
        seed(server)
        run(server, "seed", lambda n: request("POST", PIZZAS, pizza(f"p-{n}", n)), count=1, status=201)
    finally:
        server.stop()
    stored = 0
    memory = []
    for size in (1, number):
        stored = fill(home, size, managed=managed)
        server = Server(home)
        try:
            memory.append([server.rss()])
            run(server, "LIST", lambda _: request("GET", PIZZAS), count=3)
            memory[-1].append(server.rss())
        finally:
            server.stop()
    few, many = memory
    started, listed = ((after - before) * 1e6 / number for before, after in zip(few, many, strict=True))
    return {"stored": float(stored), "RSS": started, "RSS after three lists of all": listed}


def fill(directory: Path, total: int, *, managed: bool = True) -> int:
    """Add copies of the object ``p-0`` to the store until there are ``total``; no server may run.

    Args:
        directory: Of the store.
        total: How many there will be.
        managed: Whether the copies have its managed fields.

    Returns:
        The bytes of a copy.
    """
    with private_reactor() as reactor:
        backend = open_backend(f"sqlite:///{directory / 'bench.db'}", reactor)
        return drive(reactor, _fill(backend, total, managed=managed), timeout=600)


async def _fill(backend: Any, total: int, *, managed: bool) -> int:
    first = await backend.get(_LAYOUT.key("bench", "p-0"))
    there = sum(1 for entry in (await _all(backend)) if _LAYOUT.name(entry.key).startswith("p-"))
    value: bytes = first.value
    if not managed:
        obj = decode(value).value
        del obj["metadata"]["managedFields"]
        value = encode(obj)
    waiting: list[Deferred[int]] = []
    for number in range(there, total):
        named = value.replace(b'"name":"p-0"', b'"name":"p-%d"' % number, 1)
        labelled = named.replace(b'"batch":"0"', b'"batch":"%d"' % (number % 10), 1)
        commit = backend.commit(_LAYOUT.key("bench", f"p-{number}"), labelled, expected=0)
        waiting.append(Deferred.fromCoroutine(commit))
        if len(waiting) == _AT_ONCE or number == total - 1:
            await gatherResults(waiting, consumeErrors=True)
            waiting = []
    await backend.close()
    return len(value)


async def _all(backend: Any) -> Sequence[Any]:
    found: Sequence[Any] = (await backend.page(_LAYOUT.prefix, at=None, after=b"", limit=0)).entries
    return found


def _allow_many_files() -> None:
    """Each watcher is an open file here, too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
