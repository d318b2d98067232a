"""A thousand watchers for twenty minutes: each is told everything exactly once and in order, and the server does not grow.

``python -m tests.attack.soak --minutes 20 --watchers 1000``: pizzas in three namespaces, changed at a steady rate by
writers in this process; watchers in processes of their own, by namespace, label, name, version and form, of which some hang up at
random and resume; lists beside them, with and without gzip; a store that forgets its past every ten seconds.

One watch without a selection is the story. Its changes are held against what the writers were told; what another watcher
has to be told follows from it.
"""

from __future__ import annotations

import argparse
import bisect
import gzip
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.attack.cluster import Cluster
from tests.attack.process import descriptors, resident
from tests.attack.serve import COMMAND
from tests.attack.soakwatchers import KINDS, Report, Selection, code, follow
from tests.attack.table import exit_status, say, table
from tests.bench.load import exchange, pizza, request
from tests.conformance.serving import Serving

NAMESPACES = ("one", "two", "three")
GROUP = "/apis/restaurant.programming-kubernetes.info"
OBJECTS = 60
"""By writer."""
WRITERS = 2
COMPACTION = "10"
SAMPLE = 2.0
"""Seconds between two looks at the server."""
FLAT = 1.05


@dataclass
class Told:
    """What the writers were told, and what lists showed. ``written``: name, revision and step, in order by name."""

    written: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)
    lists: int = 0
    problems: list[str] = field(default_factory=list)


class Writer(threading.Thread):
    """Creates, changes and deletes pizzas of its own, so many times per second."""

    def __init__(self, serving: Serving, number: int, rate: float, over: threading.Event, told: Told) -> None:
        super().__init__(daemon=True)
        self._serving = serving
        self._number = number
        self._pause = 1 / rate
        self._over = over
        self._told = told
        self._dice = random.Random(number)  # noqa: S311 - test data
        self._there: set[str] = set()
        self.step = 0

    def run(self) -> None:
        """Write until the end, at the rate that was asked for if the server keeps up with it."""
        with self._serving.context.wrap_socket(_socket(self._serving.port), server_hostname="localhost") as connection:
            due = time.monotonic()
            while not self._over.is_set():
                data, done = self._next()
                status, body = exchange(connection, data)
                if status not in {200, 201}:
                    self._told.problems.append(f"write: {status} {body[:300]!r}")
                    return
                done(json.loads(body))
                due = max(due + self._pause, time.monotonic() - 1)
                self._over.wait(max(0.0, due - time.monotonic()))

    def _next(self) -> tuple[bytes, Callable[[Any], None]]:
        index = self._dice.randrange(OBJECTS)
        name = f"p-{self._number}-{index}"
        path = f"{GROUP}/v1beta1/namespaces/{NAMESPACES[index % len(NAMESPACES)]}/pizzas"
        self.step += 1
        labels = {"batch": str(self._dice.randrange(10)), "step": str(self.step)}
        if name not in self._there:
            body = pizza(name)
            body["metadata"]["labels"] = labels  # type: ignore[index]
            return request("POST", path, body), lambda answer: self._wrote(name, answer)
        if self._dice.random() < 0.1:
            return request("DELETE", f"{path}/{name}"), lambda _: self._gone(name)
        body = {"metadata": {"labels": labels}}
        return (
            request("PATCH", f"{path}/{name}", body, "application/merge-patch+json"),
            lambda answer: self._wrote(name, answer),
        )

    def _wrote(self, name: str, answer: Any) -> None:
        self._there.add(name)
        revision = int(answer["metadata"]["resourceVersion"])
        self._told.written.setdefault(name, []).append((revision, int(answer["metadata"]["labels"]["step"])))

    def _gone(self, name: str) -> None:
        self._there.discard(name)
        self._told.deleted[name] = self._told.deleted.get(name, 0) + 1


