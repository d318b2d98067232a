"""Opens the stores that the commands name: to read one at one revision, or to write one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from typing import Any, NamedTuple

from extapi.console.failure import CommandFailure
from extapi.storage.base import Engine, UnusableStore
from extapi.storage.etcd.endpoints import EtcdOptions
from extapi.storage.url import open_backend
from extapi.storetool.source import LiveSource, Source, StoreSource, store_path


class NamedStore(NamedTuple):
    """A store of the command line."""

    url: str
    etcd: EtcdOptions | None
    """How its etcd is reached; None if it is not in etcd."""

    @property
    def name(self) -> str:
        """What an operator calls it."""
        return f"{self.url}{self.etcd.prefix}" if self.etcd else self.url


@asynccontextmanager
async def opened(store: NamedStore, reactor: Any, *, create: bool = True) -> AsyncIterator[Any]:
    """A store that can be written, and closed at the end; ``create``: in etcd, make one where there is none.

    Raises:
        CommandFailure: The URL names none that outlives its process, or its engine cannot be used.
        UnusableFile: Its file cannot be used.
    """
    if store.etcd is None:
        store_path(store.url)
    try:
        backend = open_backend(store.url, reactor, store.etcd and replace(store.etcd, create=create))
        try:
            if isinstance(backend, Engine):
                await backend.open()
            yield backend
        finally:
            await backend.close()
    except UnusableStore as error:
        raise CommandFailure(str(error)) from error


@asynccontextmanager
async def read(store: NamedStore, reactor: Any) -> AsyncIterator[Source]:
    """A store at one revision, also while servers have it open.

    Raises:
        CommandFailure: See :func:`opened`; or the store is being filled.
        UnusableFile: There is no store in the file.
    """
    if store.etcd is None:
        with closing(StoreSource(store.url)) as source:
            yield source
        return
    async with opened(store, reactor, create=False) as backend:
        yield await LiveSource.of(store.name, backend)
