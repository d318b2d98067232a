"""Numbers as Go's decoder reads them and its encoder writes them; what is no JSON. What is expected was seen on kube-apiserver."""

from __future__ import annotations

import enum
import json
import math
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from extapi.api.jsonvalue import (
    WIDE,
    NotJSONError,
    NumberRangeError,
    check_json,
    go_json,
    has_long_number,
    has_surrogates,
    in_order,
    is_plain,
    json_copier,
    json_copy,
    json_equal,
    looked_at,
    read_clamped,
    read_float,
    read_integer,
    without_surrogates,
    written,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("9223372036854775807", 9223372036854775807),
        ("-9223372036854775808", -9223372036854775808),
        ("9223372036854775808", 9223372036854775808.0),
        ("-9223372036854775809", -9223372036854775808.0),
        ("123456789012345678901", 1.2345678901234568e20),
        ("9" * 308, 1e308),
    ],
)
def test_integers(text: str, value: float) -> None:
    found = read_integer(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2.0", 2),
        ("1e2", 100),
        ("-0.0", 0),
        ("1.5", 1.5),
        ("1e15", 10**15),
        ("1e16", 1e16),
        ("1e-400", 0),
        ("5e-324", 5e-324),
    ],
)
def test_floats(text: str, value: float) -> None:
    found = read_float(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("read", [read_integer, read_float])
@pytest.mark.parametrize("text", ["9" * 309, "-" + "9" * 309, "1" + "0" * 5000])
def test_what_is_too_large(read: Any, text: str) -> None:
    with pytest.raises(
        NumberRangeError, match=r"cannot unmarshal number -?[0-9]+(\.\.\.)? into Go value of type float64"
    ):
        read(text)
    assert read_clamped(text) == math.copysign(sys.float_info.max, float(text))


@pytest.mark.parametrize(
    "text", ["5", "-5", "9223372036854775807", "1e300", "2.5", "-1.5e-7", "1e18", "12345678901234567890"]
)
def test_what_is_not_too_large_is_read_as_ever(text: str) -> None:
    read = read_integer if text.lstrip("-").isdecimal() else read_float
    assert (read_clamped(text), type(read_clamped(text))) == (read(text), type(read(text)))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (5, "5"),
        (5.0, "5"),
        (-0.5, "-0.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (9223372036854775808.0, "9223372036854776000"),
        (2**63, "9223372036854776000"),
        (1.2345678901234568e20, "123456789012345680000"),
    ],
)
def test_text_of_a_number(number: float, text: str) -> None:
    assert go_json(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_written_is_the_same_number(number: float) -> None:
    assert float(go_json(number)) == number
    assert written(number) == number or float(written(number)) == number


class _Color(enum.StrEnum):
    RED = "red"


class _Part(msgspec.Struct):
    size: float


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ({"a": [1.0, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}),
        ((1.0, {"b": 1e20}), [1, {"b": 10**20}]),
        (123456789012345680000, 123456789012345680000),  # what is read back from a store
        ({"a": _Color.RED}, {"a": "red"}),
        ({"a": _Part(3.0)}, {"a": {"size": 3}}),
        ({"a": datetime(2026, 1, 2, tzinfo=UTC)}, {"a": "2026-01-02T00:00:00Z"}),
        ({"a": "πσ \u02c6 😀"}, {"a": "πσ \u02c6 😀"}),  # in UTF-8 these look like floats in msgpack
    ],
)
def test_what_is_written(value: Any, result: Any) -> None:
    assert written(value) == result
    check_json(value)


def _nested(levels: int) -> Any:
    value: Any = 1.5
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "path", "why"),
    [
        (math.nan, "", "NaN"),
        ({"spec": {"a": [0, math.inf]}}, "spec.a[1]", "an infinite number"),
        ({"spec": 2**64}, "spec", "an integer of more than 64 bits"),
        ({"spec": 2**63}, "spec", "an integer of more than 64 bits"),
        ({"spec": -(10**30)}, "spec", "an integer of more than 64 bits"),
        ({"a": "x\udfff"}, "a", "text with half of a surrogate pair, which is not a character"),
        ({"a": _Part(math.nan)}, "a.size", "NaN"),
        ({"a": {None: 1}}, "a", "an object with a key of type NoneType"),
        ({"a": print}, "a", "of type builtin_function_or_method, which is not JSON"),
        (_nested(100_000), "", "nested too deeply"),
    ],
)
def test_what_is_no_json(value: Any, path: str, why: str) -> None:
    with pytest.raises(NotJSONError) as raised:
        written(value)
    assert (raised.value.path, raised.value.why) == (path, why)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=8,
    )
)
def test_the_quick_look_overlooks_nothing(value: Any) -> None:
    if is_plain(value):
        assert written(value) == value
        assert msgspec.json.decode(msgspec.json.encode(value)) == value


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": [0.5, 1e-7, 1e300 * 1.0000001, 2.5]}, False),  # from 2^53 on every float is integral
        ({"a": [0.5, 1e-7, 2.5] * 20}, True),
        ({"a": [0.5] * 99 + [math.nan]}, False),
        ({"a": [0.5] * 200}, False),
        ({"a": "\u02c6" * 3}, False),
        ({"a": 5.0}, False),
        ({"a": {"b": ["c", 2**63 - 1, -(2**63), None, True]}}, True),
    ],
)
def test_the_quick_look(value: Any, plain: bool) -> None:
    assert is_plain(value) is plain


