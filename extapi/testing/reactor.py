"""Running coroutines to their end in a test, on a real reactor that no one else shares. Installs nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.epollreactor import EPollReactor
from twisted.python.failure import Failure

T = TypeVar("T")

_TURN = 0.05
"""Seconds a turn of the reactor waits at most; what happens meanwhile ends it at once."""


@contextmanager
def private_reactor() -> Iterator[Any]:
    """A reactor of one's own, to be run by :func:`drive`: never started, never the global one.

    Sockets, timers and descriptors work; signals and the thread pool do not. On leaving, what still is registered with
    it is told that its connection is lost.
    """
    new: Callable[[], Any] = EPollReactor
    reactor = new()
    try:
        yield reactor
    finally:
        for call in reactor.getDelayedCalls():
            call.cancel()
        failure: Callable[[Exception], Failure] = Failure
        over = failure(ConnectionAbortedError("the test is over"))
        for selectable in reactor.removeAll():
            selectable.connectionLost(over)


def drive(reactor: Any, coroutine: Coroutine[Any, Any, T], *, timeout: float = 10.0) -> T:
    """Turn the reactor until the coroutine is done; what it returns, or raises.

    After ``timeout`` seconds of wall time the coroutine is cancelled and ``TimeoutError`` is raised.
    """
    outcome: list[T | Failure] = []
    running = Deferred.fromCoroutine(coroutine)
    running.addBoth(outcome.append)
    end = time.monotonic() + timeout
    while not outcome:
        if time.monotonic() > end:
            running.cancel()
            raise TimeoutError(f"not done within {timeout} s")
        reactor.iterate(_TURN)
    result = outcome[0]
    if isinstance(result, Failure):
        result.raiseException()
    return result
