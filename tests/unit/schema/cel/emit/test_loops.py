"""Macros that loop, in generated code and in the interpreter.

Expected values and costs are cel-go 0.26.0's, asked of it in the environment of Kubernetes 1.36.3.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.schema.cel.evaluating import Failed, judge_both, some
from tests.unit.schema.cel.sample import ENVIRONMENT, OBJECT

CASES: list[tuple[str, Any, int]] = [
    ("self.l.all(x, x > 0)", True, 18),
    ("self.l.all(x, x > 1)", False, 10),
    ("self.l.exists(x, x == 2)", True, 18),
    ("self.l.exists(x, x == 9)", False, 21),
    ("self.l.exists_one(x, x > 2)", True, 12),
    ("self.l.exists_one(x, x > 1)", False, 14),
    ("self.l.map(x, x * 2)", [2, 4, 6], 45),
    ("self.l.map(x, 0)", [0, 0, 0], 9),
    ("self.l.map(x, x > 1, x + 1)", [3, 4], 37),
    ("self.l.filter(x, x != 2)", [1, 3], 35),
    ("self.m.all(k, k.size() == 1)", True, 15),
    ("self.m.exists(k, self.m[k] == 2)", True, 19),
    ("self.m.exists(k, self.m[k] == 9)", False, 19),
    ("self.m.map(k, k)", ["k", "j"], 29),
    ("self.m.filter(k, self.m[k] > 5)", ["k"], 24),
    ("self.l.all(i, x, i < x)", True, 21),
    ("self.l.exists(i, x, i == x)", False, 24),
    ("self.m.all(k, v, k == 'k' || v == 2)", True, 15),
    ("self.m.exists(k, v, v == 9)", False, 15),
    ("self.l.existsOne(i, x, i == 0)", True, 12),
    ("self.m.existsOne(k, v, v > 1)", False, 12),
    ("self.l.transformList(i, x, i * x)", [0, 2, 6], 48),
    ("self.l.transformList(i, x, x > 1, i)", [1, 2], 35),
    ("self.m.transformList(k, v, v > 5, k)", ["k"], 20),
    ("self.m.transformMap(k, v, v + 1)", {"j": 3, "k": 8}, 13),
    ("self.m.transformMap(k, v, v > 5, 'n')", {"k": "n"}, 10),
    ("self.l.transformMap(i, x, x * x)", {0: 1, 1: 4, 2: 9}, 21),
    ("self.l.transformMapEntry(i, x, {x: i})", {1: 0, 2: 1, 3: 2}, 105),
    ("self.m.transformMapEntry(k, v, {v: k})", {2: "j", 7: "k"}, 71),
    ("self.m.transformMapEntry(k, v, v > 5, {v: k})", {7: "k"}, 41),
    ("self.l.transformMapEntry(i, x, {'a': x})", Failed("insert failed: key a already exists"), 102),
    ("self.l.transformMapEntry(i, x, {})", {}, 9),
    ("self.d.all(x, x > timestamp('2019-01-01T00:00:00Z'))", True, 13),
    ("self.d.map(x, x.getDate())", [2, 1], 31),
    ("self.d.filter(x, x.getDate() == 2).size()", 1, 23),
    ("self.d.all(i, x, x.getDate() == 2 - i)", True, 19),
    ("self.os.filter(x, x.k == 'a').size()", 2, 39),
    ("self.os.filter(x, x.k == 'a')[1].n", 1.0, 41),
    ("self.os.map(x, x.n)", Failed("no such key: n"), 45),
    ("self.os.filter(x, has(x.n)).map(x, x.n)", [1.0, 1.0], 61),
    ("self.os.all(x, has(x.v) ? x.v == 1 : true)", True, 21),
    ("self.os.exists(x, x.v == 1)", True, 13),
    ("self.os.exists(x, x.v == 2)", Failed("no such key: v"), 24),
    ("self.os.map(x, has(x.v), x.v + x.v)", [2, 2], 40),
    ("self.sets.all(s, s.exists(x, x == 'a'))", True, 59),
    ("self.sets.exists_one(s, s == self.sets[0])", False, 28),
    ("self.maps.all(l, l.all(x, self.maps[0].exists(y, y.k == x.k)))", True, 150),
    ("self.l.map(x, self.l.map(x, x + 1)[0] + x)", [3, 4, 5], 186),
    ("[1, 2].all(x, [3].all(y, x < y))", True, 21),
    ("[].all(x, x)", True, 1),
    ("[].exists(x, x)", False, 1),
    ("[].map(x, x)", [], 1),
    ("dyn([1, 2]).all(x, x > 0)", True, 11),
    ("dyn({'a': 1}).map(k, k)", ["a"], 14),
    ("dyn({'a': 1}).all(k, v, v == 1)", True, 6),
    ("dyn([1, 2]).all(i, x, x == i + 1)", True, 15),
    ("dyn(3).all(x, true)", Failed("got 'types.Int', expected iterable type"), 0),
    ("dyn(3).all(x, y, true)", Failed("unsupported comprehension range type: types.Int"), 0),
    ("self.p.all(x, true)", Failed("got 'types.Int', expected iterable type"), 2),
    ("self.l.map(x, [x]).all(y, y[0] > 0)", True, 91),
    ("self.l.all(self, self > 0) && self.b", True, 20),
    ("self.l.all(x, x > 0) && self.l.exists(x, x == 3)", True, 39),
    ("self.l.sortBy(x, -x)", [3, 2, 1], 76),
    ("self.l.map(x, x == 2, string(x)).join()", "2", 24),
    ("self.?l.orValue([]).map(x, x)", [1, 2, 3], 42),
    ("self.?o.optMap(o, o.x + o.x).orValue('')", "vv", 12),
    ("self.?m.z.optMap(o, o + o).orValue(9)", 9, 4),
    ("self.?m.z.optFlatMap(o, self.?a)", "none", 4),
    ("self.?m.k.optFlatMap(o, self.m[?'k'])", some(7), 7),
    ("self.?a.optMap(x, self.b ? 1 : x)", some(1), 6),
    ("self.?a.optMap(x, x > 0 || x > 1)", some(True), 9),
    ("self.hs.map(h, h.k)", ["v", "v", "v"], 45),
    ("self.hs.filter(h, h.k == 'v')[0].k", "v", 54),
    ("self.hs.filter(h, h.k == 'v').size()", 3, 52),
]


@pytest.mark.parametrize(("text", "expected", "cost"), CASES)
def test_generated_code_and_the_interpreter_are_as_cel_go(text: str, expected: Any, cost: int) -> None:
    judge_both(text, ENVIRONMENT, (OBJECT,), expected, cost)


def test_a_variable_that_is_hidden_in_a_loop_is_itself_after_it() -> None:
    judge_both("self.l.map(self, self + 1)[0] + self.a", ENVIRONMENT, (OBJECT,), 3, 50)
