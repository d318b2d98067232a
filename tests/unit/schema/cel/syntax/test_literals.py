from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from extapi.schema.cel.syntax.literals import (
    LiteralError,
    read_bytes,
    read_double,
    read_int,
    read_string,
    read_uint,
)
from extapi.schema.cel.values.values import UInt


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0x7FFFFFFFFFFFFFFF", 2**63 - 1),
        ("-0x8000000000000000", -(2**63)),
        ("0" * 10_000 + "12", 12),
        ("0x" + "0" * 100 + "f", 15),
    ],
)
def test_ints(text: str, value: int) -> None:
    assert read_int(text) == value


@pytest.mark.parametrize(
    "text", ["9223372036854775808", "-9223372036854775809", "0x8000000000000000", "1" * 100_000, "0x" + "f" * 100_000]
)
def test_ints_have_64_bits(text: str) -> None:
    with pytest.raises(LiteralError, match=r"^invalid int literal$"):
        read_int(text)


def test_uints() -> None:
    assert read_uint("18446744073709551615u") == 2**64 - 1
    assert read_uint("0xFFU") == 255
    assert type(read_uint("1u")) is UInt


@pytest.mark.parametrize("text", ["18446744073709551616u", "0x10000000000000000u", "9" * 5_000 + "u"])
def test_uints_have_64_bits(text: str) -> None:
    with pytest.raises(LiteralError, match=r"^invalid uint literal$"):
        read_uint(text)


def test_doubles() -> None:
    assert read_double("1.5") == 1.5
    assert read_double(".5e1") == 5.0
    assert read_double("-1e-3") == -0.001
    assert read_double("1e-999") == 0.0
    assert math.copysign(1, read_double("-0.0")) == -1


@pytest.mark.parametrize("text", ["1e999", "-1e999"])
def test_doubles_have_64_bits(text: str) -> None:
    with pytest.raises(LiteralError, match=r"^invalid double literal$"):
        read_double(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a'", "a"),
        ('"a\'b"', "a'b"),
        ("''", ""),
        ("''''''", ""),
        ('"""a"b"""', 'a"b'),
        (r"'\a\b\f\n\r\t\v\\\'\"\`\?'", "\a\b\f\n\r\t\v\\'\"`?"),
        (r"'\x41\X42\u00e9\U0001F600\101\377'", "ABé😀Aÿ"),
        (r"'\u00e9e9\1011'", "ée9A1"),
        (r"r'\n\x'", r"\n\x"),
        (r"R'''\'''", "\\"),
        ("'''a\r\nb\rc'''", "a\nb\nc"),
        ("r'''a\r\nb'''", "a\nb"),
        (r"'\r\n'", "\r\n"),
    ],
)
def test_strings(text: str, value: str) -> None:
    assert read_string(text) == value


@pytest.mark.parametrize("text", [r"'\ud800'", r"'\uDFFF'", r"'\U00110000'", r"'\UFFFFFFFF'"])
def test_strings_are_of_characters(text: str) -> None:
    with pytest.raises(LiteralError, match=r"^invalid unicode code point$"):
        read_string(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("b'a'", b"a"),
        ("B'é'", "é".encode()),
        (r"b'\xff\377\x00\n'", b"\xff\xff\x00\n"),
        (r"b'a\101é\x41'", b"aA" + "é".encode() + b"A"),
        (r"br'\xff'", rb"\xff"),
        ("b'''a\r\nb'''", b"a\nb"),
        ("b'\ud800'", "\ufffd".encode()),
    ],
)
def test_bytes(text: str, value: bytes) -> None:
    assert read_bytes(text) == value


@pytest.mark.parametrize("text", [r"b'\u0041'", r"b'\U00000041'"])
def test_bytes_are_not_of_characters(text: str) -> None:
    with pytest.raises(LiteralError, match=r"^unable to unescape string$"):
        read_bytes(text)


@pytest.mark.parametrize(
    ("read", "text"), [(read_string, "'" + r"\u0041" * 100_000 + "'"), (read_bytes, "b'" + r"\x41" * 100_000 + "'")]
)
def test_many_escapes(read: Callable[[str], Any], text: str) -> None:
    assert len(read(text)) == 100_000
