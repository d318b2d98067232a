"""A kind that is stored as another one: two groups, one storage.

Each has its own types, rules and columns, and what is written through one can be read and watched through the other. The
store and its cache hold objects of the other kind only. A write through one group drops the managers who wrote through the
other, since a group has no types but its own (observed on 1.36.3; ``GenericAPIServer.getOpenAPIModels`` in
``k8s.io/apiserver/pkg/server`` makes a type converter per API prefix). Source: ``kubernetes/pkg/registry/events/rest/storage_events.go``,
where ``events.k8s.io`` uses the storage of the core group's events.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from extapi.api.behaviour import StoredAs
from extapi.api.declaration import DeclarationError
from extapi.api.definition import Kind
from extapi.api.types import Obj
from extapi.codec.strictjson import Parts
from extapi.codec.tables import RawCells
from extapi.registry.served import ServedKind


class SharedKind(ServedKind):
    """A compiled kind that is stored as ``base``; ``how``: between the two."""

    def __init__(self, kind: Kind, group: str, how: StoredAs, base: ServedKind) -> None:
        super().__init__(kind, group)
        self.layout = base.layout
        self.error_group = base.group
        self._how = how
        self._base = base
        self._type = {"apiVersion": base.versions[base.kind.storage].api_version, "kind": base.kind.name}
        for version in self.versions.values():
            version.representation = version.api_version

    @property
    def base(self) -> ServedKind:
        """The kind that it is stored as."""
        return self._base

    def is_stored_as(self, version: str) -> bool:
        """See :class:`ServedKind`. No version is."""
        del version
        return False

    def to_storage(self, obj: Obj, version: str, hub: Any = None) -> Obj:
        """See :class:`ServedKind`. It becomes an object of the other kind."""
        stored = super().to_storage(obj, version, hub)
        other = {**self._type, "metadata": stored["metadata"], **self._how.write(stored)}
        self._base.prune_and_default(other, self._base.kind.storage)
        return other

    def shown(self, stored: Obj, version: str) -> Obj:
        """See :class:`ServedKind`."""
        other = self._base.shown(stored, self._base.kind.storage)
        storage = self.versions[self.kind.storage]
        own = {"apiVersion": storage.api_version, "kind": self.kind.name, "metadata": other["metadata"]}
        own |= self._how.read(other)
        self.prune_and_default(own, storage.name)
        if version != storage.name:
            own = self._converted(own, storage.name, version)
            self._normalize_converted(own, version)
        return own

    def project(self, value: bytes, version: str) -> Parts:
        """See :class:`ServedKind`; ``version``: the name of its representation in the cache."""
        return super().project(value, _bare(version))

    def cells(self, value: bytes, version: str) -> RawCells:
        """See :class:`ServedKind`; ``version``: the name of its representation in the cache."""
        return super().cells(value, _bare(version))

    def fields(self, value: bytes, version: str) -> dict[str, str]:
        """See :class:`ServedKind`; ``version``: the name of its representation in the cache."""
        return super().fields(value, _bare(version))


def _bare(representation: str) -> str:
    return representation.rpartition("/")[2]


def shared_kind(kind: Kind, group: str, how: StoredAs, bases: Iterable[ServedKind]) -> SharedKind:
    """``kind``, compiled.

    Raises:
        DeclarationError: It is stored as a kind that is none of ``bases``.
    """
    for base in bases:
        if (base.group, base.kind.name) == (how.group, how.kind) and not base.virtual:
            return SharedKind(kind, group, how, base)
    raise DeclarationError(f"kind {kind.name}: is stored as {how.kind}, which group {how.group!r} does not store")
