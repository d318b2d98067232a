"""Controllers that one of several processes runs: the one that holds a Lease (:mod:`extapi.client.leaderelection`).

Each term runs them anew, with informers of their own. They are cancelled the moment the Lease is lost, and have ended before
this process competes again or releases it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Protocol

from extapi.client.leaderelection import LeaderElector
from extapi.server.context import Context
from extapi.server.controllers import Controller, Controllers
from extapi.server.exposition import Family

Begin = Callable[[], None]
End = Callable[[], Awaitable[None]]


class MakeElector(Protocol):
    """Makes a candidate."""

    def __call__(self, started: Begin, stopped: End) -> LeaderElector:
        """See the arguments of the same names of :class:`extapi.client.leaderelection.LeaderElector`."""
        ...


class ElectedControllers:
    """Runs controllers from :meth:`start` to :meth:`stop`, while this process leads.

    Args:
        controllers: The controllers.
        context: Makes what they get, once per term.
        elector: Makes the candidate; None: this process always leads.
    """

    def __init__(
        self, controllers: Sequence[Controller], context: Callable[[], Context], elector: MakeElector | None = None
    ) -> None:
        self._controllers = controllers
        self._context = context
        self._running: Controllers | None = None
        self._elector = None if elector is None else elector(self._begin, self._end)

    def start(self) -> None:
        """Compete, or run them at once."""
        if self._elector is None:
            self._begin()
        else:
            self._elector.start()

    async def stop(self) -> None:
        """Cancel the controllers, wait until they have ended, then let another process lead."""
        if self._elector is None:
            await self._end()
        else:
            await self._elector.stop()

    def families(self) -> Iterator[Family]:
        """Whether this process leads.

        Source: ``k8s.io/component-base/metrics/prometheus/clientgo/leaderelection``.
        """
        if self._elector is not None:
            yield Family(
                "leader_election_master_status",
                "gauge",
                "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. "
                "'name' is the string used to identify the lease.",
                ("name",),
                [((self._elector.name,), int(self._elector.is_leading))],
            )

    def _begin(self) -> None:
        self._running = Controllers(self._controllers, self._context())
        self._running.start()

    async def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.replace([])
            running.stop()
