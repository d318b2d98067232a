"""A kind that is stored as another one: two groups, one storage.

Each has types, rules and columns of its own, and what is written through one is read and watched through the other. In
the store and in its cache there are only objects of the other kind. Source: ``events.k8s.io`` in Kubernetes, whose REST
storage is that of the core group's events.
"""

from __future__ import annotations

from collections.abc import Iterable

from extapi.api.declaration import DeclarationError
from extapi.api.definition import Kind
from extapi.api.native import Stored
from extapi.api.types import Obj
from extapi.codec.tables import RawCells
from extapi.registry.served import ServedKind


class SharedKind(ServedKind):
    """A compiled kind that is stored as ``base``. ``how``: what ``kind`` says about that."""

    def __init__(self, kind: Kind, group: str, how: Stored, base: ServedKind) -> None:
        super().__init__(kind, group)
        self.prefix = base.prefix
        self.error_group = base.group
        self._how = how
        self._base = base
        self._type = {"apiVersion": base.versions[base.kind.storage].api_version, "kind": base.kind.name}
        for version in self.versions.values():
            version.shape = version.api_version

    def is_stored_as(self, version: str) -> bool:
        """See :class:`ServedKind`: no version is."""
        del version
        return False

    def to_bytes(self, stored: Obj, version: str) -> bytes:
        """See :class:`ServedKind`: as an object of the other kind."""
        del version
        other = {**self._type, "metadata": stored["metadata"], **self._how.write(stored)}
        self._base.settle(other, self._base.kind.storage)
        return self._base.to_bytes(other, self._base.kind.storage)

    def from_stored(self, value: bytes, version: str) -> Obj:
        """See :class:`ServedKind`."""
        other = self._base.from_stored(value, self._base.kind.storage)
        stored = self.versions[self.kind.storage]
        own = {"apiVersion": stored.api_version, "kind": self.kind.name, "metadata": other["metadata"]}
        own |= self._how.read(other)
        self.settle(own, stored.name)
        if version != stored.name:
            own = self._converted(own, stored.name, version)
            self._shape_converted(own, version)
        return own

    def project(self, value: bytes, version: str) -> tuple[bytes, bytes]:
        """See :class:`ServedKind`; ``version``: as the cache calls it."""
        return super().project(value, _bare(version))

    def cells(self, value: bytes, version: str) -> RawCells:
        """See :class:`ServedKind`; ``version``: as the cache calls it."""
        return super().cells(value, _bare(version))

    def fields(self, value: bytes, version: str) -> dict[str, str]:
        """See :class:`ServedKind`; ``version``: as the cache calls it."""
        return super().fields(value, _bare(version))


def _bare(shape: str) -> str:
    return shape.rpartition("/")[2]


def shared_kind(kind: Kind, group: str, how: Stored, bases: Iterable[ServedKind]) -> SharedKind:
    """``kind``, compiled. Raises :class:`DeclarationError` where it is stored as a kind that is none of ``bases``."""
    for base in bases:
        if (base.group, base.kind.name) == (how.group, how.kind) and not base.virtual:
            return SharedKind(kind, group, how, base)
    raise DeclarationError(f"kind {kind.name}: is stored as {how.kind}, which group {how.group!r} does not store")
