"""A server as the whole of a process: the reactor, signals, logs on standard error, and the exit status (spec H15).

The one place that takes the reactor which Twisted has installed; everything else is handed it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

import click
from twisted.internet.defer import Deferred

from extapi.api.declaration import DeclarationError
from extapi.authentication.certificates import BundleError
from extapi.authentication.configmap import LookupFailed
from extapi.listener.acceptor import BindError
from extapi.listener.service import OnFinished
from extapi.listener.tls import CertificateError
from extapi.registry.storedversions import UnknownStoredVersion
from extapi.server.logs import AccessLog, configure_logs
from extapi.server.watchdog import Watchdog
from extapi.storage.file import UnusableFile

_EXPECTED = (
    BundleError,
    LookupFailed,
    BindError,
    CertificateError,
    DeclarationError,
    UnknownStoredVersion,
    UnusableFile,
)
"""Mistakes of operators and authors. Anything else is a bug, and is told with its traceback."""

_STOPPED = frozenset({"dispatch_line", "dispatch_call", "dispatch_return", "dispatch_exception", "interaction"})
"""What of :mod:`bdb` and :mod:`pdb` runs while the program does not; beneath a whole program it is ``run``."""


class Stoppable(Protocol):
    """What fills a process, such as :class:`extapi.server.lifecycle.Process`."""

    async def run(self) -> int:
        """Work until stopped; the exit status."""
        ...

    def stop(self) -> None:
        """Begin to end."""
        ...


def run_process(make: Callable[[Any, OnFinished], Stoppable], expected: tuple[type[Exception], ...] = ()) -> int:
    """Make it of the reactor and an access log, run it until SIGTERM or SIGINT; the exit status.

    ``expected``: further errors that are somebody's mistake, and are told in one line without a traceback.
    """
    from twisted.internet import reactor as imported  # noqa: PLC0415, TID251 - for commands; importing installs it

    reactor: Any = imported
    _allow_many_files()
    configure_logs(sys.stderr.buffer)
    expected = (*_EXPECTED, *expected)
    statuses: list[int] = []
    stopping: list[bool] = []
    mistakes: list[str] = []

    def failed(failure: Any) -> None:
        if failure.check(*expected):
            mistakes.append(failure.getErrorMessage())
        else:
            logging.getLogger("extapi").critical("the server failed", exc_info=failure.value)
        statuses.append(1)

    try:
        process = make(reactor, AccessLog(sys.stderr.buffer, reactor.seconds))
    except expected as error:
        click.echo(f"Error: {error}", err=True)
        return 1

    def stop(number: int, frame: FrameType | None) -> None:
        if _is_at_prompt(frame):
            if number == signal.SIGINT:
                signal.alarm(0)  # the watchdog's
                raise KeyboardInterrupt  # the debugger's own: it stays at its prompt
            os._exit(1)  # nothing else can end it, and the store is safe from that
        if statuses or stopping:
            sys.exit(1)  # a second signal does not wait (spec H15)
        stopping.append(True)
        reactor.callFromThread(process.stop)

    def begin() -> None:
        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        Watchdog(reactor, sys.stderr.fileno())
        running = Deferred.fromCoroutine(process.run())
        running.addCallbacks(statuses.append, failed)
        running.addBoth(lambda _: reactor.stop())

    reactor.callWhenRunning(begin)
    reactor.run(installSignalHandlers=False)
    for mistake in mistakes:  # the last words, after what Twisted says at the end
        click.echo(f"Error: {mistake}", err=True)
    return statuses[0] if statuses else 1


def _is_at_prompt(frame: FrameType | None) -> bool:
    """Whether a debugger has stopped the program: the reactor does not go on before somebody has typed something."""
    while frame is not None:
        if frame.f_globals.get("__name__") in {"bdb", "pdb"} and frame.f_code.co_name in _STOPPED:
            return True
        frame = frame.f_back
    return False


def _allow_many_files() -> None:
    """As many open files as the process may have; each connection is one.

    A service manager or a container runtime often gives 1,024, for programs that use ``select``, and lets those that do
    not ask for more. The Go runtime asks so at the start of every program (``os/rlimit.go``), kube-apiserver among them.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # a system that does not allow its own hard limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
