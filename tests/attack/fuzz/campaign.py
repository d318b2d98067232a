"""Many episodes: shared among processes, kept in a file as they are done, summed up at the end.

A process that dies, or hangs, is a finding and is replaced. Knows nothing of what an episode does.
"""

from __future__ import annotations

import argparse
import base64
import faulthandler
import json
import os
import resource
import secrets
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twisted.logger import globalLogBeginner

from tests.attack.fuzz.episode import LENGTH, Episode, Outcome
from tests.attack.fuzz.wire import WireEpisode, process_server

HANG = 300.0
"""Seconds that an episode may take before its process is killed."""
MEMORY = 3 << 30
"""Bytes of data that a process may have: beyond that it dies, and not the machine."""
GROWTH = 1.5
"""How much more memory the last episodes of a process may have needed than its first hundred."""


def outcome_line(outcome: Outcome) -> dict[str, Any]:
    """An episode as one JSON object."""
    return {
        "seed": outcome.seed,
        "requests": outcome.requests,
        "statuses": {str(status): count for status, count in sorted(outcome.statuses.items())},
        "slowest": round(outcome.slowest, 3),
        "slowest_request": outcome.slowest_request[:300],
        "cpu": round(outcome.cpu, 3),
        "rss": outcome.rss,
        "found": [
            {"number": number, "what": finding.what, "detail": finding.detail[:2000], "request": request}
            for number, finding, request in outcome.found
        ],
    }


def play(seed: str, *, length: int = LENGTH) -> Outcome:
    """The episode of a seed; those that begin with ``wire/`` go over TLS."""
    if seed.startswith("wire/"):
        return WireEpisode(seed, process_server(), length=length).run()
    return Episode(seed, length=length).run()


def quiet() -> None:
    """Nothing of what the server logs is printed; what must not be logged is found by the episodes."""
    globalLogBeginner.beginLoggingTo([], redirectStandardIO=False, discardBuffer=True)


def _work() -> None:
    """A worker: seeds on stdin, outcomes on stdout."""
    quiet()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    for line in sys.stdin:
        faulthandler.dump_traceback_later(HANG - 10, exit=True)
        outcome = play(line.strip())
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(outcome_line(outcome)), flush=True)


@dataclass
class Sum:
    """What all episodes came to."""

    requests: int = 0
    episodes: int = 0
    cpu: float = 0.0
    slowest: float = 0.0
    slowest_request: str = ""
    statuses: Counter[str] = field(default_factory=Counter)
    found: list[dict[str, Any]] = field(default_factory=list)
    rss: list[int] = field(default_factory=list)

    def add(self, line: dict[str, Any]) -> None:
        """One episode more."""
        self.requests += line["requests"]
        self.episodes += 1
        self.cpu += line["cpu"]
        self.statuses.update(line["statuses"])
        self.rss.append(line["rss"])
        if line["slowest"] > self.slowest:
            self.slowest, self.slowest_request = line["slowest"], line["slowest_request"]
        self.found += [{"seed": line["seed"], **found} for found in line["found"]]

    def table(self, seconds: float) -> str:
        """For people."""
        kinds = Counter(found["what"] for found in self.found)
        rows = [
            ("requests", f"{self.requests:,} in {self.episodes:,} episodes"),
            ("seconds", f"{seconds:.0f} ({self.requests / max(seconds, 0.001):.0f} requests a second)"),
            ("codes", ", ".join(f"{status}: {count:,}" for status, count in sorted(self.statuses.items()))),
            ("CPU of the server", f"{1e6 * self.cpu / max(self.requests, 1):.0f} us a request"),
            ("slowest request", f"{self.slowest:.3f} s of CPU: {self.slowest_request[:100]}"),
            ("memory", f"{min(self.rss, default=0)} to {max(self.rss, default=0)} MB at most"),
            ("findings", ", ".join(f"{what}: {count}" for what, count in kinds.most_common()) or "0"),
        ]
        return "\n".join(f"{name:20} {value}" for name, value in rows)


