"""Tables: what kubectl prints (behaviour F20, G4, J44).

Responsible for: the columns of a kind, the cells of an object, and the bytes of a Table for one object, a list or a
watch. Cells are taken from an object once (:meth:`Columns.raw_cells`) and rendered each time they are written
(:meth:`Columns.render`), because ages change. Must not know where objects come from. Reads no clock: ``now`` is an
argument.

Source: ``apiextensions-apiserver/pkg/registry/customresource/tableconvertor``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from extapi.api.column import AGE, Column
from extapi.api.jsonvalue import INT64, check_json
from extapi.api.strconv import has_pattern
from extapi.codec import strictjson
from extapi.codec.columnpath import MISSING, ColumnPath, ColumnPathError
from extapi.codec.humanduration import human_duration
from extapi.codec.jsonpath import JSONPath
from extapi.codec.options import IncludeObject
from extapi.codec.partial import partial
from extapi.errors import go_float

__all__ = ["Cell", "Columns", "RawCells", "row", "row_object", "table", "table_head"]

Cell = str | int | float | bool | None
RawCells = tuple[Cell, ...]
"""The cells of an object, one per column, before dates are rendered.

A date is in seconds since the epoch, or a text if there is none.
"""

_NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a "
    "client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
_PIECE = 64 * 1024
"""Bytes of a piece of a table."""


class Columns:
    """The columns of one version of a kind, compiled; by default name and age.

    The name comes first, unless one of the columns is called Name (as in kube-apiserver's events). ``definitions`` has
    the encoded columnDefinitions. With ``defined`` they are those of a CustomResourceDefinition: the name always comes first,
    and a cell shows the first result of its path, which is read as by client-go.

    Raises:
        JSONPathError: A path cannot be read.
    """

    __slots__ = ("_dates", "_finders", "definitions")

    def __init__(self, columns: Sequence[Column] = (), *, defined: bool = False) -> None:
        used: Sequence[Column] = columns or (AGE,)
        if defined or all(column.name != _NAME.name for column in used):
            used = (_NAME, *used)
        finders = _defined(used) if defined else [_finder(column) for column in used]
        used = used[: len(finders)]
        self._finders = [(column.type, find) for column, find in zip(used, finders, strict=True)]
        self._dates = [index for index, column in enumerate(used) if column.type == "date"]
        self.definitions = strictjson.encode([_definition(column) for column in used])

    def raw_cells(self, obj: dict[str, Any]) -> RawCells:
        """The cells of an object before dates are rendered. A value that is missing, or of another type, is None."""
        return tuple(_cell(kind, find(obj)) for kind, find in self._finders)

    def render(self, raw: RawCells, now: float) -> list[Cell]:
        """The cells as they are written at ``now`` (in seconds since the epoch)."""
        cells = list(raw)
        for index in self._dates:
            moment = cells[index]
            if isinstance(moment, float):
                cells[index] = human_duration(now - moment)
        return cells

    def bookmark_cells(self) -> list[Cell]:
        """The cells of a bookmark, which has neither name nor values."""
        return ["", *(None for _ in self._finders[1:])]


def _name(obj: dict[str, Any]) -> str:
    name: str = (obj.get("metadata") or {}).get("name", "")
    return name


_NAME = Column("Name", format="name", description=_NAME_DESCRIPTION, cell=_name)


_Find = Callable[[dict[str, Any]], Sequence[Any]]


def _defined(columns: Sequence[Column]) -> list[_Find]:
    """What finds the values of a definition's columns: at most one each, and none from the first path on that cannot be read."""
    finders: list[_Find] = []
    for column in columns:
        try:
            finders.append(_finder(column) if column.cell is not None else _first(column))
        except ColumnPathError:
            break
    return finders


def _first(column: Column) -> _Find:
    path = ColumnPath(column.json_path)
    null = "<no value>" if column.type == "string" else None  # what Go's templates print

    def find(obj: dict[str, Any]) -> Sequence[Any]:
        found = path.first(obj)
        return () if found is MISSING else (null if found is None else found,)

    return find


def _finder(column: Column) -> _Find:
    """A function that finds the values of a column in an object.

    If the author's ``cell`` fails, the cell shows ``<error>``.
    """
    make = column.cell
    if make is None:
        return JSONPath(column.json_path).find

    def find(obj: dict[str, Any]) -> Sequence[Any]:
        try:
            value = make(obj)
            check_json(value)
        except Exception:  # noqa: BLE001 - author's code: whatever it raises, the other cells are shown
            return ("<error>",)
        return (value,)

    return find


def _definition(column: Column) -> dict[str, Any]:
    default = f"Custom resource definition column (in JSONPath format): {column.json_path}" if column.json_path else ""
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description or default,
        "priority": column.priority,
    }


