"""What an etcd that runs for this alone says of itself: its CPU and memory by /proc, calls and bytes by its own metrics."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, gatherResults

from extapi.privatereactor import drive, private_reactor
from extapi.storage.etcd.backend import EtcdBackend
from tests.bench.server import cpu, resident
from tests.etcds import Etcd

T = TypeVar("T")
PREFIX = "/extapi/bench"
_SENT = "etcd_network_client_grpc_sent_bytes_total"
_CALLS = "grpc_server_started_total"
_DISK = "etcd_mvcc_db_total_size_in_use_in_bytes"
_SECONDS = 240.0
_AT_ONCE = 16
"""Writes on their way; a quarter of them with more than 100 tails, all of which this process reads."""
_FEW = 100
_FILLING = 100
"""Writes on their way while a store is filled, which nobody measures."""
_OPENED = 25
"""Tails that are opened at once."""


@dataclass(frozen=True)
class Reading:
    """What etcd has used since it started, and what it has now. CPU in microseconds; else bytes and numbers."""

    cpu: float
    sent: float
    calls: float
    memory: float
    disk: float
    seconds: float
    """When it was read, by a monotonic clock."""

    def __sub__(self, before: Reading) -> Reading:
        return Reading(
            self.cpu - before.cpu,
            self.sent - before.sent,
            self.calls - before.calls,
            self.memory - before.memory,
            self.disk - before.disk,
            self.seconds - before.seconds,
        )


def read(etcd: Etcd) -> Reading:
    """Ask it."""
    assert etcd.process is not None
    with urllib.request.urlopen(f"{etcd.url}/metrics", timeout=30) as answer:  # noqa: S310 - ours
        lines = answer.read().decode().splitlines()
    pid = etcd.process.pid
    return Reading(
        cpu(pid), _sum(lines, _SENT), _sum(lines, _CALLS), resident(pid), _sum(lines, _DISK), time.monotonic()
    )


def _sum(lines: Iterable[str], name: str) -> float:
    """Of all series of a metric."""
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))


Entry = tuple[bytes, bytes]
"""A key and its value."""


def fill(etcd: Etcd, entries: Sequence[Entry]) -> None:
    """Write them, of which none is there."""

    async def work(_: Any, writer: EtcdBackend) -> None:
        await _write(writer, [(key, value, 0) for key, value in entries], _FILLING)

    _with_backend(etcd, work)


def question(etcd: Etcd, number: int) -> Reading:
    """What so many questions for the current revision take, one after the other."""

    async def work(_: Any, writer: EtcdBackend) -> Reading:
        await writer.revision()
        before = read(etcd)
        for _turn in range(number):
            await writer.revision()
        return read(etcd) - before

    return _with_backend(etcd, work)


def follow(etcd: Etcd, tails: int, entry: Entry, writes: int) -> tuple[Reading, Reading]:
    """Open ``tails``, each of a store of its own as of a server, then rewrite keys until all have all of it.

    Args:
        etcd: With nothing else to do.
        tails: How many.
        entry: The beginning of the keys, and the value. The same keys are written again and again.
        writes: How many.

    Returns:
        What the tails took to be opened; what the writes took with them.
    """

    async def work(reactor: Any, writer: EtcdBackend) -> tuple[Reading, Reading]:
        keys = [b"%s-%d" % (entry[0], number) for number in range(_AT_ONCE if tails <= _FEW else _AT_ONCE // 4)]
        last: dict[bytes, int] = {}
        for key in keys:
            there = await writer.get(key)
            last[key] = await writer.commit(key, entry[1], expected=there.revision if there else 0)
        begin = await writer.revision()
        before = read(etcd)
        stores = [EtcdBackend(reactor, etcd.options(PREFIX)) for _ in range(tails)]
        # not opened: their questions for etcd's health would be counted as well
        failed: list[object] = []
        reached: dict[int, int] = {}
        waiting: list[tuple[int, Deferred[None]]] = []

        async def tail(number: int) -> None:
            async for batch in stores[number].tail(begin - 1):  # one event: it follows
                reached[number] = batch.progress
                for wanted in [each for each in waiting if all_at(each[0])]:
                    waiting.remove(wanted)
                    wanted[1].callback(None)

        def all_at(revision: int) -> bool:
            return len(reached) == len(following) and min(reached.values(), default=revision) >= revision

        def broken(why: Any) -> None:
            failed.append(why)
            for _, done in waiting:
                done.callback(None)
            waiting.clear()

        async def until(revision: int) -> None:
            if not all_at(revision):
                done: Deferred[None] = Deferred()
                waiting.append((revision, done))
                await done
            if failed:
                raise RuntimeError(f"tails broke off: {failed}")

        following: list[Deferred[None]] = []
        for number in range(tails):
            following.append(Deferred.fromCoroutine(tail(number)).addErrback(broken))
            if len(following) % _OPENED == 0:
                await until(begin)
        await until(begin)
        opened = read(etcd)

        async def rewrite(key: bytes, turn: int) -> None:
            value = entry[1].replace(b'"batch":"0"', b'"batch":"%d"' % (turn % 10), 1)
            last[key] = await writer.commit(key, value, expected=last[key])

        for turn in range(writes // len(keys)):
            await gatherResults([Deferred.fromCoroutine(rewrite(key, turn)) for key in keys], consumeErrors=True)
            await until(max(last.values()))  # this process is slower than etcd
        written = read(etcd) - opened
        for store in stores:
            await store.close()
        await gatherResults(following, consumeErrors=True)
        return opened - before, written

    return _with_backend(etcd, work)


async def _write(writer: EtcdBackend, entries: Sequence[tuple[bytes, bytes, int]], at_once: int = _AT_ONCE) -> None:
    left = iter(entries)

    async def some() -> None:
        for key, value, expected in left:
            await writer.commit(key, value, expected=expected)

    await gatherResults([Deferred.fromCoroutine(some()) for _ in range(at_once)], consumeErrors=True)


def rewrite(etcd: Etcd, entries: Sequence[Entry], times: int) -> None:
    """Write each again, ``times``, past all servers."""

    async def work(_: Any, writer: EtcdBackend) -> None:
        for turn in range(times):
            there = [await writer.get(key) for key, _ in entries]
            values = [value.replace(b'"batch":"0"', b'"batch":"%d"' % (turn + 1), 1) for _, value in entries]
            await _write(
                writer,
                [
                    (found.key, value, found.revision)
                    for found, value in zip(there, values, strict=True)
                    if found is not None
                ],
            )

    _with_backend(etcd, work)


def _with_backend(etcd: Etcd, work: Callable[[Any, EtcdBackend], Awaitable[T]]) -> T:
    with private_reactor() as reactor:

        async def all_of_it() -> T:
            writer = EtcdBackend(reactor, etcd.options(PREFIX))
            try:
                return await work(reactor, writer)
            finally:
                await writer.close()

        return drive(reactor, all_of_it(), timeout=_SECONDS)


def fetch(etcd: Etcd, key: bytes) -> bytes:
    """The value of a key that is there."""

    async def work(_: Any, writer: EtcdBackend) -> bytes:
        found = await writer.get(key)
        assert found is not None
        return found.value

    return _with_backend(etcd, work)


def directory(parent: Path, name: str) -> Path:
    """A new one."""
    made = parent / name
    made.mkdir()
    return made
