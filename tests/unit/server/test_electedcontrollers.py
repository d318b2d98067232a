"""Controllers that run while their process leads: begun with each term, ended before the Lease goes to another one."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi import Api, Context, Group
from extapi.client.kube import Client
from extapi.client.leaderelection import Election, LeaderElector
from extapi.controlplane.kinds.leases import LEASE
from extapi.server.electedcontrollers import Begin, ElectedControllers, End
from extapi.testing import InMemoryServer, serve

PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.fixture
def plane() -> Iterator[InMemoryServer]:
    with serve(Api(Group("coordination.k8s.io", LEASE))) as server:
        yield server


class Working:
    """Follows Leases, and takes three seconds to end."""

    def __init__(self, plane: InMemoryServer) -> None:
        self.plane = plane
        self.seen: list[str] = []

    async def run(self, context: Context) -> None:
        context.informer("coordination.k8s.io", "v1", "leases")
        self.seen.append("begins")
        try:
            await Deferred[None]()
        except CancelledError:
            self.seen.append("cancelled")
            await context.sleep(3)
            self.seen.append("ended")
            raise


def running(plane: InMemoryServer, working: Working, name: str, *, elects: bool = True) -> ElectedControllers:
    def context() -> Context:
        return Context(plane.server.transport(), plane.clock, Random(0))  # noqa: S311 - for delays

    def elector(started: Begin, stopped: End) -> LeaderElector:
        return LeaderElector(
            Client(plane.server.transport()),
            Election(name="pizza", namespace="default", identity=name),
            clock=plane.clock,
            timer=plane.clock.seconds,
            jitter=lambda: 0.0,
            started=started,
            stopped=stopped,
        )

    made = ElectedControllers([working], context, elector if elects else None)
    made.start()
    return made


def leads(controllers: ElectedControllers) -> list[tuple[tuple[str, ...], object]]:
    return [sample for family in controllers.families() for sample in family.samples]


def test_they_run_in_one_process_and_end_before_the_next_one_begins(plane: InMemoryServer) -> None:
    first, second = Working(plane), Working(plane)
    one, two = running(plane, first, "one"), running(plane, second, "two")
    plane.clock.advance(2)
    assert (first.seen, second.seen) == (["begins"], [])
    assert (leads(one), leads(two)) == ([(("pizza",), 1)], [(("pizza",), 0)])
    stopping = Deferred.fromCoroutine(one.stop())
    assert first.seen == ["begins", "cancelled"]
    for _ in range(2):
        plane.clock.advance(1)
    assert (stopping.called, second.seen) == (False, [])
    for _ in range(3):
        plane.clock.advance(1)
    assert (stopping.called, first.seen[-1], second.seen) == (True, "ended", ["begins"])
    plane.run(two.stop())


def test_they_begin_anew_with_each_term(plane: InMemoryServer) -> None:
    working = Working(plane)
    one = running(plane, working, "one")
    lease = plane.request("GET", f"{PATH}/pizza").json()
    lease["spec"] |= {"holderIdentity": "other", "leaseDurationSeconds": 1}
    plane.request("PUT", f"{PATH}/pizza", body=lease)
    for _ in range(12):
        plane.clock.advance(1)
    assert working.seen == ["begins", "cancelled", "ended", "begins"]
    plane.run(one.stop())


def test_without_an_election_they_run_at_once(plane: InMemoryServer) -> None:
    working = Working(plane)
    one = running(plane, working, "one", elects=False)
    assert (working.seen, leads(one)) == (["begins"], [])
    plane.run(one.stop())
    assert working.seen == ["begins", "cancelled", "ended"]
