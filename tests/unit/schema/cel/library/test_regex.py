"""``find`` and ``findAll``. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.intervals import Interval
from extapi.schema.cel.library.regex import REGEX
from extapi.schema.cel.types import STRING
from tests.unit.schema.cel.library.calling import Refused, Written, call, estimate, judge, untested

CASES: list[tuple[Any, ...]] = [
    ("string_find_string", ("abc 123", "[0-9]+"), "123", 2, (2, 2)),
    ("string_find_string", ("abc", "x"), "", 1, (1, 1)),
    ("string_find_string", ("aé😀b", ".😀"), "é😀", 1, (1, 1)),
    ("string_find_all_string", ("123 abc 456", "[0-9]*"), ["123", "", "", "", "", "456"], 4, (4, 4)),
    ("string_find_all_string", ("aéb", ""), ["", "", "", ""], 0, (0, 0)),
    ("string_find_all_string", ("abcab", "(a)(b)"), ["ab", "ab"], 2, (2, 2)),
    ("string_find_all_string", ("", "x"), [], 1, (1, 1)),
    ("string_find_all_string", ("aé😀a", "\\B"), [""], 1, (1, 1)),
    ("string_find_all_string", ("ab\ncd", "(?m)^."), ["a", "c"], 2, (2, 2)),
    ("string_find_all_string_int", ("1 2 3", "[0-9]", 2), ["1", "2"], 2, (2, 2)),
    ("string_find_all_string_int", ("1 2 3", "[0-9]", 0), [], 2, (2, 2)),
    ("string_find_all_string_int", ("1 2 3", "[0-9]", -1), ["1", "2", "3"], 2, (2, 2)),
    ("string_find_all_string_int", ("abab", "a*", 3), ["a", "a", ""], 1, (1, 1)),
]


@pytest.mark.parametrize(("identifier", "arguments", "expected", "charged", "estimated"), CASES)
def test_a_call_has_the_value_and_costs_of_kubernetes(
    identifier: str, arguments: tuple[Any, ...], expected: Any, charged: int, estimated: tuple[int, int]
) -> None:
    judge(REGEX, identifier, arguments, expected, charged, estimated)


def test_each_overload_has_a_case() -> None:
    assert untested(REGEX, CASES) == set()


def test_a_pattern_that_is_not_constant_fails_when_it_is_evaluated() -> None:
    text = "Illegal regex: error parsing regexp: missing closing ): `(`"
    assert call(REGEX, "string_find_string", "a", "(") == Refused(text)
    assert call(REGEX, "string_find_all_string", "a", "(") == Refused(text)


def test_an_estimate_is_the_product_of_text_and_pattern() -> None:
    operands = (Written(STRING, Interval(0, 100)), Written(STRING, Interval(3, 30)))
    assert estimate(REGEX, "string_find_string", *operands) == (1, 88)