def _cell(kind: str, found: Sequence[Any]) -> Cell:
    """The cell for the results of a path, in a column of type ``kind``.

    A string column shows all results, as ``kubectl -o custom-columns`` does; other types show the first. (Of custom
    resources that too, which for a list of toppings is too little.)
    """
    if not found or found[0] is None:
        return None
    if kind == "string":
        return ",".join(map(_text, found)) if len(found) > 1 else _text(found[0])
    value = found[0]
    if kind == "date":
        return _moment(value) if isinstance(value, str) else None
    if isinstance(value, bool):
        return value if kind == "boolean" else None
    if kind == "integer" and isinstance(value, int | float):
        # Go turns a float that no int64 holds into whatever the processor makes of it; here it has no cell.
        whole = int(value)
        return whole if whole in INT64 else None
    return float(value) if kind == "number" and isinstance(value, int | float) else None


def _text(value: Any) -> str:
    """A value as text; objects and lists as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or (isinstance(value, int) and value not in INT64):
        return go_float(value)
    return strictjson.encode(value).decode()


_TO_SECOND = len("2006-01-02T15:04:05")
_NANOS = 9
"""Digits of a fraction of a second that are read."""


def _moment(text: str) -> float | str:
    """A time in seconds since the epoch, or the text to show instead."""
    if text in ("", "null", "0001-01-01T00:00:00Z"):
        return "<unknown>"
    second, zone = text[:_TO_SECOND], text[_TO_SECOND:]
    fraction = ""
    if zone[:1] in (".", ","):
        digits = zone[1:]
        zone = digits.lstrip("0123456789")
        fraction = digits[: min(len(digits) - len(zone), _NANOS)]
        if not fraction:
            return "<invalid>"
    if zone == "Z":
        zone = "+00:00"
    signed = has_pattern(zone, b"+00:00") or has_pattern(zone, b"-00:00")
    if not signed or not has_pattern(second, b"0000-00-00T00:00:00"):
        return "<invalid>"
    # Go has a year 0, Python has none. Any early year will do: ages end at 292 years.
    local = "0004" + second[4:] if second.startswith("0000") else second
    try:
        moment = datetime.fromisoformat(local + zone)
    except ValueError:
        return "<invalid>"
    return moment.timestamp() + float(f"0.{fraction or 0}")


def row_object(obj: Mapping[str, Any], include: IncludeObject, *, version: str = "v1") -> bytes | None:
    """What a row includes of its object, encoded; None if ``include`` is ``None``."""
    if include == "None":
        return None
    return strictjson.encode(dict(obj) if include == "Object" else partial(obj, version=version))


def row(cells: Sequence[Cell], encoded: bytes | None) -> bytes:
    """A row; ``encoded`` is the result of :func:`row_object`."""
    return b'{"cells":%b,"object":%b}' % (strictjson.encode(list(cells)), b"null" if encoded is None else encoded)


def table_head(definitions: bytes | None, metadata: Mapping[str, Any], *, version: str = "v1") -> bytes:
    """A Table up to its first row; ``]}`` ends it.

    Without ``definitions`` it has null, as in later events of a watch.
    """
    return b'{"kind":"Table","apiVersion":"meta.k8s.io/%b","metadata":%b,"columnDefinitions":%b,"rows":[' % (
        version.encode(),
        strictjson.encode(dict(metadata)),
        b"null" if definitions is None else definitions,
    )


def table(
    definitions: bytes | None, metadata: Mapping[str, Any], rows: Iterable[bytes], *, version: str = "v1"
) -> Iterator[bytes]:
    """A whole Table in pieces of about 64 KiB.

    ``metadata`` has resourceVersion, and for lists continue and remainingItemCount. An event of a watch has one row and
    the object's resourceVersion; only the first event has ``definitions``.
    """
    pieces = [table_head(definitions, metadata, version=version)]
    size = 0
    separator = b""
    for item in rows:
        pieces += (separator, item)
        separator = b","
        size += len(item)
        if size >= _PIECE:
            yield b"".join(pieces)
            pieces, size = [], 0
    pieces.append(b"]}")
    yield b"".join(pieces)
