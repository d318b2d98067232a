"""One watch from its request to its end, within a bounded time: what an informer and a resuming watch have in common.

A connection that died without a word would look like a collection in which nothing happens.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

from extapi.client.clock import Clock
from extapi.client.kube import Client, ResourceName, WatchEvent

WATCH_SECONDS = 300
"""Seconds one watch lasts at least; the server ends it, and it goes on where it was."""

WATCH_GRACE = 30
"""Seconds beyond that after which a watch that did not end is taken for dead."""


async def one_watch(
    client: Client,
    resource: ResourceName,
    *,
    namespace: str,
    query: Mapping[str, str],
    resource_version: str,
    clock: Clock,
    jitter: Callable[[], float],
) -> AsyncIterator[WatchEvent]:
    """The events after ``resource_version``, bookmarks among them, until the server ends the watch.

    Raises :class:`ApiError` and :class:`TransportError`. ``jitter``: random numbers in [0, 1), which spread the ends.
    """
    seconds = int(WATCH_SECONDS * (1 + jitter()))
    watch = await client.watch(
        resource,
        namespace=namespace,
        query={
            **query,
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
        },
    )
    watchdog = clock.callLater(seconds + WATCH_GRACE, watch.close)
    try:
        async for event in watch:
            yield event
    finally:
        if watchdog.active():
            watchdog.cancel()
        watch.close()
