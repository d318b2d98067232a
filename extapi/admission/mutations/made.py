"""From values of CEL to JSON: of whole objects, and of values in a JSON patch.

A value that an expression repeats costs the expression nothing, so what is made is bounded here.

Source: ``k8s.io/apiserver/pkg/cel/mutation/dynamic`` ObjectVal, ``cel-go/common/types`` ConvertToNative,
``google.golang.org/protobuf/types/known/structpb``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

from extapi.admission.expressions.evaluating import Expired, ExpressionError
from extapi.api.types import Obj
from extapi.codec import strictjson
from extapi.errors import go_quote
from extapi.schema.cel.values.conversions import duration_to_string, timestamp_to_string
from extapi.schema.cel.values.made import MadeObject
from extapi.schema.cel.values.showing import go_type, show
from extapi.schema.cel.values.values import Duration, OptionalValue, Timestamp, TypeValue, UInt, type_name

MAX_MADE: Final = 3 * 1024 * 1024
"""Bytes, about, that one mutation may make: no larger object can be stored."""
_STEP: Final = 4096
"""Values after which the clock is looked at."""
_SAFE: Final = 2**53 - 1
_INT64: Final = 2**63
_GO_TYPES: Final[Mapping[type, str]] = {
    bytes: "[]uint8",
    type(None): "structpb.NullValue",
    Duration: "time.Duration",
    Timestamp: "time.Time",
    UInt: "uint64",
}
_KEYS: Final[Mapping[type, str]] = {
    bool: "type conversion error from bool to 'string'",
    int: "unsupported type conversion from 'int' to string",
    UInt: "unsupported type conversion from 'uint' to string",
}
"""Why keys are no names."""


class MutationError(ExpressionError):
    """A mutation that fails. The text is kube-apiserver's."""


class _UnmarshalableError(Exception):
    """There is no JSON for a value."""


class Foreign:
    """A value of a field that is no JSON: no type of a field fits it.

    Attributes:
        go_type: Its type in Go.
        value: The value.
    """

    __slots__ = ("go_type", "value")

    def __init__(self, go_type: str, value: Any = None) -> None:
        self.go_type = go_type
        self.value = value

    def __str__(self) -> str:
        return self.go_type


class Allowance:
    """How much may still be made. One belongs to all values of one mutation.

    Args:
        expired: Says that time is up.
        most: Bytes.
    """

    __slots__ = ("_expired", "_left", "_most", "_taken")

    def __init__(self, expired: Expired | None = None, most: int = MAX_MADE) -> None:
        self._expired = expired
        self._most = self._left = most
        self._taken = 0

    def take(self, size: int) -> None:
        """Take that many bytes.

        Raises:
            MutationError: There are not as many, or time is up.
        """
        self._left -= size
        if self._left < 0:
            raise MutationError(f"the expression makes more than {self._most} bytes")
        self._taken += 1
        if self._taken % _STEP == 0 and self._expired is not None and self._expired():
            raise MutationError("operation interrupted")


def check_type_names(made: MadeObject, allowance: Allowance) -> None:
    """Check that the name of each object's type is the path of fields that leads to it.

    Args:
        made: The object.
        allowance: Of this check, not of what is made of the object.

    Raises:
        MutationError: It is not.
    """
    problems = list(_misnamed(made, made.cel_type.name, allowance, 0))
    if problems:
        raise MutationError("type mismatch: " + "\n".join(problems))


def _misnamed(value: Any, path: str, allowance: Allowance, depth: int) -> Iterator[str]:
    _check_depth(depth)
    allowance.take(6)
    if isinstance(value, MadeObject):
        name = value.cel_type.name
        if name != path:
            expected = f"expected {go_quote(path)}, which matches field name path from root Object type"
            yield f"unexpected type name {go_quote(name)}, {expected}"
        for field, each in value.fields.items():
            yield from _misnamed(each, f"{path}.{field}", allowance, depth + 1)
    elif isinstance(value, list):
        for each in value:
            if not isinstance(each, str):
                yield from _misnamed(each, path, allowance, depth + 1)
    elif isinstance(value, dict):
        for each in value.values():
            if not isinstance(each, str):
                yield from _misnamed(each, path, allowance, depth + 1)


def _check_depth(depth: int) -> None:
    if depth > strictjson.MAX_DEPTH:
        raise MutationError(f"the expression makes an object that is nested deeper than {strictjson.MAX_DEPTH} levels")


def object_of(made: MadeObject, allowance: Allowance) -> Obj:
    """An object as it is merged: JSON but for what is :class:`Foreign`.

    Raises:
        MutationError: It is too large, or none.
    """
    try:
        return _object(made, allowance, 0)
    except _UnmarshalableError:
        raise MutationError("invalid return type: *dynamic.ObjectVal") from None


