"""What the cases of the standard library leave out: how numbers may be written, and where ranges end."""

from __future__ import annotations

import math
from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.values import conversions as to
from extapi.schema.cel.values.values import INT_MAX, INT_MIN, Timestamp, UInt


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5e3", -1500.0),
        ("1_000.5_0", 1000.5),
        ("1e-400", 0.0),
        ("0x1p4", 16.0),
        ("0X1.8p-2", 0.375),
        ("0x_1p1_0", 1024.0),
        ("0x.8p1", 1.0),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        ("+INF", math.inf),
        ("123456789012345678901234567890", 123456789012345678901234567890.0),
    ],
)
def test_doubles(text: str, expected: float) -> None:
    assert to.string_to_double(text) == expected


def test_not_a_number() -> None:
    assert math.isnan(to.string_to_double("NaN"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "1e",
        "e5",
        "1__0",
        "_1",
        "1_",
        "1_.5",
        "1._5",
        "1e_5",
        "0x1",
        "0xp1",
        "0x1p",
        "0x1__0p1",
        "0b1",
        "+nan",
        "infinit",
        " 1",
        "1 ",
        "1e400",
        "0x1p1024",
        "\u0661",
        "1f",
    ],
)
def test_what_is_no_double(text: str) -> None:
    with pytest.raises(EvaluationError, match=r"^type conversion error from 'string' to 'double'$"):
        to.string_to_double(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1.0",
        "0x1",
        "1_000",
        "9223372036854775808",
        "\u0661",
        " 1",
        "--1",
        "-",
        "+",
        "1" * 1_000_000,
        "-9223372036854775809",
    ],
)
def test_what_is_no_int(text: str) -> None:
    with pytest.raises(EvaluationError, match=r"^type conversion error from 'string' to 'int'$"):
        to.string_to_int(text)


@pytest.mark.parametrize("text", ["", "-1", "+1", "18446744073709551616"])
def test_what_is_no_uint(text: str) -> None:
    with pytest.raises(EvaluationError, match=r"^type conversion error from 'string' to 'uint'$"):
        to.string_to_uint(text)


@pytest.mark.parametrize("text", ["t", "T", "1", "true", "TRUE", "True"])
def test_true(text: str) -> None:
    assert to.string_to_bool(text) is True


@pytest.mark.parametrize("text", ["f", "F", "0", "false", "FALSE", "False"])
def test_false(text: str) -> None:
    assert to.string_to_bool(text) is False


@pytest.mark.parametrize("text", ["", "yes", "tRUE", " true"])
def test_what_is_no_bool(text: str) -> None:
    with pytest.raises(EvaluationError, match=r"^type conversion error from 'string' to 'bool'$"):
        to.string_to_bool(text)


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        (to.double_to_int, -1.9, -1),
        (to.double_to_int, math.nextafter(2.0**63, 0), 2**63 - 1024),
        (to.double_to_int, 2.0**63, "integer overflow"),
        (to.double_to_int, -(2.0**63), "integer overflow"),
        (to.double_to_int, math.nan, "integer overflow"),
        (to.double_to_uint, 1.9, 1),
        (to.double_to_uint, -0.5, "unsigned integer overflow"),
        (to.double_to_uint, 2.0**64, "unsigned integer overflow"),
        (to.double_to_uint, math.nan, "unsigned integer overflow"),
        (to.uint_to_int, UInt(2**63), "integer overflow"),
        (to.uint_to_int, UInt(INT_MAX), INT_MAX),
        (to.int_to_uint, -1, "unsigned integer overflow"),
        (to.int_to_timestamp, 253_402_300_800, "timestamp overflow"),
        (to.int_to_timestamp, -62_135_596_801, "timestamp overflow"),
        (to.int_to_timestamp, INT_MIN, "timestamp overflow"),
        (to.string_to_timestamp, "0000-12-31T23:59:59Z", "timestamp overflow"),
        (to.string_to_timestamp, "9999-12-31T23:59:59-00:01", "timestamp overflow"),
        (to.int_to_duration, 1, "type conversion error from 'int' to 'google.protobuf.Duration'"),
        (to.bytes_to_string, b"\xed\xa0\x80", "invalid UTF-8 in bytes, cannot convert to string"),
        (to.timestamp_to_int, Timestamp(-1), -1),
    ],
)
def test_ranges(function: Any, value: Any, expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(EvaluationError) as raised:
            function(value)
        assert str(raised.value) == expected
    else:
        assert function(value) == expected


def test_results_have_the_type_of_the_overload() -> None:
    assert type(to.uint_to_int(UInt(1))) is int
    assert type(to.double_to_uint(1.0)) is UInt
    assert type(to.string_to_uint("1")) is UInt
    assert to.int_to_string(UInt(5)) == "5"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-0.0, "-0"),
        (1.0, "1"),
        (123456.75, "123456.75"),
        (1e6, "1e+06"),
        (1e-5, "1e-05"),
        (1e21, "1e+21"),
        (math.nan, "NaN"),
        (-math.inf, "-Inf"),
    ],
)
def test_printed_doubles(value: float, text: str) -> None:
    assert to.double_to_string(value) == text


def test_a_long_number_takes_linear_time() -> None:
    assert to.string_to_double("1" * 1_000_000 + "e-1000000") == pytest.approx(0.1111111)


def test_zeros_may_lead() -> None:
    assert to.string_to_int("-" + "0" * 1_000_000 + "7") == -7
    assert to.string_to_uint("0" * 1_000_000 + "18446744073709551615") == 2**64 - 1
    assert to.string_to_int("-9223372036854775808") == INT_MIN
    assert to.string_to_int("+0") == 0
