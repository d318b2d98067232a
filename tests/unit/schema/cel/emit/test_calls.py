"""Calls with code of their own, and literals of lists and maps.

Expected values and costs are cel-go 0.26.0's, asked of it in the environment of Kubernetes 1.36.3.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.schema.cel.evaluating import Failed, judge_both, some
from tests.unit.schema.cel.sample import ENVIRONMENT, OBJECT

CASES: list[tuple[str, Any, int]] = [
    ("self.s.startsWith('abc')", True, 4),
    ("self.s.endsWith(self.w[0])", False, 7),
    ("self.w[0].startsWith(self.w[0])", True, 7),
    ("self.s.matches('^a.*k$')", True, 6),
    ("self.s.matches('b{2}')", False, 4),
    ("self.s.matches(self.w[0])", False, 7),
    ("self.s.matches(self.o.x + '[')", Failed("error parsing regexp: missing closing ]: `[`"), 8),
    ("matches(self.s, 'k$')", True, 3),
    ("self.s.size()", 11, 3),
    ("size(self.s + 'é')", 12, 5),
    ("size(self.l)", 3, 3),
    ("self.m.size()", 2, 3),
    ("size(self.y)", 2, 3),
    ("size(self.sets[0])", 2, 4),
    ("[self.a, 2]", [1, 2], 12),
    ("[]", [], 0),
    ("[self.n, 2.0]", [2.0, 2.0], 12),
    ("[?self.m[?'z'], ?self.m[?'k']]", [7], 15),
    ("{}", {}, 0),
    ("{self.w[0]: self.a}", {"x": 1}, 35),
    ("{self.w[0]: 1, 'x': self.a}", {"x": 1}, 35),
    ("{'a': self.a, 'b': self.m.k}", {"a": 1, "b": 7}, 35),
    ("{'x': self.n}['x']", 2.0, 34),
    ("optional.of(self.a)", some(1), 3),
    ("optional.of(self.d[0]).value().getDate()", 2, 6),
    ("optional.ofNonZeroValue(self.a - 1)", "none", 4),
    ("optional.ofNonZeroValue(self.s).hasValue()", True, 4),
    ("optional.none().hasValue()", False, 2),
    ("optional.none().value()", Failed("optional.none() dereference"), 2),
    ("optional.of(self.a).or(optional.of(1 / 0)).value()", 1, 4),
    ("optional.of(self.a).orValue(1 / (self.a - 1))", 1, 3),
    ("optional.none().orValue(self.a)", 1, 3),
    ("optional.none().orValue(1 / (self.a - 1))", Failed("division by zero"), 5),
    ("self.?m.z.or(optional.of(4)).value()", 4, 4),
    ("self.?m.k.or(optional.of(4)).value()", 7, 4),
    ("self.?l.orValue([]).size()", 3, 3),
    ("self.?os.orValue([])[0].n", 1.0, 5),
    ("self.?d[0].orValue(self.t).getFullYear()", 2020, 4),
    ("!(self.a == 1)", False, 4),
    ("!dyn(self.b)", False, 4),
    ("!dyn(self.a)", Failed("no such overload"), 4),
]


@pytest.mark.parametrize(("text", "expected", "cost"), CASES)
def test_generated_code_and_the_interpreter_are_as_cel_go(text: str, expected: Any, cost: int) -> None:
    judge_both(text, ENVIRONMENT, (OBJECT,), expected, cost)
