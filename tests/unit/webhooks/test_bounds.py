"""The bounds of reviews: number, bytes together, time."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi import Review
from extapi.webhooks import bounds
from tests.unit.webhooks.asking import Asked, recorded, result
from tests.unit.webhooks.test_mutating import lamps_with

CASE = recorded()["lamp-create/validate"]


class Slow:
    """Waits until it is told to go on."""

    def __init__(self) -> None:
        self.waiting: list[Deferred[None]] = []

    async def validate(self, review: Review) -> None:
        gate: Deferred[None] = Deferred()
        self.waiting.append(gate)
        await gate


def slow() -> tuple[Slow, Asked]:
    plugin = Slow()
    return plugin, Asked(lamps_with(plugin))


def sending(asked: Asked, **options: Any) -> Deferred[Any]:
    return asked.sending(CASE.path, CASE.review, **options)


def test_what_is_not_answered_in_time_ends() -> None:
    """kube-apiserver sends its own time as ``?timeout=``, from which the listener makes the deadline (behaviour H4)."""
    plugin, asked = slow()
    answer = sending(asked, seconds=5)
    asked.clock.advance(4.9)
    assert not answer.called
    asked.clock.advance(0.1)
    assert plugin.waiting[0].called
    late = result(answer)
    assert (late.status, late.text) == (503, "the review was not answered in time\n")


def test_what_is_answered_in_time_leaves_nothing_behind() -> None:
    plugin, asked = slow()
    answer = sending(asked)
    plugin.waiting[0].callback(None)
    assert result(answer).response["allowed"]
    assert not asked.clock.getDelayedCalls()


def test_a_caller_that_leaves_ends_its_review() -> None:
    plugin, asked = slow()
    answer = sending(asked)
    answer.addErrback(lambda _: None)
    answer.cancel()
    assert plugin.waiting[0].called
    assert not asked.clock.getDelayedCalls()


def test_the_number_of_reviews(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "REVIEWS", 2)
    plugin, asked = slow()
    first, second = sending(asked), sending(asked)
    refused = result(sending(asked))
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert refused.text == "too many reviews are being answered, please try again later\n"
    plugin.waiting[0].callback(None)
    third = sending(asked)
    for gate in plugin.waiting[1:]:
        gate.callback(None)
    assert all(result(each).status == 200 for each in (first, second, third))


def test_the_bytes_of_all_reviews(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "TOGETHER", 5000)
    plugin, asked = slow()
    answers = [sending(asked) for _ in range(5)]
    statuses = [result(each).status for each in answers if each.called]
    assert set(statuses) == {429}
    assert 0 < len(plugin.waiting) < 5
    for gate in plugin.waiting:
        gate.callback(None)
    again = sending(asked)
    plugin.waiting[-1].callback(None)
    assert result(again).status == 200
