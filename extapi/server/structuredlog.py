"""structlog, without the library that it takes along: import it from here.

structlog imports rich where it finds it, to show tracebacks in a terminal. A server writes JSON, and rich with its parsers
takes 3.5 MB, a twentieth of an idle server.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def _missing(package: str) -> Iterator[None]:
    """Meanwhile the package cannot be imported; one that already is stays as it is."""
    modules: dict[str, Any] = sys.modules
    if package in modules:
        yield
        return
    modules[package] = None
    try:
        yield
    finally:
        del modules[package]


with _missing("rich"):
    import structlog

__all__ = ["structlog"]
