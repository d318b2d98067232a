"""Logic, equality, order, arithmetic and membership, in generated code and in the interpreter.

Expected values and costs are cel-go 0.26.0's, asked of it in the environment of Kubernetes 1.36.3.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.schema.cel.evaluating import Failed, judge_both
from tests.unit.schema.cel.sample import ENVIRONMENT, OBJECT

CASES: list[tuple[str, Any, int]] = [
    ("self.a == 1", True, 3),
    ("self.a != 1", False, 3),
    ("1 == 1", True, 1),
    ("self.s == 'abcdefghijk'", True, 4),
    ("self.s == 'a'", False, 3),
    ("'' == self.s", False, 2),
    ("'abcdefghijk' == self.s", True, 4),
    ("self.s != self.w[0]", True, 6),
    ("self.s == self.s", True, 6),
    ("self.w[0] < self.s", False, 6),
    ("self.s <= 'abcdefghijkl'", True, 4),
    ("'b' > self.s", True, 3),
    ("self.a < 2", True, 3),
    ("self.a >= 2", False, 3),
    ("self.n > 1", True, 3),
    ("self.a < 1.5", True, 3),
    ("self.n == 2.0", True, 3),
    ("self.n < 0.0 / 0.0", Failed("NaN values cannot be ordered"), 4),
    ("0.0 / 0.0 == self.n / 0.0", False, 5),
    ("self.d[0] > self.d[1]", True, 7),
    ("self.d[0] == timestamp('2020-01-02T00:00:00Z')", True, 4),
    ("self.u == duration('1m30s')", True, 3),
    ("self.u < duration('2m')", True, 3),
    ("self.t + self.u == timestamp('2020-01-01T00:01:30Z')", True, 6),
    ("self.y == b'ab'", True, 3),
    ("self.a + 2", 3, 3),
    ("self.a - 2 * 3", -5, 4),
    ("self.a + 9223372036854775807", Failed("integer overflow"), 3),
    ("self.a * -9223372036854775807 - 2", Failed("integer overflow"), 4),
    ("-self.a", -1, 3),
    ("-(self.a - 9223372036854775807 - 2)", Failed("integer overflow"), 5),
    ("7 / self.a", 7, 3),
    ("-7 / (self.a + 1)", -3, 4),
    ("-7 % (self.a + 2)", -1, 4),
    ("self.n * 2.5", 5.0, 3),
    ("self.s + '!'", "abcdefghijk!", 4),
    ("self.l + [4]", [1, 2, 3, 4], 3),
    ("self.a / (self.a - 1)", Failed("division by zero"), 6),
    ("self.a % (self.a - 1)", Failed("modulus by zero"), 6),
    ("!self.b", False, 3),
    ("!self.b && self.b || self.b", True, 5),
    ("self.b && self.b && self.b && !self.b", False, 9),
    ("self.a == 2 || self.a == 3 || self.a == 1", True, 9),
    ("self.b || 1 / (self.a - 1) > 0", True, 2),
    ("!self.b && 1 / (self.a - 1) > 0", False, 3),
    ("self.b && dyn(self.b)", True, 5),
    ("self.a in [1, 2]", True, 2),
    ("self.a in [3]", False, 2),
    ("self.s in ['a', 'abcdefghijk']", True, 2),
    ("self.s in []", False, 0),
    ("self.a in self.l", True, 7),
    ("4 in self.l", False, 5),
    ("'k' in self.m", True, 3),
    ("'z' in self.m", False, 3),
    ("self.b in [true, false]", True, 2),
    ("self.b in [dyn(1), dyn(0)]", False, 2),
    ("dyn(self.a) in [dyn(true)]", False, 3),
    ("self.n in [1.0, 2.0]", True, 2),
    ("timestamp('2020-01-02T00:00:00Z') in self.d", True, 4),
    ("timestamp('2021-01-01T00:00:00Z') in self.d", False, 4),
    ("self.o.x in self.w", False, 7),
    ("self.os[0] in self.os", True, 8),
    ("self.l == [1, 2, 3]", True, 3),
    ("self.l == [1, 2]", False, 3),
    ("[1, 2, 3] != self.l", False, 3),
    ("self.m == {'k': 7, 'j': 2}", True, 3),
    ("self.m == {'k': 7}", False, 3),
    ("self.sets[0] == self.sets[1]", True, 7),
    ("self.sets[0] == self.sets[2]", False, 7),
    ("self.sets[0] == self.sets[3]", False, 7),
    ("self.sets[0] != self.sets[1]", False, 7),
    ("self.sets[0] == ['a', 'b']", True, 4),
    ("['b', 'a'] == self.sets[0]", False, 4),
    ("self.sets[1] == ['a', 'b']", True, 4),
    ("self.maps[0] == self.maps[1]", True, 7),
    ("self.maps[0] == self.maps[2]", False, 7),
    ("self.os[0] == self.os[1]", True, 7),
    ("self.os[0] == self.os[2]", False, 7),
    ("self.os[0] != self.os[1]", False, 7),
    ("self.hs[0] == self.hs[1]", False, 7),
    ("self.hs[0] == self.hs[2]", True, 7),
    ("self.h == self.h", True, 5),
    ("self.d == [timestamp('2020-01-02T00:00:00Z'), timestamp('2020-01-01T00:00:00Z')]", True, 3),
    ("self.sets == self.sets", True, 5),
    ("self.p == 80", True, 3),
    ("self.q == '80'", True, 3),
    ("self.p == self.q", False, 5),
    ("self.p == 'a'", False, 3),
    ("self.p < 81", True, 3),
    ("self.q < '9'", True, 3),
    ("self.p < '9'", Failed("no such overload"), 3),
    ("self.p + 1 == 81", True, 4),
    ("self.q + '1' == '801'", True, 4),
    ("[self.p] == [80]", True, 13),
    ("self.sets[0] + self.sets[2]", ["a", "b", "c"], 7),
    ("(self.maps[0] + self.maps[2])[1].v", 3, 10),
    ("(self.maps[0] + self.maps[2]).size()", 2, 8),
]


@pytest.mark.parametrize(("text", "expected", "cost"), CASES)
def test_generated_code_and_the_interpreter_are_as_cel_go(text: str, expected: Any, cost: int) -> None:
    judge_both(text, ENVIRONMENT, (OBJECT,), expected, cost)


def test_a_literal_of_the_smallest_number_stays_one() -> None:
    judge_both("self.a > -9223372036854775808", ENVIRONMENT, (OBJECT,), True, 3)


def test_a_long_chain_is_flat() -> None:
    text = " || ".join(["self.a == 2"] * 200 + ["self.b"])
    judge_both(text, ENVIRONMENT, (OBJECT,), True, 602)
