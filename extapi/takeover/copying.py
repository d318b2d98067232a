"""The store that takes objects over, opened, and the followers that fill it: one per kind.

Knows neither freezes nor APIServices.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from extapi.console.display import bar, say
from extapi.storage.sqlite import SqliteBackend
from extapi.takeover.cluster import Cluster
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.following import DefinitionFollower
from extapi.takeover.moved import MovedKind
from extapi.takeover.record import ImportRecord, read_record, write_record
from extapi.takeover.replica import Replica


class Copies:
    """The copies of several kinds in one store. Close it.

    Args:
        cluster: Where the objects are.
        kinds: What is copied.
        reactor: The reactor.
        path: The store's file.

    Raises:
        UnusableFile: The file cannot be used; another process may have it.
    """

    def __init__(self, cluster: Cluster, kinds: Sequence[MovedKind], reactor: Any, path: Path) -> None:
        self._cluster = cluster
        self._backend = SqliteBackend(reactor, path)
        self.replicas = [Replica(self._backend, kind) for kind in kinds]
        self.followers = [
            DefinitionFollower(cluster, replica, jitter=random.random, problem=say) for replica in self.replicas
        ]
        self._following: list[Deferred[None]] = []

    async def copy(self) -> None:
        """Copy everything once.

        Raises:
            TakeoverFailure: It cannot be copied; the text says why.
        """
        for replica, follower in zip(self.replicas, self.followers, strict=True):
            page = await self._cluster.client.list(replica.kind.resource, query={"limit": "1"})
            await replica.prepare(int(page["metadata"]["resourceVersion"]))
            before = replica.written
            with bar(replica.kind.name) as report:
                await follower.copy(report)
            say(
                f"copied {replica.kind.name}: {follower.count} objects at resourceVersion {follower.version}, "
                f"{replica.written - before} of them written"
            )
            await self._verify(replica, follower)

    async def _verify(self, replica: Replica, follower: DefinitionFollower) -> None:
        """Check that the store has as many objects as the list had.

        Raises:
            TakeoverFailure: It has not.
        """
        count = await replica.count()
        if count != follower.count:
            raise TakeoverFailure(
                f"{replica.kind.name}: the cluster has {follower.count} objects, the store {count}; run it again"
            )

    def follow(self) -> None:
        """Begin to follow the changes of all kinds."""
        self._following = [Deferred.fromCoroutine(each.follow()) for each in self.followers]

    async def followed(self) -> None:
        """Wait until following fails, or the caller is cancelled.

        Raises:
            Exception: Why it failed.
        """
        ended: Deferred[None] = Deferred()

        def end(failure: Any) -> None:
            if not ended.called:
                ended.errback(failure)

        for each in self._following:
            each.addErrback(end)
        await ended

    async def hold(self) -> None:
        """End following; everything that was read is in the store afterwards."""
        following, self._following = self._following, []
        for each in following:
            each.cancel()
            with contextlib.suppress(CancelledError):
                await each
        for follower in self.followers:
            await follower.written()

    async def complete(self, freezes: Sequence[str]) -> int:
        """Copy the frozen state and record that this is all; ``freezes``: one token per kind.

        Returns:
            How many objects there are.

        Raises:
            TakeoverFailure: It cannot be copied.
        """
        for replica, follower, freeze in zip(self.replicas, self.followers, freezes, strict=True):
            await follower.copy()
            await self._verify(replica, follower)
            record = await read_record(self._backend, replica.kind)
            if record is None:
                raise TakeoverFailure(f"the store has lost its record of {replica.kind.name}; run it again")
            revision = await self._backend.revision()
            await write_record(
                self._backend,
                replica.kind,
                ImportRecord(record.definition, record.floor, freeze, follower.count, revision),
            )
        return sum(follower.count for follower in self.followers)

    def positions(self) -> list[tuple[MovedKind, str]]:
        """Up to which resourceVersion each kind was read."""
        return [(each.kind, of.version) for each, of in zip(self.replicas, self.followers, strict=True)]

    async def close(self) -> None:
        """End following and close the store."""
        for each in self._following:
            each.addErrback(lambda _: None)
            each.cancel()
        await self._backend.close()
