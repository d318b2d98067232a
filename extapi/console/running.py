"""Runs one command on the reactor until it is done, or a signal ends it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Coroutine
from typing import Any

import click
from twisted.internet.defer import CancelledError, Deferred

from extapi.client.transport import TransportError
from extapi.console.failure import CommandFailure, told
from extapi.errors import ApiError
from extapi.storage.base import Unavailable
from extapi.storage.file import UnusableFile

FAILED, INTERRUPTED = 1, 130
"""Exit statuses: a step could not be done; Ctrl-C (128 plus the number of SIGINT, as in shells)."""
_EXPECTED = (CommandFailure, ApiError, TransportError, Unavailable, UnusableFile)


def run(main: Callable[[Any], Coroutine[Any, Any, int]]) -> int:
    """Run ``main`` with the reactor.

    Returns:
        Its result, or the exit status of what went wrong, which is printed.
    """
    from extapi.server.eventloop import install  # noqa: PLC0415 - --help should answer at once

    install()
    from twisted.internet import reactor as imported  # noqa: PLC0415, TID251 - for commands; importing installs it

    reactor: Any = imported
    outcome: list[Any] = []

    def begin() -> None:
        running = Deferred.fromCoroutine(main(reactor))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: reactor.callFromThread(running.cancel))
        running.addBoth(outcome.append)
        running.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(begin)
    reactor.run(installSignalHandlers=False)
    (result,) = outcome
    if isinstance(result, int):
        return result
    error = result.value
    if isinstance(error, CancelledError):
        click.echo("Aborted! Run the same command again to go on.", err=True)
        return INTERRUPTED
    if not isinstance(error, _EXPECTED):
        raise error
    click.echo(f"Error: {told(error)}", err=True)
    return FAILED
