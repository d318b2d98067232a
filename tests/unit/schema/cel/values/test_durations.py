"""Durations, as Go 1.26 reads and prints them; those of schemas as kube-apiserver's own code read them."""

from __future__ import annotations

import time

import pytest

from extapi.schema.cel.values.durations import (
    format_duration,
    parse_duration,
    parse_loose_duration,
    show_duration,
)
from extapi.schema.cel.values.values import INT_MAX, INT_MIN, Duration

SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1h30m", 5400 * SECOND),
        ("-1.5s", -1_500_000_000),
        ("0", 0),
        ("1us", 1000),
        ("9223372036854775807ns", INT_MAX),
        ("-9223372036854775808ns", INT_MIN),
    ],
)
def test_durations(text: str, expected: int) -> None:
    value = parse_duration(text)
    assert type(value) is Duration
    assert value == expected


@pytest.mark.parametrize("text", ["", "1", "1d", "9223372036854775808ns", "1h "])
def test_bad_durations(text: str) -> None:
    with pytest.raises(ValueError, match="time: "):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1h30m", "5400s"),
        ("3 seconds", "3s"),
        ("1 sec", "1s"),
        ("2 weeks 1 day", "1296000s"),
        ("1d", "86400s"),
        ("1hr", "3600s"),
        ("1 milli", "0.001s"),
        ("1d and 2h", "93600s"),
        ("1s 5us", "1.000005s"),
        ("1 \u00b5s", "0.000001s"),
        ("99999999999 s", "7766279630.452242s"),
    ],
)
def test_durations_of_schemas(text: str, printed: str) -> None:
    assert format_duration(parse_loose_duration(text)) == printed


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("5 foo", "unable to parse 5 foo as duration"),
        ("", "unable to parse  as duration"),
        ("x", "unable to parse x as duration"),
        ("9223372036854775808 s", 'strconv.Atoi: parsing "9223372036854775808": value out of range'),
    ],
)
def test_bad_durations_of_schemas(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=r"duration|strconv") as raised:
        parse_loose_duration(text)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("value", "printed", "shown"),
    [
        (0, "0s", "0s"),
        (1, "0.000000001s", "1ns"),
        (1100, "0.0000011s", "1.1\u00b5s"),
        (2_200_000, "0.0022s", "2.2ms"),
        (SECOND, "1s", "1s"),
        (-1_500_000_000, "-1.5s", "-1.5s"),
        (60 * SECOND, "60s", "1m0s"),
        (5445 * SECOND + 1, "5445.000000001s", "1h30m45.000000001s"),
        (INT_MAX, "9223372036.854776s", "2562047h47m16.854775807s"),
        (INT_MIN, "-9223372036.854776s", "-2562047h47m16.854775808s"),
    ],
)
def test_printed(value: int, printed: str, shown: str) -> None:
    assert format_duration(value) == printed
    assert show_duration(value) == shown


def test_long_durations() -> None:
    assert parse_duration("1s" * 100) == 100 * SECOND
    assert parse_duration("-" + "0.5m" * 40) == -20 * 60 * SECOND
    assert parse_loose_duration("1 sec, " * 100) == 100 * SECOND
    assert parse_loose_duration("1s" * 100) == 100 * SECOND
    with pytest.raises(ValueError, match="time: invalid duration"):
        parse_duration("1s" * 100 + "x")
    with pytest.raises(ValueError, match="time: invalid duration"):
        parse_duration("9223372036s" * 100)


@pytest.mark.parametrize(
    "text", ["1" * 1_000_000, "1 " * 500_000, " " * 1_000_000, "x" * 1_000_000, "1" * 999_999 + "d"]
)
def test_a_long_text_is_read_once(text: str) -> None:
    before = time.process_time()
    with pytest.raises(ValueError, match=r"duration|strconv"):
        parse_loose_duration(text)
    assert time.process_time() - before < 2
