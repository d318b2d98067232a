"""Controllers, of which those that one process is enough for run where it leads (:mod:`extapi.client.leaderelection`).

Each term runs them anew, with informers of their own. They are cancelled the moment the Lease is lost, and have ended before
this process competes again or releases it. Those with ``each_process = True`` run always.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger

from extapi.server.context import Context
from extapi.server.controllers import Controller, Controllers
from extapi.server.exposition import Family

Begin = Callable[[], None]
End = Callable[[], Awaitable[None]]


class Elector(Protocol):
    """What says when this process leads."""

    @property
    def name(self) -> str:
        """The name of the Lease; empty: there is none."""
        ...

    @property
    def is_leading(self) -> bool:
        """Whether this process leads now."""
        ...

    def start(self) -> None:
        """Compete."""
        ...

    async def stop(self) -> None:
        """Compete no more."""
        ...


class NeverLeads:
    """Never leads: another process of the same server does, without an election."""

    name = ""
    is_leading = False

    def __init__(self, started: Begin, stopped: End) -> None:
        del started, stopped

    def start(self) -> None:
        """See :class:`Elector`."""

    async def stop(self) -> None:
        """See :class:`Elector`."""


class MakeElector(Protocol):
    """Makes a candidate."""

    def __call__(self, started: Begin, stopped: End) -> Elector:
        """See the arguments of the same names of :class:`extapi.client.leaderelection.LeaderElector`."""
        ...


def runs_everywhere(controller: Controller) -> bool:
    """Whether its author wants it in each process: ``each_process = True``."""
    return bool(getattr(controller, "each_process", False))


class ElectedControllers:
    """Runs controllers from :meth:`start` to :meth:`stop`, most of them while this process leads.

    Args:
        controllers: The controllers.
        context: What they get; its :attr:`~extapi.server.context.Context.leader` follows the terms.
        elector: Makes the candidate; None: this process always leads.
    """

    _log = Logger()

    def __init__(self, controllers: Sequence[Controller], context: Context, elector: MakeElector | None = None) -> None:
        self._all = list(controllers)
        self._leader = context.leader
        self._running = Controllers((), context)
        self._turn = DeferredLock()
        """One change of what runs at a time: each waits until those that leave have ended."""
        self._resigning: Deferred[None] | None = None
        self._elector: Elector | None = None
        if elector is not None:
            self._elector = elector(self._begin, self._end)
            self._leader.change(leads=False)

    def start(self) -> None:
        """Run those that run everywhere, and compete for the others; without an election, run all."""
        self._change()
        if self._elector is not None and self._resigning is None:
            self._elector.start()

    async def replace(self, controllers: Sequence[Controller]) -> None:
        """Run these from now on; see :meth:`extapi.server.controllers.Controllers.replace`."""
        self._all = list(controllers)
        await self._apply()

    async def resign(self) -> None:
        """Let another process lead at once, and compete no more; what runs everywhere goes on.

        Returns when the controllers of the term have ended and the Lease is released. Does nothing without an election.
        """
        if self._elector is None:
            return
        if self._resigning is None:
            self._resigning = Deferred.fromCoroutine(self._elector.stop())
        await self._resigning

    async def stop(self) -> None:
        """Cancel the controllers, wait until they have ended, then let another process lead."""
        await self.resign()
        self._all = []
        await self._apply()
        await self._running.stop()

    def families(self) -> Iterator[Family]:
        """Whether this process leads.

        Source: ``k8s.io/component-base/metrics/prometheus/clientgo/leaderelection``.
        """
        if self._elector is not None and self._elector.name:
            yield Family(
                "leader_election_master_status",
                "gauge",
                "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. "
                "'name' is the string used to identify the lease.",
                ("name",),
                [((self._elector.name,), int(self._elector.is_leading))],
            )

    def _begin(self) -> None:
        self._leader.change(leads=True)
        self._change()

    async def _end(self) -> None:
        self._leader.change(leads=False)
        await self._apply()

    def _change(self) -> None:
        """See :meth:`_apply`; nobody waits for it."""
        Deferred.fromCoroutine(self._apply()).addErrback(
            lambda failure: self._log.failure("the controllers that should run could not be started", failure)
        )

    async def _apply(self) -> None:
        """Let those run that should run now."""
        await self._turn.acquire()
        try:
            # Only now: the term may have ended while others had their turn.
            leads = self._leader.is_leading
            await self._running.replace([each for each in self._all if leads or runs_everywhere(each)])
        finally:
            self._turn.release()
