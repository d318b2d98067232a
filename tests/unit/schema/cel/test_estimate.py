"""What expressions may cost: asked of Kubernetes 1.36.3's own compiler of rules, with cel-go 0.26's estimator."""

from __future__ import annotations

import pytest

from extapi.schema.cel.intervals import LARGEST
from tests.unit.schema.cel.compiling import Schema, array, compiled, mapping, of

INTEGER: Schema = {"type": "integer"}
STRING: Schema = {"type": "string"}
SHORT: Schema = {"type": "string", "maxLength": 10}

RULES: list[tuple[Schema, dict[str, int]]] = [
    (
        INTEGER,
        {
            "self == 1": 1,
            "self > 1 && self < 5": 4,
            "self in [1, 2, 3]": 14,
            "self > 0 || self < 5": 4,
            "self > 0 ? self > 1 : true": 4,
            "!(self > 1)": 3,
            "self + self == 2": 4,
            "dyn(self) == 'a'": 2,
            "[self, self][0] == 1": 13,
            "{'a': self}.a == 1": 32,
            "{'a': self} == {'a': 1}": 62,
            "self == oldSelf": 2,
            "type(self) == int": 3,
        },
    ),
    (
        STRING,
        {
            "self == 'a'": 2,
            "self.size() > 1": 3,
            "self.contains('a')": 314574,
            "self.matches('a')": 314574,
            "self.startsWith('abc')": 2,
            "self + self == 'a'": 629149,
            "self == self": 314575,
            "self.split(',').size() > 1": 629149,
            "self.lowerAscii() == 'a'": 314575,
            "self.matches('[a-z]+') && self.size() < 3": 629150,
            "self.replace('a', 'b') == ''": 629147,
            "'%s'.format([self]) == 'a'": 13,
        },
    ),
    (
        SHORT,
        {
            "self == 'a'": 2,
            "self.size() > 1": 3,
            "self.contains('a')": 5,
            "self.contains('abcdefghij' + self)": 27,
            "self.matches('a')": 6,
            "self.matches('a' + self)": 62,
            "self.startsWith('abc')": 2,
            "self + self == 'a'": 11,
            "self == self": 6,
            "self.split(',').size() > 1": 11,
            "self.split(',').all(x, x == 'a')": 210,
            "self.lowerAscii() == 'a'": 6,
            "('a' + self).contains('b')": 11,
            "self in ['a', 'bc']": 13,
            "(self == 'a' ? self : 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz') == self": 8,
            "[self].map(x, x + x)[0] == self": 50,
            "dyn(self) == dyn(self)": 8,
            "optional.of(self).orValue('a') == self": 8,
            "self.replace('a', 'bc').contains('x')": 17,
            "[self, 'a'].all(x, x == 'b')": 22,
            "{self: 'a'}.all(k, k == 'b')": 37,
            "{'a': self}.all(k, v, v == 'b')": 37,
            "string(1) == self": 6,
            "self.substring(1) == self": 10,
        },
    ),
    (
        {"type": "string", "enum": ["a", "bcdefghijklmnop", "é"]},
        {
            "self.contains('a')": 3,
            "self == self": 4,
        },
    ),
    (
        {"type": "string", "format": "byte", "maxLength": 100},
        {
            "self == self": 12,
            "self.size() > 1": 3,
            "self + self == self": 33,
        },
    ),
    (
        {"type": "string", "format": "date-time"},
        {
            "self == self": 6,
            "self > self": 3,
        },
    ),
    (
        {"type": "string", "format": "duration"},
        {
            "self == self": 6,
        },
    ),
    (
        array(INTEGER),
        {
            "self.all(x, x > 0)": 7864317,
            "self.size() > 1": 3,
            "self == self": 157289,
            "1 in self": 1572864,
            "self[0] == 1": 2,
            "self.sum() > 1": 1572865,
            "self.map(x, x + 1).all(x, x > 0)": 29884410,
            "self.filter(x, x > 0).size() > 0": 23592959,
            "self.all(x, self.all(y, x == y))": 12369497948162,
            "(self + self).all(x, x > 0)": 15728634,
            "self.exists_one(x, x > 0)": 6291455,
            "self.exists(x, x == 1)": 7864317,
        },
    ),
    (
        array(INTEGER, maxItems=10),
        {
            "self.all(x, x > 0)": 52,
            "self.size() > 1": 3,
            "self == self": 3,
            "1 in self": 11,
            "self[0] == 1": 2,
            "self.sum() > 1": 12,
            "self.map(x, x + 1).all(x, x > 0)": 203,
            "self.filter(x, x > 0).size() > 0": 164,
            "self.all(x, self.all(y, x == y))": 552,
            "(self + self).all(x, x > 0)": 104,
            "self.exists_one(x, x > 0)": 43,
            "self.exists(x, x == 1)": 52,
            "self.all(i, x, i < x)": 62,
            "self.map(x, [x, x]).all(y, y.size() == 2)": 313,
            "[1, 2].all(x, x in self)": 41,
            "self.isSorted()": 11,
            "self.max() > 1": 12,
            "self.sort() == self": 214,
            "self.sortBy(x, -x) == self": 377,
            "self.transformList(i, x, x + i).size() > 1": 164,
            "self.transformMap(i, x, x + 1).size() > 1": 84,
            "self.slice(0, 2).all(x, x > 0)": 25,
            "dyn(self).all(x, x > 0)": 53,
            "[self].all(x, x == self)": 18,
            "[self, self].all(x, x.all(y, y > 0))": 123,
            "self.filter(x, x > 0).all(x, x > 0)": 213,
            "self.map(x, x > 0, x).exists(x, x == 1)": 223,
            "(self.size() > 0 ? self : self + self).all(x, x > 0)": 107,
            "optional.of(self).orValue([]).all(x, x > 0)": 18446744073709551615,
            "[1].map(y, self)[0].all(x, x > 0)": 86,
        },
    ),
    (
        array(SHORT, maxItems=10),
        {
            "self.all(x, x == 'a')": 52,
            "self.all(x, x.contains('a'))": 82,
            "'a' in self": 11,
            "self[0] == 'a'": 3,
            "self[0].contains(self[1])": 20,
            "self.map(x, x + 'a').all(x, x == 'b')": 243,
            "self.join(',') == 'a'": 43,
            "self.all(x, self.exists(y, x == y))": 1052,
            "self.filter(x, x == 'a') == self": 164,
            "self.exists(i, x, x == 'a')": 62,
            "self.all(x, x.size() > 1)": 62,
            "self == ['a']": 12,
            "sets.contains(self, ['a'])": 22,
            "self.max() == 'a'": 52,
        },
    ),
    (
        array(STRING, maxItems=10),
        {
            "self.all(x, x == 'a')": 52,
            "self.all(x, x.contains('a'))": 3145772,
            "'a' in self": 11,
        },
    ),
    (
        array(SHORT),
        {
            "self.all(x, x == 'a')": 5242877,
        },
    ),
    (
        mapping(SHORT, maxProperties=5),
        {
            "self.all(k, k == 'a')": 22,
            "self.all(k, self[k] == 'a')": 37,
            "self.all(k, v, v == 'a')": 27,
            "self.all(k, k.contains('b'))": 22,
            "'a' in self": 2,
            "self.a == 'x'": 3,
            "self.a.contains('x')": 1844674407370955266,
            "self['a'].contains('x')": 6,
            "self == self": 3,
            "self.size() > 1": 3,
            "has(self.a)": 1,
            "self.map(k, k + 'a').size() > 1": 84,
            "self.?a.orValue('b') == 'c'": 4,
            "self[?'a'].orValue('b') == 'c'": 4,
            "self.transformMap(k, v, v + 'a').all(k, v, v == 'b')": 103,
            "self.transformMapEntry(k, v, {v: k}).size() > 0": 204,
        },
    ),
    (
        mapping(INTEGER),
        {
            "self.all(k, k == 'a')": 1797558,
            "self.all(k, self[k] > 0)": 3145725,
            "self.size() > 1": 3,
        },
    ),
    (
        of(
            {"a": INTEGER, "s": SHORT, "l": array(of({"n": SHORT, "m": array(INTEGER, maxItems=3)}), maxItems=4)},
            required=["a"],
        ),
        {
            "self.a > 0": 3,
            "has(self.a)": 1,
            "has(self.a) && self.a > 0": 4,
            "self.s == 'a'": 3,
            "self.s.contains('a')": 6,
            "self.l.all(x, x.n.contains('b'))": 39,
            "self.l.all(x, x.m.all(y, y > 0))": 87,
            "self.l[0].m[0] > 0": 6,
            "self.l.all(x, x.m.all(y, self.l.exists(z, z.n == 'a')))": 435,
            "self.?s.orValue('x') == 'y'": 4,
            "self.?s.optMap(v, v.contains('a')).orValue(true)": 1844674407370955283,
            "self.l.map(x, x.n).all(y, y == 'a')": 86,
            "self == self": 2,
            "self.l.filter(x, has(x.n)).all(x, x.n.contains('b'))": 7378697629483821146,
            "self.l.map(x, x.m).all(y, y.all(z, z > 0))": 90,
            "self.l.exists(i, x, x.n.contains('a'))": 43,
            "oldSelf.s == self.s": 8,
            "[self.s, self.l[0].n].all(x, x.contains('a'))": 25,
            "[self.l[0]].all(x, x.n.contains('a'))": 1844674407370955283,
        },
    ),
    (
        {"x-kubernetes-int-or-string": True},
        {
            "self == 1": 2,
            "type(self) == string": 314576,
            "self == 'abc' || self == 1": 4,
        },
    ),
    (
        {"type": "string", "maxLength": 0},
        {
            "self == 'a'": 1,
        },
    ),
    (
        array(INTEGER, maxItems=0),
        {
            "self.all(x, x > 0)": 2,
        },
    ),
    (
        array(array(array(INTEGER))),
        {
            "self.all(x, x.all(y, y.all(z, z > 0)))": 8646894791890042877,
        },
    ),
]


