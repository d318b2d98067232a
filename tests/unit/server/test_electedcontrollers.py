"""Controllers that run while their process leads: begun with each term, ended before the Lease goes to another one."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from twisted.internet.defer import CancelledError, Deferred

from extapi import Api, Context, Group
from extapi.client.eventsink import DELIVERY
from extapi.client.kube import Client
from extapi.client.leaderelection import Election, LeaderElector
from extapi.controlplane.kinds.leases import LEASE
from extapi.server.controllers import Controller
from extapi.server.electedcontrollers import Begin, ElectedControllers, End, NeverLeads
from extapi.testing import InMemoryServer, serve
from tests.unit.client.kubernetes import Answer, Kubernetes

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


class Everywhere(Working):
    """Runs in each process."""

    each_process = True


def elector(plane: InMemoryServer, name: str, started: Begin, stopped: End) -> LeaderElector:
    return LeaderElector(
        Client(plane.server.transport()),
        Election(name="pizza", namespace="default", identity=name),
        clock=plane.clock,
        timer=plane.clock.seconds,
        jitter=lambda: 0.0,
        started=started,
        stopped=stopped,
    )


def running(plane: InMemoryServer, *working: Controller, name: str, elects: bool = True) -> ElectedControllers:
    context = Context(plane.server.transport(), plane.clock, Random(0))  # noqa: S311 - for delays

    made = ElectedControllers(
        working, context, (lambda started, stopped: elector(plane, name, started, stopped)) if elects else None
    )
    made.start()
    return made


def leads(controllers: ElectedControllers) -> list[tuple[tuple[str, ...], object]]:
    return [sample for family in controllers.families() for sample in family.samples]


def test_they_run_in_one_process_and_end_before_the_next_one_begins(plane: InMemoryServer) -> None:
    first, second = Working(plane), Working(plane)
    one, two = running(plane, first, name="one"), running(plane, second, name="two")
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
    one = running(plane, working, name="one")
    lease = plane.request("GET", f"{PATH}/pizza").json()
    lease["spec"] |= {"holderIdentity": "other", "leaseDurationSeconds": 1}
    plane.request("PUT", f"{PATH}/pizza", body=lease)
    for _ in range(12):
        plane.clock.advance(1)
    assert working.seen == ["begins", "cancelled", "ended", "begins"]
    plane.run(one.stop())


def test_they_have_ended_before_the_process_does_that_lost_its_lease(plane: InMemoryServer) -> None:
    working = Working(plane)
    one = running(plane, working, name="one")
    lease = plane.request("GET", f"{PATH}/pizza").json()
    lease["spec"] |= {"holderIdentity": "other"}
    plane.request("PUT", f"{PATH}/pizza", body=lease)
    plane.clock.advance(2)
    assert working.seen == ["begins", "cancelled"]
    stopping = Deferred.fromCoroutine(one.stop())
    plane.clock.advance(1)
    assert (stopping.called, working.seen) == (False, ["begins", "cancelled"])
    for _ in range(3):
        plane.clock.advance(1)
    assert (stopping.called, working.seen) == (True, ["begins", "cancelled", "ended"])


def test_without_an_election_they_run_at_once(plane: InMemoryServer) -> None:
    working = Working(plane)
    one = running(plane, working, name="one", elects=False)
    assert (working.seen, leads(one)) == (["begins"], [])
    plane.run(one.stop())
    assert working.seen == ["begins", "cancelled", "ended"]


def test_where_another_process_always_leads_only_those_run_that_are_wanted_in_each(plane: InMemoryServer) -> None:
    """As in the workers of one supervisor, of which the first leads: there is no Lease, and no metric of one."""
    led, everywhere = Working(plane), Everywhere(plane)
    context = Context(plane.server.transport(), plane.clock, Random(0))  # noqa: S311 - for delays
    one = ElectedControllers([led, everywhere], context, NeverLeads)
    one.start()
    plane.clock.advance(60)
    assert (led.seen, everywhere.seen, context.leader.is_leading, leads(one)) == ([], ["begins"], False, [])
    later = Working(plane)
    plane.run(one.replace([later, everywhere]))
    assert (later.seen, everywhere.seen) == ([], ["begins"])
    plane.run(one.stop())
    assert everywhere.seen == ["begins", "cancelled", "ended"]


def test_those_that_are_wanted_in_each_process_run_in_each(plane: InMemoryServer) -> None:
    led, everywhere = [Working(plane) for _ in range(2)], [Everywhere(plane) for _ in range(2)]
    one, two = (running(plane, led[n], everywhere[n], name=str(n)) for n in range(2))
    plane.clock.advance(2)
    assert [each.seen for each in (*led, *everywhere)] == [["begins"], [], ["begins"], ["begins"]]
    plane.run(one.resign())
    for _ in range(3):
        plane.clock.advance(1)
    # It leads no more, and goes on with what it does in any case.
    assert [each.seen for each in led] == [["begins", "cancelled", "ended"], ["begins"]]
    assert [each.seen for each in everywhere] == [["begins"], ["begins"]]
    plane.run(one.stop())
    plane.run(two.stop())
    assert [each.seen for each in everywhere] == [["begins", "cancelled", "ended"]] * 2


def test_one_that_resigned_before_it_began_does_not_compete(plane: InMemoryServer) -> None:
    working = Working(plane)
    context = Context(plane.server.transport(), plane.clock, Random(0))  # noqa: S311 - for delays
    one = ElectedControllers([working], context, lambda started, stopped: elector(plane, "one", started, stopped))
    plane.run(one.resign())
    one.start()
    plane.clock.advance(3)
    assert (working.seen, context.leader.is_leading) == ([], False)
    plane.run(one.stop())


def test_others_take_their_place_only_where_they_run(plane: InMemoryServer) -> None:
    """As after a change of the author's code: what is led goes on to be led."""
    before, after, everywhere = Working(plane), Working(plane), Everywhere(plane)
    one, two = running(plane, before, name="one"), running(plane, before, name="two")
    plane.run(two.replace([after, everywhere]))
    assert (before.seen, after.seen, everywhere.seen) == (["begins"], [], ["begins"])
    plane.run(one.stop())
    for _ in range(3):
        plane.clock.advance(1)
    assert (after.seen, everywhere.seen) == (["begins"], ["begins"])
    plane.run(two.stop())


