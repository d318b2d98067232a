"""Calls of functions, whether their overload is known or found at run time.

Expected values and costs are cel-go 0.26.0's, asked of it in the environment of Kubernetes 1.36.3.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.schema.cel.evaluating import Failed, judge_both
from tests.unit.schema.cel.sample import ENVIRONMENT, OBJECT

CASES: list[tuple[str, Any, int]] = [
    ("self.s.contains('def')", True, 4),
    ("self.w.join('-')", "x-yy", 3),
    ("self.w.join(self.s)", "xabcdefghijkyy", 7),
    ("['a', self.s].join()", "aabcdefghijk", 15),
    ("self.s.upperAscii()", "ABCDEFGHIJK", 4),
    ("self.s.split('e')", ["abcd", "fghijk"], 5),
    ("self.s.replace('a', 'b')", "bbcdefghijk", 5),
    ("self.s.substring(2, 4)", "cd", 4),
    ("self.s.substring(9, 4)", Failed("invalid substring range. start: 9, end: 4"), 4),
    ("string(self.a)", "1", 3),
    ("string(self.n)", "2", 3),
    ("string(self.t)", "2020-01-01T00:00:00Z", 3),
    ("string(self.p)", "80", 3),
    ("int(self.n)", 2, 3),
    ("int(self.q)", 80, 3),
    ("int(self.s)", Failed("type conversion error from 'string' to 'int'"), 3),
    ("double(self.a)", 1.0, 3),
    ("double(self.p)", 80.0, 3),
    ("self.s.find('[b-d]+')", "bcd", 6),
    ("self.w.isSorted()", True, 2),
    ("self.l.sum()", 6, 5),
    ("self.d.min() == self.d[1]", True, 8),
    ("self.l.max()", 3, 5),
    ("[].max()", Failed("max called on empty list"), 0),
    ("self.l.indexOf(2)", 1, 5),
    ("sets.contains(self.l, [1])", True, 6),
    ("sets.intersects(self.w, ['x'])", True, 5),
    ("quantity('1Ki').asInteger()", 1024, 2),
    (
        "quantity(self.w[0])",
        Failed("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        4,
    ),
    ("isQuantity(self.s)", False, 4),
    ("url('http://a/b').getHost()", "a", 2),
    ("type(self.a) == int", True, 4),
    ("type(self.p) == int", True, 4),
    ("type(self.q) == int", False, 4),
    ("type(self.l) == list", True, 4),
    ("type(self.d[0]) == google.protobuf.Timestamp", True, 5),
    ("type(self.y) == bytes", True, 4),
    ("type(self.n) == double", True, 4),
    ("dyn(self.a) + 1", 2, 4),
    ("dyn(self.p) - 1", 79, 4),
    ("dyn(self.s) + 1", Failed("no such overload"), 4),
    ("dyn(self.a) * 2", 2, 4),
    ("self.p % 7", 3, 3),
    ("self.q.size()", 2, 3),
    ("self.p.size()", Failed("no such overload: size"), 3),
    ("self.q.startsWith('8')", True, 3),
    ("self.p.startsWith('8')", Failed("no such overload"), 3),
    ("self.q.matches('[0-9]+')", True, 4),
    ("self.s.lastIndexOf('k')", 10, 3),
    ("self.l.slice(1, 2)", [2], 14),
    ("self.w.reverse()", ["yy", "x"], 15),
    ("self.l.distinct()", [1, 2, 3], 31),
    ("self.s.format([])", "abcdefghijk", 4),
    ("'%s-%d'.format([self.s, self.a])", "abcdefghijk-1", 15),
    ("semver('1.2.3').major() == self.a", True, 5),
    ("timestamp(self.t).getFullYear()", 2020, 4),
    ("duration('1h').getMinutes()", 60, 1),
]


@pytest.mark.parametrize(("text", "expected", "cost"), CASES)
def test_generated_code_and_the_interpreter_are_as_cel_go(text: str, expected: Any, cost: int) -> None:
    judge_both(text, ENVIRONMENT, (OBJECT,), expected, cost)
