"""The process that :mod:`tests.attack.storekill` kills: writes as fast as it can, and says what was acknowledged.

``python -m tests.attack.storewriter PATH OLDEST``: forgets the past before OLDEST, meanwhile writes; each line on
stdout is one commit that returned: revision, key, and value or ``-`` for a delete.
"""

from __future__ import annotations

import os
import random
import sys
from itertools import count

from twisted.internet.defer import gatherResults

from extapi.privatereactor import drive, private_reactor
from extapi.storage.base import Backend
from extapi.storage.sqlite import SqliteBackend
from extapi.testing.stories import start

WRITERS = 16
HOUR = 3600.0


async def write(store: Backend, name: int) -> None:
    """Create, update and delete a few keys that nobody else writes, one after the other, for ever."""
    dice = random.Random()  # noqa: S311 - test data
    for number in count():
        key = b"/%d/%d" % (name, dice.randrange(5))
        live = await store.get(key)
        value = None if live and dice.random() < 0.2 else b"%d.%d" % (os.getpid(), number) + b"x" * dice.randrange(3000)
        revision = await store.commit(key, value, expected=live.revision if live else 0)
        os.write(1, b"%d %s %s\n" % (revision, key, b"-" if value is None else value))


async def main(store: Backend, oldest: int) -> None:
    """All at once, compaction too."""
    writers = [start(write(store, name)) for name in range(WRITERS)]
    await store.compact(oldest, expected=await store.oldest())
    await gatherResults(writers)


if __name__ == "__main__":
    with private_reactor() as reactor:
        drive(reactor, main(SqliteBackend(reactor, sys.argv[1]), int(sys.argv[2])), timeout=HOUR)
