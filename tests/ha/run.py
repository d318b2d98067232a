"""One run: everything is started, load and faults go on for a while, all is well again, and the judge speaks."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.ha import clients
from tests.ha.clients import Load, Writer
from tests.ha.cluster import Installation, installation
from tests.ha.connection import Connection, Lost, NotSent
from tests.ha.faults import Chaos, kinds, schedule
from tests.ha.judging.history import History
from tests.ha.judging.judge import Finding, happened, judge
from tests.ha.stores import STORES, Store
from tests.waiting import until

_PATIENCE = 180.0
"""Seconds for what has to come when all is well: to be ready, to be answered, to see the last event."""


@dataclass(frozen=True)
class Plan:
    """How long, how fast and how hard.

    ``seconds``: of load with faults; 0: until each kind has come once. ``pace``: seconds between two requests of one client.
    ``longest``: seconds of the longest fault.
    ``plant``: a fault of one replica, of :mod:`tests.ha.live`. ``store``: what the replicas store in.
    """

    seed: int
    seconds: float
    pace: float = 0.2
    longest: float = 3.0
    plant: str = ""
    faults: bool = True
    store: Store = STORES["three-members"]


@dataclass(frozen=True)
class Outcome:
    """What came of a run. ``longest``: seconds without an acknowledged write, from where to where."""

    history: History
    findings: list[Finding]
    faults: Counter[str]
    tally: Counter[str]
    longest: tuple[float, float]

    def row(self, seed: int) -> str:
        """As a row of the table in the documentation."""
        history = self.history
        results = Counter(write.result for write in history.writes)
        reads = len(history.gets) + len(history.lists)
        broken = sum(self.tally[what] for what in ("watches broken", "watches gone"))
        cells = (
            seed,
            sum(self.faults.values()),
            len(history.writes) + reads,
            results["acknowledged"],
            f"{results['uncertain']} ({happened(history)})",
            results["refused"],
            reads,
            f"{self.longest[1] - self.longest[0]:.1f} s",
            f"{broken} ({self.tally['watches gone']})",
            "correct" if not self.findings else f"{len(self.findings)} findings",
        )
        return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells) + " |"


def run(directory: Path, plan: Plan, say: Callable[[str], None] = lambda _: None) -> Outcome:
    """Run a plan; logs and the history are kept in ``directory``.

    Raises:
        AssertionError: The run itself failed: something did not come back although all was well again.
    """
    with installation(directory, plan.store, plan.plant) as here:
        load = Load([here.address(name) for name in here.replicas], here.tls, plan.seed, plan.pace)

        def told(what: str) -> None:
            say(f"{load.now():7.1f} {what}")

        _wait_ready(here, load)
        told("ready")
        here.log.start()
        clients.start(load)
        faults: Counter[str] = Counter()
        chaos = Chaos(here, load, told, lambda name: _wait_replica(here, load, name))
        end = time.monotonic() + plan.seconds
        for fault in schedule(plan.seed, plan.longest, plan.store) if plan.faults else ():
            if (time.monotonic() + fault.seconds > end) if plan.seconds else (len(faults) == len(kinds(plan.store))):
                break
            faults[fault.kind] += 1
            chaos.happen(fault)
        load.stopping.wait(max(end - time.monotonic(), 0))
        stopped = load.now()
        load.stopping.set()
        here.heal()
        told("all is well")
        _wait_ready(here, load)
        _finish(here, load)
        told("the judge")
        history = History(here.log.position, here.log.versions, load.writes, load.gets, load.lists, load.watches)
        (directory / "history.json").write_bytes(msgspec.json.encode(history))
        assert here.log.failure is None, here.log.failure
        return Outcome(history, judge(history), faults, load.tally, _longest(history, stopped))


def _wait_ready(here: Installation, load: Load) -> None:
    if here.members:
        until(here.leader, _PATIENCE)
    for name in here.replicas:
        _wait_replica(here, load, name)


def _wait_replica(here: Installation, load: Load, name: str) -> None:
    """One that has ended because etcd could not be reached is started again, as a kubelet would."""
    connection = Connection([here.address(name)], load.tls, 0)

    def ready() -> bool:
        if not here.replicas[name].running:
            here.replicas[name].start()
        with contextlib.suppress(NotSent, Lost):
            return connection.ask("GET", "/readyz")[0] == 200
        return False

    until(ready, _PATIENCE)
    connection.close()


def _finish(here: Installation, load: Load) -> None:
    """Write once more, let the watchers see it, and read the log to its end; then every replica has to show the same."""
    writer = Writer(load, 99)
    load.last = until(writer.final, _PATIENCE)
    writer.close()
    load.final.set()
    load.wait(_PATIENCE)
    for number in range(len(here.replicas)):
        reader = clients.Reader(load, f"last-{number}", number)
        load.lists.append(until(reader.listed, _PATIENCE))
        reader.connection.close()
    until(here.log.pull, _PATIENCE)


def _longest(history: History, seconds: float) -> tuple[float, float]:
    """The longest time in which no write was acknowledged."""
    times = sorted(write.end for write in history.writes if write.result == "acknowledged")
    steps = zip([0.0, *times], [*times, seconds], strict=True)
    return max(steps, key=lambda step: step[1] - step[0])
