"""The store as one server uses it: its writes are watched, it is cached and compacted, and others may serve from it as well.

Must not know what is served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from extapi.registry.served import ServedKind
from extapi.server.health import NamedCheck
from extapi.server.replicas import Replicas
from extapi.storage.base import Backend
from extapi.storage.compaction import Compactor
from extapi.storage.probe import ProbedBackend
from extapi.watch.cacher import Cacher

_READYZ = frozenset({"readyz"})


class ServerStore:
    """One store with what a server runs on it.

    Args:
        backend: Where objects are stored.
        reactor: The reactor.
        random: Spreads attempts.
        compaction: Seconds between two compactions; 0: none.
        replica: Who this server is among those on the store; empty: there can be no others.
        kinds: What the server serves now.
    """

    def __init__(
        self,
        backend: Backend,
        reactor: Any,
        *,
        random: Random,
        compaction: float,
        replica: str,
        kinds: Callable[[], Iterable[ServedKind]],
    ) -> None:
        self.replicas: Replicas | None = None
        """This server among those on the store; None: there can be no others."""
        if replica:
            self.replicas = Replicas(backend, reactor, name=replica, kinds=kinds, random=random)
        self.backend = ProbedBackend(backend, reactor, None if self.replicas is None else self.replicas.confirm)
        self.cacher = Cacher(self.backend, reactor)
        self.compactor = Compactor(self.backend, reactor, interval=compaction)

    def checks(self, name: str) -> list[NamedCheck]:
        """The health checks of the store.

        Args:
            name: That of the first.
        """
        return [
            NamedCheck(name, lambda: None if self.cacher.ready else "the cache does not follow the store"),
            # Not liveness: what is away comes again, and watches then go on from where they were.
            NamedCheck("storage-log", self.cacher.check_log, _READYZ),
            # Nor this: a restart does not help against a full disk.
            NamedCheck("storage-writes", self.backend.check, _READYZ),
        ]

    def replica_checks(self) -> list[NamedCheck]:
        """The health check of this server among others; none if there can be no others."""
        replicas = self.replicas
        return (
            [] if replicas is None else [NamedCheck("replicas", replicas.check, _READYZ, replicas.note, replicas.told)]
        )

    async def close(self) -> None:
        """Read no more, take the record of this server away, and close the store; compactions have been stopped before."""
        await self.cacher.stop()
        if self.replicas is not None:
            await self.replicas.stop()
        await self.backend.close()
