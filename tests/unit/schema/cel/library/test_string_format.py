"""``string.format``. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.environment import base_environment
from extapi.schema.cel.errors import CompileError, EvaluationError
from extapi.schema.cel.library.string_format import formatted
from extapi.schema.cel.values.values import NONE, Duration, Timestamp, TypeValue, UInt
from tests.unit.schema.cel.library.calling import Refused

FORMATTED: list[tuple[str, list[Any], str | Refused]] = [
    ("%s, %s %s", ["a", 1, True], "a, 1 true"),
    ("%s", [[1, "x", b"y", None, 1.5, UInt(2), [True]]], '[1, "x", b"y", null, 1.500000, 2, [true]]'),
    ("%s", [{"b": 1, 'a"': "c"}], '{"a\\"":"c", "b":1}'),
    ("%s", [{2: "x", 10: "y"}], '{10:"y", 2:"x"}'),
    ("%s %s %s", [100000000.0, 0.1, b"\xc3\xa9"], "1e+08 0.1 é"),
    (
        "%s",
        [b"\xff"],
        Refused(
            'error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string'
        ),
    ),
    (
        "%s",
        [[b"\xff"]],
        Refused(
            'error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string'
        ),
    ),
    ("%s", [{1.5: 1}], Refused("error during formatting: no formatting function for map key of type double")),
    ("%d %d", [-5, UInt(18446744073709551615)], "-5 18446744073709551615"),
    ("%d", ["1"], Refused("error during formatting: decimal clause can only be used on integers, was given string")),
    ("%d", [1.5], Refused("error during formatting: decimal clause can only be used on integers, was given double")),
    ("%f", [12345678.9], "12,345,678.900000"),
    ("%.0f %.1f %.3f", [2.5, -0.04, 0.0005], "2 -0.0 0.001"),
    ("%f", ["NaN"], "NaN"),
    ("%.2f %f", ["Infinity", "-Infinity"], "∞ -∞"),
    (
        "%f",
        ["nan"],
        Refused("error during formatting: fixed-point clause can only be used on doubles, was given string"),
    ),
    ("%f", [1], Refused("error during formatting: fixed-point clause can only be used on doubles, was given int")),
    ("%e", [12345.6789], "1.234568\u00d710⁰⁴"),
    ("%.20e|", [-0.00012], "     -1.200000\u00d710⁻⁰⁴|"),
    ("%e", ["-Infinity"], "    -∞"),
    ("%e", [1], Refused("error during formatting: scientific clause can only be used on doubles, was given int")),
    ("%b %b %b", [-5, UInt(5), True], "-101 101 1"),
    (
        "%b",
        ["1"],
        Refused("error during formatting: only integers and bools can be formatted as binary, was given string"),
    ),
    ("%x %X %x %X", [-255, "azé", b"\xff", UInt(171)], "-ff 617AC3A9 ff AB"),
    (
        "%x",
        [1.5],
        Refused(
            "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given double"
        ),
    ),
    ("%o", [-8], "-10"),
    ("%o", [True], Refused("error during formatting: octal clause can only be used on integers, was given bool")),
    ("%%%d%%", [1], "%1%"),
    ("%", [], Refused("index 0 out of range")),
    ("%", [1], Refused("unexpected end of string")),
    ("%d %d", [1], Refused("index 1 out of range")),
    ("%q", [1], Refused('could not parse formatting clause: unrecognized formatting clause "q"')),
    ("%é", [1], Refused('could not parse formatting clause: unrecognized formatting clause "Ã"')),
    (
        "%.",
        [1],
        Refused(
            "could not parse formatting clause: error while parsing precision: could not find end of precision specifier"
        ),
    ),
    (
        "%.5",
        [1],
        Refused(
            "could not parse formatting clause: error while parsing precision: could not find end of precision specifier"
        ),
    ),
    (
        "%.d",
        [1],
        Refused(
            'could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        ),
    ),
    (
        "%.99999999999999999999d",
        [1],
        Refused(
            'could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "99999999999999999999": value out of range'
        ),
    ),
    ("%.5d", [7], "7"),
    ("plain", [1], "plain"),
    ("", [], ""),
]
COMPILED: list[tuple[str, int | None, str | None]] = [
    (
        "\"%d\".format(['a'])",
        13,
        "error during formatting: decimal clause can only be used on integers, was given string",
    ),
    (
        '"%d".format([1.5])',
        13,
        "error during formatting: decimal clause can only be used on integers, was given double",
    ),
    (
        '"%s".format([optional.of(1)])',
        24,
        "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type",
    ),
    (
        '"%s".format([[1, optional.of(1)]])',
        28,
        "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type",
    ),
    (
        "\"%s\".format([{'a': [dyn(1)], 'b': optional.of(1)}])",
        45,
        "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type",
    ),
    ('"%f".format([1])', 13, "error during formatting: fixed-point clause can only be used on doubles, was given int"),
    (
        '"%e".format([true])',
        13,
        "error during formatting: scientific clause can only be used on doubles, was given bool",
    ),
    (
        '"%x".format([1.5])',
        13,
        "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given double",
    ),
    (
        '"%X".format([null])',
        13,
        "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given null_type",
    ),
    (
        "\"%b\".format(['a'])",
        13,
        "error during formatting: only integers and bools can be formatted as binary, was given string",
    ),
    ('"%o".format([true])', 13, "error during formatting: octal clause can only be used on integers, was given bool"),
    ("\"%f\".format(['NaN'])", None, None),
    ('"%d".format([dyn(1.5)])', None, None),
    ('"%d".format([1, 2])', 11, "too many arguments supplied to string.format (expected 1, got 2)"),
    ('"%d%d".format([1])', 13, "index 1 out of range"),
    ('"%".format([])', 10, "unexpected end of string"),
    (
        '"%.".format([1])',
        11,
        "could not parse formatting clause: error while parsing precision: could not find end of precision specifier",
    ),
    ('"%z".format([1])', 11, 'could not parse formatting clause: unrecognized formatting clause "z"'),
    ('"no clause".format([1])', 18, "too many arguments supplied to string.format (expected 0, got 1)"),
    ("\"%s\".format([timestamp('2020-01-01T00:00:00Z')])", None, None),
]


@pytest.mark.parametrize(("text", "arguments", "expected"), FORMATTED)
def test_a_format_is_filled_in(text: str, arguments: list[Any], expected: str | Refused) -> None:
    try:
        result: str | Refused = formatted(text, arguments)
    except EvaluationError as error:
        result = Refused(str(error))
    assert result == expected


def test_values_that_lists_write_as_calls() -> None:
    hour, start = Duration(3600 * 10**9), Timestamp(0)
    assert formatted("%s %s %s", [hour, start, TypeValue("int")]) == "3600s 1970-01-01T00:00:00Z int"
    inner = [hour, start, TypeValue("int"), float("inf"), float("nan")]
    assert formatted("%s", [inner]) == ('[duration("3600s"), timestamp("1970-01-01T00:00:00Z"), int, "+Inf", "NaN"]')


def test_what_cannot_be_written() -> None:
    with pytest.raises(EvaluationError, match=r"^error during formatting: string clause .* was given optional_type$"):
        formatted("%s", [NONE])
    with pytest.raises(EvaluationError, match=r"^error during formatting: no formatting function for optional_type$"):
        formatted("%s", [[NONE]])


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("%.65535e" * 1000, [1.5] * 1000),
        ("%s" * 100, ["a" * 1_000_000] * 100),
        ("%s", [["a" * 1_000_000] * 100]),
        ("%s", [[["a" * 1_000_000]] * 100]),
    ],
)
def test_no_format_makes_a_text_that_is_too_long(text: str, arguments: list[Any]) -> None:
    with pytest.raises(EvaluationError, match="too long"):
        formatted(text, arguments)


def test_depth_is_bounded() -> None:
    items: list[Any] = []
    for _ in range(10_000):
        items = [items]
    with pytest.raises(EvaluationError, match="nested too deeply"):
        formatted("%s", [items])


@pytest.mark.parametrize(("text", "offset", "message"), COMPILED)
def test_literal_arguments_are_checked_before(text: str, offset: int | None, message: str | None) -> None:
    issues: list[tuple[int, str]] = []
    try:
        compile_expression(text, base_environment())
    except CompileError as error:
        issues += ((each.offset, each.message) for each in error.issues)
    assert issues == ([] if offset is None else [(offset, message)])
