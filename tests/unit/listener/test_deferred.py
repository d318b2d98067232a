"""What the listener relies on in Twisted: a coroutine driven by hand can be handed over in the middle."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred


async def waits(first: Deferred[str], log: list[str]) -> str:
    log.append("begun")
    try:
        return await first + "!"
    except CancelledError:
        log.append("cancelled")
        raise


def test_pending_deferred_yields_itself_again() -> None:
    first: Deferred[str] = Deferred()
    log: list[str] = []
    coroutine = waits(first, log)
    assert coroutine.send(None) is first
    results: list[Any] = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    assert (results, log) == ([], ["begun"])
    first.callback("done")
    assert results == ["done!"]


def test_cancelling_reaches_the_coroutine() -> None:
    first: Deferred[str] = Deferred()
    log: list[str] = []
    coroutine = waits(first, log)
    coroutine.send(None)
    results: list[Any] = []
    waiting = Deferred.fromCoroutine(coroutine).addBoth(results.append)
    waiting.cancel()
    assert log == ["begun", "cancelled"]
    assert results[0].check(CancelledError)
