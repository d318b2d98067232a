from __future__ import annotations

import math
from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values.concatenation import concatenate
from extapi.schema.cel.values.equality import compare, contains, equal, has_key
from extapi.schema.cel.values.values import (
    NONE,
    Duration,
    MapList,
    SetList,
    Timestamp,
    TypeValue,
    UInt,
    some,
)

NAN = math.nan
TWO_53 = 2**53


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1, True),
        (1, UInt(1), True),
        (1, 1.0, True),
        (UInt(1), 1.0, True),
        (1, 2, False),
        (1, True, False),
        (True, 1, False),
        (0, False, False),
        (0.0, -0.0, True),
        (NAN, NAN, False),
        (1, NAN, False),
        (NAN, 1, False),
        # Go rounds the int; Python compares exactly.
        (TWO_53 + 1, float(TWO_53), True),
        (float(TWO_53), TWO_53 + 1, True),
        (2**63 - 1, 2.0**63, True),
        (UInt(2**64 - 1), 2.0**64, True),
        (UInt(2**63), -(2**63), False),
        (-1, UInt(2**64 - 1), False),
        ("a", "a", True),
        ("a", b"a", False),
        ("1", 1, False),
        (None, None, True),
        (None, 0, False),
        (0, None, False),
        (Duration(1), Duration(1), True),
        (Duration(1), 1, False),
        (1, Duration(1), False),
        (Timestamp(1), Timestamp(1), True),
        (Timestamp(1), Duration(1), False),
        (TypeValue("int"), TypeValue("int"), True),
        (TypeValue("int"), "int", False),
        (NONE, NONE, True),
        (NONE, some(None), False),
        (some(1), some(1.0), True),
        (some(1), 1, False),
        ([1, 2], [1, 2.0], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ([True], [1], False),
        ([NAN], [NAN], False),
        (["a", "b"], ["a", "b"], True),
        ([], [], True),
        ([], {}, False),
        ([], None, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ({1: "a"}, {UInt(1): "a"}, True),
        ({1: "a"}, {True: "a"}, False),
        ({}, {}, True),
        ({"a": [{"b": True}]}, {"a": [{"b": 1}]}, False),
    ],
)
def test_equal(left: Any, right: Any, expected: bool) -> None:
    assert equal(left, right) is expected


def test_a_nan_is_not_even_equal_to_itself() -> None:
    assert not equal([NAN], [NAN])
    value = [NAN]
    assert not equal(value, value)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (SetList(["a", "b"]), ["b", "a"], True),
        (SetList(["a", "b"]), ["b"], False),
        (SetList(["a", "b"]), ["b", "c"], False),
        (["b", "a"], SetList(["a", "b"]), False),
        # Only membership is asked for, as in Go.
        (SetList(["a", "b"]), ["a", "a"], True),
        (SetList([1]), [True], False),
        (MapList([{"k": "a", "v": 1}, {"k": "b"}], ("k",)), [{"k": "b"}, {"k": "a", "v": 1}], True),
        (MapList([{"k": "a", "v": 1}], ("k",)), [{"k": "a", "v": 2}], False),
        (MapList([{"k": "a"}], ("k",)), [{"k": "b"}], False),
        (MapList([{"k": "a"}], ("k",)), [], False),
        ([{"k": "a"}, {"k": "b"}], MapList([{"k": "b"}, {"k": "a"}], ("k",)), False),
    ],
)
def test_lists_of_schemas(left: Any, right: Any, expected: bool) -> None:
    assert equal(left, right) is expected


@pytest.mark.parametrize("left", [SetList(["a"]), MapList([{"k": "a"}], ("k",))])
def test_lists_of_schemas_are_compared_with_lists_alone(left: Any) -> None:
    with pytest.raises(EvaluationError, match=r"^no such overload$"):
        equal(left, 1)


def test_sums_of_lists() -> None:
    made = concatenate(["a"] * 70, [1])
    assert equal(made, [*["a"] * 70, 1.0])
    assert equal([*["a"] * 70, 1.0], made)
    assert not equal(made, [*["a"] * 70, 2])


