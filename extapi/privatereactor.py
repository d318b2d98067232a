"""Running coroutines to their end on a reactor that nobody else shares: for tests, and for programs that are synchronous.

Installs no reactor and starts no thread. Must not know what the coroutines do.
"""

from __future__ import annotations

import signal
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
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What asks a program to end."""


@contextmanager
def private_reactor() -> Iterator[Any]:
    """A reactor to be run by :func:`drive`: never started, never the global one.

    Sockets, timers and descriptors work; signals and the thread pool, and with it the resolution of names, do not. On
    leaving, what still is registered with it is told that its connection is lost, and its own descriptors are closed.
    """
    new: Callable[[], Any] = EPollReactor
    reactor = new()
    try:
        yield reactor
    finally:
        _turn(reactor, 0)  # a connection that was aborted is closed by the next turn
        failure: Callable[[Exception], Failure] = Failure
        over = failure(ConnectionAbortedError("the reactor is gone"))
        for selectable in reactor.removeAll():
            selectable.connectionLost(over)
        for call in reactor.getDelayedCalls():  # after that, since who loses a connection may cancel a timer
            call.cancel()
        # Twisted never closes these: its reactors live as long as their process.
        for waker in list(reactor._internalReaders):  # noqa: SLF001 - there is no other way to them
            waker.connectionLost(over)
        reactor._poller.close()  # noqa: SLF001 - the same


def drive(reactor: Any, coroutine: Coroutine[Any, Any, T], *, timeout: float = 10.0) -> T:
    """Turn the reactor until the coroutine is done.

    Signals that ask the program to end wait until the turn is over: Twisted would swallow what their handlers raise.

    Args:
        reactor: Of :func:`private_reactor`.
        coroutine: What is awaited on it.
        timeout: Seconds of wall time after which the coroutine is cancelled.

    Returns:
        What the coroutine returns.

    Raises:
        TimeoutError: The coroutine was not done in time.
        Exception: Whatever the coroutine raises.
    """
    outcome: list[T | Failure] = []
    running = Deferred.fromCoroutine(coroutine)
    running.addBoth(outcome.append)
    end = time.monotonic() + timeout
    while not outcome:
        if time.monotonic() > end:
            running.cancel()
            raise TimeoutError(f"not done within {timeout} s")
        _turn(reactor, _TURN)
    result = outcome[0]
    if isinstance(result, Failure):
        result.raiseException()
    return result


def _turn(reactor: Any, seconds: float) -> None:
    """One turn, in which no handler of those signals is called."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        reactor.iterate(seconds)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
