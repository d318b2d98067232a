"""Doubles in formats. Expected values are Kubernetes 1.36.3's, asked of ``string.format``."""

from __future__ import annotations

import math

import pytest

from extapi.schema.cel.library.printed_numbers import fixed_point, plain_double, scientific


@pytest.mark.parametrize(
    ("value", "precision", "expected"),
    [
        (1.5, 0, "2"),
        (2.5, 0, "2"),
        (1234567.891, 6, "1,234,567.891000"),
        (1e21, 6, "1,000,000,000,000,000,000,000.000000"),
        (-1e-7, 6, "-0.000000"),
        (-0.0, 1, "0.0"),
        (1.5, 256, "1.5"),
        (0.0, 256, "0"),
        (1.5, 300, "1.5" + "0" * 43),
        (0.1, 33000, "0.1" + "0" * 231),
        (1.5, 65536, "2"),
        (1.5, 10000009, "1.5" + "0" * 136),
        (1.5, 10000011, "%!(NOVERB)"),
        (math.nan, 2, "NaN"),
        (-math.inf, 2, "-\u221e"),
    ],
)
def test_fixed_point(value: float, precision: int, expected: str) -> None:
    assert fixed_point(value, precision) == expected


@pytest.mark.parametrize(
    ("value", "width", "expected"),
    [
        (12345.6789, 6, "1.234568\u00d710\u2070\u2074"),
        (-1e-7, 6, "-1.000000\u00d710\u207b\u2070\u2077"),
        (0.0, 6, "0.000000\u00d710\u2070\u2070"),
        (5e-324, 6, "4.940656\u00d710\u207b\u00b3\u00b2\u2074"),
        (1.5, 17, "    1.500000\u00d710\u2070\u2070"),
        (math.inf, 6, "     \u221e"),
        (1.5, 65536, "1.500000\u00d710\u2070\u2070"),
        (1.5, 99999999, "%!(NOVERB)"),
    ],
)
def test_scientific(value: float, width: int, expected: str) -> None:
    assert scientific(value, width) == expected


def test_doubles_in_lists_have_six_decimals() -> None:
    assert plain_double(1e21) == "1000000000000000000000.000000"
    assert [plain_double(each) for each in (math.inf, -math.inf, math.nan)] == ['"+Inf"', '"-Inf"', '"NaN"']
