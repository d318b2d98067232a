"""Quantities. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.quantity import QUANTITY_FUNCTIONS, parse_quantity
from extapi.schema.cel.types import QUANTITY
from tests.unit.schema.cel.library.calling import Refused, Written, call, cost, estimate, judge, untested

CASES: list[tuple[Any, ...]] = [
    (
        "string_to_quantity",
        ("",),
        Refused("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        0,
        (0, 0),
    ),
    (
        "string_to_quantity",
        ("10Mo",),
        Refused("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        1,
        (1, 1),
    ),
    (
        "string_to_quantity",
        ("1x",),
        Refused("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        1,
        (1, 1),
    ),
    ("string_to_quantity", (".Ei",), Refused("unable to parse numeric part of quantity"), 1, (1, 1)),
    ("is_quantity_string", ("1.3Gi",), True, 1, (1, 1)),
    ("is_quantity_string", ("1,3",), False, 1, (1, 1)),
    ("is_quantity_string", ("10k",), True, 1, (1, 1)),
    ("is_quantity_string", ("1e99999999999999999999",), False, 3, (3, 3)),
    ("is_quantity_string", ("",), False, 0, (0, 0)),
    ("is_quantity_string", ("m",), True, 1, (1, 1)),
    ("is_quantity_string", ("1e1000000",), True, 1, (1, 1)),
    ("is_quantity_string", ("+.5",), True, 1, (1, 1)),
    ("is_quantity_string", ("5-3",), False, 1, (1, 1)),
    ("quantity_sign", (parse_quantity("-2Ki"),), -1, 1, (1, 1)),
    ("quantity_sign", (parse_quantity("0"),), 0, 1, (1, 1)),
    ("quantity_sign", (parse_quantity("1n"),), 1, 1, (1, 1)),
    ("quantity_sign", (parse_quantity("0.0000000001"),), 1, 1, (1, 1)),
    ("quantity_is_greater_than", (parse_quantity("150Mi"), parse_quantity("100Mi")), True, 1, (1, 1)),
    ("quantity_is_greater_than", (parse_quantity("1e3"), parse_quantity("1k")), False, 1, (1, 1)),
    ("quantity_is_less_than", (parse_quantity("50M"), parse_quantity("50Mi")), True, 1, (1, 1)),
    ("quantity_is_less_than", (parse_quantity("1n"), parse_quantity("0")), False, 1, (1, 1)),
    ("quantity_compare_to", (parse_quantity("200M"), parse_quantity("0.2G")), 0, 1, (1, 1)),
    ("quantity_compare_to", (parse_quantity("-1"), parse_quantity("1n")), -1, 1, (1, 1)),
    (
        "quantity_compare_to",
        (parse_quantity("12345678901234567890"), parse_quantity("12345678901234567891")),
        -1,
        1,
        (1, 1),
    ),
    ("quantity_compare_to", (parse_quantity("1e300"), parse_quantity("999999999999999999999999999999")), 1, 1, (1, 1)),
    ("quantity_get_float", (parse_quantity("50.703k"),), 50703.0, 1, (1, 1)),
    ("quantity_get_float", (parse_quantity("10000m"),), 10.0, 1, (1, 1)),
    ("quantity_get_float", (parse_quantity("1e300"),), 1e300, 1, (1, 1)),
    ("quantity_get_float", (parse_quantity("1.5Ki"),), 1536.0, 1, (1, 1)),
    ("quantity_get_float", (parse_quantity("123456789012345678901234567890n"),), 1.2345678901234568e20, 1, (1, 1)),
    ("quantity_get_float", (parse_quantity("-1e400"),), float("-inf"), 1, (1, 1)),
    ("quantity_get_float", (parse_quantity("1e-320"),), 1e-09, 1, (1, 1)),
    ("quantity_get_float", (parse_quantity("12345678901234567890e5"),), 1.2345678901234568e24, 1, (1, 1)),
    ("quantity_get_int", (parse_quantity("50k"),), 50000, 1, (1, 1)),
    ("quantity_get_int", (parse_quantity("1.5"),), Refused("cannot convert value to integer"), 1, (1, 1)),
    (
        "quantity_get_int",
        (parse_quantity("9223372036854775807"),),
        Refused("cannot convert value to integer"),
        1,
        (1, 1),
    ),
    (
        "quantity_get_int",
        (parse_quantity("9223372036854775808"),),
        Refused("cannot convert value to integer"),
        1,
        (1, 1),
    ),
    ("quantity_get_int", (parse_quantity("8Ei"),), Refused("cannot convert value to integer"), 1, (1, 1)),
    ("quantity_get_int", (parse_quantity("1e18"),), 1000000000000000000, 1, (1, 1)),
    ("quantity_get_int", (parse_quantity("-3Ki"),), -3072, 1, (1, 1)),
    ("quantity_get_int", (parse_quantity("1e4294967297"),), 10, 1, (1, 1)),
    ("quantity_is_integer", (parse_quantity("50000000G"),), True, 1, (1, 1)),
    ("quantity_is_integer", (parse_quantity("9999999999999999999999999999999999999G"),), False, 1, (1, 1)),
    ("quantity_is_integer", (parse_quantity("1.0"),), False, 1, (1, 1)),
    ("quantity_is_integer", (parse_quantity("1Ki"),), True, 1, (1, 1)),
    ("quantity_is_integer", (parse_quantity("1.5Ki"),), False, 1, (1, 1)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(QUANTITY_FUNCTIONS, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(QUANTITY_FUNCTIONS, CASES) == {
        "quantity_add",
        "quantity_add_int",
        "quantity_sub",
        "quantity_sub_int",
    }


SUMS = [
    ("quantity_add", "9223372036854775807", "1", 9.223372036854775808e18, None),
    ("quantity_add", "1.5", "500m", 2.0, None),
    ("quantity_add", "50k", "20", 50020.0, 50020),
    ("quantity_sub", "50k", "50k", 0.0, 0),
    ("quantity_sub", "1Ki", "1k", 24.0, 24),
]


@pytest.mark.parametrize(("identifier", "left", "right", "double", "integer"), SUMS)
def test_a_sum_is_exact_and_an_integer_only_without_fraction(
    identifier: str, left: str, right: str, double: float, integer: int | None
) -> None:
    total = call(QUANTITY_FUNCTIONS, identifier, parse_quantity(left), parse_quantity(right))
    assert call(QUANTITY_FUNCTIONS, "quantity_get_float", total) == double
    refused = Refused("cannot convert value to integer")
    assert call(QUANTITY_FUNCTIONS, "quantity_get_int", total) == (refused if integer is None else integer)
    assert cost(QUANTITY_FUNCTIONS, identifier, total, total) == 1
    assert estimate(QUANTITY_FUNCTIONS, identifier, Written(QUANTITY), Written(QUANTITY)) == (1, 1)


def test_the_smallest_int_is_subtracted_as_go_does_it() -> None:
    # of zero, Go takes it as it is: its negative has no place in an int64
    taken = call(QUANTITY_FUNCTIONS, "quantity_sub_int", parse_quantity("0"), -(2**63))
    assert call(QUANTITY_FUNCTIONS, "quantity_get_float", taken) == -(2.0**63)
    taken = call(QUANTITY_FUNCTIONS, "quantity_sub_int", parse_quantity("-3m"), -(2**63))
    assert call(QUANTITY_FUNCTIONS, "quantity_get_float", taken) == 2.0**63


def test_nothing_is_equal_to_a_sum() -> None:
    one, more = parse_quantity("1"), parse_quantity("1000m")
    assert one == more
    assert hash(one) == hash(more)
    total = call(QUANTITY_FUNCTIONS, "quantity_add_int", one, 0)
    assert total == one
    for other in (total, 1):
        with pytest.raises(EvaluationError, match="no such overload"):
            _ = one == other


@pytest.mark.parametrize("text", ["1e1000000", "1e2147483647", "1e-2147483648", "1" * 5000, "0." + "0" * 5000 + "1"])
def test_a_huge_exponent_costs_nothing(text: str) -> None:
    quantity = call(QUANTITY_FUNCTIONS, "string_to_quantity", text)
    if isinstance(quantity, Refused):
        assert quantity.text == "unable to parse numeric part of quantity"
        return
    call(QUANTITY_FUNCTIONS, "quantity_get_float", quantity)
    call(QUANTITY_FUNCTIONS, "quantity_compare_to", quantity, parse_quantity("1n"))
    call(QUANTITY_FUNCTIONS, "quantity_get_int", quantity)
    call(QUANTITY_FUNCTIONS, "quantity_add", quantity, parse_quantity("1n"))
    hash(quantity)


def test_quantities_that_are_too_far_apart_are_not_added() -> None:
    assert call(QUANTITY_FUNCTIONS, "quantity_add", parse_quantity("1e1000000"), parse_quantity("1n")) == Refused(
        "quantities are too far apart to be added"
    )
