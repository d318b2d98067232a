"""One watch from its request to its end, within a bounded time: for informers and for watches that resume.

The time is bounded because a dead connection looks like a collection in which nothing happens.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

from extapi.client.kube import Client, Obj, ReceivedEvent, ResourceName
from extapi.client.transport import TransportError
from extapi.clock import Clock, stop_timer

WATCH_SECONDS = 50
"""The least number of seconds that a watch lasts; then the server ends it, and the caller resumes it.

client-go's last ten times as long: it has HTTP/2, whose pings tell of a dead connection. Here the end of each watch does, and the
bookmark that comes two seconds before it (``k8s.io/apiserver/pkg/storage/cacher`` nextBookmarkTime)."""

WATCH_SPREAD = 5
"""Seconds by which watches differ, at most."""

WATCH_GRACE = 4
"""Seconds after that when a watch that has not ended is considered dead."""

LIVED = 1.0
"""Seconds after which a watch that ends has been one: the next may begin at once (client-go's VeryShortWatchError)."""


class ShortWatch(TransportError):
    """The server ended a watch at once."""


async def one_watch(
    client: Client,
    resource: ResourceName,
    *,
    namespace: str,
    query: Mapping[str, str],
    resource_version: str,
    clock: Clock,
    jitter: Callable[[], float],
    accepted: Callable[[], None] = lambda: None,
) -> AsyncIterator[ReceivedEvent]:
    """Iterate over the events after ``resource_version``, including bookmarks, until the watch ends.

    One that has lived and then breaks off has ended like any other: whatever is between here and the server may cut connections.

    Args:
        client: The client.
        resource: What to watch.
        namespace: The namespace; empty for all.
        query: Further parameters, such as selectors.
        resource_version: Where to begin.
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1), which spread the ends of watches.
        accepted: Called when the server has accepted it.

    Raises:
        ApiError: The server refused or ended the watch with an error.
        ShortWatch: It was over at once.
        TransportError: It did not begin, or broke off at once.

    Source: ``k8s.io/client-go/tools/cache`` reflector.go handleAnyWatch.
    """
    began = clock.seconds()
    seconds = WATCH_SECONDS + int((WATCH_SPREAD + 1) * jitter())
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
    accepted()
    watchdog = clock.callLater(seconds + WATCH_GRACE, watch.close)
    moved = False
    try:
        async for event in watch:
            moved = moved or (event.type != "BOOKMARK" and _version(event.object) != resource_version)
            yield event
    except TransportError:
        if not moved and clock.seconds() - began < LIVED:
            raise
    else:
        # Do not loop without a pause on a server that ends every watch at once, with a bookmark or without.
        if not moved and clock.seconds() - began < LIVED:
            raise ShortWatch("the server ends each watch at once")
    finally:
        stop_timer(watchdog)
        watch.close()


def _version(obj: Obj) -> str:
    return str((obj.get("metadata") or {}).get("resourceVersion", ""))
