"""Measures the unit costs of the model, and some larger points to compare it with: ``scripts/bench --scale``.

Costs are fitted at the small end of each line (50 tails, 5,000 objects, 200 watchers), so that the larger points are
predictions. CPU time is the lowest of some runs: what else runs on the machine only adds to it.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from extapi.storage.keys import KeyLayout
from tests.bench.load import seed
from tests.bench.scale import etcdside, serverside
from tests.bench.scale.model import Measured, Point, UnitCosts
from tests.bench.server import Server
from tests.etcds import Etcd, etcd

_LAYOUT = KeyLayout("restaurant.programming-kubernetes.info", "pizzas", namespaced=True)
FITTED_TAILS, FITTED_OBJECTS, FITTED_WATCHERS = 50, 5_000, 200
TAILS = (1, 10, 200, 1_000)
OBJECTS = (20_000,)
WATCHERS = (1_000,)
_RUNS = 2
_IDLE = 5.0
"""Seconds for which something idle is measured."""


def measure(say: Callable[[str], None], directory: Path, *, quick: bool) -> Measured:
    """All of it; ``quick``: only the smaller points."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    tails, objects, watchers = (each[:2] if quick else each for each in (TAILS, OBJECTS, WATCHERS))
    found: dict[str, float] = {}
    points: list[Point] = []
    with _etcd(directory, "log") as member:
        _log(member, found, points, tails, say)
    say(f"{found} {points}")
    with _etcd(directory, "servers") as member:
        value = _server(member, directory, found, points, watchers, say)
        found["object_bytes"] = len(value)
        _pair(member, directory, points, say)
    say(f"{found} {points}")
    with _etcd(directory, "objects") as member:
        _objects(member, directory, value, found, points, objects[:1] if quick else objects, say)
    return Measured(UnitCosts.parse(found), points)


@contextmanager
def _etcd(directory: Path, name: str) -> Iterator[Etcd]:
    with etcd(etcdside.directory(directory, name), arguments=("--quota-backend-bytes=8589934592",)) as member:
        yield member


