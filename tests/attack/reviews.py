"""How long others wait while strangers attack: ``python -m tests.attack.reviews [SECONDS [ATTACK...]]`` prints it. Asserts nothing.

The others are one user behind the front proxy, on four connections, each asking for the next list as soon as it has one;
every tenth is a question that the cluster has to be asked. The attacks are 400 connections of a process of its own, each of
which asks on and on, whatever becomes of it: once a second with a new token each time, or every fourth second as nobody,
with a selector of 60 kB that is new each time (6 MB per second: more is a flood of bytes, whatever is in them); and 260 writes whose bodies never come. A review takes 20 ms.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.attack.crowd import PIZZAS, Stranger
from tests.attack.review_cluster import ReviewCluster
from tests.bench.server import Server

CROWD = 400
USER = "X-Remote-User: alice\r\n"
NEVER = f"POST {PIZZAS % 'bench'} HTTP/1.1\r\nHost: localhost\r\n{USER}Content-Length: 1000\r\n\r\n"

Attack = Callable[[Server, Any], None]


def _ask(server: Server, ended: Any, period: float, request: Callable[[int], tuple[str, ...]]) -> None:
    """Have each of the crowd ask once in ``period`` seconds, and throw the answers away."""
    crowd = [Stranger(server) for _ in range(CROWD)]
    number = 0
    begin = time.monotonic()
    while not ended.is_set():
        stranger = crowd[number % CROWD]
        number += 1
        with contextlib.suppress(ssl.SSLError, OSError):
            while stranger.answer() is not None:
                pass
            stranger.get(*request(number))
        time.sleep(max(0.0, begin + number * period / CROWD - time.monotonic()))


def tokens(server: Server, ended: Any) -> None:
    """A new token each time."""
    _ask(server, ended, 1.0, lambda number: (PIZZAS % "bench", f"Authorization: Bearer bad-{number}"))


def selectors(server: Server, ended: Any) -> None:
    """A new question each time, with much to parse."""
    terms = ",".join(f"{'k' * 58}{number:03}" for number in range(990))
    _ask(server, ended, 4.0, lambda number: (PIZZAS % "bench" + f"?labelSelector=a{number},{terms}",))


def bodies(server: Server, ended: Any) -> None:
    """Writes that only begin, again as soon as they are refused."""
    slow: list[ssl.SSLSocket] = []
    while not ended.is_set():
        while len(slow) < 260:
            connection = server.connect()
            connection.sendall(NEVER.encode())
            connection.setblocking(False)
            slow.append(connection)
        time.sleep(0.05)
        slow = [connection for connection in slow if not _answered(connection)]


def _answered(connection: ssl.SSLSocket) -> bool:
    try:
        connection.recv(65536)
    except ssl.SSLWantReadError:
        return False
    except OSError:
        pass
    connection.close()
    return True


def others(server: Server, seconds: float, *, write: bool = False) -> tuple[list[float], dict[str, int]]:
    """Latencies in milliseconds, sorted, and how many answers had which status."""
    found: list[float] = []
    statuses: dict[str, int] = {}
    end = time.monotonic() + seconds

    def ask(worker: int) -> None:
        with server.connect() as connection:
            number = 0
            while time.monotonic() < end:
                number += 1
                namespace = "bench" if number % 10 else f"n{worker}-{number}-{time.monotonic_ns()}"
                method = "DELETE" if write else "GET"
                path = PIZZAS % namespace + ("/none" if write else "")
                begin = time.monotonic()
                connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{USER}\r\n".encode())
                status = connection.recv(65536).split(b" ", 2)[1].decode()
                found.append((time.monotonic() - begin) * 1000)
                statuses[status] = statuses.get(status, 0) + 1
                time.sleep(0.005)

    workers = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(found), statuses


def measure(server: Server, cluster: ReviewCluster, attack: Attack, seconds: float) -> str:
    """One row: the others without the attack, with it, and the ratio of their p99."""
    write = attack is bodies
    before, _ = others(server, seconds, write=write)
    cluster.reviews.clear()
    cluster.most = 0
    ended = multiprocessing.Event()
    attacking = multiprocessing.Process(target=attack, args=(server, ended))
    attacking.start()
    time.sleep(3)
    cpu, begin = server.cpu(), time.monotonic()
    during, statuses = others(server, seconds, write=write)
    busy = (server.cpu() - cpu) / (time.monotonic() - begin) / 10_000
    ended.set()
    attacking.join(10)
    attacking.kill()
    counts = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    reviews = f"{cluster.most} reviews at most at a time, {max(cluster.busiest(kind) for kind in KINDS)} a second"
    p50 = f"p50 {_part(before, 0.5):.1f} to {_part(during, 0.5):.1f} ms"
    p99 = f"p99 {_part(before, 0.99):.1f} to {_part(during, 0.99):.1f} ms"
    ratio = _part(during, 0.99) / _part(before, 0.99)
    return f"{attack.__name__}: {p50}, {p99}: {ratio:.2f} times; {counts}; {reviews}; CPU {busy:.0f} %"


ATTACKS: tuple[Attack, ...] = (tokens, selectors, bodies)
KINDS = ("TokenReview", "SubjectAccessReview")


def _part(latencies: list[float], part: float) -> float:
    return latencies[min(len(latencies) - 1, int(len(latencies) * part))]


def main() -> None:
    """Print a row per attack."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
    socket.setdefaulttimeout(30)
    wanted = sys.argv[2:] or [attack.__name__ for attack in ATTACKS]
    for attack in (attack for attack in ATTACKS if attack.__name__ in wanted):
        with tempfile.TemporaryDirectory() as directory:
            cluster = ReviewCluster(latency=0.02)
            server = Server(Path(directory), cluster)
            try:
                print(measure(server, cluster, attack, seconds), flush=True)
            finally:
                server.stop()


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main()
