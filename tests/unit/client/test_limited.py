from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.client.limited import BURST, PATIENCE, QPS, RUNNING, RateLimitedTransport
from extapi.client.transport import ClientRequest, TransportError
from extapi.errors import TooManyRequests
from tests.unit.client.kubernetes import Answer, Kubernetes

PODS = ClientRequest("GET", "/api/v1/pods")


def send(transport: RateLimitedTransport, times: int) -> list[Any]:
    """The results, as they come."""
    results: list[Any] = []
    for _ in range(times):
        Deferred.fromCoroutine(transport.send(PODS)).addBoth(results.append)
    return results


def test_a_burst_goes_at_once_and_then_so_many_per_second() -> None:
    clock = Clock()
    kubernetes = Kubernetes(lambda _: Answer(200, {}))
    results = send(RateLimitedTransport(kubernetes, clock), int(BURST + 2 * QPS))
    assert len(results) == BURST
    for _ in range(100):
        clock.advance(0.01)
    assert len(results) == pytest.approx(BURST + QPS, abs=1)
    for _ in range(100):
        clock.advance(0.01)
    assert len(results) == pytest.approx(BURST + 2 * QPS, abs=1)


def test_only_so_many_wait_for_their_answers_at_a_time() -> None:
    answers: list[Deferred[Answer]] = []

    def react(_: ClientRequest) -> Deferred[Answer]:
        answers.append(Deferred())
        return answers[-1]

    kubernetes = Kubernetes(react)
    send(RateLimitedTransport(kubernetes, Clock()), RUNNING + 5)
    assert len(kubernetes.requests) == RUNNING
    answers[0].callback(Answer(200, {}))
    assert len(kubernetes.requests) == RUNNING + 1


def test_a_request_that_fails_makes_room() -> None:
    kubernetes = Kubernetes(lambda _: TransportError("no route"))
    results = send(RateLimitedTransport(kubernetes, Clock()), RUNNING + 1)
    assert len(results) == RUNNING + 1


def test_who_waits_too_long_is_told_to_come_back() -> None:
    clock = Clock()
    never: list[Deferred[Answer]] = []  # kept: what is collected has ended

    def react(_: ClientRequest) -> Deferred[Answer]:
        never.append(Deferred())
        return never[-1]

    kubernetes = Kubernetes(react)
    results = send(RateLimitedTransport(kubernetes, clock), RUNNING + 1)
    clock.advance(PATIENCE)
    assert [failure.type for failure in results] == [TooManyRequests]
    assert "too many requests for the cluster" in results[0].getErrorMessage()
