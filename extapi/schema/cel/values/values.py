"""How CEL's values stand in Python.

| CEL | Python |
|---|---|
| bool, int, double, string, bytes, null | bool, int, float, str, bytes, None |
| uint | :class:`UInt` |
| duration, timestamp | :class:`Duration`, :class:`Timestamp` |
| list, map, and objects of a schema | list, dict |
| the sum of two long lists | :class:`extapi.schema.cel.values.concatenation.ConcatList` |
| lists, maps and objects of a schema, where what they are compared with is not known | :class:`SchemaList`, :class:`SchemaMap` |
| lists of a schema that are sets or maps | :class:`SetList`, :class:`MapList` |
| optional | :class:`OptionalValue` |
| type | :class:`TypeValue` |
| quantity, url, ip, cidr, semver, named format | a class each, in their library, with a class variable ``cel_type`` |

An int has 64 bits, although Python's has more: whatever makes an int checks it. bool is a subclass of int in Python, and
UInt, Duration and Timestamp are as well, so a value's type is asked for with ``type(value) is int``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError, PanicError
from extapi.schema.cel.values.concatenation import ConcatList

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


class UInt(int):
    """A uint."""

    __slots__ = ()


class Duration(int):
    """A duration in nanoseconds, within 64 bits."""

    __slots__ = ()


class Timestamp(int):
    """A time, in nanoseconds since 1970 in UTC, between the years 1 and 9999.

    It has a dictionary only if it was given an offset, as ``string`` shows the zone that a time was written in.
    """

    offset: int = 0
    """Seconds east of UTC. It does not count in comparisons."""


class TypeValue:
    """A type as a value: ``int``, or ``type(x)``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class OptionalValue:
    """A value that may be absent. Equality is :func:`extapi.schema.cel.values.equality.equal`'s."""

    __slots__ = ("present", "value")

    def __init__(self, *, present: bool, value: Any = None) -> None:
        self.present = present
        self.value = value


NONE: Final = OptionalValue(present=False)
"""An absent value."""


def some(value: Any) -> OptionalValue:
    """A present value."""
    return OptionalValue(present=True, value=value)


class SchemaList(list[Any]):
    """A list of a schema. It is an error to compare it with something that is not a list."""

    __slots__ = ()


class SchemaMap(dict[Any, Any]):
    """A map or object of a schema. It is an error to compare it with something that is neither."""

    __slots__ = ()


class SetList(SchemaList):
    """A list of a schema with ``x-kubernetes-list-type: set``: equal whatever its order, and ``+`` is the union.

    Attributes:
        raw: The same as JSON. It is what Go looks elements up in.
    """

    __slots__ = ("raw",)

    def __init__(self, items: Iterable[Any] = (), raw: list[Any] | None = None) -> None:
        super().__init__(items)
        self.raw = self if raw is None else raw

    def members(self) -> set[tuple[type, Any]]:
        """The elements, each with its type, since 1 is not true.

        Source: ``k8s.io/apiserver/pkg/cel/common`` unstructuredSetList.getSet.
        """
        try:
            return {(each.__class__, each) for each in self.raw}
        except TypeError:
            raise PanicError("runtime error: hash of unhashable type") from None


class MapList(SchemaList):
    """A list of a schema with ``x-kubernetes-list-type: map``: equal whatever its order, and ``+`` merges by keys."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key_of(self, element: Any) -> tuple[Any, ...]:
        """What identifies an element: the values of its keys, each with its type, since 1 is not true.

        Source: ``k8s.io/apiserver/pkg/cel/common`` unstructuredMapList.toMapKey.
        """
        if not isinstance(element, dict):
            raise EvaluationError("unexpected data format for element of array with x-kubernetes-list-type=map")
        values = [element.get(key) for key in self.keys]
        if any(isinstance(each, (list, dict)) for each in values):  # Go panics, and cel-go recovers
            raise PanicError("runtime error: hash of unhashable type")
        return (*map(type, values), *values)


_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    UInt: "uint",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    list: "list",
    SchemaList: "list",
    SetList: "list",
    MapList: "list",
    ConcatList: "list",
    dict: "map",
    SchemaMap: "map",
    OptionalValue: "optional_type",
    TypeValue: "type",
}


def type_name(value: Any) -> str:
    """The name of a value's type, as ``type(value)`` has it."""
    found = _NAMES.get(type(value))
    return found if found is not None else value.cel_type.name


def of_type(value: Any) -> TypeValue:
    """``type(value)``."""
    return TypeValue(type_name(value))
