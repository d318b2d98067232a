"""The columns that ``kubectl get`` prints: as an author declares them, and as tables are made from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from extapi.api.types import Obj


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``: the value at a JSON path, or the result of ``cell``.

    The object's name comes first, unless one of the columns is called ``Name``. In CRDs columns are
    ``additionalPrinterColumns``.

    Example::

        columns = [
            Column("Color", ".spec.color"),
            Column("Age", ".metadata.creationTimestamp", "date"),
            Column("Doors", type="integer", cell=lambda car: len(car["spec"].get("doors", []))),
        ]
    """

    name: str
    """The heading."""
    json_path: str = ""
    """Where the value is, such as ``.spec.color``. Give either this or ``cell``."""
    type: str = "string"
    """``string``, ``integer``, ``number``, ``boolean`` or ``date``, which is printed as an age."""
    format: str = ""
    """A hint for clients, such as ``int32``."""
    description: str = ""
    """What the column shows; by default a text that names the path."""
    priority: int = 0
    """Above 0: shown only with ``-o wide``."""
    cell: Callable[[Obj], Any] | None = None
    """Computes the value from the whole object, where no path will do. Must not change the object. For a date it
    returns the timestamp, for example ``2024-05-01T10:00:00Z``. If it raises, the cell shows ``<error>``."""


AGE: Final = Column(
    "Age",
    ".metadata.creationTimestamp",
    "date",
    description="CreationTimestamp is a timestamp representing the server time when this object was created. It is not "
    "guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is "
    "represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
)
"""The column of a kind without columns, as custom resources have it (``metav1.ObjectMeta`` SwaggerDoc)."""
