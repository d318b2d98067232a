"""Integers in text; what is expected is what Go's ``strconv`` does (its own tests, and a running kube-apiserver)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from extapi.api.strconv import has_pattern, only_digits, parse_int, parse_uint


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775807", 2**63 - 1),
        ("0" * 5000 + "12", 12),
        ("-" + "0" * 5000, 0),
    ],
)
def test_signed(text: str, number: int) -> None:
    assert parse_int(text) == number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("18446744073709551615", 2**64 - 1), ("0" * 5000 + "12", 12)])
def test_unsigned(text: str, number: int) -> None:
    assert parse_uint(text) == number


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *((parse_int, text) for text in ("9223372036854775808", "-9223372036854775809", "9" * 5000, "9" * 3_000_000)),
        *((parse_uint, text) for text in ("18446744073709551616", "9" * 5000)),
    ],
)
def test_out_of_range(read: Callable[[str], int], text: str) -> None:
    with pytest.raises(ValueError, match=r"^strconv.Parse(Int|Uint): parsing \"-?[0-9]+\": value out of range$"):
        read(text)


@pytest.mark.parametrize("read", [parse_int, parse_uint])
@pytest.mark.parametrize(
    "text", ["", "-", "+", "--1", "1.0", "1e2", "0x1", "1_0", " 1", "1 ", "\u0663", "\u00b2", "1\x00"]
)
def test_no_integer(read: Callable[[str], int], text: str) -> None:
    with pytest.raises(ValueError, match="invalid syntax"):
        read(text)


@pytest.mark.parametrize("text", ["+1", "-1", "-0"])
def test_no_signs(text: str) -> None:
    with pytest.raises(ValueError, match=f'^strconv.ParseUint: parsing "\\{text}": invalid syntax$'):
        parse_uint(text)


def test_digits_are_ascii() -> None:
    assert only_digits("0123456789")
    assert not any(map(only_digits, ("", "1a", "\u0663", "\u00b2", "1\n")))


def test_forms() -> None:
    assert has_pattern("1997-10", b"0000-00")
    assert not any(
        has_pattern(text, b"0000-00") for text in ("1997-1", "1997-100", "1997_10", "x997-10", "\u0663997-10")
    )
