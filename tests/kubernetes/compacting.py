"""Make a store in a file forget its past: ``python -m tests.kubernetes.compacting FILE``, while no server has it open.

A server does the same, but only with what is older than five minutes.
"""

from __future__ import annotations

import sys
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react

from extapi.storage.sqlite import SqliteBackend


async def compact(reactor: Any, path: str) -> None:
    """Nothing before the present is left: a watch that would begin there has to be refused (410)."""
    store = SqliteBackend(reactor, path)
    await store.compact(await store.revision(), expected=await store.oldest())
    await store.close()


if __name__ == "__main__":
    react(lambda reactor, path: Deferred.fromCoroutine(compact(reactor, path)), sys.argv[1:])
