"""Runs of the machine: plans of hypothesis on a store in memory, and on processes that are restarted and killed."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, given, seed as seeded, settings

from tests.attack.cluster import Cluster
from tests.attack.machine.fleet import MemoryFleet, ProcessFleet
from tests.attack.machine.plans import Plan, plans
from tests.attack.machine.simulation import Simulation

IN_MEMORY = (200, 400)
"""Turns of a plan: more than the 100 events that a server keeps in any case, so that watchers come too late."""
IN_PROCESSES = (60, 140)


class Report(NamedTuple):
    """What a run came to."""

    counts: Counter[str]
    kills: int = 0
    restarts: int = 0


def in_memory(steps: int, seed: int, *, shrink: bool = False) -> Report:
    """So many steps or a few more; each plan has a server of its own.

    Args:
        steps: How many.
        seed: Of hypothesis.
        shrink: Make the plan that shows a fault as simple as it can be; takes minutes.

    Raises:
        AssertionError: Something was wrong.
    """
    counts: Counter[str] = Counter()

    def play(plan: Plan) -> None:
        if counts["steps"] >= steps:
            return
        simulation = Simulation(MemoryFleet())
        try:
            simulation.play(plan.turns)
        finally:
            simulation.close()
        counts.update(simulation.counts)

    _run(play, IN_MEMORY, steps, seed, shrink=shrink)
    return Report(counts)


def in_processes(steps: int, kills: int, seed: int) -> Report:
    """So many steps or a few more, with so many ends by SIGKILL and a third as many by SIGTERM among them, on one store.

    Raises:
        AssertionError: Something was wrong.
    """
    cluster = Cluster()
    with tempfile.TemporaryDirectory() as directory:
        fleet = ProcessFleet(Path(directory), cluster, Random(seed))  # noqa: S311 - how often a server compacts
        simulation = Simulation(fleet)

        failed: list[AssertionError] = []

        def play(plan: Plan) -> None:
            done = simulation.steps
            if done >= steps and fleet.kills >= kills:
                return
            due = min(kills * (done + 1) / steps, kills)
            if failed:
                raise failed[
                    0
                ]  # hypothesis plays a plan that failed again; but these servers are no longer as they were
            try:
                simulation.play(plan.turns, kill=fleet.kills < due, restart=fleet.restarts < due / 3)
            except AssertionError as error:
                failed.append(error)
                raise

        try:
            _run(play, IN_PROCESSES, steps + kills * IN_PROCESSES[0], seed)
        finally:
            simulation.close()
            cluster.stop()
        return Report(simulation.counts, fleet.kills, fleet.restarts)


def _run(play: Callable[[Plan], None], turns: tuple[int, int], steps: int, seed: int, *, shrink: bool = False) -> None:
    """Play enough plans for so many steps: a turn is a step at least, and ``play`` does nothing once there are enough."""
    decorated = settings(
        max_examples=steps // turns[0] + 1,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )(given(plans(*turns))(play))
    seeded(seed)(decorated)()
