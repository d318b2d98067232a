"""Markers: what an author writes inside ``Annotated[...]`` to constrain a field.

Each names the keyword of a structural schema that it becomes (API concept "CustomResourceDefinition validation"); the
schema stage compiles them, nothing here checks anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Marker:
    """Base of all markers, so that the compiler can tell them from foreign annotations."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Minimum(Marker):
    """``minimum``: the least allowed number; with ``exclusive`` the number itself is not allowed."""

    value: float
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Maximum(Marker):
    """``maximum``: the greatest allowed number; with ``exclusive`` the number itself is not allowed."""

    value: float
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class MultipleOf(Marker):
    """``multipleOf``."""

    value: float


@dataclass(frozen=True, slots=True)
class MinLength(Marker):
    """``minLength``, in code points."""

    value: int


@dataclass(frozen=True, slots=True)
class MaxLength(Marker):
    """``maxLength``, in code points."""

    value: int


@dataclass(frozen=True, slots=True)
class Pattern(Marker):
    """``pattern``: a regular expression in Go's syntax (RE2), matched anywhere unless anchored."""

    value: str


@dataclass(frozen=True, slots=True)
class Format(Marker):
    """``format``, such as ``date-time``, ``ipv4``, ``int32``; unknown ones are published and not enforced."""

    value: str


@dataclass(frozen=True, slots=True)
class OneOf(Marker):
    """``enum``: the allowed values."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MinItems(Marker):
    """``minItems``."""

    value: int


@dataclass(frozen=True, slots=True)
class MaxItems(Marker):
    """``maxItems``."""

    value: int


@dataclass(frozen=True, slots=True)
class MinProperties(Marker):
    """``minProperties``."""

    value: int


@dataclass(frozen=True, slots=True)
class MaxProperties(Marker):
    """``maxProperties``."""

    value: int


@dataclass(frozen=True, slots=True)
class ListSet(Marker):
    """``x-kubernetes-list-type: set``: no value occurs twice."""


@dataclass(frozen=True, slots=True, init=False)
class ListMap(Marker):
    """``x-kubernetes-list-type: map``: items are objects, told apart by ``keys``."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)


@dataclass(frozen=True, slots=True)
class Atomic(Marker):
    """``x-kubernetes-list-type`` or ``-map-type: atomic``: the list or map has one owner and is replaced whole."""


@dataclass(frozen=True, slots=True)
class Nullable(Marker):
    """``nullable``: an explicit null is kept. Without it null is dropped, or replaced by the default."""


@dataclass(frozen=True, slots=True)
class PreserveUnknown(Marker):
    """``x-kubernetes-preserve-unknown-fields``: keep what the schema does not name. Use on ``dict[str, Any]``."""


@dataclass(frozen=True, slots=True)
class IntOrString(Marker):
    """``x-kubernetes-int-or-string``: use on ``int | str``."""


@dataclass(frozen=True, slots=True)
class EmbeddedResource(Marker):
    """``x-kubernetes-embedded-resource``: a whole object with apiVersion, kind and metadata."""


@dataclass(frozen=True, slots=True)
class Description(Marker):
    """``description``: the text that ``kubectl explain`` shows for this field."""

    text: str


@dataclass(frozen=True, slots=True)
class Default(Marker):
    """``default``: what the server fills in where the field is missing; for types where a Python default would not do."""

    value: Any


@dataclass(frozen=True, slots=True)
class Rule(Marker):
    """``x-kubernetes-validations``: a CEL rule. Not enforced yet, so a server with such a rule refuses to start."""

    rule: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class MergeKey(Marker):
    """``x-kubernetes-patch-strategy: merge``, with the key by which a strategic merge patch finds items.

    Without a key for lists of plain values, which are merged as sets. For the control plane's own kinds.
    """

    key: str = ""