def _socket(port: int) -> Any:
    import socket  # noqa: PLC0415 - the name is taken in this module's words

    made = socket.create_connection(("127.0.0.1", port), timeout=60)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def lists(serving: Serving, over: threading.Event, told: Told) -> None:
    """Lists of all kinds, one after the other, with and without gzip."""
    with serving.context.wrap_socket(_socket(serving.port), server_hostname="localhost") as connection:
        number = 0
        while not over.wait(0.25):
            number += 1
            version = ("v1beta1", "v1alpha1")[number % 2]
            where = ("pizzas", "namespaces/one/pizzas", "pizzas?limit=20", "pizzas?labelSelector=batch%3D3")[number % 4]
            data = request("GET", f"{GROUP}/{version}/{where}")
            if number % 3 == 0:
                data = data.replace(b"\r\n\r\n", b"\r\nAccept-Encoding: gzip\r\n\r\n")
            status, body = exchange(connection, data)
            found = json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
            if status != 200 or not found["kind"].endswith("List"):
                told.problems.append(f"list {where}: {status} {body[:300]!r}")
                return
            told.lists += 1


def story_problems(story: Report, told: Told) -> list[str]:
    """Whether the story is what the writers were told: every write once, in order, at its revision, and nothing else."""
    steps: dict[str, list[tuple[int, int]]] = {}
    deleted: dict[str, int] = {}
    for event in story.events:
        if event.kind == "DELETED":
            deleted[event.name] = deleted.get(event.name, 0) + 1
        else:
            steps.setdefault(event.name, []).append((event.revision, event.step))
    found = [
        f"{name}: the story has {len(steps.get(name, []))} changes, its writer {len(told.written.get(name, []))}"
        for name in steps.keys() | told.written.keys()
        if steps.get(name) != told.written.get(name)
    ]
    if deleted != told.deleted:
        found.append("the story has other deletions than the writers")
    return found


def expected_codes(story: Report, selection: Selection) -> array[int]:
    """What a watcher with this selection has to be told, as :func:`tests.attack.soakwatchers.code` writes it."""
    found = array("Q")
    before: dict[str, bool] = {}
    for event in story.events:
        matched = before.get(event.name, False)
        matches = event.kind != "DELETED" and selection.matches(event)
        before[event.name] = matches
        if matches or matched:
            kind = ("MODIFIED" if matched else "ADDED") if matches else "DELETED"
            found.append(code(event.revision, kind))
    return found


def watcher_problems(report: Report, codes: array[int], story: Report) -> list[str]:
    """Whether a watcher was told exactly what it had to be, in each part between two lists."""
    found = list(report.problems)
    for part in report.parts:
        first = bisect.bisect_left(codes, code(part.after + 1, KINDS[0]))
        last = bisect.bisect_left(codes, code(part.seen + 1, KINDS[0]))
        if codes[first:last] != part.codes:
            wanted, got = list(codes[first:last]), list(part.codes)
            at = next(
                (i for i, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b), min(len(wanted), len(got))
            )
            found.append(
                f"{report.selection}: {len(got)} events and not {len(wanted)} after {part.after}; "
                f"differs at {wanted[at : at + 2]} {got[at : at + 2]} (revision * {len(KINDS)} + kind)"
            )
    if report.parts and story.events and report.parts[-1].seen > story.seen:
        found.append(f"{report.selection}: saw {report.parts[-1].seen} after the end of the story")
    return found


