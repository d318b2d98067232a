"""Objects as tables and as their metadata alone, for answers and for events of watches alike.

Responsible for: a Table or PartialObjectMetadata of one object, of a list or of an event, as bytes. Must not know requests,
nor who is answered. Source: ``k8s.io/apiserver/pkg/endpoints/handlers/response.go`` asTable, asPartialObjectMetadata and
asPartialObjectMetadataList.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from extapi.api.types import Obj
from extapi.clock import Clock, wall_time
from extapi.codec.options import IncludeObject
from extapi.codec.partial import partial, partial_list
from extapi.codec.protobufmeta import partial_bytes, partial_list_bytes
from extapi.codec.strictjson import encode
from extapi.codec.tables import Cell, Columns, RawCells, row, row_object, table, table_head
from extapi.registry.base import ObjectResult


@dataclass(frozen=True, slots=True)
class TableTransform:
    """Tables of one version of a kind, in JSON. Ages are those of the moment in which a table is made."""

    columns: Columns
    clock: Clock
    version: str = "v1"
    """Of meta.k8s.io: v1 or v1beta1."""
    include: IncludeObject = "Metadata"
    """What a row shows of its object."""

    def table(self, items: Iterable[ObjectResult], metadata: Obj) -> list[bytes]:
        """The table of some objects, in pieces; ``metadata``: the table's own."""
        now = wall_time(self.clock)
        rows = (self._row(item.cells(), item.decoded, now) for item in items)
        return list(table(self.columns.definitions, metadata, rows, version=self.version))

    def event(self, raw: RawCells, decoded: Callable[[], Obj], revision: int, *, first: bool) -> bytes:
        """The table of an event: one row. The columns come with a watcher's ``first`` one only (behaviour F20)."""
        return self._single(self._row(raw, decoded, wall_time(self.clock)), revision, first=first)

    def bookmark(self, obj: Obj, revision: int, *, first: bool) -> bytes:
        """The table of a bookmark: its row has no values, but always the object (observed on 1.36.3)."""
        include: IncludeObject = "Object" if self.include == "Object" else "Metadata"
        return self._single(self._written(self.columns.bookmark_cells(), obj, include), revision, first=first)

    def _row(self, raw: RawCells, decoded: Callable[[], Obj], now: float) -> bytes:
        cells = self.columns.render(raw, now)
        return row(cells, None) if self.include == "None" else self._written(cells, decoded(), self.include)

    def _written(self, cells: list[Cell], obj: Obj, include: IncludeObject) -> bytes:
        return row(cells, row_object(obj, include, version=self.version))

    def _single(self, only: bytes, revision: int, *, first: bool) -> bytes:
        definitions = self.columns.definitions if first else None
        return table_head(definitions, {"resourceVersion": str(revision)}, version=self.version) + only + b"]}"


@dataclass(frozen=True, slots=True)
class MetadataTransform:
    """Metadata of objects, in JSON or protobuf."""

    version: str = "v1"
    """Of meta.k8s.io: v1 or v1beta1."""
    protobuf: bool = False

    def object(self, obj: Obj) -> bytes:
        """The PartialObjectMetadata of an object."""
        if self.protobuf:
            return partial_bytes(obj, version=self.version)
        return encode(partial(obj, version=self.version))

    def list(self, objects: Iterable[Obj], metadata: Obj) -> bytes:
        """The PartialObjectMetadataList of some objects; ``metadata``: the list's own."""
        if self.protobuf:
            return partial_list_bytes(objects, metadata, version=self.version)
        return encode(partial_list(objects, metadata, version=self.version))
