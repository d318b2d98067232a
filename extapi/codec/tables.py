"""Tables: what kubectl prints.

Responsible for: the columns of a kind, the cells of an object, and the bytes of a Table for one object, a list, or a
watch. Cells are taken from an object once (:meth:`Columns.raw_cells`) and rendered each time they are written
(:meth:`Columns.render`), as ages change. Must not know where objects come from; reads no clock: ``now`` is an argument.
Source: spec G4, F20, J44; ``apiextensions-apiserver/pkg/registry/customresource/tableconvertor``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from extapi.api.jsonvalue import INT64, check
from extapi.api.strconv import has_form
from extapi.codec import strictjson
from extapi.codec.duration import human_duration
from extapi.codec.jsonpath import JSONPath
from extapi.codec.options import IncludeObject
from extapi.codec.partial import partial
from extapi.errors import go_float

__all__ = ["Cell", "ColumnLike", "Columns", "PrinterColumn", "RawCells", "row", "row_object", "table", "table_head"]

Cell = str | int | float | bool | None
RawCells = tuple[Cell, ...]
"""The name (unless a column of that name stands among the others), then a value a column.

Of dates the seconds since the epoch, or the text that stands for none.
"""

_NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a "
    "client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
_AGE_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed "
    "to be set in happens-before order across separate operations. Clients may not set this value. It is represented "
    "in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
_PIECE = 64 * 1024
"""Bytes that a piece of a table has before it is handed on."""


class ColumnLike(Protocol):
    """What a column has to say, as ``additionalPrinterColumns`` says it."""

    @property
    def name(self) -> str:
        """The heading."""
        ...

    @property
    def type(self) -> str:
        """string, integer, number, boolean or date."""
        ...

    @property
    def json_path(self) -> str:
        """Where the value is: ``.status.cost``."""
        ...

    @property
    def format(self) -> str:
        """A hint for clients; may be ""."""
        ...

    @property
    def description(self) -> str:
        """For readers; "" for a text made of the path."""
        ...

    @property
    def priority(self) -> int:
        """Above 0: only with ``-o wide``."""
        ...

    @property
    def cell(self) -> Callable[[dict[str, Any]], Any] | None:
        """Makes the value instead of the path."""
        ...


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column. ``type``: string, integer, number, boolean or date; ``priority`` above 0: only with ``-o wide``."""

    name: str
    type: str
    json_path: str
    format: str = ""
    description: str = ""
    priority: int = 0
    cell: Callable[[dict[str, Any]], Any] | None = None


_AGE = PrinterColumn("Age", "date", ".metadata.creationTimestamp", description=_AGE_DESCRIPTION)


class Columns:
    """The columns of a version of a kind, compiled. No columns given: name and age.

    The name comes first, unless a column called Name stands elsewhere (kube-apiserver's events do so).
    ``definitions`` are the columnDefinitions, encoded. Raises ``JSONPathError`` for a path that cannot be read.
    """

    __slots__ = ("_dates", "_finders", "definitions")

    def __init__(self, columns: Sequence[ColumnLike] = ()) -> None:
        used: Sequence[ColumnLike] = columns or (_AGE,)
        if all(column.name != _NAME.name for column in used):
            used = (_NAME, *used)
        self._finders = [(column.type, _finder(column)) for column in used]
        self._dates = [index for index, column in enumerate(used) if column.type == "date"]
        self.definitions = strictjson.encode([_definition(column) for column in used])

    def raw_cells(self, obj: dict[str, Any]) -> RawCells:
        """The cells of an object, dates not yet rendered. Missing, or not of the column's type: None."""
        return tuple(_cell(kind, find(obj)) for kind, find in self._finders)

    def render(self, raw: RawCells, now: float) -> list[Cell]:
        """The cells as they are written at ``now``, in seconds since the epoch."""
        cells = list(raw)
        for index in self._dates:
            moment = cells[index]
            if isinstance(moment, float):
                cells[index] = human_duration(now - moment)
        return cells

    def bookmark_cells(self) -> list[Cell]:
        """The cells of a bookmark, which has no name and no values."""
        return ["", *(None for _ in self._finders[1:])]


