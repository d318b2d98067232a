"""Who leads, when a term ends, and what the Lease says: candidates on a clock that the test moves, and a real server of Leases.

Expected values are those of client-go 0.36.3 (``tools/leaderelection/leaderelection_test.go`` and its source).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs

from extapi import Api, Group
from extapi.api.timestamp import format_micro_timestamp
from extapi.client.kube import Client
from extapi.client.leaderelection import LEASES, Election, LeaderElector, problems
from extapi.client.transport import ClientRequest, ClientResponse, TransportError
from extapi.clock import sleep
from extapi.controlplane.kinds.leases import LEASE
from extapi.testing import InMemoryServer, serve

PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.fixture
def plane() -> Iterator[InMemoryServer]:
    """The Leases of the built-in control plane, in memory."""
    with serve(Api(Group("coordination.k8s.io", LEASE))) as server:
        yield server


class Network:
    """The way of one candidate to the server; the test may cut it, or be asked before each request."""

    def __init__(self, plane: InMemoryServer) -> None:
        self._way = plane.server.transport()
        self._clock = plane.clock
        self.cut = False
        self.hangs = False
        self.before: Callable[[ClientRequest], None] = lambda _: None
        self.requests: list[str] = []

    async def send(self, request: ClientRequest) -> ClientResponse:
        self.requests.append(request.method)
        self.before(request)
        if self.hangs:
            await sleep(self._clock, request.timeout)
            raise TransportError("no answer in time")
        if self.cut:
            raise TransportError("there is no way")
        return await self._way.send(request)


class Candidate:
    """A candidate, and what it was told."""

    def __init__(self, plane: InMemoryServer, name: str, **options: Any) -> None:
        self.network = Network(plane)
        self.terms: list[str] = []
        self.ending: Deferred[None] | None = None
        election = Election(name="pizza", namespace="default", identity=name, **options)
        self.elector = LeaderElector(
            Client(self.network),
            election,
            clock=plane.clock,
            timer=plane.clock.seconds,
            jitter=lambda: 0.0,
            started=lambda: self.terms.append("started"),
            stopped=self._stopped,
        )
        self.elector.start()

    async def _stopped(self) -> None:
        self.terms.append("stopped")
        if self.ending is not None:
            await self.ending


def spec(plane: InMemoryServer) -> dict[str, Any]:
    found: dict[str, Any] = plane.request("GET", f"{PATH}/pizza").json()["spec"]
    return found


def now(plane: InMemoryServer) -> str:
    return format_micro_timestamp(plane.clock.seconds())


def test_the_first_one_makes_the_lease_and_renews_it(plane: InMemoryServer) -> None:
    began = now(plane)
    one = Candidate(plane, "one")
    assert one.elector.is_leading
    assert (one.elector.leader, one.terms) == ("one", ["started"])
    assert spec(plane) == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": began,
        "renewTime": began,
        "leaseTransitions": 0,
    }
    plane.clock.advance(2)
    assert spec(plane)["renewTime"] == now(plane)
    assert spec(plane)["acquireTime"] == began
    # Read once to find out that it is missing; from then on it is only written, at once and after each pause.
    assert one.network.requests == ["GET", "POST", "PUT", "PUT"]


def test_another_one_takes_over_when_the_lease_has_not_changed_for_its_duration(plane: InMemoryServer) -> None:
    one, two = Candidate(plane, "one"), Candidate(plane, "two")
    for _ in range(20):
        plane.clock.advance(2)
    assert (one.elector.is_leading, two.elector.is_leading) == (True, False)
    one.network.cut = True
    began = plane.clock.seconds()
    while not two.elector.is_leading:
        assert plane.clock.seconds() - began < 20
        plane.clock.advance(0.5)
    assert 13 <= plane.clock.seconds() - began <= 17
    assert one.terms == ["started", "stopped"]
    assert two.terms == ["started"]
    assert spec(plane) == {
        "holderIdentity": "two",
        "leaseDurationSeconds": 15,
        "acquireTime": now(plane),
        "renewTime": now(plane),
        "leaseTransitions": 1,
    }
    one.network.cut = False
    plane.clock.advance(2)
    assert (one.elector.is_leading, one.elector.leader) == (False, "two")


@pytest.mark.parametrize("trouble", ["cut", "hangs"])
def test_a_leader_that_cannot_renew_ends_its_term_before_others_may_lead(plane: InMemoryServer, trouble: str) -> None:
    one = Candidate(plane, "one")
    setattr(one.network, trouble, True)
    plane.clock.advance(2)
    for _ in range(19):
        plane.clock.advance(0.5)
    assert one.terms == ["started"]
    plane.clock.advance(0.5)  # ten seconds of trying
    assert one.terms == ["started", "stopped"]
    setattr(one.network, trouble, False)
    for _ in range(8):
        plane.clock.advance(1)
    assert one.terms == ["started", "stopped", "started"]
    assert spec(plane)["leaseTransitions"] == 0  # nobody else has led


def test_a_leader_that_reads_of_another_one_ends_its_term_at_once(plane: InMemoryServer) -> None:
    one = Candidate(plane, "one")
    lease = plane.request("GET", f"{PATH}/pizza").json()
    lease["spec"] |= {"holderIdentity": "other", "leaseTransitions": 1, "renewTime": now(plane)}
    assert plane.request("PUT", f"{PATH}/pizza", body=lease).status == 200
    plane.clock.advance(2)
    assert (one.terms, one.elector.leader) == (["started", "stopped"], "other")


def test_a_dead_leader_whose_clock_was_ahead_is_replaced_in_time(plane: InMemoryServer) -> None:
    """client-go compares with when it saw the record change (``observedTime``), never with the times that are in it."""
    one = Candidate(plane, "one")
    one.network.cut = True
    lease = plane.request("GET", f"{PATH}/pizza").json()
    lease["spec"] |= dict.fromkeys(("acquireTime", "renewTime"), "2999-01-01T00:00:00.000000Z")
    assert plane.request("PUT", f"{PATH}/pizza", body=lease).status == 200
    two = Candidate(plane, "two")
    plane.clock.pump([1] * 14)
    assert two.terms == []
    plane.clock.pump([1] * 3)
    assert two.terms == ["started"]
    assert spec(plane)["acquireTime"] <= spec(plane)["renewTime"] <= now(plane)


def test_of_two_that_take_it_at_the_same_moment_one_leads(plane: InMemoryServer) -> None:
    one = Candidate(plane, "one")
    one.network.hangs = True
    two, three = Candidate(plane, "two"), Candidate(plane, "three")

    def three_is_quicker(request: ClientRequest) -> None:
        if request.method == "PUT":
            two.network.before = lambda _: None
            while not three.elector.is_leading:
                plane.clock.advance(0.5)

    two.network.before = three_is_quicker
    for _ in range(60):
        plane.clock.advance(0.5)
    assert (two.elector.is_leading, three.elector.is_leading) == (False, True)
    assert (spec(plane)["holderIdentity"], spec(plane)["leaseTransitions"]) == ("three", 1)


def test_the_lease_is_released_at_the_end_and_the_next_one_need_not_wait(plane: InMemoryServer) -> None:
    one, two = Candidate(plane, "one"), Candidate(plane, "two")
    one.ending = Deferred()
    stopping = Deferred.fromCoroutine(one.elector.stop())
    assert one.terms == ["started", "stopped"]
    assert spec(plane)["holderIdentity"] == "one"  # what it does has not ended yet
    one.ending.callback(None)
    plane.run(_awaited(stopping))
    released = spec(plane)
    assert (released["holderIdentity"], released["leaseDurationSeconds"], released["leaseTransitions"]) == ("", 1, 0)
    plane.clock.advance(2)
    assert two.elector.is_leading
    assert spec(plane)["leaseTransitions"] == 1


async def _awaited(deferred: Deferred[None]) -> None:
    await deferred


def test_a_candidate_that_stops_leaves_the_lease_alone(plane: InMemoryServer) -> None:
    Candidate(plane, "one")
    two = Candidate(plane, "two")
    plane.run(two.elector.stop())
    assert (two.terms, spec(plane)["holderIdentity"]) == ([], "one")


def test_a_lease_that_was_deleted_is_made_again(plane: InMemoryServer) -> None:
    one = Candidate(plane, "one")
    assert plane.request("DELETE", f"{PATH}/pizza").status == 200
    plane.clock.advance(2)
    assert one.terms == ["started"]
    assert spec(plane)["holderIdentity"] == "one"


def test_what_others_have_put_into_the_lease_stays(plane: InMemoryServer) -> None:
    made = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "pizza", "labels": {"a": "b"}},
    }
    assert plane.request("POST", PATH, body=made).status == 201
    one = Candidate(plane, "one")
    plane.clock.advance(2)
    assert one.elector.is_leading
    found = plane.request("GET", f"{PATH}/pizza").json()
    assert found["metadata"]["labels"] == {"a": "b"}
    assert found["spec"]["leaseTransitions"] == 1  # as client-go counts a Lease that nobody holds


@pytest.mark.parametrize(
    ("durations", "found"),
    [
        ((15, 10, 2), []),
        ((10, 10, 2), ["leaseDuration must be greater than renewDeadline"]),
        ((15, 2.4, 2), ["renewDeadline must be greater than retryPeriod*JitterFactor"]),
        ((15, 10, 0), ["retryPeriod must be greater than zero"]),
        ((0.9, 0.5, 0.1), ["leaseDuration must be at least one second: a Lease has whole seconds"]),
    ],
)
def test_durations(durations: tuple[float, float, float], found: list[str]) -> None:
    assert problems(*durations) == found


def test_the_path() -> None:
    assert LEASES.path("default", "pizza") == f"{PATH}/pizza"


def test_only_a_stop_ends_the_competition(plane: InMemoryServer) -> None:
    """A call that something else has cancelled must not leave the process without a candidate, before a term nor in one."""
    one = Candidate(plane, "one")

    def cancelled(_: ClientRequest) -> None:
        if len(one.network.requests) in {4, 5, 6, 9}:
            raise CancelledError

    one.network.before = cancelled
    with capturedLogs() as logs:
        for _ in range(20):
            plane.clock.advance(2)
    assert [event["log_failure"].type for event in logs if "log_failure" in event] == [CancelledError] * 4
    assert one.elector.is_leading
    assert one.terms == ["started", "stopped", "started", "stopped", "started"]
    stopping = Deferred.fromCoroutine(one.elector.stop())
    assert stopping.called


def test_a_term_that_cannot_begin_or_end_is_no_end_of_the_competition(plane: InMemoryServer) -> None:
    terms: list[str] = []

    def started() -> None:
        terms.append("started")
        if len(terms) < 3:
            raise RuntimeError("it does not begin")

    async def stopped() -> None:
        terms.append("stopped")
        if len(terms) < 3:
            raise RuntimeError("it does not end")

    elector = LeaderElector(
        Client(Network(plane)),
        Election(name="pizza", namespace="default", identity="one"),
        clock=plane.clock,
        timer=plane.clock.seconds,
        jitter=lambda: 0.0,
        started=started,
        stopped=stopped,
    )
    elector.start()
    plane.clock.advance(2)
    assert (terms, elector.is_leading) == (["started", "stopped", "started"], True)
    stopping = Deferred.fromCoroutine(elector.stop())
    assert (terms[3:], stopping.called) == (["stopped"], True)