class Samples:
    """What the server takes, now and then."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.taken: list[tuple[float, int, int]] = []
        """Seconds, bytes, descriptors."""

    def take(self) -> None:
        """Look once."""
        self.taken.append((time.monotonic(), resident(self._pid), descriptors(self._pid)))

    def judge(self, warm: float) -> tuple[list[tuple[str, object]], list[str]]:
        """``warm``: from when on it counts. The last third is held against the first."""
        counted = [sample for sample in self.taken if sample[0] >= warm]
        if len(counted) < 3:
            return [], []
        third = len(counted) // 3
        early, late = counted[:third], counted[-third:]
        before, after = (statistics.median(sample[1] for sample in part) for part in (early, late))
        most = max(sample[1] for sample in late)
        files = [statistics.median(sample[2] for sample in part) for part in (early, late)]
        found = []
        if max(after, most) > before * FLAT:
            found.append(f"memory grew from {before / 1e6:.1f} to {after / 1e6:.1f} MB (at most {most / 1e6:.1f})")
        if files[1] > files[0] * 1.02 + 5:
            found.append(f"descriptors grew from {files[0]} to {files[1]}")
        rows: list[tuple[str, object]] = [
            ("MB, first third after the warm-up, median", f"{before / 1e6:.1f}"),
            ("MB, last third, median", f"{after / 1e6:.1f}"),
            ("MB, last third, most", f"{most / 1e6:.1f}"),
            ("growth", f"{after / before:.3f}"),
            ("MB over the run, from start to end", _course([sample[1] / 1e6 for sample in self.taken])),
            ("descriptors, first and last third", f"{files[0]:.0f}, {files[1]:.0f}"),
        ]
        return rows, found


def _course(values: list[float], parts: int = 12) -> str:
    """Medians of equal parts, so that a reader sees whether it still grows."""
    size = max(1, len(values) // parts)
    return " ".join(f"{statistics.median(values[at : at + size]):.0f}" for at in range(0, len(values), size))


def soak(
    directory: Path, *, seconds: float, watchers: int, rate: float, warm: float, processes: int, seed: int
) -> tuple[list[tuple[str, object]], list[str]]:
    """Run it; the rows of the table, and the violations."""
    cluster = Cluster(NAMESPACES)
    serving = Serving(
        directory,
        cluster.kubeconfig(directory / "kubeconfig"),
        target="tests.bench.api:api",
        command=(*COMMAND, COMPACTION),
    )
    over, told = threading.Event(), Told()
    try:
        serving.start()
        _toppings(serving)
        assert serving.process is not None
        samples = Samples(serving.process.pid)
        revision = int(serving.request("GET", f"{GROUP}/v1beta1/pizzas?limit=1")[1]["metadata"]["resourceVersion"])
        begun = time.monotonic()
        ended = time.time() + seconds
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            share = watchers // processes
            followers = [
                pool.submit(
                    follow, str(directory), serving.port, revision, ended, share, seed + number, story=number == 0
                )
                for number in range(processes)
            ]
            writers = [Writer(serving, number, rate / WRITERS, over, told) for number in range(WRITERS)]
            threads = [*writers, threading.Thread(target=lists, args=(serving, over, told), daemon=True)]
            for thread in threads:
                thread.start()
            while time.time() < ended - 3 and all(thread.is_alive() for thread in threads):
                samples.take()
                time.sleep(SAMPLE)
            over.set()
            for thread in threads:
                thread.join(60)
            reports = [report for follower in followers for report in follower.result()]
        log = serving.log.read_text()
    finally:
        over.set()
        serving.close()
        cluster.stop()
    story = next(report for report in reports if report.story)
    codes = {report.selection: expected_codes(story, report.selection) for report in reports}
    rows, found = samples.judge(begun + warm)
    found += told.problems + story_problems(story, told)
    for report in reports:
        found += watcher_problems(report, codes[report.selection], story)
    if "Traceback" in log:
        found.append("there are tracebacks in the log")
    head: list[tuple[str, object]] = [
        ("seconds", round(time.monotonic() - begun)),
        ("watchers", len(reports)),
        ("writes", sum(writer.step for writer in writers)),
        ("lists", told.lists),
        ("events told", sum(len(part.codes) for report in reports for part in report.parts)),
        ("watches opened", sum(report.watches for report in reports)),
        ("bookmarks", sum(report.bookmarks for report in reports)),
        ("told 410, and listed again", sum(len(report.parts) - 1 for report in reports)),
    ]
    return head + rows + [("violations", len(found))], found


def _toppings(serving: Serving) -> None:
    for name in ("tomato", "mozzarella", "salami"):
        body = {
            "apiVersion": "restaurant.programming-kubernetes.info/v1alpha1",
            "kind": "Topping",
            "metadata": {"name": name},
            "spec": {"cost": "1.50"},
        }
        serving.request("POST", f"{GROUP}/v1alpha1/toppings", body)


def main(arguments: list[str]) -> int:
    """The long form; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--watchers", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=12, help="writes per second")
    parser.add_argument(
        "--warm", type=float, default=0, help="seconds until memory counts; default: a quarter, at least 100"
    )
    parser.add_argument("--processes", type=int, default=min(4, os.cpu_count() or 2))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args(arguments)
    seconds = options.minutes * 60
    with tempfile.TemporaryDirectory() as directory:
        rows, found = soak(
            Path(directory),
            seconds=seconds,
            watchers=options.watchers,
            rate=options.rate,
            warm=options.warm or min(max(100, seconds / 4), seconds / 2),
            processes=options.processes,
            seed=options.seed,
        )
    say(f"seed {options.seed}")
    table("soak", rows)
    return exit_status(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
