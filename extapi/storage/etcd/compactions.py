"""What etcd is compacted to, whoever did it: a watch from the first revision is told. Knows no calls but that watch."""

from __future__ import annotations

from extapi.clock import Clock
from extapi.storage.base import Compacted
from extapi.storage.etcd import wire
from extapi.storage.etcd.watch import WatchedLog, WatchTail


async def compacted_to(log: WatchedLog, clock: Clock) -> int:
    """The store's oldest revision after the last compaction; 0 if there was none.

    Args:
        log: The store's.
        clock: For bounds.

    Raises:
        Unavailable: etcd does not tell.
    """
    tail = WatchTail(_FirstWatch(log), clock, 0)
    try:
        await tail.__anext__()
    except Compacted as error:
        return error.oldest
    except StopAsyncIteration:
        pass
    finally:
        tail.close()
    return 0


class _FirstWatch:
    """The log of a watch that only asks how far etcd is compacted."""

    def __init__(self, log: WatchedLog) -> None:
        self.offset = 0
        self.key = log.key
        self.compacted = log.compacted
        self.watch = log.watch
        self.refused = log.refused
        self.noticed = log.noticed

    async def begins(self, tail: WatchTail, after: int) -> int:
        """A mark is asked for, so that a watch of which nothing is compacted comes to an end, too."""
        del tail, after
        return 1

    def seen(self, revision: int) -> None:
        """What it sees is no revision of the store."""

    def changed(self, event: wire.EtcdEvent) -> None:
        """Nor are its changes the next ones."""

    def ended(self, tail: WatchTail) -> None:
        """Nobody waits for it."""
