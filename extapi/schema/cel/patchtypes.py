"""The types that expressions of mutations can make: ``Object``, ``Object.spec`` and the like, and ``JSONPatch``.

An object's type is known by its name only. Whether such fields exist is found out when the object is merged, and whether the
name is the path of fields that leads there, when it is taken apart.

Source: ``k8s.io/apiserver/pkg/cel/mutation`` DynamicTypeResolver and JSONPatchType, ``.../mutation/dynamic`` ObjectType.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.types import DYN, STRING, Type, struct
from extapi.schema.cel.values.made import JSON_PATCH, MadeObject, MadeOperation
from extapi.schema.cel.values.values import Duration, Timestamp, UInt

OBJECT: Final = struct("Object")
"""The type of a whole object."""


class _Fields(dict[str, Type]):
    """The types of fields, and one for all others."""

    def __init__(self, others: Type, known: Mapping[str, Type]) -> None:
        super().__init__(known)
        self._others = others

    def get(self, key: str, _default: Any = None) -> Type:
        return super().get(key, self._others)


# What an operation does not have is of a type that nothing but a value of any type fits.
_OPERATION: Final = _Fields(Type("unspecified", ""), {"from": STRING, "op": STRING, "path": STRING, "value": DYN})
_ANY_FIELD: Final = _Fields(DYN, {})


_GO_TYPES: Final[Mapping[type, str]] = {
    bool: "bool",
    bytes: "[]uint8",
    float: "float64",
    int: "int64",
    type(None): "structpb.NullValue",
    Duration: "time.Duration",
    Timestamp: "time.Time",
    UInt: "uint64",
}


def patch_type(name: str) -> Type | None:
    """The type with that name; None if it is none of these."""
    if name == JSON_PATCH.name:
        return JSON_PATCH
    return struct(name) if name == OBJECT.name or name.startswith("Object.") else None


def patch_fields(name: str) -> Mapping[str, Type] | None:
    """The types of the fields of the type with that name; None if it is none of these. All fields exist."""
    if name == JSON_PATCH.name:
        return _OPERATION
    return None if patch_type(name) is None else _ANY_FIELD


def maker(type_: Type) -> Callable[[Mapping[str, Any]], Any]:
    """What makes a value of one of these types, given its fields by name; it may raise EvaluationError."""
    if type_ == JSON_PATCH:
        return _operation

    def made(fields: Mapping[str, Any]) -> MadeObject:
        return MadeObject(type_, fields)

    return made


def _operation(fields: Mapping[str, Any]) -> MadeOperation:
    made = MadeOperation()
    for name, value in fields.items():
        if name == "value":
            made.value = value
        elif name not in _OPERATION:
            raise EvaluationError(f"unexpected JSONPatchType field: {name}")
        elif not isinstance(value, str):
            raise EvaluationError(f"unexpected type {_go_native(value)} for JSONPatchType '{name}' field")
        else:
            setattr(made, "source" if name == "from" else name, value)
    return made


def _go_native(value: Any) -> str:
    """The type of what a value is in Go, without CEL around it."""
    return _GO_TYPES.get(type(value)) or ("[]interface {}" if isinstance(value, list) else "map[string]interface {}")