def test_values_of_libraries_compare_themselves() -> None:
    class Version:
        def __init__(self, number: int) -> None:
            self.number = number

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Version) and self.number == other.number

        __hash__ = None  # type: ignore[assignment]  # as a class that defines equality alone

    assert equal([Version(1)], [Version(1)])
    assert not equal(Version(1), Version(2))
    assert not equal(Version(1), 1)


def test_values_may_be_nested_deeply() -> None:
    def nested(innermost: Any) -> Any:
        made = innermost
        for _ in range(20_000):
            made = [{"a": some(made)}]
        return made

    assert equal(nested(1), nested(1.0))
    assert not equal(nested(1), nested(True))


@pytest.mark.parametrize(
    ("element", "list_", "expected"),
    [
        ("a", ["b", "a"], True),
        ("a", [b"a", 1], False),
        (1, [1.0], True),
        (1, [True], False),
        (True, [1, 1.0], False),
        (True, [True], True),
        (Duration(1), [1], False),
        (None, [0, None], True),
        (None, [0], False),
        ([1], [[2], [1.0]], True),
        (NAN, [NAN], False),
        ("b", concatenate(["a"] * 70, ["b"]), True),
    ],
)
def test_elements_of_lists(element: Any, list_: list[Any], expected: bool) -> None:
    assert contains(element, list_) is expected


@pytest.mark.parametrize(
    ("key", "map_", "expected"),
    [
        ("a", {"a": 1}, True),
        ("b", {"a": 1}, False),
        (1, {1: 1}, True),
        (UInt(1), {1: 1}, True),
        (1.0, {1: 1}, True),
        (1.5, {1: 1}, False),
        (1, {True: 1}, False),
        (True, {1: 1}, False),
        (True, {True: 1}, True),
        (None, {"a": 1}, False),
        ([], {"a": 1}, False),
        (Duration(1), {1: 1}, False),
        (b"a", {}, False),
    ],
)
def test_keys_of_maps(key: Any, map_: dict[Any, Any], expected: bool) -> None:
    assert has_key(key, map_) is expected


def test_bytes_are_no_keys() -> None:
    with pytest.raises(EvaluationError, match=r"^internal error: runtime error: hash of unhashable type types\.Bytes$"):
        has_key(b"a", {"a": 1})


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 2, -1),
        (2, 1, 1),
        (1, UInt(1), 0),
        (-1, UInt(2**64 - 1), -1),
        (UInt(2**64 - 1), -1, 1),
        (1, 1.5, -1),
        (1.5, 1, 1),
        (TWO_53 + 1, float(TWO_53), 0),
        (2**63 - 1, 2.0**63, 0),
        (2**63 - 1, 1e19, -1),
        (-(2**63), -1e19, 1),
        (UInt(0), -0.5, 1),
        (UInt(2**64 - 1), 2.0**64, 0),
        (math.inf, 1, 1),
        (-math.inf, UInt(1), -1),
        ("a", "b", -1),
        ("\uffff", "\U00010000", -1),
        (b"b", b"a", 1),
        (False, True, -1),
        (True, True, 0),
        (Duration(1), Duration(2), -1),
        (Timestamp(2), Timestamp(1), 1),
    ],
)
def test_compare(left: Any, right: Any, expected: int) -> None:
    assert compare(left, right) == expected


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, "a"),
        ("a", 1),
        ("a", b"a"),
        (True, 1),
        (1, True),
        (None, None),
        (Duration(1), 1),
        ([], []),
        (Timestamp(1), Duration(1)),
    ],
)
def test_what_has_no_order(left: Any, right: Any) -> None:
    with pytest.raises(EvaluationError, match=r"^no such overload$"):
        compare(left, right)


@pytest.mark.parametrize(("left", "right"), [(NAN, 1), (1, NAN), (NAN, NAN), (UInt(1), NAN), (NAN, "a")])
def test_nan_has_no_order(left: Any, right: Any) -> None:
    with pytest.raises(EvaluationError, match=r"^NaN values cannot be ordered$"):
        compare(left, right)