@pytest.mark.parametrize(
    ("schema", "text", "most"), [(schema, text, most) for schema, costs in RULES for text, most in costs.items()]
)
def test_what_a_rule_may_cost_at_most(schema: Schema, text: str, most: int) -> None:
    assert compiled(text, schema).cost.max == most


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("1 + 2 == 3", (2, 2)),
        ("'abc' == 'abcdefghijklmnop'", (1, 1)),
        ("true && false", (0, 0)),
        ("[1, 2].size()", (11, 11)),
        ("false ? [1, 2].size() : 3", (0, 11)),
        ("{}.a", (31, 31)),
        ("has({'a': 1}.a)", (30, 30)),
        ("google.protobuf.Duration{seconds: 1}", (40, 40)),
        ("[].all(x, true)", (11, 11)),
        ("[1, 2, 3].all(x, x > 0)", (20, 26)),
        ("['a', 'abcdefghijkl'].all(x, x == 'b')", (17, 21)),
        ("[[1, 2], [3]].all(x, x.all(y, y > 0))", (37, 61)),
        ("{'a': 1}.all(k, k == 'a')", (34, 36)),
        ("[1].exists_one(x, x == 1)", (15, 16)),
        ("[1].map(x, [x])", (44, 44)),
        ("lists.range(3).all(x, x > 0)", (24, 30)),
        ("dyn(1) == dyn(2)", (3, 3)),
        ("dyn(1).all(x, true)", (5, 5)),
        ("optional.of(1).optMap(x, string(x))", (3, 17)),
        ("'a' + 'b' == 'ab'", (2, 2)),
        ("'abc'.substring(1).contains('a')", (2, 2)),
        ("string(1).size() > 0", (3, 3)),
        ("string(1) + 'a' == 'b'", (3, 1844674407370955266)),
        ("string(1).contains('a')", (1, 1844674407370955265)),
        ("'%s'.format([1]).contains('1')", (11, 1844674407370955275)),
        ("type(1) == int", (3, 1844674407370955266)),
    ],
)
def test_what_an_expression_costs_at_least_and_at_most(text: str, cost: tuple[int, int]) -> None:
    assert compiled(text).cost == cost


@pytest.mark.parametrize(
    ("depth", "most"), [(1, 7864317), (2, 8246329344002), (3, 8646894791890042877), (4, LARGEST), (7, LARGEST)]
)
def test_loops_in_loops_without_bounds(depth: int, most: int) -> None:
    schema, text = INTEGER, "self > 0"
    for _ in range(depth):
        schema = array(schema)
    for level in range(depth, 0, -1):
        text = f"{'self' if level == 1 else f'x{level - 1}'}.all(x{level}, {text.replace('self', f'x{level}')})"
    assert compiled(text, schema).cost == (2, most)


def test_an_estimate_does_not_double_per_level() -> None:
    """Each node is looked at once, in whatever it stands."""
    text = "self" + " + self" * 200
    assert compiled(f"{text} == 0", INTEGER).cost == (402, 402)
