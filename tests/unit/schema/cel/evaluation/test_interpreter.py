"""Errors that something absorbs, those that nothing does, and what only the interpreter does.

Expected values and costs are cel-go 0.26.0's, asked of it in the environment of Kubernetes 1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from extapi.schema.cel import compile_against
from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.errors import CostLimitExceededError, DeadlineExceededError
from extapi.schema.cel.evaluation.interpreter import Interpreter
from tests.unit.schema.cel.evaluating import (
    FAILURES,
    Failed,
    environment_of,
    generated,
    interpreted,
    judge_both,
    plain,
    some,
    tree_of,
)
from tests.unit.schema.cel.sample import ENVIRONMENT, OBJECT

ABSORBED: list[tuple[str, Any, int]] = [
    ("1 / (self.a - 1) > 0 || self.b", True, 7),
    ("1 / (self.a - 1) > 0 && !self.b", False, 8),
    ("self.m['z'] == 1 || self.m['k'] == 7", True, 8),
    ("self.m['z'] == 1 && self.m['k'] == 8", False, 8),
    ("self.l[9] == 1 || self.b || 1 / 0 == 1", True, 6),
    ("self.b && self.m.z == 1 || self.b", True, 8),
    ("(self.m.z > 0 ? 1 : 2) == 1 || self.b", True, 7),
    ("(self.b ? self.m.z : self.a) == 1 || self.b", True, 7),
    ("self.m.z + 1 / (self.a - 1) == 3 || self.b", True, 11),
    ("self.m.z == self.m.y || self.b", True, 9),
    ("self.m.z < self.m.y || self.b", True, 9),
    ("[self.a, self.m.z, self.a] == [1] || self.b", True, 18),
    ("{'a': self.m.z, 'b': self.a} == {} || self.b", True, 35),
    ("{self.m.z: self.a} == {} || self.b", True, 35),
    ("size(self.m.z == 1 ? 'a' : 'b') == 1 || self.b", True, 8),
    ("self.s.replace(self.m.z == 1 ? 'a' : 'b', self.s) == '' || self.b", True, 8),
    ("self.s.contains(self.m.z == 1 ? 'a' : 'b') || self.b", True, 10),
    ("self.s.matches(self.m.z == 1 ? 'a' : 'b') || self.b", True, 10),
    ("string(self.m.z).matches('a+') || self.b", True, 6),
    ("!(self.m.z > 1) || self.b", True, 7),
    ("-self.m.z > 1 || self.b", True, 7),
    ("self.m.z in [self.a, self.m.k] || self.b", True, 22),
    ("self.m.z in [1, 2] || self.b", True, 5),
    ("self.m.z in self.l || self.b", True, 10),
    ("self.?m[?self.o.y == 1 ? 'a' : 'b'].hasValue() || self.b", True, 9),
    ("self.l.exists(x, 1 / (x - 2) == 1)", True, 27),
    ("self.l.all(x, 1 / (x - 2) < 1)", False, 24),
    ("self.l.map(x, 1 / (x - 2)).size() > 3 || self.b", True, 52),
    ("self.l.filter(x, 1 / (x - 2) == 1).size() == 1 || self.b", True, 32),
    ("dyn(self.m.z).all(x, true) || self.b", True, 6),
    ("dyn(self.a) || self.b", True, 5),
    ("self.p > '9' || self.b", True, 5),
    ("optional.of(self.m.z).hasValue() || self.b", True, 7),
    ("optional.none().orValue(self.m.z) == 1 || self.b", True, 7),
    ("self.os.exists(x, x.v == 2 || x.k == 'b')", True, 33),
    ("has(self.os[9].k) || self.b", True, 4),
    ("sets.contains(self.l, [self.m.z]) || self.b", True, 21),
    ("self.w.join(self.m.z == 1 ? 'a' : 'b') == '' || self.b", True, 9),
]


@pytest.mark.parametrize(("text", "expected", "cost"), ABSORBED)
def test_an_error_is_absorbed(text: str, expected: Any, cost: int) -> None:
    assert interpreted(text, ENVIRONMENT, OBJECT) == (expected, cost)
    found = compile_expression(text, ENVIRONMENT).evaluate([OBJECT])
    assert (found.value, found.error, found.cost) == (expected, None, cost)


@pytest.mark.parametrize("text", [text for text, _, _ in ABSORBED])
def test_generated_code_gives_up_rather_than_absorb(text: str) -> None:
    with pytest.raises(FAILURES):
        generated(text, ENVIRONMENT, OBJECT)


FAILING: list[tuple[str, Any, int]] = [
    ("1 / (self.a - 1) > 0 || !self.b", Failed("division by zero"), 8),
    ("1 / (self.a - 1) > 0 && self.b", Failed("division by zero"), 7),
    ("self.l[9] == 1 || self.l[-1] == 1", Failed("index out of bounds: 9"), 8),
    ("self.b ? 1 / (self.a - 1) : 3", Failed("division by zero"), 6),
    ("self.m.z > 0 ? 1 : 2", Failed("no such key: z"), 4),
    ("self.l.all(x, 1 / (x - 2) < 9)", Failed("division by zero"), 24),
    ("self.l.exists_one(x, 1 / (x - 2) == 1)", Failed("division by zero"), 18),
    ("dyn(self.a) && self.b", Failed("no such overload"), 5),
    ("dyn(self.a) ? 1 : 2", Failed("no such overload"), 3),
    ("self.m.z + 1 / (self.a - 1)", Failed("no such key: z"), 8),
    ("1 / (self.a - 1) + self.m.z", Failed("division by zero"), 8),
    ("self.m.z == self.m.y", Failed("no such key: z"), 7),
    ("[1 / (self.a - 1), self.m.z]", Failed("division by zero"), 14),
    ("{self.s: self.m.z}", Failed("no such key: z"), 35),
    ("self.s.replace(string(self.m.z), string(1 / (self.a - 1)))", Failed("no such key: z"), 6),
    ("self.l[self.m.z]", Failed("no such key: z"), 5),
    ("self.m[self.g]", Failed("no such key: g"), 4),
    ("self.g + self.s", Failed("no such key: g"), 6),
    ("self.p.all(x, true)", Failed("got 'types.Int', expected iterable type"), 2),
]


@pytest.mark.parametrize(("text", "expected", "cost"), FAILING)
def test_an_error_that_nothing_absorbs(text: str, expected: Any, cost: int) -> None:
    judge_both(text, ENVIRONMENT, (OBJECT,), expected, cost)
    found = compile_expression(text, ENVIRONMENT).evaluate([OBJECT])
    assert (found.value, str(found.error), found.cost) == (None, expected.text, cost)


UNUSUAL: list[tuple[str, Any, int]] = [
    ("{?self.w[0]: self.m[?'z']}", {}, 35),
    ("{?self.w[0]: self.m[?'k']}", {"x": 7}, 36),
    ("dyn(self.o).x", "v", 5),
    ("dyn(self.l)[0]", 1, 5),
    ("dyn(self.os)[0].n", 1.0, 6),
    ("dyn(self.h) == {'k': 'v'}", False, 4),
    ("dyn(self.l).map(x, x)", [1, 2, 3], 43),
    ("self.?m.k.optMap(x, self.l.map(y, y + x))", some([8, 9, 10]), 57),
    ("google.protobuf.Int64Value{value: self.a}", 1, 42),
    ("google.protobuf.Duration{seconds: 1} == duration('1s')", True, 41),
    ("google.protobuf.StringValue{value: self.s} == self.s", True, 46),
    ("optional.ofNonZeroValue(self.l).hasValue()", True, 4),
    ("(self.b ? self.?o : self.?o).x", some("v"), 4),
    ("(self.b ? self.?m : self.?m)[?'z'].hasValue()", False, 4),
    ("self.?o.optMap(o, o.?x)", some("v"), 9),
    ("[optional.of(self.o)].map(x, x.hasValue())", [True], 28),
    ("[self.?a].filter(x, true)[0].hasValue()", True, 29),
    ("(self.b ? has(self.?o.x) : false)", some("v"), 4),
    ("{'a': self.l}.a[2]", 3, 35),
    ("self.os[0] in [self.os[1]]", True, 17),
    ("[1] in [self.l, [self.a]]", True, 26),
    ("[self.sets[0]] == [self.sets[1]]", True, 27),
    ("{'l': self.sets[0]}.l == self.sets[1]", True, 39),
    ("[[self.a], self.l]", [[1], [1, 2, 3]], 24),
]


@pytest.mark.parametrize(("text", "expected", "cost"), UNUSUAL)
def test_what_generated_code_may_leave_to_the_interpreter(text: str, expected: Any, cost: int) -> None:
    assert interpreted(text, ENVIRONMENT, OBJECT) == (expected, cost)
    found = compile_expression(text, ENVIRONMENT).evaluate([OBJECT])
    assert (plain(found.value), found.error, found.cost) == (expected, None, cost)


# -- limits; the costs are those of the tables


def run(text: str, *, limit: int = 1000, expired: Callable[[], bool] | None = None) -> Any:
    return Interpreter(ENVIRONMENT, [OBJECT], limit=limit, expired=expired).evaluate(tree_of(text, ENVIRONMENT))


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("self.l.all(x, x > 0)", 18),
        ("self.s == 'abcdefghijk'", 4),
        ("self.s.contains('def')", 4),
        ("self.m.z == 1 || self.b", 6),
        ("[self.a, 2].size() == 2", 14),
    ],
)
def test_an_evaluation_may_cost_its_limit_and_not_more(text: str, cost: int) -> None:
    assert run(text, limit=cost) is True
    with pytest.raises(CostLimitExceededError, match="actual cost limit exceeded") as caught:
        run(text, limit=cost - 1)
    assert caught.value.cost == cost


def test_a_call_that_costs_too_much_is_not_made() -> None:
    made = Interpreter(ENVIRONMENT, [{"s": "a" * 100_000}], limit=20_000)
    with pytest.raises(CostLimitExceededError) as caught:
        made.evaluate(tree_of("self.s.replace('', self.s).size() > 0", ENVIRONMENT))
    assert caught.value.cost >= 20_000


def test_a_loop_ends_when_the_time_is_up() -> None:
    asked: list[int] = []

    def expired() -> bool:
        asked.append(1)
        return len(asked) > 200

    obj = {"l": [1] * 10_000}
    made = Interpreter(ENVIRONMENT, [obj], limit=1_000_000, expired=expired)
    with pytest.raises(DeadlineExceededError, match="operation interrupted"):
        made.evaluate(tree_of("self.l.all(x, x > 0)", ENVIRONMENT))
    assert made.cost < 60_000  # all of it costs more


def test_no_error_absorbs_the_end_of_the_time() -> None:
    with pytest.raises(DeadlineExceededError):
        run("self.l.all(x, x > 0) || self.b", expired=lambda: True)


CONTAINERS: list[tuple[str, Any, int]] = [
    ("dyn(self.l) == 1", Failed("no such overload"), 4),
    ("dyn(self.l) != 1", True, 4),
    ("dyn(1) == dyn(self.l)", False, 4),
    ("[dyn(self.l)] == [dyn(1)]", True, 14),
    ("[dyn(self.m)] == [dyn('x')]", True, 14),
    ("[dyn(1)] == [dyn(self.l)]", False, 14),
    ("{'a': dyn(self.o)} == {'a': dyn(1)}", True, 34),
    ("dyn(self.l) in [dyn(1)]", False, 3),
    ("dyn(1) in [self.l][0]", True, 16),
    ("dyn(self.m) in [self.l][0]", False, 19),
    ("dyn(1) in self.m", Failed("no such overload"), 3),
    ("dyn(1) in dyn(self.m)", Failed("no such overload"), 4),
    ("dyn('a') in dyn(self.m)", True, 4),
    ("[dyn(self.l)].indexOf(1) == -1", True, 16),
    ("dyn([1]).reverse().exists(x, x)", Failed("no such overload"), 18),
    ("dyn(['b', 'a']).reverse().isSorted()", Failed("no such overload: isSorted(list)"), 13),
    ("dyn(self.s) == ['y', 'x']", True, 4),
    ("[self.s][0] == ['y', 'x']", True, 15),
    ("[self.l][0] == [2, 1]", False, 15),
    ("dyn(self.s) == dyn([b'x', b'y'])", Failed("internal error: runtime error: hash of unhashable type []uint8"), 3),
    ("{'a': 1}[dyn(self.s)] == 1", Failed("invalid qualifier type: *common.unstructuredSetList"), 6),
    ("{'a': 1}[dyn(self.l)] == 1", Failed("invalid qualifier type: *common.unstructuredList"), 6),
    ("{'a': 1}[dyn(self.m)] == 1", Failed("invalid qualifier type: *common.unstructuredMap"), 6),
    (
        "dyn(self.n).distinct() == []",
        Failed("internal error: interface conversion: types.Int is not traits.Lister: missing method Contains"),
        3,
    ),
    ("dyn(self.l) <= 1", Failed("no such overload: _<=_"), 4),
    ("dyn({'a': self}).a == optional.of(self).orValue(self)", True, 37),
    ("dyn(1) >= {'a': dyn(optional.of(1)), 'b': dyn(1)}.a.orValue({}['c'])", True, 35),
    ("dyn(b'') < bytes('x')", True, 0),
]


@pytest.mark.parametrize(("text", "expected", "cost"), CONTAINERS)
def test_a_list_or_map_of_a_schema_is_no_other_value(text: str, expected: Any, cost: int) -> None:
    schema = {
        "type": "object",
        "properties": {
            "l": {"type": "array", "items": {"type": "integer"}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "o": {"type": "object", "properties": {"a": {"type": "integer"}}},
            "s": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "n": {"type": "integer"},
        },
    }
    value = {"l": [1, 2], "m": {"a": 1}, "o": {"a": 1}, "s": ["x", "y"], "n": 1}
    found = compile_against(text, schema).evaluate((value, None))
    shown = plain(found.value) if found.error is None else Failed(str(found.error))
    assert (shown, found.cost) == (expected, cost)
    assert interpreted(text, environment_of(schema, root=True), value) == (expected, cost)
