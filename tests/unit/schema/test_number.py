from __future__ import annotations

from typing import Any

import pytest

from extapi.errors import go_float
from extapi.schema.number import is_multiple, is_whole, json_type, printed


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "boolean"),
        (2**63 - 1, "integer"),
        (2**63, "number"),
        (-(2**63), "integer"),
        (1.0, "number"),
        ("", "string"),
        ([], "array"),
        ({}, "object"),
    ],
)
def test_json_types(value: Any, name: str) -> None:
    assert json_type(value) == name


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (5.0, "5"),
        (-0.5, "-0.5"),
        (100000.0, "100000"),
        (1e6, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (0.0001, "0.0001"),
        (1e-5, "1e-05"),
        (1e300, "1e+300"),
        (-1e21, "-1e+21"),
    ],
)
def test_floats_print_as_go_prints_them(number: float, text: str) -> None:
    """The texts are what Go's fmt.Sprint gives for these float64 values."""
    assert go_float(number) == text


def test_bounds_of_integers_print_as_integers() -> None:
    assert printed(1e6, like=5) == "1000000"
    assert printed(1e6) == "1e+06"
    assert printed(2.5, like=5) == "2.5"


@pytest.mark.parametrize(
    ("number", "whole"),
    [
        (5.0, True),
        (1.5, False),
        (1e300, False),
        (2.0**53, False),
        (-3.0, True),
        (1.0000000001, True),
        (0.9999999999, False),
        (5e-324, False),
        (-1.0000000001, False),
        (float("nan"), False),
        (float("inf"), False),
    ],
)
def test_whole_numbers(number: float, whole: bool) -> None:
    assert is_whole(number) is whole


@pytest.mark.parametrize(
    ("number", "factor", "multiple"),
    [
        (9, 3, True),
        (10, 3, False),
        (0.3, 0.1, True),
        (0.35, 0.1, False),
        (3, 0.5, True),
        (7.5, 2.5, True),
        (7.0, 2.5, False),
    ],
)
def test_multiples(number: float, factor: float, multiple: bool) -> None:
    assert is_multiple(number, factor) is multiple
