"""Storage URLs, the values of ``--storage``, and the backends they name.

A package can bring a store: an entry point of the group ``extapi.storage`` makes its name the scheme of URLs. It refers to a
callable that gets the URL and the reactor, and returns a :class:`~extapi.storage.base.Backend`; it raises ValueError if the
URL is wrong. It is imported when the store is opened, and must not wait: what takes time belongs to the first calls.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from random import Random
from typing import Any

from extapi.storage.base import Backend, UnusableStore
from extapi.storage.etcd.endpoints import EtcdOptions
from extapi.storage.etcd.hpackpackage import require_hpack
from extapi.storage.memory import MemoryBackend
from extapi.storage.sqlite import SqliteBackend

GROUP = "extapi.storage"
"""The group of entry points."""
ETCD = "etcd:"
"""The URL of the store in etcd; flags say where etcd is."""
_SQLITE = "sqlite:///"
_BUILT_IN = frozenset({"memory", "sqlite", "etcd"})
"""Schemes that no package can take."""


def parse_url(url: str) -> str:
    """Parse the URL of a store that is part of extapi.

    Args:
        url: ``memory:``, ``sqlite:///relative/path`` or ``sqlite:////absolute/path``. The path is not percent-decoded.
            Directories may be called anything. The file's name holds neither ``?`` nor ``#``, which would be meant as options.

    Returns:
        The path; empty for ``memory:``.

    Raises:
        ValueError: Any other URL.
    """
    if url == "memory:":
        return ""
    path = url.removeprefix(_SQLITE)
    name = path.rpartition("/")[2]
    if path == url or not name or "?" in name or "#" in name or "\0" in path:
        raise ValueError(f"storage {url!r}: expected memory: or sqlite:///PATH (four slashes for an absolute path)")
    return path


def sqlite_path(url: str) -> str | None:
    """The path of a store in SQLite; None if the URL names another one."""
    return parse_url(url) if url.startswith(_SQLITE) else None


def lasting_path(url: str) -> str:
    """The path of a store that outlives its process, for commands that work on one.

    Raises:
        ValueError: The URL names no such store of extapi.
    """
    path = parse_url(url)
    if not path:
        raise ValueError("memory: ends with its process; name the sqlite:///PATH of the server's --storage")
    return path


def _brought(url: str) -> EntryPoint | None:
    """The entry point of the package that brings the store; None if the store is, or would have to be, part of extapi.

    Raises:
        ValueError: Two packages bring it.
    """
    name, colon, _ = url.partition(":")
    if not colon or name in _BUILT_IN:
        return None
    found = tuple(entry_points(group=GROUP, name=name))
    if len({point.value for point in found}) > 1:
        raise ValueError(f"storage {url!r}: several packages bring it: {', '.join(point.value for point in found)}")
    return found[0] if found else None


def check_url(url: str) -> None:
    """Check that a URL names a store, of extapi or of an installed package, whose code is not imported yet.

    Raises:
        ValueError: It names none.
    """
    if url != ETCD and _brought(url) is None:
        parse_url(url)


def open_backend(url: str, reactor: Any, etcd: EtcdOptions | None = None) -> Backend:
    """Open the store that a URL names.

    Args:
        url: See :func:`parse_url`; or ``etcd:``, or of a store that a package brings.
        reactor: Provides ``IReactorTime``, ``IReactorTCP`` and ``IReactorFDSet``.
        etcd: How etcd is reached, for ``etcd:``.

    Raises:
        ValueError: The URL is wrong.
        UnusableStore: It names what cannot be used as a store: a file, or the code of a package.
    """
    if url == ETCD and etcd is not None:
        return _etcd(reactor, etcd)
    brought = _brought(url)
    if brought is None:
        path = parse_url(url)
        return SqliteBackend(reactor, path) if path else MemoryBackend(reactor)
    try:
        opener = brought.load()
    except (ImportError, AttributeError) as error:
        raise UnusableStore(f"storage {url!r}: {brought.value} cannot be imported: {error}") from error
    try:
        backend = opener(url, reactor)
    except ValueError as error:
        raise UnusableStore(f"storage {url!r}: {error}") from error
    if not isinstance(backend, Backend):
        raise UnusableStore(
            f"storage {url!r}: {brought.value} returned a {type(backend).__name__}, which is no extapi.storage.base.Backend"
        )
    return backend


def _etcd(reactor: Any, options: EtcdOptions) -> Backend:
    require_hpack()
    from extapi.storage.etcd.backend import EtcdBackend  # noqa: PLC0415 - an extra that only this store needs

    # By chance, so that the members share the watches of all servers.
    return EtcdBackend(reactor, options, first=Random().randrange(len(options.servers) or 1))  # noqa: S311 - no secret
