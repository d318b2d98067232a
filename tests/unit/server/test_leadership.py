"""What authors ask: whether this process leads, and when that changes."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from extapi.server.leadership import Leadership


def test_a_process_that_is_alone_leads() -> None:
    alone = Leadership()
    assert alone.is_leading
    assert Deferred.fromCoroutine(alone.wait()).called
    assert not Deferred.fromCoroutine(alone.wait_lost()).called


def test_those_who_wait_are_woken_by_the_change_that_they_wait_for() -> None:
    one = Leadership(leads=False)
    leads, lost = Deferred.fromCoroutine(one.wait()), Deferred.fromCoroutine(one.wait_lost())
    assert (leads.called, lost.called) == (False, True)
    one.change(leads=True)
    again = Deferred.fromCoroutine(one.wait_lost())
    assert (leads.called, again.called, one.is_leading) == (True, False, True)
    one.change(leads=False)
    assert (again.called, one.is_leading) == (True, False)


def test_one_who_waits_is_not_woken_for_a_term_that_is_over() -> None:
    one = Leadership(leads=False)
    first = Deferred.fromCoroutine(one.wait())
    # Whoever was woken before it ends the term again.
    first.addCallback(lambda _: one.change(leads=False))
    second = Deferred.fromCoroutine(one.wait())
    one.change(leads=True)
    assert (first.called, second.called) == (True, False)
    one.change(leads=True)
    assert second.called


def test_waiting_can_be_cancelled() -> None:
    one = Leadership(leads=False)
    waiting = Deferred.fromCoroutine(one.wait())
    ended: list[Any] = []

    def over(failure: Any) -> None:
        ended.append(failure.check(CancelledError))

    waiting.addErrback(over)
    waiting.cancel()
    one.change(leads=True)
    assert ended == [CancelledError]
