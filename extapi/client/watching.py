"""One watch from its request to its end, within a bounded time: for informers and for watches that resume.

The time is bounded because a dead connection looks like a collection in which nothing happens.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

from extapi.client.kube import Client, ReceivedEvent, ResourceName
from extapi.clock import Clock, stop_timer

WATCH_SECONDS = 300
"""The least number of seconds that a watch lasts; then the server ends it, and the caller resumes it."""

WATCH_GRACE = 30
"""Seconds after that when a watch that has not ended is considered dead."""


async def one_watch(
    client: Client,
    resource: ResourceName,
    *,
    namespace: str,
    query: Mapping[str, str],
    resource_version: str,
    clock: Clock,
    jitter: Callable[[], float],
) -> AsyncIterator[ReceivedEvent]:
    """Iterate over the events after ``resource_version``, including bookmarks, until the server ends the watch.

    Args:
        client: The client.
        resource: What to watch.
        namespace: The namespace; empty for all.
        query: Further parameters, such as selectors.
        resource_version: Where to begin.
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1), which spread the ends of watches.

    Raises:
        ApiError: The server refused or ended the watch with an error.
        TransportError: The watch broke off, or was dead.
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
        stop_timer(watchdog)
        watch.close()