def test_authors_are_told_who_leads(plane: InMemoryServer) -> None:
    told: list[tuple[str, bool]] = []

    class Telling:
        each_process = True

        def __init__(self, name: str) -> None:
            self.name = name

        async def run(self, context: Context) -> None:
            while True:
                await context.leader.wait()
                told.append((self.name, context.leader.is_leading))
                await context.leader.wait_lost()
                told.append((self.name, context.leader.is_leading))

    one, two = (running(plane, Telling(name), name=name) for name in ("one", "two"))
    plane.clock.advance(2)
    assert told == [("one", True)]
    plane.run(one.resign())
    for _ in range(3):
        plane.clock.advance(1)
    assert told == [("one", True), ("one", False), ("two", True)]
    plane.run(one.stop())
    plane.run(two.stop())


class Parting:
    """Records an event when it is cancelled."""

    async def run(self, context: Context) -> None:
        try:
            await context.sleep(3600)
        finally:
            about = {"kind": "Pot", "metadata": {"name": "soup"}}
            context.recorder("example.com/stove").normal(about, "Ended", "End", "it ended")


def test_a_server_ends_when_the_events_of_its_controllers_are_written(plane: InMemoryServer) -> None:
    answer: Deferred[Answer] = Deferred()
    cluster = Kubernetes(lambda _: answer)
    context = Context(plane.server.transport(), plane.clock, Random(0), Client(cluster))  # noqa: S311 - for delays
    one = ElectedControllers([Parting()], context)
    one.start()
    stopping = Deferred.fromCoroutine(one.stop())
    plane.clock.advance(DELIVERY / 2)
    ended = [stopping.called]
    answer.callback(Answer(201, {}))
    ended.append(stopping.called)
    assert (ended, len(cluster.requests)) == ([False, True], 1)
