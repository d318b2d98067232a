"""Amounts. What ``k8s.io/apimachinery/pkg/api/resource`` says of a quantity, by hand from its source and tests."""

from __future__ import annotations

import pytest

from extapi.schema.cel.library.amounts import Amount, parse_amount

FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMBER = "unable to parse numeric part of quantity"
SUFFIX = "unable to parse quantity's suffix"


@pytest.mark.parametrize(
    ("text", "mantissa", "exponent", "decimal"),
    [
        ("0", 0, 0, False),
        ("-", 0, 0, False),
        ("m", 0, -3, False),
        ("1.5", 15, -1, False),
        ("001500m", 1500, -3, False),
        ("1Ki", 1024, 0, False),
        ("1.5Ki", 1536 * 10**9, -9, True),
        ("123456789012Ki", 123456789012 * 1024 * 10**9, -9, True),
        ("1e1000000", 1, 1000000, False),
        ("1e4294967297", 1, 1, False),
        ("1234567890123456789", 1234567890123456789 * 10**9, -9, True),
        ("0.0000000001", 1, -9, True),
        ("-1e-1000000", -1, -9, True),
        ("16Ei", 2**63 - 1, 0, True),
        ("-16Ei", -(2**63 - 1), 0, True),
    ],
)
def test_an_amount_has_the_form_that_go_gives_it(text: str, mantissa: int, exponent: int, decimal: bool) -> None:
    amount = parse_amount(text)
    assert (amount.mantissa, amount.exponent, amount.decimal) == (mantissa, exponent, decimal)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", FORMAT),
        ("1 ", FORMAT),
        ("1,5", FORMAT),
        ("1k5x", FORMAT),
        ("1.5.5", FORMAT),
        ("1K", SUFFIX),
        ("1mm", SUFFIX),
        ("1e", SUFFIX),
        ("1e9223372036854775808", SUFFIX),
        (".Ei", NUMBER),
        ("9" * 4001, NUMBER),
    ],
)
def test_what_is_no_amount(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_amount(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("1", "1000m", 0),
        ("1e1000000", "1n", 1),
        ("-1e1000000", "1n", -1),
        ("-1e1000000", "-1e999999", -1),
        ("1e1000000", "10e999999", 0),
        ("999", "1k", -1),
        ("1001", "1k", 1),
        ("0", "0.0", 0),
        ("9" * 4000, "1e4000", -1),
    ],
)
def test_amounts_are_compared_exactly(left: str, right: str, order: int) -> None:
    first, second = parse_amount(left), parse_amount(right)
    assert first.compare(second) == order
    assert second.compare(first) == -order
    assert (first.normalized() == second.normalized()) is (order == 0)


def test_an_int64_sum_that_does_not_fit_becomes_a_decimal() -> None:
    most = Amount(2**63 - 1, 0)
    total = most.plus(Amount(1, 0))
    assert (total.mantissa, total.decimal) == (2**63, True)
    assert total.as_int64() is None
    assert most.minus(Amount(1, 0)).as_int64() == 2**63 - 2
    assert Amount(1, 19).as_int64() is None


def test_zero_takes_the_other_amount_as_it_is() -> None:
    total = Amount(0, 0).plus(Amount(5, 1000000))
    assert (total.mantissa, total.exponent, total.decimal) == (5, 1000000, False)
    with pytest.raises(ValueError, match="too far apart"):
        Amount(1, 0).plus(Amount(5, 1000000))


@pytest.mark.parametrize(
    ("mantissa", "exponent", "expected"),
    [
        (1, 400, float("inf")),
        (-1, 400, float("-inf")),
        (10**400, -9, float("inf")),
        (1, -400, 0.0),
        (12, -1, 1.2000000000000002),
    ],
)
def test_a_double_is_the_mantissa_times_a_power(mantissa: int, exponent: int, expected: float) -> None:
    assert Amount(mantissa, exponent).as_float() == expected
