"""Green threads in place of the standard library's: what gevent and eventlet replace when a module asks for it, and whose work it is.

A server's event loop needs the system's own ``select``, sockets, threads and forks. Must not import either library.
"""

from __future__ import annotations

import importlib
from typing import Final

_REPLACED: Final = (("_thread", "start_new_thread"), ("os", "fork"), ("select", "select"), ("socket", "socket"))
"""What one of the parts of ``gevent.monkey.patch_all`` and ``eventlet.monkey_patch`` replaces, for each part that matters."""
_LIBRARIES: Final = frozenset({"eventlet", "gevent"})
"""Others replace some of these as well, such as debuggers, and the servers work with them."""


def replaced_by() -> tuple[str, list[str]] | None:
    """The library that has replaced parts of the standard library, and the modules of these; None: none has."""
    library, parts = "", []
    for module, name in _REPLACED:
        owner = str(getattr(getattr(importlib.import_module(module), name), "__module__", "")).partition(".")[0]
        if owner in _LIBRARIES:
            library = owner
            parts.append(module.lstrip("_"))
    return (library, parts) if parts else None