@pytest.mark.parametrize(
    ("data", "long"),
    [
        (b'{"a":123456789012345678}', False),
        (b'{"a":1234567890123456789}', True),
        (b'["999999999", 999999999]', False),
        (b'{"at":"1764181694000000000","of":"projects/1234567890123456789"}', False),
        (b'["1764181694000000000",-1764181694000000000]', True),
        (b"1" * 19, True),
        (b'["' + b"1" * 19, False),
        (b"[" + b'"1764181694000000000",' * 200 + b"0]", True),  # perhaps: not all of them are looked at
    ],
)
def test_long_numbers_are_seen(data: bytes, long: bool) -> None:
    assert has_long_number(data) is long


_digits = st.text("0123456789", min_size=15, max_size=25)
_of_digits = st.recursive(
    st.integers(-(10**25), 10**25)
    | st.lists(_digits | st.sampled_from(list('"\\/:,[]{}-+. eEx\n\u00e9'))).map("".join),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_digits, inner, max_size=3),
    max_leaves=8,
)


@given(_of_digits, st.sampled_from([None, 1]), st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\n:\r")]))
def test_no_long_number_is_overlooked(value: Any, indent: int | None, separators: tuple[str, str]) -> None:
    text = json.dumps(value, indent=indent, separators=separators).encode()
    lengths = [0]
    json.loads(text, parse_int=lambda digits: lengths.append(len(digits.removeprefix("-"))))
    assert has_long_number(text) or max(lengths) < 19


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_a_json_value_is_equal_to_itself(value: Any) -> None:
    assert json_equal(value, value)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (True, 1),
        (0, False),
        ([True], [1]),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"b": 1}),
        ([1], [1, 2]),
        ({}, []),
        (None, 0),
    ],
)
def test_json_values_that_differ(a: Any, b: Any) -> None:
    assert not json_equal(a, b)
    assert not json_equal(b, a)


@pytest.mark.parametrize("copied", [json_copy, lambda value: json_copier(value)()])
@pytest.mark.parametrize(
    "value",
    [
        {"a": [{"b": 1}], "c": {"d": 2.5, "e": None, "f": 2.0}},
        [[], {}, "text", True],
        {"above 64 bits": [2**64, -(2**63) - 1], "half of a pair": ["\ud800"]},
        2.0,
        None,
    ],
)
def test_a_copy_is_equal_and_shares_nothing(value: Any, copied: Callable[[Any], Any]) -> None:
    made = copied(value)
    assert repr(made) == repr(value)
    shared = containers(made) & containers(value)
    assert not shared


def test_each_copy_is_its_own() -> None:
    make = json_copier({"a": []})
    make()["a"].append(1)
    assert make() == {"a": []}


def containers(value: Any) -> set[int]:
    """The identities of all objects and lists in a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (
        {id(value), *(each for item in inner for each in containers(item))} if isinstance(value, dict | list) else set()
    )


TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from("\ud800\udbff\udc00\udfff\U0001f355"))


@given(TEXTS)
def test_each_becomes_one_replacement_character(text: str) -> None:
    assert without_surrogates(text) == re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert has_surrogates(text) == (re.search("[\ud800-\udfff]", text) is not None)


def test_a_pair_stays_two() -> None:
    """Python's JSON decoder joins those that are escaped one after the other: what is left are two accidents."""
    assert without_surrogates("\ud83c\udf55") == "\ufffd\ufffd"


@pytest.mark.parametrize(("members", "narrow"), [(15, True), (WIDE - 1, True), (WIDE, False), (70_000, False)])
def test_wide_objects_are_seen_wherever_they_are(members: int, narrow: bool) -> None:
    wide = dict.fromkeys((f"k{number}" for number in range(members)), 1)
    assert looked_at({"a": [1, {"b": wide}]}) == (True, narrow)


def test_members_of_wide_objects_alone_are_sorted() -> None:
    wide = {f"k{number:03}": {"b": 1, "a": 2} for number in reversed(range(WIDE))}
    made = in_order([{"z": wide, "y": 1}])
    assert made == [{"z": wide, "y": 1}]
    assert list(made[0]) == ["z", "y"]
    assert list(made[0]["z"]) == sorted(wide)
    assert list(made[0]["z"]["k000"]) == ["b", "a"]
