"""Overloads found by values; the texts of errors are those of cel-go 0.26.0 for arguments of type dyn."""

from __future__ import annotations

import math
from typing import Any

import pytest

from extapi.schema.cel.declarations import by_function, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.lists import LISTS
from extapi.schema.cel.library.optionals import OPTIONALS
from extapi.schema.cel.library.regex import REGEX
from extapi.schema.cel.library.standard import STANDARD_WITH_CROSS_TYPES
from extapi.schema.cel.values.dispatch import dispatch, matches
from extapi.schema.cel.values.time import parse_timestamp
from extapi.schema.cel.values.values import INT_MIN, NONE, Duration, TypeValue, UInt, some

FUNCTIONS = by_function((*STANDARD_WITH_CROSS_TYPES, *OPTIONALS, *LISTS, *REGEX))
TIME = parse_timestamp("2023-07-14T10:30:45Z")


@pytest.mark.parametrize(
    ("function", "values", "identifier"),
    [
        ("_+_", [1, 2], "add_int64"),
        ("_+_", [UInt(1), UInt(2)], "add_uint64"),
        ("_+_", [1.0, 2.0], "add_double"),
        ("_+_", [Duration(1), TIME], "add_duration_timestamp"),
        ("_+_", [TIME, Duration(1)], "add_timestamp_duration"),
        ("_+_", [[], [1]], "add_list"),
        ("_<_", [1, UInt(2)], "less_int64_uint64"),
        ("_<_", [True, False], "less_bool"),
        ("int", ["1"], "string_to_int64"),
        ("int", [True], None),
        ("size", [{}], "size_map"),
        ("type", [None], "type"),
        ("value", [some(1)], "optional_value"),
        ("sort", [[None]], "list_int_sort"),
        ("find", ["a", "b"], "string_find_string"),
        ("value", [1], None),
        ("getHours", [Duration(1)], "duration_to_hours"),
        ("getHours", [TIME, "UTC"], "timestamp_to_hours_with_tz"),
        ("unwrapOpt", [[NONE]], "optional_unwrapOpt"),
        ("unwrapOpt", [[]], "optional_unwrapOpt"),
        ("unwrapOpt", [[1]], None),
    ],
)
def test_the_first_overload_that_fits(function: str, values: list[Any], identifier: str | None) -> None:
    if identifier is None:
        with pytest.raises(EvaluationError):
            dispatch(FUNCTIONS[function], values)
    else:
        assert dispatch(FUNCTIONS[function], values).id == identifier


@pytest.mark.parametrize(
    ("function", "values", "error"),
    [
        ("_+_", [1, "a"], "no such overload"),
        ("_+_", [True, True], "no such overload: _+_"),
        ("_+_", [None, 1], "no such overload: _+_"),
        ("_+_", [{}, {}], "no such overload: _+_"),
        ("_-_", ["a", "b"], "no such overload"),
        ("_-_", [[], []], "no such overload: _-_"),
        ("_*_", [Duration(1), 2], "no such overload"),
        ("_*_", [b"a", 2], "no such overload: _*_"),
        ("_/_", [1, 2.0], "no such overload"),
        ("_%_", [1.0, 2.0], "no such overload: _%_"),
        ("_%_", [TIME, 2], "no such overload"),
        ("_<_", [1, "a"], "no such overload"),
        ("_<_", [None, 1], "no such overload: _<_"),
        ("_<_", [[], []], "no such overload: _<_"),
        ("_>=_", [math.nan, "a"], "NaN values cannot be ordered"),
        ("-_", [True], "no such overload"),
        ("-_", [UInt(1)], "no such overload: -_"),
        ("-_", ["a"], "no such overload"),
        ("!_", [1], "no such overload"),
        ("@in", [1, 2], "no such overload"),
        ("size", [1], "no such overload: size"),
        ("size", [Duration(1)], "no such overload"),
        ("contains", [1, "a"], "no such overload"),
        ("startsWith", ["a", 1], "no such overload"),
        ("matches", [1, "a"], "no such overload"),
        ("matches", ["a", 1], "no such overload"),
        ("matches", [1, 1], "no such overload: matches"),
        ("int", [True], "no such overload: int(bool)"),
        ("timestamp", [None], "no such overload: timestamp(null_type)"),
        ("bytes", [TypeValue("int")], "no such overload: bytes(type)"),
        ("getFullYear", [1], "no such overload: getFullYear(int)"),
        ("getHours", [TIME, 1], "no such overload: getHours(google.protobuf.Timestamp, int)"),
        ("value", [[1]], "no such overload: value(list)"),
        ("last", [{}], "no such overload: last(map)"),
        ("sort", [1], "no such overload: sort"),
        ("sort", ["a"], "no such overload"),
        ("find", [1, "a"], "no such overload"),
        ("findAll", ["a", "a", "b"], "no such overload"),
        ("find", [1, 1], "no such overload: find(int, int)"),
    ],
)
def test_what_fits_no_overload(function: str, values: list[Any], error: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        dispatch([each for each in FUNCTIONS[function] if len(each.arguments) == len(values)], values)
    assert str(raised.value) == error


def test_a_duration_can_be_negated_although_nobody_declares_it() -> None:
    found = dispatch(FUNCTIONS["-_"], [Duration(5)])
    assert found.call(Duration(5)) == Duration(-5)
    assert type(found.call(Duration(5))) is Duration
    with pytest.raises(EvaluationError, match=r"^integer overflow$"):
        found.call(Duration(INT_MIN))


def test_only_the_first_element_is_looked_at() -> None:
    strings = overload("", "f(list(string)) -> bool", bool)
    assert matches(strings, [["a", 1]])
    assert not matches(strings, [[1, "a"]])
    assert matches(strings, [[]])
    entries = overload("", "f(map(string, list(int))) -> bool", bool)
    assert matches(entries, [{"a": [1]}])
    assert not matches(entries, [{"a": ["b"]}])
    assert not matches(entries, [{1: [1]}])
    assert matches(entries, [{}])


def test_the_number_of_arguments_has_to_fit() -> None:
    assert not matches(overload("", "f(A, A) -> bool", bool), [1])


def test_types_may_be_left_to_the_function() -> None:
    assert matches(overload("", "f(string) -> bool", bool, guarded=False), [1])