def _object(made: MadeObject, allowance: Allowance, depth: int) -> Obj:
    _check_depth(depth)
    result: Obj = {}
    for name, value in made.fields.items():
        allowance.take(len(name) + 4)
        if isinstance(value, dict) and (wrong := _wrong_key(value)):
            raise _UnmarshalableError(f"fail to convert field {go_quote(name)}: {wrong}")
        result[name] = _native(value, allowance, depth + 1)
    return result


def _native(value: Any, allowance: Allowance, depth: int) -> Any:
    """A value of a field."""
    kind = type(value)
    if kind is str:
        allowance.take(len(value) + 3)
        return value
    allowance.take(6)
    if kind is bool or kind is int:
        return value
    if kind is float:
        return _number(value)
    if kind is MadeObject:
        try:
            return _object(value, allowance, depth)
        except _UnmarshalableError:
            return Foreign("*types.Err")
    _check_depth(depth)
    if isinstance(value, list):
        return [None if each is None else _native(each, allowance, depth + 1) for each in value]
    if isinstance(value, dict):
        return {
            _key(key, allowance): None if each is None else _native(each, allowance, depth + 1)
            for key, each in value.items()
        }
    if kind is OptionalValue:
        return _native(value.value, allowance, depth + 1) if value.present else None
    if kind is TypeValue:
        return value.name
    return Foreign(_GO_TYPES.get(kind) or go_type(value), value)


def _wrong_key(value: dict[Any, Any]) -> str:
    """Why a map cannot be a field; empty if it can."""
    for key in value:
        if not isinstance(key, str):
            return f"map key {_go_character(key)} is of type {go_type(key)}, not string"
    return ""


def _go_character(key: Any) -> str:
    """A key as Go quotes it."""
    if type(key) is int and 0x20 < key < 0x7F:
        return f"'{chr(key)}'"
    return f"'\\x{key:02x}'" if type(key) is int and 0 <= key < 0x100 else show(key)


def _key(key: Any, allowance: Allowance) -> str:
    if not isinstance(key, str):
        raise _UnmarshalableError(_KEYS.get(type(key), "unsupported type conversion to string"))
    allowance.take(len(key) + 4)
    return key


def _number(value: float) -> int | float:
    """A double as those see it who read it as JSON: without a fraction it is an integer."""
    if value.is_integer() and -_INT64 <= value < _INT64:
        return int(value)
    return value


def value_of(value: Any, allowance: Allowance) -> Any:
    """The JSON of a value in a JSON patch.

    Raises:
        MutationError: It has none, or is too large.
    """
    try:
        return _json(value, allowance, 0)
    except _UnmarshalableError as error:
        text = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
        raise MutationError(f"{text}: {error}") from None


def _json(value: Any, allowance: Allowance, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        allowance.take(len(value) + 3)
        return value
    allowance.take(6)
    if value is None or kind is bool:
        return value
    if kind is int or kind is UInt:
        return int(value) if -_SAFE <= value <= _SAFE else str(int(value))
    if kind is float:
        return _number(_finite(value, "Value"))
    if kind is bytes:
        allowance.take(len(value) * 2)
        return base64.b64encode(value).decode()
    if kind is Duration:
        return duration_to_string(value)
    if kind is Timestamp:
        return timestamp_to_string(value)
    _check_depth(depth)
    if kind is MadeObject:
        return _rounded(_object(value, allowance, depth), allowance)
    if isinstance(value, list):
        return [_json(each, allowance, depth + 1) for each in value]
    if isinstance(value, dict):
        return {_key(key, allowance): _json(each, allowance, depth + 1) for key, each in value.items()}
    if kind is OptionalValue:
        if not value.present:
            raise _UnmarshalableError("optional.none() dereference")
        return _json(value.value, allowance, depth + 1)
    if kind is TypeValue:
        raise _UnmarshalableError("type conversion not supported for 'type'")
    name = type_name(value).rpartition(".")[2]
    raise _UnmarshalableError(f"type conversion error from '{name}' to '*structpb.Value'")


def _finite(value: float, message: str) -> float:
    if value - value == 0:
        return value
    shown = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"  # noqa: PLR0124 - no number is not itself
    why = f"proto: google.protobuf.Value.number_value: invalid {shown} value"
    raise _UnmarshalableError(f"json: error calling MarshalJSON for type *structpb.{message}: {why}")


def _rounded(value: Any, allowance: Allowance) -> Any:
    """An object whose numbers have been doubles."""
    kind = type(value)
    if kind is int:
        return _number(float(value)) if abs(value) > _SAFE else value
    if kind is float:
        return _finite(value, "Struct")
    if isinstance(value, list):
        return [_rounded(each, allowance) for each in value]
    if isinstance(value, dict):
        return {key: _rounded(each, allowance) for key, each in value.items()}
    if kind is Foreign:
        if type(value.value) is UInt:
            return _number(float(value.value))
        if type(value.value) is bytes:
            allowance.take(len(value.value) * 2)
            return base64.b64encode(value.value).decode()
        raise _UnmarshalableError(f"proto: invalid type: {value}")
    return value
