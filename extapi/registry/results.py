"""Objects for answers: from the cache, where they are encoded, or from a write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from extapi.api.types import Obj
from extapi.codec.strictjson import Parts, join
from extapi.codec.tables import RawCells
from extapi.registry.base import ObjectResult
from extapi.registry.served import ServedKind
from extapi.watch.cachedobject import CachedObject


class CachedResult:
    """A cached object in one version."""

    __slots__ = ("_serialized", "revision")

    def __init__(self, cached: CachedObject, version: str) -> None:
        self._serialized = cached.serialized(version)
        self.revision = cached.revision

    def encoded(self) -> bytes:
        """See :class:`extapi.registry.base.ObjectResult`."""
        return self._serialized.with_revision(self.revision)

    def decoded(self) -> Obj:
        """See :class:`extapi.registry.base.ObjectResult`."""
        obj: Obj = msgspec.json.decode(self.encoded())
        return obj

    def cells(self) -> RawCells:
        """See :class:`extapi.registry.base.ObjectResult`."""
        return self._serialized.raw_cells()


class CachedResults:
    """The cached objects of a list, in one version."""

    __slots__ = ("_objects", "_version")

    def __init__(self, objects: Sequence[CachedObject], version: str) -> None:
        self._objects = objects
        self._version = version

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[CachedResult]:
        return (CachedResult(cached, self._version) for cached in self._objects)

    def encoded(self) -> list[bytes]:
        """See :class:`extapi.registry.base.ObjectResults`."""
        version = self._version
        # Nearly always, the first serialization is the one, and fit to be sent: no call per object of a long list.
        return [
            first.data
            if (first := cached.first) is not None and first.data and first.representation.version == version
            else cached.serialized(version).with_revision(cached.revision)
            for cached in self._objects
        ]


def unserialized(objects: Sequence[CachedObject], version: str) -> list[CachedObject]:
    """Those objects that may have to be serialized in ``version`` before they can be sent."""
    return [cached for cached in objects if (first := cached.first) is None or first.representation.version != version]


class ObjectResultList:
    """The objects of a list that come from no cache, or from several lists."""

    __slots__ = ("_items",)

    def __init__(self, items: Sequence[ObjectResult]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[ObjectResult]:
        return iter(self._items)

    def encoded(self) -> list[bytes]:
        """See :class:`extapi.registry.base.ObjectResults`."""
        return [item.encoded() for item in self._items]


class EncodedResult:
    """An object of a write, which has been encoded for the store or the cache."""

    __slots__ = ("_encoded", "_kind", "_version", "revision")

    def __init__(self, kind: ServedKind, version: str, parts: Parts, revision: int) -> None:
        self._kind = kind
        self._version = version
        self._encoded = join(*parts, revision) if revision else b"".join(parts)
        self.revision = revision

    def encoded(self) -> bytes:
        """See :class:`extapi.registry.base.ObjectResult`."""
        return self._encoded

    def decoded(self) -> Obj:
        """See :class:`extapi.registry.base.ObjectResult`."""
        obj: Obj = msgspec.json.decode(self._encoded)
        return obj

    def cells(self) -> RawCells:
        """See :class:`extapi.registry.base.ObjectResult`."""
        return self._kind.raw_cells(self.decoded(), self._version)


class DecodedResult:
    """An object that is deleted, or of a virtual kind."""

    __slots__ = ("_kind", "_obj", "_version", "revision")

    def __init__(self, kind: ServedKind, version: str, obj: Obj, revision: int) -> None:
        self._kind = kind
        self._version = version
        self._obj = obj
        self.revision = revision

    def encoded(self) -> bytes:
        """See :class:`extapi.registry.base.ObjectResult`."""
        return self._kind.encode(self._obj)

    def decoded(self) -> Obj:
        """See :class:`extapi.registry.base.ObjectResult`."""
        return self._obj

    def cells(self) -> RawCells:
        """See :class:`extapi.registry.base.ObjectResult`."""
        return self._kind.raw_cells(self._obj, self._version)
