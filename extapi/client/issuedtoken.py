"""Credentials that a program issues, for a transport: whoever needs them waits without holding up the reactor.

Must not know which program it is, nor when it is run (``renewal``).
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.client.clientpair import Pair
from extapi.client.credentials import CredentialsError
from extapi.client.renewal import Issued, Issuer, Renewal
from extapi.clock import wall_time


class IssuedToken:
    """What ``issuer`` issues (:class:`extapi.client.credentials.TokenSource`).

    Args:
        issuer: Issues it.
        reactor: Provides IReactorTime and IReactorFromThreads.
        first: What has been issued already.
    """

    _log = Logger()

    def __init__(self, issuer: Issuer, reactor: Any, first: Issued | None = None) -> None:
        self.source = issuer.source
        self._reactor = reactor
        self._renewal = Renewal(
            issuer, seconds=reactor.seconds, wall_time=lambda: wall_time(reactor), failed=self._failed, first=first
        )

    @property
    def pair(self) -> Pair | None:
        """The client certificate and its key that were issued last."""
        held = self._renewal.held
        return None if held is None else held.pair

    def load(self, seconds: float) -> None:
        """Have the first credentials issued. Blocks; meant for the start of a process.

        Raises:
            CredentialsError: There are none.
        """
        self._renewal.wait(seconds)

    async def authorization(self) -> str:
        """The header; empty if there is only a certificate.

        Raises:
            CredentialsError: There are no credentials.
        """
        found = self._renewal.current()
        if isinstance(found, Future):
            found = await self._arrival(found)
        return found.authorization

    def refused(self, authorization: str) -> None:
        """See :meth:`extapi.client.credentials.TokenSource.refused`."""
        self._renewal.refused(authorization)

    def stop(self) -> None:
        """End the program if it runs."""
        self._renewal.stop()

    def _arrival(self, result: Future[Issued]) -> Deferred[Issued]:
        """Fires in the reactor's thread. The run goes on if it is cancelled."""
        arrival: Deferred[Issued] = Deferred()

        def deliver() -> None:
            error = result.exception()
            if error is None:
                arrival.callback(result.result())
            else:
                arrival.errback(error)

        result.add_done_callback(lambda _: self._reactor.callFromThread(deliver))
        return arrival

    def _failed(self, error: CredentialsError) -> None:
        self._reactor.callFromThread(
            self._log.warn, "cannot renew the cluster's credentials: {error}", error=str(error)
        )
