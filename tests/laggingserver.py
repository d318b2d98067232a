"""Two servers on one store, as in memory as :class:`~extapi.testing.InMemoryServer`; each sees late what the other writes."""

from __future__ import annotations

from random import Random
from typing import Any

from extapi import Api
from extapi.api.user import User
from extapi.client.transport import ClientRequest
from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend
from extapi.testing import InMemoryServer, ServerResponse
from extapi.testing.memory import START
from tests.lagging import LONGEST, LaggingBackend, VirtualTime

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class LaggingServer(InMemoryServer):
    """This server answers reads and watches; ``other``, a second process, answers writes, unless :attr:`alone`."""

    def __init__(
        self,
        api: Api,
        *,
        clock: VirtualTime | None = None,
        backend: Backend | None = None,
        seed: int | Random = 1,
        longest: float = LONGEST,
        **settings: Any,
    ) -> None:
        """Make both servers; the arguments are those of :class:`~extapi.testing.InMemoryServer`.

        Args:
            api: The API to serve.
            clock: The time; by default a new clock.
            backend: The store that both are on; by default a new one in memory.
            seed: Decides what is late.
            longest: The longest pause of a store, in seconds.
            settings: Further settings of both servers.
        """
        clock = clock or VirtualTime(START)
        self.log = backend or MemoryBackend(clock)
        """The store itself."""
        dice = seed if isinstance(seed, Random) else Random(seed)  # noqa: S311 - repeatable, not secret
        self.near = LaggingBackend(self.log, clock, dice, longest=longest)
        self.far = LaggingBackend(self.log, clock, dice, longest=longest)
        super().__init__(api, clock=clock, backend=self.near, **settings)
        names = Random(2)  # noqa: S311 - the same in every run
        self.other = InMemoryServer(api, clock=clock, backend=self.far, random=names, **settings)
        self.other.namespaces.missing = self.namespaces.missing
        self.other.namespaces.terminating = self.namespaces.terminating
        self.alone = False

    def start(self) -> None:
        """Start both."""
        super().start()
        self.other.start()

    def stop(self) -> None:
        """Stop both, whatever state the stores are in."""
        for store in (self.near, self.far):
            store.breaks, store.unreadable = 0.0, False
        self.other.stop()
        super().stop()

    async def _answer(self, request: ClientRequest, user: User) -> ServerResponse:
        if self.alone or request.method in _READS:
            return await super()._answer(request, user)
        return await self.other._answer(request, user)
