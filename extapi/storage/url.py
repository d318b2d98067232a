"""Which backend a URL names: the values of ``--storage``."""

from __future__ import annotations

from typing import Any

from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend
from extapi.storage.sqlite import SqliteBackend

_SQLITE = "sqlite:///"


def parse_url(url: str) -> str:
    """The path that ``sqlite:///relative/path`` or ``sqlite:////absolute/path`` names; the empty string for ``memory:``.

    The path is taken as it is written, nothing in it is percent-decoded. Raises ``ValueError`` for any other URL.
    """
    if url == "memory:":
        return ""
    path = url.removeprefix(_SQLITE)
    if path == url or not path or path.endswith("/") or "?" in path or "#" in path or "\0" in path:
        raise ValueError(f"storage {url!r}: expected memory: or sqlite:///PATH (four slashes for an absolute path)")
    return path


def open_backend(url: str, reactor: Any) -> Backend:
    """Open what ``url`` names (:func:`parse_url`). ``reactor`` provides ``IReactorTime`` and ``IReactorFDSet``.

    Raises ``ValueError`` for a wrong URL, :class:`~extapi.storage.file.UnusableFile` for a file that cannot be used.
    """
    path = parse_url(url)
    return SqliteBackend(reactor, path) if path else MemoryBackend(reactor)
