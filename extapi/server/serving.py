"""A server behind its listener: from the first connection to the last (spec H12, H15).

Ends when the listener dies, and when it is told to; in both cases in order. Knows nothing of what stands around the
server, such as the cluster that an extension server belongs to.
"""

from __future__ import annotations

import gc
from typing import Any

import structlog
from twisted.internet.defer import Deferred

from extapi.authentication.settings import Settings
from extapi.listener.listener import Listener
from extapi.listener.service import Describe, Limits, OnFinished
from extapi.listener.tls import ServingCertificate
from extapi.server.generic import Server

DRAIN = 60.0
"""Seconds that requests in flight get at the end (spec H12)."""


def name_authorities(tls: ServingCertificate, settings: Settings) -> None:
    """Tell clients from now on which authorities are believed, so that they choose the right certificate (spec A11)."""

    def changed() -> None:
        bundles = [bundle for bundle in (settings.client_ca, settings.proxy_ca) if bundle is not None]
        tls.set_client_ca_names(ca for bundle in bundles for ca in bundle.certificates)

    settings.observers.append(changed)


class Serving:
    """Serves ``server`` over TLS: :meth:`run` starts it, :meth:`stop` ends it, and :meth:`run` returns then.

    ``delay``: seconds to go on serving after :meth:`stop`, with readiness off. ``describe``: what the answer to a request
    says of an unexpected error; for development only.
    """

    def __init__(
        self,
        server: Server,
        reactor: Any,
        *,
        tls: ServingCertificate,
        interface: str,
        port: int,
        access_log: OnFinished,
        limits: Limits | None = None,
        delay: float = 0.0,
        describe: Describe | None = None,
    ) -> None:
        self._log = structlog.get_logger("extapi.server")
        self._server = server
        self._reactor = reactor
        self._delay = delay
        self._starting: Deferred[None] | None = None
        self._ended: Deferred[int] = Deferred()
        self._listener = Listener(
            reactor,
            server.handler,
            tls=tls,
            interface=interface,
            port=port,
            limits=limits or Limits(),
            on_died=self._died,
            on_finished=access_log,
            describe=describe,
        )

    async def run(self) -> int:
        """Serve until stopped; the exit status: 0, or 1 if the listener died.

        Raises :class:`~extapi.listener.acceptor.BindError` and whatever the server raises when it starts.
        """
        if self._is_stopping():
            return await self._ended
        address, port = self._listener.start()
        self._starting = Deferred.fromCoroutine(self._server.start())
        try:
            await self._starting
        except Exception:
            if not self._is_stopping():
                raise
            return await self._ended  # told to stop before it had started
        # What is there now stays for good: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        self._log.info("serving", address=address, port=port)
        return await self._ended

    def stop(self) -> None:
        """Begin to end: readiness off, then no new connections, then what is in flight, then watches and the store."""
        if self._is_stopping():
            return
        self._server.shutdown.requested = True
        self._log.info("stopping")
        self._reactor.callLater(self._delay, self._end, 0)

    def _is_stopping(self) -> bool:
        return self._server.shutdown.requested

    def _died(self, reason: BaseException) -> None:
        self._log.error("the listener has died", reason=str(reason))
        self._server.shutdown.requested = True
        self._end(1)

    def _end(self, status: int) -> None:
        self._server.shutdown.refusing = True
        if self._starting is not None:
            self._starting.cancel()  # does nothing to a start that is over
        ending = Deferred.fromCoroutine(self._drain())
        ending.addBoth(lambda _: self._ended.callback(status))

    async def _drain(self) -> None:
        await self._listener.drain(DRAIN)
        await self._server.stop()
