"""Fields, keys and indices.

Source of what is expected: ``cel-go/interpreter`` attributes.go (refQualify, missingKey, missingIndex),
``cel-go/common/types`` list.go (IndexOrError) and map.go (Find).
"""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.evaluation.qualification import ABSENT, find, index_of, missing, qualify
from extapi.schema.cel.evaluation.reading import Typed
from extapi.schema.cel.values.values import Duration, UInt
from tests.unit.schema.cel.evaluating import schema_of
from tests.unit.schema.cel.sample import OBJECT, SCHEMA


@pytest.mark.parametrize(
    ("mapping", "key", "expected"),
    [
        ({"a": 1}, "a", 1),
        ({"a": 1}, "b", ABSENT),
        ({"a": None}, "a", None),
        ({1: "int"}, 1.0, "int"),
        ({1: "int"}, UInt(1), "int"),
        ({1: "int"}, True, ABSENT),
        ({True: "bool"}, 1, ABSENT),
        ({True: "bool"}, True, "bool"),
        ({False: "bool", 2: "int"}, 0, ABSENT),
        ({2: "int"}, 2.5, ABSENT),
        ({"a": 1}, ["a"], ABSENT),
        ({"a": 1}, {}, ABSENT),
    ],
)
def test_the_entry_of_a_key(mapping: dict[Any, Any], key: Any, expected: Any) -> None:
    assert find(mapping, key) is expected


@pytest.mark.parametrize(("index", "expected"), [(2, 2), (-1, -1), (2.0, 2), (UInt(2), 2)])
def test_what_stands_for_an_index(index: Any, expected: int) -> None:
    assert index_of(index) == expected
    assert type(index_of(index)) is int


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (1.5, "unsupported index value 1.5 in list"),
        (float("nan"), "unsupported index value NaN in list"),
        (2.0**63, "unsupported index value 9.223372036854776e+18 in list"),
        (UInt(2**63), "unsupported index value 9223372036854775808 in list"),
        ("a", "unsupported index type 'string' in list"),
        (True, "unsupported index type 'bool' in list"),
        (Duration(1), "unsupported index type 'google.protobuf.Duration' in list"),
    ],
)
def test_what_is_no_index(index: Any, text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        index_of(index)
    assert str(caught.value) == text


WHOLE = Typed(schema_of(SCHEMA), OBJECT)


@pytest.mark.parametrize(
    ("value", "key", "expected"),
    [
        ({"a": 1}, "a", 1),
        ({"a": 1}, "z", ABSENT),
        ([1, 2], 1, 2),
        ([1, 2], 2, ABSENT),
        ([1, 2], -1, ABSENT),
        (3, "a", ABSENT),
        ("abc", 0, ABSENT),
        (WHOLE, "a", 1),
        (WHOLE, "n", 2.0),
        (WHOLE, "u", 90 * 10**9),
        (WHOLE, "z", ABSENT),
        (WHOLE, "g", ABSENT),  # which is null
        (WHOLE, "a__dash__b", "dash"),
        (WHOLE, "a-b", ABSENT),
        (WHOLE, "namespace", "reserved"),
        (WHOLE, "__namespace__", "reserved"),
        (qualify(WHOLE, "m"), "k", 7),
        (qualify(WHOLE, "m"), "z", ABSENT),
        (qualify(WHOLE, "l"), 2, 3),
        (qualify(WHOLE, "l"), 3, ABSENT),
        (qualify(WHOLE, "l"), -1, ABSENT),
        (qualify(WHOLE, "gs"), 1, None),
        (qualify(WHOLE, "h"), "hidden", ABSENT),
    ],
)
def test_a_step(value: Any, key: Any, expected: Any) -> None:
    assert qualify(value, key) == expected


def test_a_step_to_a_list_or_object_does_not_read_it() -> None:
    found = qualify(WHOLE, "os")
    assert type(found) is Typed
    assert found.raw is OBJECT["os"]


def test_an_object_has_no_fields_but_by_name() -> None:
    for value in (WHOLE, qualify(WHOLE, "m")):
        with pytest.raises(EvaluationError, match=r"^no such overload$"):
            qualify(value, 1)


def test_an_entry_that_is_null_without_leave() -> None:
    with pytest.raises(EvaluationError, match="got null"):
        qualify(Typed(schema_of(SCHEMA["properties"]["m"]), {"k": None}), "k")


@pytest.mark.parametrize(
    ("value", "key", "text"),
    [
        ({}, "a", "no such key: a"),
        ([], 3, "index out of bounds: 3"),
        (WHOLE, "z", "no such key: z"),
        (qualify(WHOLE, "l"), -1, "index out of bounds: -1"),
    ],
)
def test_the_error_of_what_is_absent(value: Any, key: Any, text: str) -> None:
    assert str(missing(value, key)) == text
