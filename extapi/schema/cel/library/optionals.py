"""Optional values: ``optional.of(x)``, ``x.hasValue()``, ``x[?0]``.

Source: ``github.com/google/cel-go/cel`` optionalLib.
"""

from __future__ import annotations

from typing import Any, Final

from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.standard_operators import elsewhere
from extapi.schema.cel.values.arithmetic import TIMESTAMP_MIN
from extapi.schema.cel.values.made import MadeObject
from extapi.schema.cel.values.showing import show
from extapi.schema.cel.values.values import NONE, OptionalValue, Timestamp, some


def _of_non_zero(value: Any) -> OptionalValue:
    return NONE if is_zero(value) else some(value)


def is_zero(value: Any) -> bool:
    """Whether a value is the zero, or empty value of its type.

    Source: ``cel-go/common/types/traits`` Zeroer.
    """
    kind = type(value)
    if kind is Timestamp:
        return bool(value == TIMESTAMP_MIN)
    if isinstance(value, (str, bytes, int, float, list, dict)) or value is None:
        return bool(not value)
    if isinstance(value, MadeObject):
        return not value.fields
    # Types, optional values and Kubernetes' own values have no zero value.
    return False


def _none() -> OptionalValue:
    return NONE


def _value(optional: OptionalValue) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _has_value(optional: OptionalValue) -> bool:
    return optional.present


def _or(optional: OptionalValue, other: OptionalValue) -> OptionalValue:
    return optional if optional.present else other


def _or_value(optional: OptionalValue, other: Any) -> Any:
    return optional.value if optional.present else other


def _last(list_: list[Any]) -> OptionalValue:
    return some(list_[-1]) if list_ else NONE


def _first(list_: list[Any]) -> OptionalValue:
    return some(list_[0]) if list_ else NONE


def _unwrap(list_: list[Any]) -> list[Any]:
    found = []
    for each in list_:
        if type(each) is not OptionalValue:
            raise EvaluationError(f"value {show(each)} is not optional")
        if each.present:
            found.append(each.value)
    return found


OPTIONALS: Final[tuple[Overload, ...]] = (
    overload("optional_of", "optional.of(V) -> optional(V)", some),
    overload("optional_ofNonZeroValue", "optional.ofNonZeroValue(V) -> optional(V)", _of_non_zero),
    overload("optional_none", "optional.none() -> optional(V)", _none),
    overload("optional_value", ".value(optional(V)) -> V", _value),
    overload("optional_hasValue", ".hasValue(optional(V)) -> bool", _has_value),
    # The second argument is evaluated only if the first one is absent.
    overload("optional_or_optional", ".or(optional(V), optional(V)) -> optional(V)", _or),
    overload("optional_orValue_value", ".orValue(optional(V), V) -> V", _or_value),
    overload("select_optional_field", "_?._(dyn, string) -> optional(V)", elsewhere),
    overload("list_optindex_optional_int", "_[?_](list(V), int) -> optional(V)", elsewhere),
    overload("optional_list_optindex_optional_int", "_[?_](optional(list(V)), int) -> optional(V)", elsewhere),
    overload("map_optindex_optional_value", "_[?_](map(K, V), K) -> optional(V)", elsewhere),
    overload("optional_map_optindex_optional_value", "_[?_](optional(map(K, V)), K) -> optional(V)", elsewhere),
    overload("optional_list_index_int", "_[_](optional(list(V)), int) -> optional(V)", elsewhere),
    overload("optional_map_index_value", "_[_](optional(map(K, V)), K) -> optional(V)", elsewhere),
    overload("list_last", ".last(list(V)) -> optional(V)", _last),
    overload("list_first", ".first(list(V)) -> optional(V)", _first),
    overload("optional_unwrap", "optional.unwrap(list(optional(V))) -> list(V)", _unwrap),
    overload("optional_unwrapOpt", ".unwrapOpt(list(optional(V))) -> list(V)", _unwrap),
)
"""Optional values, which came with Kubernetes 1.28."""
