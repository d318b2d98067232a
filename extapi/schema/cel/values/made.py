"""What an expression of a mutation makes: objects of any fields, and operations of a JSON patch.

Source: ``k8s.io/apiserver/pkg/cel/mutation`` JSONPatchVal, ``k8s.io/apiserver/pkg/cel/mutation/dynamic`` ObjectVal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from extapi.schema.cel.types import Type, struct
from extapi.schema.cel.values.equality import equal

JSON_PATCH: Final = struct("JSONPatch")
"""The type of an operation."""
UNSET: Final[Any] = object()
"""The value of an operation that has none, where None is null."""


class MadeObject:
    """``Object.spec{replicas: 3}``: an object of which nothing is known but the name of its type.

    Attributes:
        cel_type: Its type.
        fields: By name, in the order in which they were written.
    """

    __slots__ = ("cel_type", "fields")

    def __init__(self, cel_type: Type, fields: Mapping[str, Any]) -> None:
        self.cel_type = cel_type
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MadeObject)
            and self.cel_type == other.cel_type
            and self.fields.keys() == other.fields.keys()
            and all(_identical(value, other.fields[name]) for name, value in self.fields.items())
        )

    __hash__ = None  # type: ignore[assignment]  # it is no key


class MadeOperation:
    """``JSONPatch{op: "add", path: "/spec/replicas", value: 3}``.

    Attributes:
        op: The operation.
        path: Where; empty if not given.
        source: ``from``; empty if not given.
        value: The value, or :data:`UNSET`.
    """

    __slots__ = ("op", "path", "source", "value")
    cel_type: ClassVar[Type] = JSON_PATCH

    def __init__(self, op: str = "", path: str = "", source: str = "", value: Any = UNSET) -> None:
        self.op = op
        self.path = path
        self.source = source
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MadeOperation):
            return False
        if (self.op, self.path, self.source) != (other.op, other.path, other.source):
            return False
        if self.value is UNSET or other.value is UNSET:
            return self.value is other.value
        return equal(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]  # it is no key


def _identical(one: Any, other: Any) -> bool:
    """Whether two fields hold the same, down to their types.

    kube-apiserver compares them with reflect.DeepEqual, to which two lists of CEL are never equal: they hold functions.
    """
    if isinstance(one, list) or isinstance(other, list):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_identical(value, other[key]) for key, value in one.items())
    return type(one) is type(other) and bool(one == other)