class Worker:
    """A process that plays episodes."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.attack.fuzz", "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            text=True,
        )
        self.seed = ""
        self.since = 0.0

    def give(self, seed: str) -> None:
        """An episode to play."""
        assert self.process.stdin is not None
        self.seed, self.since = seed, time.monotonic()
        self.process.stdin.write(f"{seed}\n")
        self.process.stdin.flush()

    def take(self) -> dict[str, Any] | None:
        """Its outcome; None if the process has died of it."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            return None
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self, *, hung: bool = False) -> str:
        """End it; what it said at last."""
        try:
            _, errors = self.process.communicate(timeout=20 if not hung else 0.1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, errors = self.process.communicate()
        return errors[-4000:]


def campaign(seeds: Iterator[str], add: Any, workers: int) -> None:
    """Have all seeds played; ``add`` is given each outcome as it comes."""
    waiting = selectors.DefaultSelector()

    def start(worker: Worker) -> None:
        seed = next(seeds, "")
        if not seed:
            worker.end()
            return
        worker.give(seed)
        waiting.register(worker.process.stdout or 0, selectors.EVENT_READ, worker)

    for _ in range(workers):
        start(Worker())
    while waiting.get_map():
        ready = [key for key, _ in waiting.select(10.0)]
        late = [key for key in waiting.get_map().values() if time.monotonic() - key.data.since > HANG]
        for key in {*ready, *late}:
            worker: Worker = key.data
            waiting.unregister(key.fileobj)
            line = worker.take() if key in ready else None
            if line is None:
                said = worker.end(hung=key in late)
                add(_died(worker.seed, f"{'hung' if key in late else 'died'}: {said}"))
                worker = Worker()
            else:
                add(line)
            start(worker)


def _died(seed: str, why: str) -> dict[str, Any]:
    outcome = outcome_line(Outcome(seed, requests=0))
    outcome["found"] = [{"number": -1, "what": "the process died", "detail": why, "request": {}}]
    return outcome


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """What the command is told."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000, help="how many, rounded up to whole episodes")
    parser.add_argument(
        "--wire", type=float, default=0.03, help="the share of them that goes over TLS to a real process"
    )
    parser.add_argument(
        "--seed", default="", help="what all episodes are derived from; by default a random one, which is printed"
    )
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument(
        "--findings",
        type=Path,
        default=Path("build/fuzz-findings.jsonl"),
        help="one line per episode; of the same seed, what is there is not played again",
    )
    parser.add_argument("--replay", metavar="SEED", help="play one episode, and show what is found in it")
    parser.add_argument("--until", type=int, help="with --replay: stop after this request, and show it with its answer")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    """The command; its exit status."""
    options = arguments(given)
    if options.work:
        _work()
        return 0
    quiet()
    if options.replay:
        return _replay(options.replay, options.until)
    seed = options.seed or secrets.token_hex(4)
    total = -(-options.requests // LENGTH)
    wire = int(total * options.wire)
    print(
        f"seed {seed}: {total} episodes of {LENGTH} requests, {wire} of them over TLS; outcomes go to {options.findings}",
        flush=True,
    )
    result, done = Sum(), set()
    options.findings.parent.mkdir(parents=True, exist_ok=True)
    if options.findings.exists():
        for text in options.findings.read_text().splitlines():
            line = json.loads(text)
            if line["seed"].removeprefix("wire/").startswith(f"{seed}/"):
                done.add(line["seed"])
                result.add(line)
    names = (f"wire/{seed}/{number}" if number < wire else f"{seed}/{number}" for number in range(total))
    began = told = time.monotonic()
    with options.findings.open("a") as file:

        def add(line: dict[str, Any]) -> None:
            nonlocal told
            file.write(json.dumps(line) + "\n")
            file.flush()
            result.add(line)
            for found in line["found"]:
                print(
                    f"{line['seed']} {found['number']}: {found['what']}: {found['detail'][-400:] if found['number'] < 0 else found['detail'][:300]}",
                    flush=True,
                )
            if time.monotonic() - told > 60:
                told = time.monotonic()
                print(f"{result.requests:,} requests, {len(result.found)} findings, {told - began:.0f} s", flush=True)

        campaign((name for name in names if name not in done), add, options.workers)
    _grown(result)
    print(result.table(time.monotonic() - began))
    for found in result.found[:20]:
        print(f"replay with: python -m tests.attack.fuzz --replay {found['seed']} --until {found['number']}")
    return 1 if result.found else 0


def _grown(result: Sum) -> None:
    """Memory must not grow with requests. A process keeps its largest size, so only its growth late in the run counts."""
    if len(result.rss) < 400:
        return
    early, late = max(result.rss[100:200]), max(result.rss[-100:])
    if late > early * GROWTH + 200:
        result.found.append({"seed": "", "number": -1, "what": "memory grows", "detail": f"{early} MB to {late} MB"})


def _replay(seed: str, until: int | None) -> int:
    """Play one episode again; one of the wire as a whole, since its answers come as they come."""
    if seed.startswith("wire/"):
        outcome = play(seed)
        for number, finding, _ in outcome.found:
            print(f"{number}: {finding.what}: {finding.detail}")
        return 1 if outcome.found else 0
    episode = Episode(seed)
    if until is not None and until >= 0:
        episode.stop_after(until)
    outcome = episode.run()
    if until is not None and episode.last is not None:
        request, answers = episode.last
        print(f"peer {request.peer}, base64 of the request:\n{base64.b64encode(request.data).decode()[:200_000]}")
        print(request.data[:3000].decode("utf-8", "replace"))
        for answer in answers:
            print(f"--- {answer.status} {answer.headers}\n{answer.body[:3000].decode('utf-8', 'replace')}")
    for number, finding, _ in outcome.found:
        print(f"{number}: {finding.what}: {finding.detail}")
    return 1 if outcome.found else 0
