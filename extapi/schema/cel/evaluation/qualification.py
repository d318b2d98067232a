"""Fields of objects, keys of maps and indices of lists, as they are asked for at run time.

Source: ``cel-go/interpreter`` attributes.go (refQualify), ``cel-go/common/types`` map.go and list.go.
"""

from __future__ import annotations

from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.evaluation.reading import Typed, read
from extapi.schema.cel.values.showing import LONGEST, show
from extapi.schema.cel.values.values import UInt, type_name


class _Absent:
    """The type of :data:`ABSENT`."""

    __slots__ = ()


ABSENT: Final[Any] = _Absent()
"""There is no such field, key or index."""

KEYS: Final = frozenset({bool, float, int, str, UInt})
"""What can be asked for by ``[]``."""
_NUMBERS: Final = frozenset({int, UInt, float})


def find(mapping: dict[Any, Any], key: Any) -> Any:
    """The value of a key, or ABSENT. Numbers are the same key whatever their type; true and 1 are not."""
    kind = type(key)
    try:
        found = mapping.get(key, ABSENT)
    except TypeError:  # a list or a map, which is no key
        return ABSENT
    if found is not ABSENT and (kind is bool or kind in _NUMBERS) and key in (0, 1):
        for each, value in mapping.items():
            if each == key and (type(each) is bool) is (kind is bool):
                return value
        return ABSENT
    return found


def index_of(index: Any) -> int:
    """The index that a value stands for.

    Raises:
        EvaluationError: It stands for none.
    """
    kind = type(index)
    if kind is int:
        return int(index)
    if kind is float:
        if index.is_integer() and -(2.0**63) <= index < 2.0**63:
            return int(index)
        raise EvaluationError(f"unsupported index value {show(index)} in list")
    if kind is UInt:
        if index < 2**63:
            return int(index)
        raise EvaluationError(f"unsupported index value {show(index)} in list")
    raise EvaluationError(f"unsupported index type '{type_name(index)}' in list")


def qualify(value: Any, key: Any) -> Any:
    """The field, entry or element; ABSENT if there is none.

    Raises:
        EvaluationError: A value or index of another kind; a value that does not fit its schema.
    """
    if type(value) is Typed:
        return _qualify_typed(value, key)
    if isinstance(value, dict):
        return find(value, key)
    if isinstance(value, list):
        position = index_of(key)
        return value[position] if 0 <= position < len(value) else ABSENT
    return ABSENT


def _qualify_typed(value: Typed, key: Any) -> Any:
    declared, raw = value.declared, value.raw
    if isinstance(raw, list):
        position = index_of(key)
        if not 0 <= position < len(raw):
            return ABSENT
        if type(key) is not int:  # Kubernetes' lists are stricter than those of CEL
            raise EvaluationError(f"unsupported index: {show(key)}")
        return read(declared.element, raw[position])
    if not isinstance(key, str):
        raise EvaluationError("no such overload")
    if declared.element is not None:
        return read(declared.element, raw[key]) if key in raw else ABSENT
    named = declared.field(key)
    if named is None:
        return ABSENT
    name, field = named
    found = raw.get(name)
    return ABSENT if found is None else read(field, found)


def missing(value: Any, key: Any) -> EvaluationError:
    """The error of a field, key or index that is absent."""
    raw = value.raw if type(value) is Typed else value
    if type(key) is str and len(key) < LONGEST and not isinstance(raw, list):
        return EvaluationError(f"no such key: {key}")
    if isinstance(raw, list):
        return EvaluationError(f"index out of bounds: {show(key)}")
    return EvaluationError(f"no such key: {show(key)}")
