"""Objects on their way out: from the cache, where they are encoded already, or fresh from a write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from extapi.api.types import Obj
from extapi.codec.strictjson import encode
from extapi.codec.tables import RawCells
from extapi.registry.base import Rendering
from extapi.registry.served import ServedKind
from extapi.watch.entry import Entry


class CachedRendering:
    """An entry of the cache in one version."""

    __slots__ = ("_entry", "_form", "revision")

    def __init__(self, entry: Entry, version: str) -> None:
        self._entry = entry
        self._form = entry.encoded(version)
        self.revision = entry.revision

    def encoded(self) -> bytes:
        """See :class:`extapi.registry.base.Rendering`."""
        return self._form.joined(self.revision)

    def decoded(self) -> Obj:
        """See :class:`extapi.registry.base.Rendering`."""
        obj: Obj = msgspec.json.decode(self.encoded())
        return obj

    def cells(self) -> RawCells:
        """See :class:`extapi.registry.base.Rendering`."""
        return self._form.raw_cells()


class CachedRenderings:
    """Entries of the cache in one version; what a list shows."""

    __slots__ = ("_entries", "_version")

    def __init__(self, entries: Sequence[Entry], version: str) -> None:
        self._entries = entries
        self._version = version

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[CachedRendering]:
        return (CachedRendering(entry, self._version) for entry in self._entries)

    def encoded(self) -> list[bytes]:
        """See :class:`extapi.registry.base.Renderings`."""
        version = self._version
        return [entry.encoded(version).joined(entry.revision) for entry in self._entries]


class FreshRenderings:
    """Objects that are in no cache, or come of several lists, as one list shows them."""

    __slots__ = ("_items",)

    def __init__(self, items: Sequence[Rendering]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Rendering]:
        return iter(self._items)

    def encoded(self) -> list[bytes]:
        """See :class:`extapi.registry.base.Renderings`."""
        return [item.encoded() for item in self._items]


class FreshRendering:
    """An object that was just written, or would have been (dry run), or is not stored at all."""

    __slots__ = ("_kind", "_obj", "_version", "revision")

    def __init__(self, kind: ServedKind, version: str, obj: Obj, revision: int) -> None:
        self._kind = kind
        self._version = version
        self._obj = obj
        self.revision = revision

    def encoded(self) -> bytes:
        """See :class:`extapi.registry.base.Rendering`."""
        return encode(self._obj)

    def decoded(self) -> Obj:
        """See :class:`extapi.registry.base.Rendering`."""
        return self._obj

    def cells(self) -> RawCells:
        """See :class:`extapi.registry.base.Rendering`."""
        return self._kind.raw_cells(self._obj, self._version)
