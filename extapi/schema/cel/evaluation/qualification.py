"""Fields of objects, keys of maps and indices of lists, as they are asked for at run time.

Source: ``cel-go/interpreter`` attributes.go (refQualify), ``cel-go/common/types`` map.go and list.go.
"""

from __future__ import annotations

from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.evaluation.reading import Typed, read
from extapi.schema.cel.values.made import UNSET, MadeObject, MadeOperation
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
    if isinstance(value, MadeOperation):
        return _of_operation(value, key)
    return ABSENT


def _of_operation(value: MadeOperation, key: Any) -> Any:
    """Source: ``k8s.io/apiserver/pkg/cel/mutation`` JSONPatchVal."""
    match key:
        case "op":
            return value.op or ABSENT
        case "path":
            return value.path or ABSENT
        case "from":
            return value.source or ABSENT
        case "value":
            return ABSENT if value.value is UNSET else value.value
    raise EvaluationError(f"unsupported indexer: {show(key)}")


def unset(value: Any, key: Any) -> Any:
    """What a field is of an operation of a JSON patch that has been made without it; ABSENT of all else."""
    if isinstance(value, MadeOperation):
        return None if key == "value" else ""
    return ABSENT


def fields_of(value: Any) -> Any:
    """An object that an expression has made, as a map: only who knows that it is one finds something in it."""
    return dict(value.fields) if isinstance(value, MadeObject) else value


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
