"""What is read from: a store, or a backup of one, at one revision."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, Protocol

from extapi.console.failure import CommandFailure
from extapi.registry import replicarecord
from extapi.storage import filling, probe
from extapi.storage.base import Backend, Compacted, KeyValue
from extapi.storage.snapshot import FileSnapshot
from extapi.storage.url import lasting_path
from extapi.storetool.backupfile import BackupReader

PAGE: Final = 500
_OWN: Final = frozenset({filling.KEY, probe.KEY})


def is_own(key: bytes) -> bool:
    """Whether a key belongs to one store and its servers, and not to what the store holds."""
    return key in _OWN or key.startswith(replicarecord.PREFIX)


class Source(Protocol):
    """What is read from."""

    @property
    def name(self) -> str:
        """What an operator calls it."""
        ...

    @property
    def revision(self) -> int:
        """The revision that is read."""
        ...

    def entries(self) -> AsyncIterator[KeyValue]:
        """All keys in their order, without those of :func:`is_own`."""
        ...

    def close(self) -> None:
        """Nothing more will be read."""
        ...


class StoreSource:
    """An SQLite store; also one that a server has open.

    Args:
        url: Its URL.

    Raises:
        CommandFailure: The URL names no store that outlives its process, or it is being filled itself.
        UnusableFile: There is no store in the file.
    """

    def __init__(self, url: str) -> None:
        self.name = url
        self._snapshot = FileSnapshot(store_path(url))
        self.revision = self._snapshot.revision
        mark = self._snapshot.get(filling.KEY)
        if mark is not None:
            self.close()
            raise half_filled(url, mark)

    async def entries(self) -> AsyncIterator[KeyValue]:
        """See :meth:`Source.entries`."""
        after, more = b"", True
        while more:
            page = self._snapshot.page(b"", after, PAGE)
            for entry in page.entries:
                if not is_own(entry.key):
                    yield entry
            more = page.more
            after = page.entries[-1].key if page.entries else after

    def close(self) -> None:
        """See :meth:`Source.close`."""
        self._snapshot.close()


class LiveSource:
    """A store that several processes can have open at the same time, such as one in etcd. Whoever opened it closes it.

    Args:
        name: What an operator calls it.
        store: The store.
        revision: The revision that is read.
    """

    def __init__(self, name: str, store: Backend, revision: int) -> None:
        self.name = name
        self.revision = revision
        self._store = store

    @classmethod
    async def of(cls, name: str, store: Backend) -> LiveSource:
        """The store as it is now.

        Raises:
            CommandFailure: It is being filled itself.
            Unavailable: It cannot be read.
        """
        mark = await store.get(filling.KEY)
        if mark is not None:
            raise half_filled(name, mark)
        return cls(name, store, await store.revision())

    async def entries(self) -> AsyncIterator[KeyValue]:
        """See :meth:`Source.entries`.

        Raises:
            CommandFailure: It takes longer than the store's history is kept.
        """
        after, more = b"", True
        while more:
            try:
                page = await self._store.page(b"", at=self.revision, after=after, limit=PAGE)
            except Compacted as error:
                raise CommandFailure(
                    f"{self.name}: revision {self.revision} was compacted while it was read; run it again, with servers that "
                    "compact less often (--etcd-compaction-interval)"
                ) from error
            for entry in page.entries:
                if not is_own(entry.key):
                    yield entry
            more = page.more
            after = page.entries[-1].key if page.entries else after

    def close(self) -> None:
        """See :meth:`Source.close`."""


class BackupSource:
    """A backup.

    Args:
        path: Its file.

    Raises:
        CommandFailure: It is no backup, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._reader = BackupReader(path)
        header = self._reader.header
        self.name = f"{path}, a backup of {header.source} at {header.time}"
        self.revision = header.revision

    async def entries(self) -> AsyncIterator[KeyValue]:
        """See :meth:`Source.entries`."""
        for entry in self._reader:
            yield entry

    def close(self) -> None:
        """See :meth:`Source.close`."""


def half_filled(name: str, mark: KeyValue) -> CommandFailure:
    """What is wrong with a store that is being filled."""
    source = mark.value.decode(errors="replace")
    return CommandFailure(f"{name} has only a part of what it is being filled with from {source}; finish that first")


def store_path(url: str) -> Path:
    """The file of a store.

    Raises:
        CommandFailure: The URL names none that outlives its process.
    """
    try:
        return Path(lasting_path(url))
    except ValueError as error:
        raise CommandFailure(str(error)) from error
