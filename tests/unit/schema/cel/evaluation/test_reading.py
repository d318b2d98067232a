"""Values of a schema: what is read, when, and which are equal.

Which values are equal is what cel-go 0.26.0 answers in Kubernetes 1.36.3; the rest is ``k8s.io/apiserver/pkg/cel/common``
valuesunstructured.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.evaluation.reading import (
    Typed,
    equal_read,
    equal_typed,
    materialized,
    native,
    read,
    read_or_error,
    without_schema,
)
from extapi.schema.cel.values.values import NONE, Duration, MapList, OptionalValue, SetList, Timestamp, some
from tests.unit.schema.cel.evaluating import Failed, schema_of

S: Final = {"type": "string"}
INT: Final = {"type": "integer"}
N: Final = {"type": "number"}
B: Final = {"type": "string", "format": "byte"}
D: Final = {"type": "string", "format": "date"}
T: Final = {"type": "string", "format": "date-time"}
U: Final = {"type": "string", "format": "duration"}
SET: Final = {"x-kubernetes-list-type": "set"}
MAP: Final = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
UNKNOWN: Final = {"x-kubernetes-preserve-unknown-fields": True}
INT_OR_STRING: Final = {"x-kubernetes-int-or-string": True}
NULL: Final = "invalid data, got null for schema with nullable=false"


def arr(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def ob(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


@pytest.mark.parametrize(
    ("schema", "raw", "expected"),
    [
        (S, "a", "a"),
        (INT, 1, 1),
        (N, 1, 1.0),
        (B, "YWI=", b"ab"),
        (D, "1970-01-02", Timestamp(86_400 * 10**9)),
        (T, "1970-01-01T01:00:01+01:00", Timestamp(10**9)),
        (U, "1m1s", Duration(61 * 10**9)),
        (INT_OR_STRING, "a", "a"),
        (INT_OR_STRING, 1, 1),
        (INT_OR_STRING, None, None),
        ({**S, "nullable": True}, None, None),
        ({**U, "nullable": True}, None, None),
    ],
)
def test_a_scalar_is_read_by_its_format(schema: dict[str, Any], raw: Any, expected: Any) -> None:
    found = read(schema_of(schema), raw)
    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(
    ("schema", "raw", "text"),
    [
        (S, None, NULL),
        (arr(S), None, NULL),
        (U, "x", "Invalid duration x: "),
        (D, "2020", "Invalid date formatted string 2020: "),
        (T, "2020", "Invalid date-time formatted string 2020: "),
        (B, "?", "Invalid byte formatted string ?: "),
    ],
)
def test_what_does_not_fit_its_schema(schema: dict[str, Any], raw: Any, text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        read(schema_of(schema), raw)
    assert str(caught.value).startswith(text)
    found = read_or_error(schema_of(schema), raw)
    assert isinstance(found, EvaluationError)
    assert str(found) == str(caught.value)


class _Whole(dict[str, Any]):
    """An object that refuses to be read."""

    def items(self) -> Any:
        raise AssertionError

    get = __getitem__ = __iter__ = items  # type: ignore[assignment]


def test_a_list_or_object_is_not_read_before_it_is_asked_for() -> None:
    declared, raw = schema_of(ob({"u": U})), _Whole({"u": "not a duration"})
    found = read(declared, raw)
    assert isinstance(found, Typed)
    assert found.raw is raw
    assert found.declared is declared


def test_what_no_schema_knows_stays_as_it_is() -> None:
    raw = _Whole({"a": 1})
    assert read(None, raw) is raw
    assert native(None, raw) is raw


def test_a_whole_value_is_converted_to_the_last_element() -> None:
    schema = ob(
        {"l": arr(U), "m": {"type": "object", "additionalProperties": N}, "a-b": S, "g": S, "n": arr(ob({"d": D}))}
    )
    raw = {"l": ["1s"], "m": {"x": 1}, "a-b": "v", "g": None, "n": [{"d": "1970-01-01"}]}
    found = native(schema_of(schema), raw)
    assert found == {"l": [10**9], "m": {"x": 1.0}, "a__dash__b": "v", "n": [{"d": 0}]}
    assert type(found["l"][0]) is Duration
    assert type(found["m"]["x"]) is float
    assert type(found["n"][0]["d"]) is Timestamp
    assert raw["l"] == ["1s"]


def test_sets_and_map_lists_know_what_they_are() -> None:
    numbers = native(schema_of(arr(N, **SET)), [1, 2])
    assert type(numbers) is SetList
    assert (numbers, numbers.raw) == ([1.0, 2.0], [1, 2])
    entries = native(schema_of(arr(ob({"k": S}), **MAP)), [{"k": "a"}])
    assert type(entries) is MapList
    assert entries.keys == ("k",)


def test_a_value_is_materialized_even_within_an_optional() -> None:
    typed = Typed(schema_of(arr(U)), ["1s"])
    assert materialized(typed) == [10**9]
    assert materialized(some(typed)).value == [10**9]
    assert materialized(NONE) is NONE
    assert materialized(3) == 3


def test_an_optional_that_is_packed_anew_forgets_its_schema() -> None:
    typed = Typed(schema_of(arr(U)), ["1s"])
    assert without_schema(typed) is typed.raw
    inner = without_schema(OptionalValue(present=True, value=some(typed)))
    assert inner is typed.raw
    assert without_schema(Duration(1)) == 1


EQUAL: list[tuple[dict[str, Any], Any, Any, Any]] = [
    (arr(S), ["a"], ["a"], True),
    (arr(S), ["a", "b"], ["b", "a"], False),
    (arr(S, **SET), ["a", "b"], ["b", "a"], True),
    (arr(S, **SET), ["a", "b"], ["a", "c"], False),
    (arr(S, **SET), ["a"], ["a", "b"], False),
    (arr(INT, **SET), [1, 2], [2, 1], True),
    (arr(N, **SET), [1.5], [1.5], True),
    (arr(N, **SET), [1], [1], False),
    (arr(D, **SET), ["2020-01-01"], ["2020-01-01"], False),
    (arr(B, **SET), ["YQ=="], ["YQ=="], Failed("internal error: runtime error: hash of unhashable type []uint8")),
    (arr(U), ["60s"], ["1m"], True),
    (arr(N), [1], [1.0], True),
    (arr(T), ["2020-01-01T00:00:00Z"], ["2020-01-01T01:00:00+01:00"], True),
    (arr(B), ["YQ=="], ["YQ=="], True),
    (arr(U), ["x"], ["1m"], Failed("Invalid duration x: unable to parse x as duration")),
    (
        arr(ob({"k": S, "v": INT}), **MAP),
        [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
        [{"k": "b", "v": 2}, {"k": "a", "v": 1}],
        True,
    ),
    (arr(ob({"k": S, "v": INT}), **MAP), [{"k": "a", "v": 1}], [{"k": "a", "v": 2}], False),
    (arr(ob({"k": S, "v": INT}), **MAP), [{"k": "a", "v": 1}], [{"k": "b", "v": 1}], False),
    ({"type": "object", "additionalProperties": U}, {"a": "60s"}, {"a": "1m"}, True),
    ({"type": "object", "additionalProperties": U}, {"a": "60s"}, {"b": "60s"}, False),
    ({"type": "object", "additionalProperties": U}, {"a": "60s"}, {"a": "60s", "b": "60s"}, False),
    (ob({"u": U}), {"u": "60s"}, {"u": "1m"}, True),
    (ob({"u": U}), {"u": "60s"}, {"u": "2m"}, False),
    (ob({"u": U}), {"u": "60s"}, {}, False),
    (ob({"g": {**S, "nullable": True}}), {"g": None}, {"g": None}, True),
    (ob({"g": {**S, "nullable": True}}), {"g": None}, {"g": "a"}, False),
    (ob({"k": S}, **UNKNOWN), {"k": "a", "x": 1}, {"k": "a", "x": 1}, True),
    (ob({"k": S}, **UNKNOWN), {"k": "a", "x": 1}, {"k": "a", "x": 2}, False),
    (ob({"k": S}, **UNKNOWN), {"k": "a", "x": 1}, {"k": "a", "x": True}, False),
    (ob({"k": S}, **UNKNOWN), {"k": "a", "x": 1}, {"k": "a", "y": 1}, True),
]


@pytest.mark.parametrize(("schema", "first", "second", "expected"), EQUAL)
def test_which_values_of_a_schema_are_equal(schema: dict[str, Any], first: Any, second: Any, expected: Any) -> None:
    declared = schema_of(schema)
    ways: tuple[Callable[[], bool], ...] = (
        lambda: equal_typed(declared, first, second),
        lambda: equal_read(Typed(declared, first), Typed(declared, second)),
    )
    for compare in ways:
        found: Any
        try:
            found = compare()
        except EvaluationError as error:
            found = Failed(str(error))
        assert found == expected


def test_a_value_of_a_schema_is_equal_to_one_without() -> None:
    typed = Typed(schema_of(arr(U)), ["1m"])
    assert equal_read(typed, [Duration(60 * 10**9)])
    assert equal_read([Duration(60 * 10**9)], typed)
    assert not equal_read(typed, [Duration(1)])
    assert not equal_read([Duration(60 * 10**9)] * 2, typed)
    assert not equal_read(typed, None)


def test_an_object_is_equal_to_a_map_without_what_is_null() -> None:
    typed = Typed(schema_of({"type": "object", "additionalProperties": N}), {"a": 1})
    assert equal_read(typed, {"a": 1.0})
    assert equal_read({"a": 1.0}, typed)
    assert not equal_read(typed, {"a": 2.0})
    assert not equal_read({"b": 1.0}, typed)


def test_a_list_of_a_schema_cannot_be_compared_with_what_is_none() -> None:
    for other in (1, "a", {"a": 1}):
        with pytest.raises(EvaluationError, match="no such overload"):
            equal_read(Typed(schema_of(arr(S)), ["a"]), other)