def _name(obj: dict[str, Any]) -> str:
    name: str = (obj.get("metadata") or {}).get("name", "")
    return name


_NAME = PrinterColumn("Name", "string", "", format="name", description=_NAME_DESCRIPTION, cell=_name)


def _finder(column: ColumnLike) -> Callable[[dict[str, Any]], Sequence[Any]]:
    """What finds the values of a column in an object. An author's function that fails is shown as such, and harms nobody."""
    make = column.cell
    if make is None:
        return JSONPath(column.json_path).find

    def find(obj: dict[str, Any]) -> Sequence[Any]:
        try:
            value = make(obj)
            check(value)
        except Exception:  # noqa: BLE001 - an author's code: whatever it raises, the other cells are shown
            return ("<error>",)
        return (value,)

    return find


def _definition(column: ColumnLike) -> dict[str, Any]:
    default = f"Custom resource definition column (in JSONPath format): {column.json_path}" if column.json_path else ""
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description or default,
        "priority": column.priority,
    }


def _cell(kind: str, found: Sequence[Any]) -> Cell:
    """What was found as a column of type ``kind`` shows it.

    Of several results a string column shows all, as ``kubectl -o custom-columns`` does; other types show the first.
    (Custom resources show the first of any, which of a list of toppings says too little.)
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
        # A float that no int64 holds is cut by Go to whatever the processor makes of it: nothing says more than that.
        whole = int(value)
        return whole if whole in INT64 else None
    return float(value) if kind == "number" and isinstance(value, int | float) else None


def _text(value: Any) -> str:
    """Any value as text: objects and lists as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or (isinstance(value, int) and value not in INT64):
        return go_float(value)
    return strictjson.encode(value).decode()


_TO_SECOND = len("2006-01-02T15:04:05")
_NANOS = 9
"""Digits of a fraction of a second that count."""


def _moment(text: str) -> float | str:
    """Seconds since the epoch, or the text that is shown instead."""
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
    signed = has_form(zone, b"+00:00") or has_form(zone, b"-00:00")
    if not signed or not has_form(second, b"0000-00-00T00:00:00"):
        return "<invalid>"
    # The year 0 is one to Go and none to Python. Which early year it is makes no difference: ages end at 292 years.
    local = "0004" + second[4:] if second.startswith("0000") else second
    try:
        moment = datetime.fromisoformat(local + zone)
    except ValueError:
        return "<invalid>"
    return moment.timestamp() + float(f"0.{fraction or 0}")


def row_object(obj: Mapping[str, Any], include: IncludeObject, *, version: str = "v1") -> bytes | None:
    """What a row carries of its object, encoded; None for ``include`` None."""
    if include == "None":
        return None
    return strictjson.encode(dict(obj) if include == "Object" else partial(obj, version=version))


def row(cells: Sequence[Cell], encoded: bytes | None) -> bytes:
    """A row; ``encoded`` as :func:`row_object` makes it."""
    return b'{"cells":%b,"object":%b}' % (strictjson.encode(list(cells)), b"null" if encoded is None else encoded)


def table_head(definitions: bytes | None, metadata: Mapping[str, Any], *, version: str = "v1") -> bytes:
    """A Table up to its first row; ``]}`` ends it. ``definitions`` None: null, as in later events of a watch."""
    return b'{"kind":"Table","apiVersion":"meta.k8s.io/%b","metadata":%b,"columnDefinitions":%b,"rows":[' % (
        version.encode(),
        strictjson.encode(dict(metadata)),
        b"null" if definitions is None else definitions,
    )


def table(
    definitions: bytes | None, metadata: Mapping[str, Any], rows: Iterable[bytes], *, version: str = "v1"
) -> Iterator[bytes]:
    """A whole Table in pieces of about 64 KiB. ``metadata``: resourceVersion, and of lists continue and remainingItemCount.

    For an event of a watch: one row, the object's resourceVersion, and ``definitions`` only in the first event.
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
