"""Credentials that a program issues: one run at a time, kept until they expire or a server refuses them.

Each run has a thread, which no pool lacks meanwhile: a program that hangs delays only those who need what it issues. A run
goes on when those who wait for it give up, since the next ones need it as well. Blocks nobody, and may be used from
several threads; knows no reactor (``issuedtoken`` does).

Source: ``k8s.io/client-go/plugin/pkg/client/auth/exec`` Authenticator. There, all who wait for a run that fails run the
program again, one after the other; here they share the failure, and the next run waits a moment.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from extapi.client.clientpair import Pair
from extapi.client.credentials import CredentialsError
from extapi.client.guardedprocess import Command, GuardedProcess, Printed, ProcessFailed

EARLY = 0.1
"""The part of their time at whose beginning credentials are renewed, while they are used on."""

EARLIEST = 300.0
"""Seconds before their end that this is at most."""

LEAST_USE = 10.0
"""Seconds that credentials are used although they say that they have expired: this machine's clock may be ahead."""

FIRST_PAUSE, LAST_PAUSE = 1.0, 30.0
"""Seconds between runs that bring nothing usable, doubled with each further one, and at most."""

STEADY = 60.0
"""Seconds after which credentials that are refused were good for something."""


@dataclass(frozen=True, slots=True)
class Issued:
    """What a program has issued."""

    authorization: str = field(repr=False)
    """The Authorization header; empty: none."""
    pair: Pair | None = field(default=None, repr=False)
    """A client certificate and its key, as PEM."""
    expiry: float | None = None
    """Seconds since the epoch; None: nobody knows."""


class Issuer(Protocol):
    """A program that issues credentials."""

    @property
    def source(self) -> str:
        """What it is, for messages."""
        ...

    def prepare(self) -> Command:
        """What is to be run.

        Raises:
            CredentialsError: Nothing can be.
        """
        ...

    def issued(self, printed: Printed) -> Issued:
        """What it has issued.

        Raises:
            CredentialsError: Nothing.
        """
        ...


class _Run:
    """One run, and those who wait for it."""

    def __init__(self) -> None:
        self.result: Future[Issued] = Future()
        self.process: GuardedProcess | None = None
        self.stopped = False


class Renewal:
    """The credentials that ``issuer`` issues.

    Args:
        issuer: Issues them.
        seconds: A clock that goes on evenly.
        wall_time: The machine's clock.
        failed: Told, in some thread, of each run that brings nothing.
        first: What has been issued already.
    """

    def __init__(
        self,
        issuer: Issuer,
        *,
        seconds: Callable[[], float],
        wall_time: Callable[[], float],
        failed: Callable[[CredentialsError], object] = lambda _: None,
        first: Issued | None = None,
    ) -> None:
        self.source = issuer.source
        self._issuer = issuer
        self._seconds = seconds
        self._wall_time = wall_time
        self._failed = failed
        self._lock = threading.Lock()
        self._run: _Run | None = None
        self._stopped = False
        self._held: Issued | None = None
        self._refused = False
        self._since = 0.0
        self._end = self._early = float("inf")
        self._again = float("-inf")
        """When the program may be run again, by ``seconds``."""
        self._failures = self._refusals = 0
        self._error = CredentialsError(f"{self.source} has issued nothing yet")
        if first is not None:
            self._take(first)

    @property
    def held(self) -> Issued | None:
        """What was issued last."""
        return self._held

    def current(self) -> Issued | Future[Issued]:
        """Credentials to use now, or the run to wait for.

        Raises:
            CredentialsError: There are none, and the program was run a moment ago.
        """
        with self._lock:
            held = self._held if self._wall_time() <= self._end else None
            good = held is not None and not self._refused
            if self._stopped:
                raise CredentialsError(f"{self.source} is not run any more: this process is ending")
            wanted = not good or self._wall_time() >= self._early
            if wanted and self._run is None and self._seconds() >= self._again:
                self._begin()
            if held is not None and good:
                return held
            if self._run is not None:
                return self._run.result
            if held is not None:
                return held  # refused, but there is nothing else, and servers are wrong at times
            raise self._error

    def wait(self, seconds: float) -> Issued:
        """As :meth:`current`; blocks, for no longer than ``seconds``.

        Raises:
            CredentialsError: There are none.
        """
        found = self.current()
        if isinstance(found, Issued):
            return found
        try:
            return found.result(seconds)
        except TimeoutError:
            raise CredentialsError(f"no credentials within {seconds:g} seconds: {self.source} still runs") from None

    def refused(self, authorization: str) -> None:
        """A server has answered 401 to these.

        What was issued meanwhile is not concerned. If the program issues what is refused again and again, it is run less
        and less often.
        """
        with self._lock:
            if self._held is None or self._held.authorization != authorization or self._refused:
                return
            self._refused = True
            now = self._seconds()
            self._refusals = 0 if now >= self._since + STEADY else self._refusals + 1
            self._again = max(self._again, now + _pause(self._refusals))

    def stop(self) -> None:
        """End the program if it runs, and run it no more."""
        with self._lock:
            self._stopped = True
            run = self._run
            if run is not None:
                run.stopped = True
                if run.process is not None:
                    run.process.stop()

    def _begin(self) -> None:
        self._run = run = _Run()
        try:
            # A daemon: a process that ends does not wait for it, and the program ends with the process.
            threading.Thread(target=self._work, args=(run,), name="credentials", daemon=True).start()
        except RuntimeError as error:  # no further thread
            self._run = None
            self._miss(CredentialsError(f"{self.source} cannot be run: {error}"))

    def _work(self, run: _Run) -> None:
        try:
            issued = self._issue(run)
        except CredentialsError as error:
            self._ended_badly(run, error)
        except Exception as error:  # noqa: BLE001 - those who wait must learn of a defect, too
            self._ended_badly(run, CredentialsError(f"{self.source} failed: {type(error).__name__}: {error}"))
        else:
            with self._lock:
                self._take(issued)
                self._run = None
            run.result.set_result(issued)

    def _issue(self, run: _Run) -> Issued:
        command = self._issuer.prepare()
        with self._lock:
            if run.stopped:
                raise CredentialsError(f"{self.source} was stopped")
            process = run.process = GuardedProcess(command)
        try:
            printed = process.run()
        except ProcessFailed as error:
            raise CredentialsError(f"{self.source} {error}") from error
        return self._issuer.issued(printed)

    def _take(self, issued: Issued) -> None:
        now = self._wall_time()
        self._held, self._refused, self._failures = issued, False, 0
        self._since = self._seconds()
        self._end = self._early = float("inf")
        if issued.expiry is not None:
            self._end = max(issued.expiry, now + LEAST_USE)
            self._early = self._end - min(EARLY * (self._end - now), EARLIEST)

    def _ended_badly(self, run: _Run, error: CredentialsError) -> None:
        with self._lock:
            self._run = None
            self._miss(error)
            held = self._held if self._wall_time() <= self._end else None
        if not run.stopped:
            self._failed(error)
        if held is None:
            run.result.set_exception(error)
        else:
            run.result.set_result(held)

    def _miss(self, error: CredentialsError) -> None:
        self._error = error
        self._failures += 1
        self._again = self._seconds() + _pause(self._failures)


def _pause(times: int) -> float:
    return min(FIRST_PAUSE * 2 ** min(times - 1, 10), LAST_PAUSE) if times else 0.0