def _log(
    member: Etcd, found: dict[str, float], points: list[Point], tails: Sequence[int], say: Callable[[str], None]
) -> None:
    """An etcd alone, with tails that this process reads. The value is as large as a stored pizza."""
    found["etcd_memory"] = etcdside.read(member).memory
    before = etcdside.read(member)
    time.sleep(_IDLE)
    found["etcd_idle_cpu"] = max((etcdside.read(member) - before).cpu / _IDLE, 1.0)
    found["etcd_question_cpu"] = min(etcdside.question(member, 1_000).cpu / 1_000 for _ in range(2))
    entry = (_LAYOUT.key("bench", "q"), b'{"batch":"0"}' + b"x" * 1_200)

    def follow(number: int) -> tuple[float, float, float, float]:
        """Memory per tail; CPU, bytes and disk per write."""
        writes = max(16, min(1_600, 16_000 // max(number, 1))) // 16 * 16
        opened, written = etcdside.follow(member, number, entry, writes)
        busy = written.cpu - written.seconds * found["etcd_idle_cpu"]
        return opened.memory / max(number, 1), busy / writes, written.sent / writes, written.disk / writes

    bare = [follow(0) for _ in range(_RUNS)]
    many = [follow(FITTED_TAILS) for _ in range(_RUNS)]
    found["etcd_write_cpu"] = min(each[1] for each in bare)
    found["etcd_revision_disk"] = max(each[3] for each in bare)
    found["etcd_event_cpu"] = (min(each[1] for each in many) - found["etcd_write_cpu"]) / FITTED_TAILS
    found["etcd_event_bytes"] = (many[0][2] - bare[0][2]) / FITTED_TAILS
    for number in tails:
        try:
            runs = [follow(number) for _ in range(_RUNS if number <= FITTED_TAILS else 1)]
        except TimeoutError:
            say(f"{number:,} tails are too many for this machine now")
            break
        points.append(
            {"what": "tails", "number": number, "cpu": min(run[1] for run in runs), "bytes": runs[0][2] - bare[0][2]}
        )
        # of the largest number, since that of few is lost in what etcd's own memory does
        found["etcd_tail_memory"] = max(runs[0][0], 1.0)
        say(f"measured {number:,} tails")


def _server(
    member: Etcd,
    directory: Path,
    found: dict[str, float],
    points: list[Point],
    watchers: Sequence[int],
    say: Callable[[str], None],
) -> bytes:
    """One server, and its watchers; returns what is stored of a pizza."""
    before = etcdside.read(member)
    server = serverside.server(directory / "one", member)
    try:
        found["server_start_cpu"], found["server_memory"] = server.cpu(), server.rss() * 1e6
        seed(server)
        serverside.create(server)
        value = etcdside.fetch(member, _LAYOUT.key("bench", "p-0"))
        cpu = server.cpu()
        time.sleep(_IDLE)
        found["server_idle_cpu"] = max((server.cpu() - cpu) / _IDLE, 1.0)
        found["server_write_cpu"] = min(serverside.patch(server, 800) for _ in range(_RUNS))
        reads = 3_200
        before = etcdside.read(member)
        found["server_read_cpu"] = serverside.get(server, reads)
        found["server_read_questions"] = (etcdside.read(member) - before).calls / reads
        found["server_read_cpu"] = min(found["server_read_cpu"], serverside.get(server, reads))
        found["server_event_cpu"] = min(_past(member, server, value) for _ in range(_RUNS))
        say("measured a server")
        writes = 240
        runs = [serverside.watched([server], FITTED_WATCHERS, writes) for _ in range(_RUNS)]
        least = min(run.cpu[0] for run in runs)
        events = writes * FITTED_WATCHERS
        found["server_delivery_cpu"] = (least - writes * found["server_write_cpu"]) / events
        found["server_delivery_bytes"] = runs[0].received / writes
        found["server_watcher_memory"] = runs[0].memory[0] / FITTED_WATCHERS
        for number in watchers:
            writes = max(16, 48_000 // number // 8 * 8)
            run = serverside.watched([server], number, writes)
            points.append({"what": "watchers", "number": number, "cpu": run.cpu[0] / writes, "memory": run.memory[0]})
            say(f"measured {number:,} watchers")
    finally:
        server.stop()
    return value


def _past(member: Etcd, server: Server, value: bytes) -> float:
    """CPU microseconds per event that another process has written."""
    names = [_LAYOUT.key("bench", f"p-{number}") for number in range(serverside.OBJECTS)]
    times = 50
    before = server.cpu()
    etcdside.rewrite(member, [(name, _named(value, name)) for name in names], times)
    serverside.get(server, 16)  # it has all of it
    return (server.cpu() - before) / (times * len(names))


def _named(value: bytes, key: bytes) -> bytes:
    """The pizza with the name that its key has."""
    return value.replace(b'"name":"p-0"', b'"name":"%s"' % _LAYOUT.name(key).encode(), 1)


def _pair(member: Etcd, directory: Path, points: list[Point], say: Callable[[str], None]) -> None:
    """Two servers on one etcd, each with watchers; all is written through the first."""
    servers = [serverside.server(directory / "first", member)]
    try:
        servers.append(serverside.server(directory / "second", member))
        number, writes = 100, 400
        before, begin = etcdside.read(member), time.monotonic()
        run = serverside.watched(servers, number, writes)
        used, seconds = etcdside.read(member) - before, time.monotonic() - begin
    finally:
        for server in servers:
            server.stop()
    points.append(
        {
            "what": "pair", "number": number, "writes": writes, "seconds": seconds,
            "writer": run.cpu[0], "other": run.cpu[1], "etcd": used.cpu, "calls": used.calls,
        }
    )  # fmt: skip
    say("measured two servers")


def _objects(
    member: Etcd,
    directory: Path,
    value: bytes,
    found: dict[str, float],
    points: list[Point],
    sizes: Sequence[int],
    say: Callable[[str], None],
) -> None:
    """A store that grows; at each size a server is started on it."""
    empty = etcdside.read(member)
    there = 0
    for size in (FITTED_OBJECTS, *sizes):
        keys = [_LAYOUT.key("bench", f"p-{number}") for number in range(there, size)]
        etcdside.fill(member, [(key, _named(value, key)) for key in keys])
        there = size
        full = etcdside.read(member) - empty
        before = etcdside.read(member)
        server = serverside.server(directory / f"with-{size}", member)
        try:
            started = {"server_cpu": server.cpu(), "server_memory": server.rss() * 1e6}
            read = etcdside.read(member) - before
        finally:
            server.stop()
        if size == FITTED_OBJECTS:
            found["server_fill_cpu"] = (started["server_cpu"] - found["server_start_cpu"]) / size
            found["server_object_memory"] = (started["server_memory"] - found["server_memory"]) / size
            found["etcd_object_memory"] = full.memory / size
            found["etcd_object_disk"] = full.disk / size
            found["etcd_fill_cpu"] = read.cpu / size
            found["etcd_fill_bytes"] = read.sent / size
        else:
            also = {"etcd_memory": full.memory, "etcd_disk": full.disk, "etcd_cpu": read.cpu, "etcd_bytes": read.sent}
            points.append({"what": "objects", "number": size, **started, **also})
        say(f"measured {size:,} objects")
