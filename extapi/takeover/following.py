"""Follows the objects of a kind: a list, then watches from there, written into a replica.

As client-go's Reflector does: bookmarks advance the resourceVersion, 410 leads to a new list, failures back off. Unlike an
informer it keeps no objects in memory, and each change is in the store before the next one of the same object.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred

from extapi.client.kube import Obj, ReceivedEvent, items_of
from extapi.client.watching import one_watch
from extapi.clock import sleep
from extapi.console.display import Report
from extapi.errors import Expired, Gone
from extapi.takeover.cluster import PASSING, Cluster
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.replica import Replica, together

PENDING = 2000
"""Changed objects that may wait for the store; then no more events are read."""
FIRST_DELAY, LAST_DELAY = 0.5, 30.0
"""Seconds before a failed request is sent again: the first time, and at most."""
ATTEMPTS = 10
"""How often a list is attempted."""


class DefinitionFollower:
    """Keeps a replica up to date.

    Args:
        cluster: Where the objects are.
        replica: Where they go.
        jitter: Returns random numbers in [0, 1), which spread the ends of watches.
        problem: Called with what went wrong, if it is tried again.
    """

    def __init__(
        self, cluster: Cluster, replica: Replica, *, jitter: Callable[[], float], problem: Callable[[str], None]
    ) -> None:
        self._cluster = cluster
        self._replica = replica
        self._jitter = jitter
        self._problem = problem
        self.version = ""
        """The resourceVersion up to which everything has been read."""
        self.count = 0
        """How many objects the last list had."""
        self.lists = 0
        """How many lists were complete."""
        self._pending: dict[bytes, Obj | None] = {}
        self._writing: Deferred[None] | None = None

    async def copy(self, report: Report = lambda _, __: None) -> None:
        """Make the replica what a list shows: all of one moment.

        Raises:
            TakeoverFailure: An object cannot be stored, or the list fails again and again.
            ApiError: The list is refused.
            Unavailable: The store cannot be written.
        """
        delay = FIRST_DELAY
        for attempt in range(ATTEMPTS):
            try:
                await self._list(report)
            except (Expired, Gone, *PASSING) as error:
                # What is copied is recognized, and not written again.
                if attempt == ATTEMPTS - 1:
                    raise TakeoverFailure(
                        f"listing {self._replica.kind.name} failed {ATTEMPTS} times, at last with: {error}; run it again"
                    ) from error
                self._problem(f"listing {self._replica.kind.name} again after: {error}")
                await sleep(self._cluster.clock, delay)
                delay = min(delay * 2, LAST_DELAY)
            else:
                self.lists += 1
                return

    async def _list(self, report: Report) -> None:
        seen: set[bytes] = set()
        version = ""
        async for page in self._cluster.pages(self._replica.kind.resource):
            objects = items_of(page)
            await together(self._replica.put(obj) for obj in objects)
            seen.update(map(self._replica.kind.key, objects))
            metadata = page.get("metadata") or {}
            version = str(metadata.get("resourceVersion", ""))
            report(len(seen), len(seen) + int(metadata.get("remainingItemCount") or 0))
        await self._replica.keep_only(seen)
        self.count = len(seen)
        self.version = version

    async def follow(self) -> None:
        """Watch until cancelled; call :meth:`copy` first, and :meth:`written` afterwards.

        Raises:
            TakeoverFailure: An object cannot be stored.
            ApiError: The watch is refused.
            Unavailable: The store cannot be written.
        """
        delay = FIRST_DELAY
        while True:
            before = self.version
            try:
                await self._watch()
            except (Expired, Gone) as error:
                await self.written()
                self._problem(f"listing {self._replica.kind.name} again after: {error}")
                await self.copy()
            except PASSING as error:
                self._problem(f"watching {self._replica.kind.name} again after: {error}")
            delay = FIRST_DELAY if self.version != before else min(delay * 2, LAST_DELAY)
            if self.version == before:  # no loop without a pause on a server that ends every watch at once
                await sleep(self._cluster.clock, delay * (1 + self._jitter()))

    async def _watch(self) -> None:
        watch = one_watch(
            self._cluster.client,
            self._replica.kind.resource,
            namespace="",
            query={},
            resource_version=self.version,
            clock=self._cluster.clock,
            jitter=self._jitter,
        )
        async for event in watch:
            self._take(event)
            if len(self._pending) >= PENDING or (self._writing is not None and self._writing.called):
                await self.written()

    def _take(self, event: ReceivedEvent) -> None:
        """Note a change. Of several of one object only the last one is written: nobody watches the store yet."""
        if event.type != "BOOKMARK":
            self._pending[self._replica.kind.key(event.object)] = None if event.type == "DELETED" else event.object
        self.version = str(event.object["metadata"].get("resourceVersion") or self.version)
        if self._pending and self._writing is None:
            self._writing = Deferred.fromCoroutine(self._write())

    async def _write(self) -> None:
        while self._pending:
            batch, self._pending = self._pending, {}
            await together(
                self._replica.remove(key) if obj is None else self._replica.put(obj) for key, obj in batch.items()
            )

    async def written(self) -> None:
        """Wait until everything that was read is in the store.

        Raises:
            TakeoverFailure: An object cannot be stored.
            Unavailable: The store cannot be written.
        """
        while self._writing is not None:
            writing, self._writing = self._writing, None
            await writing
            if self._pending:
                self._writing = Deferred.fromCoroutine(self._write())
