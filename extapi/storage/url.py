"""Storage URLs, the values of ``--storage``, and the backends they name."""

from __future__ import annotations

from typing import Any

from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend
from extapi.storage.sqlite import SqliteBackend

_SQLITE = "sqlite:///"


def parse_url(url: str) -> str:
    """Parse a storage URL.

    Args:
        url: ``memory:``, ``sqlite:///relative/path`` or ``sqlite:////absolute/path``. The path is not percent-decoded.

    Returns:
        The path; empty for ``memory:``.

    Raises:
        ValueError: Any other URL.
    """
    if url == "memory:":
        return ""
    path = url.removeprefix(_SQLITE)
    if path == url or not path or path.endswith("/") or "?" in path or "#" in path or "\0" in path:
        raise ValueError(f"storage {url!r}: expected memory: or sqlite:///PATH (four slashes for an absolute path)")
    return path


def open_backend(url: str, reactor: Any) -> Backend:
    """Open the store that a URL names.

    Args:
        url: See :func:`parse_url`.
        reactor: Provides ``IReactorTime`` and ``IReactorFDSet``.

    Raises:
        ValueError: The URL is wrong.
        UnusableFile: The file cannot be used as a store.
    """
    path = parse_url(url)
    return SqliteBackend(reactor, path) if path else MemoryBackend(reactor)
