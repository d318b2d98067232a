"""A mark in a store that is being filled from elsewhere: until it is taken away, the store has not all objects.

Whoever fills a store sets it; a server refuses to serve such a store, since clients would take what is missing for deleted.
"""

from __future__ import annotations

from extapi.storage.base import Backend
from extapi.storage.file import UnusableFile

KEY = b"/extapi/filling"
"""The key of the mark; it belongs to no resource. The value says from where, in words."""


async def half_filled(backend: Backend) -> str | None:
    """Why the store cannot be served: somebody has begun to fill it, and not ended. None: it can be.

    Raises:
        Unavailable: The store cannot be read now.
    """
    entry = await backend.get(KEY)
    if entry is None:
        return None
    source = entry.value.decode(errors="replace")
    return f"the store has only a part of what it is being filled with from {source}; run that again"


async def check_filled(backend: Backend) -> None:
    """Check that the store is not half filled.

    Raises:
        UnusableFile: It is; the text says what to do.
        Unavailable: The store cannot be read now.
    """
    why = await half_filled(backend)
    if why is not None:
        raise UnusableFile(why)
