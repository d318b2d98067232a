"""What is expected was said by k8s.io/apimachinery/pkg/api/resource v0.36.3."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from extapi.api.quantity import Quantity, QuantityFormat

SHAPE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX = "unable to parse quantity's suffix"


@pytest.mark.parametrize(
    ("text", "canonical", "form"),
    [
        ("0", "0", QuantityFormat.DECIMAL_SI),
        ("-0Gi", "0", QuantityFormat.BINARY_SI),
        ("1.5", "1500m", QuantityFormat.DECIMAL_SI),
        ("+1.50", "1500m", QuantityFormat.DECIMAL_SI),
        ("-1.5", "-1500m", QuantityFormat.DECIMAL_SI),
        (".5", "500m", QuantityFormat.DECIMAL_SI),
        ("5.", "5", QuantityFormat.DECIMAL_SI),
        ("1.5Gi", "1536Mi", QuantityFormat.BINARY_SI),
        ("1024", "1024", QuantityFormat.DECIMAL_SI),
        ("1024Ki", "1Mi", QuantityFormat.BINARY_SI),
        ("1Ki", "1Ki", QuantityFormat.BINARY_SI),
        ("0.5Ki", "512", QuantityFormat.BINARY_SI),
        ("0.0001Ki", "102400u", QuantityFormat.DECIMAL_SI),
        ("1000k", "1M", QuantityFormat.DECIMAL_SI),
        ("12e6", "12e6", QuantityFormat.DECIMAL_EXPONENT),
        ("12E3", "12e3", QuantityFormat.DECIMAL_EXPONENT),
        ("1e-4", "100e-6", QuantityFormat.DECIMAL_EXPONENT),
        ("1E", "1E", QuantityFormat.DECIMAL_SI),
        ("10000m", "10", QuantityFormat.DECIMAL_SI),
        ("0.1n", "1n", QuantityFormat.DECIMAL_SI),
        ("-0.1n", "-1n", QuantityFormat.DECIMAL_SI),
        ("1.0000000001", "1000000001n", QuantityFormat.DECIMAL_SI),
        ("7Ei", "7Ei", QuantityFormat.BINARY_SI),
        ("8Ei", "9223372036854775807", QuantityFormat.BINARY_SI),
        ("-9Ei", "-9223372036854775807", QuantityFormat.BINARY_SI),
        ("1e3000000000"[:4], "1e30", QuantityFormat.DECIMAL_EXPONENT),
        ("1000E", "1e21", QuantityFormat.DECIMAL_SI),
    ],
)
def test_quantities_are_written_canonically(text: str, canonical: str, form: QuantityFormat) -> None:
    quantity = Quantity.parse(text)
    assert str(quantity) == canonical
    assert quantity.format is form


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", SHAPE),
        ("m", SHAPE),
        (".", SHAPE),
        ("1 ", SHAPE),
        ("1.2.3", SHAPE),
        ("1+1.0M", SHAPE),
        ("--1", SHAPE),
        ("aoeu", SHAPE),
        ("\u0661", SHAPE),
        ("1i", SUFFIX),
        ("1K", SUFFIX),
        ("1Mi5", SUFFIX),
        ("1e", SUFFIX),
        ("1e513", SUFFIX),
        ("1e-999999999999", SUFFIX),
        ("1" * 513, "unable to parse numeric part of quantity"),
    ],
)
def test_what_is_no_quantity_is_refused(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        Quantity.parse(text)
    assert str(caught.value) == error


def test_quantities_compare_by_amount() -> None:
    assert Quantity.parse("1Ki") == Quantity.parse("1024")
    assert hash(Quantity.parse("1Ki")) == hash(Quantity.parse("1024"))
    assert Quantity.parse("999m") < Quantity.parse("1")
    assert Quantity.parse("-1") < Quantity.parse("0")
    assert not Quantity.parse("0")
    assert Quantity.parse("1n")


def test_arithmetic_is_exact_and_keeps_the_format() -> None:
    assert str(Quantity.parse("0.1") + Quantity.parse("0.2")) == "300m"
    assert str(Quantity.parse("1Gi") + Quantity.parse("1")) == "1073741825"
    assert str(Quantity.parse("1Gi") + Quantity.parse("1024")) == "1048577Ki"
    assert str(Quantity.parse("0") + Quantity.parse("2Gi")) == "2Gi"
    assert str(Quantity.parse("1.50") * 3) == "4500m"
    assert str(3 * Quantity.parse("1Ki")) == "3Ki"
    assert str(Quantity.parse("1") - Quantity.parse("1500m")) == "-500m"
    assert str(-Quantity.parse("1Ki")) == "-1Ki"
    assert str(Quantity.parse("7Ei") * 1024 * 1024) == "7340032Ei"


def test_numbers() -> None:
    quantity = Quantity.parse("1500m")
    assert (quantity.value, quantity.milli_value, quantity.fraction) == (2, 1500, Fraction(3, 2))
    assert Quantity.parse("-1.5").value == -2
    # ScaledValue rounds up, however little there is: a tenth of a CPU is one.
    assert (Quantity.parse("100m").value, Quantity.parse("-100m").value) == (1, -1)
    assert (Quantity.parse("1u").milli_value, Quantity.parse("1001u").milli_value) == (1, 2)
    assert str(Quantity.of(3)) == "3"
    assert str(Quantity.of(Decimal("1.50"))) == "1500m"
    assert str(Quantity.of(Fraction(-1, 3))) == "-333333334n"
    assert str(Quantity.of(2048, QuantityFormat.BINARY_SI)) == "2Ki"


@given(st.text("+-.0159eEinumkKMGTPx\u0663", max_size=10))
def test_the_published_expression_decides_what_is_well_formed(text: str) -> None:
    """It lets several points through, and numbers without a digit, which are refused as well."""
    published = re.fullmatch(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)", text, re.ASCII)
    well_formed = published is not None and published[1].count(".") < 2 and re.search("[0-9]", published[1]) is not None
    try:
        why = str(Quantity.parse(text))
    except ValueError as error:
        why = str(error)
    assert (why == SHAPE) == (not well_formed)


@pytest.mark.parametrize("text", ["1e513", "1e-513", f"1e{'9' * 400}", f"1e-{'9' * 400}", "1e", "1e+", "1eE"])
def test_exponents_are_bounded(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{SUFFIX}$"):
        Quantity.parse(text)
