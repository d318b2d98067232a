"""What calls cost. Expected costs are what cel-go 0.26.0 charges in Kubernetes 1.36.3, less that of the arguments.

What is evaluated after an argument that failed is in ``cel-go/interpreter`` planner.go and interpretable.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.evaluation.prices import (
    call_cost,
    constant_pattern,
    is_constant_set,
    is_underpriced,
    priced,
    stops_at_error,
)
from extapi.schema.cel.syntax.nodes import Call
from tests.unit.schema.cel.evaluating import tree_of
from tests.unit.schema.cel.sample import ENVIRONMENT


def call_of(text: str) -> Call:
    node = tree_of(text, ENVIRONMENT)
    assert isinstance(node, Call)
    return node


@pytest.mark.parametrize(
    ("text", "arguments", "cost"),
    [
        ("self.a + 2", [1, 2], 1),
        ("self.s + '!'", ["abcdefghijk", "!"], 2),
        ("dyn(self.s) + dyn(self.s)", ["abcdefghijk", "!"], 1),  # nobody knows the overload
        ("self.s.contains('def')", ["abcdefghijk", "def"], 2),
        ("self.s.matches('b{2}')", ["abcdefghijk", "b{2}"], 2),
        ("self.s.matches('^a.*k$')", ["abcdefghijk", "^a.*k$"], 4),
        ("self.s.startsWith('abc')", ["abcdefghijk", "abc"], 2),
        ("self.s.replace('a', 'b')", ["abcdefghijk", "a", "b"], 3),
        ("self.s == 'abcdefghijk'", ["abcdefghijk", "abcdefghijk"], 2),
        ("'' == self.s", ["", "abcdefghijk"], 0),
        ("self.l.sum()", [[1, 2, 3]], 3),
        ("self.a in self.l", [1, [1, 2, 3]], 3),
        ("'k' in self.m", ["k", {"k": 7, "j": 2}], 1),
        ("isQuantity(self.s)", ["abcdefghijk"], 2),
        ("string(self.a)", [1], 1),
        ("size(self.l)", [[1, 2, 3]], 1),
    ],
)
def test_the_cost_of_a_call(text: str, arguments: list[Any], cost: int) -> None:
    assert call_cost(call_of(text), arguments, None) == cost


def test_a_call_with_several_overloads_has_the_price_of_the_function() -> None:
    several = ENVIRONMENT.language.functions["indexOf"]
    assert priced(several[:1]) is several[0].cost
    containing = ENVIRONMENT.language.functions["containsIP"]
    assert len(containing) == 2
    assert priced(containing) is not containing[0].cost or priced(containing) is containing[1].cost


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.a in [1, 2]", True),
        ("self.s in ['a']", True),
        ("self.a in [self.a]", False),
        ("self.l in [[1]]", False),
        ("self.s in {'a': 1}", False),
        ("self.a in self.l", False),
    ],
)
def test_a_member_of_literals_is_free(text: str, expected: bool) -> None:
    assert is_constant_set(call_of(text)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.s.matches('a')", True),
        ("matches(self.s, 'a')", True),
        ("self.s.find('a')", True),
        ("self.s.findAll('a')", True),
        ("self.s.matches(self.o.x)", False),
        ("self.s.contains('a')", False),
    ],
)
def test_a_pattern_that_is_a_literal_is_compiled_once(text: str, expected: bool) -> None:
    assert constant_pattern(call_of(text)) is expected


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        ("self.a + 1", 2, False),
        ("self.s.contains('a')", 2, False),
        ("self.s.matches('a')", 2, True),
        ("self.s.matches(self.o.x)", 2, False),
        ("self.s.replace('a', 'b')", 3, True),
        ("dyn(self.a) + 1", 2, False),
        ("dyn(self.s).contains('a')", 2, False),
        ("dyn(self.s).indexOf(dyn('a'))", 2, True),
    ],
)
def test_whether_arguments_after_a_failed_one_are_evaluated(text: str, count: int, expected: bool) -> None:
    assert stops_at_error(call_of(text), count) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.l.isSorted()", True),
        ("self.l.sum()", True),
        ("self.l + self.l", True),
        ("self.s + self.s", False),
        ("self.s.split(',')", True),
        ("self.a + self.a", False),
        ("self.s.size()", False),
        ("self.s.startsWith('a')", False),
    ],
)
def test_after_which_calls_the_clock_is_looked_at(text: str, expected: bool) -> None:
    assert is_underpriced(call_of(text)) is expected
