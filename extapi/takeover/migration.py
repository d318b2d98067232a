"""Has a running server store every object of a resource anew, so that all are in the storage version.

Each object is patched with nothing but its own uid and resourceVersion: the server reads it, converts it, and writes it
unless its bytes stay the same. Knows neither the store nor which version that is.

Source: ``k8s.io/kubernetes/pkg/controller/storageversionmigrator``, which applies the same identity of each object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from extapi.client.kube import Client, Obj, ResourceName, items_of
from extapi.client.ratelimit import TokenBucket
from extapi.clock import Clock, sleep
from extapi.console.display import Report
from extapi.console.failure import told
from extapi.errors import ApiError, Conflict, Expired, Gone, NotFound
from extapi.takeover.cluster import PASSING
from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.replica import together

PAGE = 500
RUNNING = 8
"""Objects that are patched at a time."""
ATTEMPTS = 6
FIRST_DELAY = 0.5
"""How often a request is sent whose error may pass, and seconds before the second time; then twice as many each time."""
MANAGER = "extapi-migrate"


class MigrationPosition(msgspec.Struct):
    """Where a migration is. ``token``: of the next page; empty at the beginning."""

    server: str
    resource: str
    token: str = ""
    done: int = 0
    """Objects that have been looked at."""
    finished: bool = False


@dataclass
class Counts:
    """What became of the objects of this run."""

    written: int = 0
    """Stored anew."""
    unchanged: int = 0
    """Stored in that way already."""
    others: int = 0
    """Written or deleted since the list began, by somebody else or an earlier run: all writes store the storage version."""


class Migration:
    """One resource.

    Args:
        client: Sends the requests.
        clock: The reactor's clock.
        resource: What is migrated, in any served version.
        rate: Objects per second.
        position: Where to begin.
        save: Called with each new position.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        resource: ResourceName,
        *,
        rate: float,
        position: MigrationPosition,
        save: Callable[[MigrationPosition], None],
    ) -> None:
        self._client = client.metadata_only()
        self._clock = clock
        self._resource = resource
        self._bucket = TokenBucket(clock, rate=rate, burst=max(1.0, min(rate, float(RUNNING))))
        self._position = position
        self._save = save
        self.counts = Counts()

    async def run(self, report: Report = lambda _, __: None) -> Counts:
        """Migrate what is left.

        Raises:
            TakeoverFailure: The server refuses a write, or fails again and again.
        """
        while not self._position.finished:
            page = await self._page()
            items = items_of(page)
            for start in range(0, len(items), RUNNING):
                await together(self._migrate(obj) for obj in items[start : start + RUNNING])
                report(self._position.done + start, self._position.done + len(items) + _remaining(page))
            token = (page.get("metadata") or {}).get("continue", "")
            position = self._position
            self._position = MigrationPosition(
                position.server, position.resource, token, position.done + len(items), not token
            )
            self._save(self._position)
        return self.counts

    async def _page(self) -> Obj:
        """The next page.

        If the server has forgotten the moment of the first one, it goes on with the present: what has been written since
        is stored in the storage version anyway.
        """
        token = self._position.token
        for attempt in range(ATTEMPTS):
            query = {"limit": str(PAGE)} | ({"continue": token} if token else {})
            try:
                return await self._client.list(self._resource, query=query)
            except (Expired, Gone) as error:
                token = str(error.metadata.get("continue", ""))
            except PASSING as error:
                await self._pause(attempt, error)
            except ApiError as error:
                raise TakeoverFailure(f"{self._resource.path()} cannot be listed: {told(error)}") from error
        raise TakeoverFailure(f"{self._resource.path()} has expired {ATTEMPTS} times; run it again")

    async def _migrate(self, obj: Obj) -> None:
        """One object."""
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        patch = {"metadata": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}}
        for attempt in range(ATTEMPTS):
            await self._turn()
            try:
                result = await self._client.patch(
                    self._resource, name, patch, namespace=namespace, query={"fieldManager": MANAGER}
                )
            except (Conflict, NotFound):
                self.counts.others += 1
            except PASSING as error:
                await self._pause(attempt, error)
                continue
            except ApiError as error:
                where = f"{namespace}/{name}" if namespace else name
                raise TakeoverFailure(
                    f"{self._resource.resource} {where} cannot be written: {told(error)}. Put it right, or delete it, then "
                    "run the same command again"
                ) from error
            else:
                if result["metadata"]["resourceVersion"] == metadata["resourceVersion"]:
                    self.counts.unchanged += 1
                else:
                    self.counts.written += 1
            return

    async def _turn(self) -> None:
        """Wait until the rate allows one more."""
        while not self._bucket.take():
            await sleep(self._clock, self._bucket.wait())

    async def _pause(self, attempt: int, error: Exception) -> None:
        if attempt == ATTEMPTS - 1:
            raise TakeoverFailure(f"{self._resource.path()}: {told(error)}; run the same command again") from error
        await sleep(self._clock, FIRST_DELAY * 2**attempt)


def _remaining(page: Obj) -> int:
    return int((page.get("metadata") or {}).get("remainingItemCount") or 0)
