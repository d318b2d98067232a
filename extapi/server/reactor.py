"""Runs a server as a process: the reactor, signals, logs on standard error, and the exit status (behaviour H15).

The only module that imports Twisted's reactor; all others get it as an argument.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType, MappingProxyType
from typing import Any, Protocol

import click
from twisted.internet.defer import Deferred

from extapi.api.declaration import DeclarationError
from extapi.authentication.bundle import BundleError
from extapi.authentication.configmap import LookupFailed
from extapi.clock import wall_time
from extapi.listener.acceptor import BindError
from extapi.listener.state import OnFinished
from extapi.listener.tls import CertificateError
from extapi.registry.storedversions import UnknownStoredVersion
from extapi.server.eventloop import install
from extapi.server.logs import AccessLog, configure_logs
from extapi.server.watchdog import Watchdog
from extapi.storage.base import Unavailable, UnusableStore

_EXPECTED = (
    BundleError,
    LookupFailed,
    BindError,
    CertificateError,
    DeclarationError,
    UnknownStoredVersion,
    Unavailable,
    UnusableStore,
)
"""Mistakes of operators and authors. Any other error is a bug, and is logged with its traceback."""

_STOPPED = frozenset({"dispatch_line", "dispatch_call", "dispatch_return", "dispatch_exception", "interaction"})
"""Functions of :mod:`bdb` and :mod:`pdb` that run while the program is stopped."""


class Stoppable(Protocol):
    """What runs in a process, such as :class:`extapi.server.process.ServerProcess`."""

    async def run(self) -> int:
        """Work until stopped; the exit status."""
        ...

    def stop(self) -> None:
        """Begin to stop."""
        ...


def run_process(
    make: Callable[[Any, OnFinished], Stoppable],
    expected: tuple[type[Exception], ...] = (),
    fields: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    """Run until SIGTERM or SIGINT.

    Args:
        make: Makes what is run, from the reactor and an access log.
        expected: Further errors that are mistakes of operators or authors: they are printed without a traceback.
        fields: What each line of the log has besides.

    Returns:
        The exit status.
    """
    install()
    from twisted.internet import reactor as imported  # noqa: PLC0415, TID251 - for commands; importing installs it

    reactor: Any = imported
    _allow_many_files()
    configure_logs(sys.stderr.buffer, fields)
    expected = (*_EXPECTED, *expected)
    try:
        process = make(reactor, AccessLog(sys.stderr.buffer, partial(wall_time, reactor), fields))
    except expected as error:
        click.echo(f"Error: {error}", err=True)
        return 1
    run = _Run(process, reactor, expected)
    reactor.callWhenRunning(run.begin)
    reactor.run(installSignalHandlers=False)
    return run.end()


class _Run:
    """What runs in the reactor, from its first turn to the exit status.

    Args:
        process: What runs.
        reactor: The reactor; it stops when the process ends.
        expected: Errors that are mistakes of operators or authors.
    """

    def __init__(self, process: Stoppable, reactor: Any, expected: tuple[type[Exception], ...]) -> None:
        self._process = process
        self._reactor = reactor
        self._expected = expected
        self._status: int | None = None
        self._mistake: str | None = None
        self._stopping = False

    def begin(self) -> None:
        """Run the process, and let signals stop it."""
        signal.signal(signal.SIGTERM, self._signalled)
        signal.signal(signal.SIGINT, self._signalled)
        Watchdog(self._reactor, sys.stderr.fileno())
        running = Deferred.fromCoroutine(self._process.run())
        running.addCallbacks(self._ended, self._failed)
        running.addBoth(lambda _: self._reactor.stop())

    def end(self) -> int:
        """Say what went wrong, after everything that Twisted logs at the end; the exit status."""
        if self._mistake is not None:
            click.echo(f"Error: {self._mistake}", err=True)
        return 1 if self._status is None else self._status

    def _ended(self, status: int) -> None:
        self._status = status

    def _failed(self, failure: Any) -> None:
        self._status = 1
        if failure.check(*self._expected):
            self._mistake = failure.getErrorMessage()
        else:
            logging.getLogger("extapi").critical("the server failed", exc_info=failure.value)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if _is_at_prompt(frame):
            if number == signal.SIGINT:
                signal.alarm(0)  # the watchdog's
                raise KeyboardInterrupt  # the debugger's own: it stays at its prompt
            os._exit(1)  # the reactor does not run; the store survives it
        if self._stopping or self._status is not None:
            # A second signal ends the process at once (behaviour H15). An exception would not: wherever it arrives, in the middle
            # of the stop or while the reactor waits, Twisted logs it and goes on.
            os._exit(1)
        self._stopping = True
        self._reactor.callFromThread(self._process.stop)


def _is_at_prompt(frame: FrameType | None) -> bool:
    """Whether a debugger has stopped the program at its prompt, so that the reactor does not run."""
    while frame is not None:
        if frame.f_globals.get("__name__") in {"bdb", "pdb"} and frame.f_code.co_name in _STOPPED:
            return True
        frame = frame.f_back
    return False


def _allow_many_files() -> None:
    """Raise the limit of open files, of which each connection is one, as far as the process may.

    Service managers and container runtimes often set 1,024, for programs that use ``select``, and let other programs raise
    it. The Go runtime raises it at the start of every program (``os/rlimit.go``), including kube-apiserver.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems do not allow their own hard limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
