"""Values, errors and costs of expressions: asked of Kubernetes 1.36.3's own validator, with cel-go 0.26."""

from __future__ import annotations

import copy
import sys
from typing import Any

import pytest

from extapi.schema.cel import compile_against
from extapi.schema.cel.errors import (
    CostLimitExceededError,
    DeadlineExceededError,
    EvaluationError,
    PanicError,
)
from extapi.schema.cel.expression import CALL_LIMIT, Evaluation, Expression
from extapi.schema.structural import MISSING
from tests.unit.schema.cel.compiling import Schema, array, compiled, mapping, of

INTEGER: Schema = {"type": "integer"}
DATE: Schema = {"type": "string", "format": "date"}
OBJECT = of(
    {"a": INTEGER, "s": {"type": "string"}, "l": array(INTEGER), "m": mapping(INTEGER), "o": of({"b": INTEGER})}
)
VALUE: dict[str, Any] = {"a": 0, "s": "abc", "l": [1, 2, 3], "m": {"k": 1}, "o": {}}


@pytest.mark.parametrize(
    ("text", "value", "cost"),
    [
        ("self.a == 0", True, 3),
        ("self.s + self.s == 'abcabc'", True, 6),
        ("size(self.l) == 3", True, 4),
        ("self.l.all(x, x > 0)", True, 18),
        ("self.l.all(x, x < 2)", False, 15),
        ("self.l.map(x, x * 2) == [2, 4, 6]", True, 46),
        ("self.l.filter(x, x > 1).size() == 2", True, 37),
        ("self.m.all(k, self.m[k] == 1)", True, 10),
        ("has(self.o.b)", False, 2),
        ("self.?o.?b.orValue(1) == 1", True, 3),
        # An error that does not matter is none, and costs what led to it.
        ("self.s == 'abc' ? true : 1 / self.a == 1", True, 3),
        ("true || 1 / self.a == 1", True, 0),
        ("1 / self.a == 1 || true", True, 4),
        ("1 / self.a == 1 && false", False, 4),
        ("self.l.exists(x, 1 / (x - 1) > 0)", True, 22),
        ("self.l.exists(x, 1 / (x - 4) > 0)", False, 27),
    ],
)
def test_the_value_of_an_expression(text: str, value: bool, cost: int) -> None:
    assert compiled(text, OBJECT).evaluate((VALUE, None)) == (value, None, cost)


@pytest.mark.parametrize(
    ("text", "error", "cost"),
    [
        ("1 / self.a == 1", "division by zero", 4),
        ("1 % self.a == 1", "modulus by zero", 4),
        ("self.l[3] == 1", "index out of bounds: 3", 4),
        ("self.l[-1] == 1", "index out of bounds: -1", 4),
        ("self.m['x'] == 1", "no such key: x", 4),
        ("self.m.x == 1", "no such key: x", 4),
        ("self.o.b == 1", "no such key: b", 4),
        ("9223372036854775807 + self.l[0] > 0", "integer overflow", 5),
        ("int(self.s) == 1", "type conversion error from 'string' to 'int'", 4),
        ("self.s.substring(5) == ''", "index out of range: 5", 3),
        ("self.l.exists(x, 1 / (x - x) > 0)", "division by zero", 30),
    ],
)
def test_an_expression_without_a_value(text: str, error: str, cost: int) -> None:
    found = compiled(text, OBJECT).evaluate((VALUE, None))
    assert (found.value, str(found.error), found.cost) == (None, error, cost)
    assert isinstance(found.error, EvaluationError)


def test_an_expression_is_evaluated_again_and_again() -> None:
    """Code is made once; an error of one value says nothing of the next."""
    made = compiled("1 / self.a == 1", OBJECT)
    costs = [made.evaluate(({"a": number}, None)) for number in (1, 0, 2, 0, 1)]
    assert [(found.value, found.cost) for found in costs] == [(True, 4), (None, 4), (False, 4), (None, 4), (True, 4)]


def test_values_are_not_changed() -> None:
    value = copy.deepcopy(VALUE)
    for text in ("self.l + self.l", "self.l.map(x, [x])", "self", "self.m", "self.l.sort()"):
        compiled(text, OBJECT).evaluate((value, value))
    assert value == VALUE


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[self.a, 1]", [0, 1]),
        ("self.l + [4]", [1, 2, 3, 4]),
        ("{'a': self.s}", {"a": "abc"}),
        ("self.m", {"k": 1}),
        ("self.l.map(x, string(x))", ["1", "2", "3"]),
        ("self.s", "abc"),
        ("null", None),
        ("double(self.a)", 0.0),
    ],
)
def test_values_of_other_types(text: str, value: Any) -> None:
    found = compiled(text, OBJECT).evaluate((VALUE, None))
    assert (found.value, found.error) == (value, None)


def test_the_variables_that_an_expression_uses() -> None:
    made = compiled("[1].all(oldSelf, oldSelf == self)", INTEGER)
    assert (made.uses("self"), made.uses("oldSelf"), made.uses("other")) == (True, False, False)


@pytest.mark.parametrize(
    ("text", "schema", "values", "wanted"),
    [
        ("oldSelf.hasValue()", INTEGER, (1, None), (False, 2)),
        ("oldSelf.hasValue()", INTEGER, (1, MISSING), (False, 2)),
        ("oldSelf.hasValue()", INTEGER, (1, 0), (True, 2)),
        ("oldSelf.orValue(5) == 5", INTEGER, (1, MISSING), (True, 2)),
        ("oldSelf.orValue(5) == 3", INTEGER, (1, 3), (True, 2)),
        ("oldSelf.value().getFullYear() == 2020", DATE, ("2020-01-01", "2020-01-01"), (True, 4)),
        ("self == 1", INTEGER, (1, None), (True, 2)),
    ],
)
def test_a_value_that_may_be_missing(text: str, schema: Schema, values: Any, wanted: tuple[bool, int]) -> None:
    found = compile_against(text, schema, optional_old_self=True).evaluate(values)
    assert (found.value, found.cost, found.error) == (*wanted, None)


# -- limits

LOOP = "self.all(x, self.all(y, x == x))"
HUNDRED = [1] * 100


def test_one_call_may_cost_a_million() -> None:
    assert CALL_LIMIT == 1_000_000  # k8s.io/apiserver/pkg/apis/cel PerCallLimit


@pytest.mark.parametrize(("text", "cost"), [("self.all(x, x > 0)", 502), ("self.all(x, self.all(y, x == y))", 60502)])
def test_an_expression_may_cost_its_limit_and_no_more(text: str, cost: int) -> None:
    made = compiled(text, array(INTEGER))
    assert made.evaluate((HUNDRED, None), limit=cost) == (True, None, cost)
    found = made.evaluate((HUNDRED, None), limit=cost - 1)
    assert isinstance(found.error, CostLimitExceededError)
    assert (found.value, str(found.error)) == (None, "operation cancelled: actual cost limit exceeded")
    assert found.cost == found.error.cost == cost


def test_an_expression_is_stopped_soon_after_its_limit() -> None:
    made = compiled(LOOP, array(INTEGER))
    found = made.evaluate(([1] * 5000, None), limit=50_000)
    assert isinstance(found.error, CostLimitExceededError)
    assert 50_000 < found.cost < 61_000


@pytest.mark.parametrize("text", [LOOP, "self.all(x, self.all(y, 1 / (x - x) == y) || true)"])
def test_an_expression_is_stopped_when_its_time_is_up(text: str) -> None:
    """Generated code asks now and then, and so does the interpreter, which takes over where something fails."""
    asked: list[None] = []

    def expired() -> bool:
        asked.append(None)
        return len(asked) > 3

    found = compiled(text, array(INTEGER)).evaluate((HUNDRED, None), expired=expired)
    assert isinstance(found.error, DeadlineExceededError)
    assert (found.value, str(found.error), len(asked)) == (None, "operation interrupted", 4)


def test_time_is_no_matter_if_it_is_not_up() -> None:
    assert compiled(LOOP, array(INTEGER)).evaluate((HUNDRED, None), expired=lambda: False).value is True


def test_a_cheap_expression_looks_at_the_clock_only_before_its_program_is_written() -> None:
    looked: list[bool] = []

    def expired() -> bool:
        looked.append(True)
        return False

    made = compiled("self > 0", INTEGER)
    for _ in range(3):
        assert made.evaluate((1, None), expired=expired).value is True
    assert looked == [True]


def test_no_program_is_written_once_the_time_is_up() -> None:
    made = compiled("self > 0", INTEGER)
    assert isinstance(made.evaluate((1, None), expired=lambda: True).error, DeadlineExceededError)
    assert made.evaluate((1, None), expired=lambda: False).value is True


def _below(frames: int, made: Expression, values: tuple[Any, Any]) -> Evaluation:
    """Evaluate with that many frames left."""
    frame: Any = sys._getframe()
    used = 0
    while frame is not None:
        used, frame = used + 1, frame.f_back
    return _deeper(sys.getrecursionlimit() - used - frames, made, values)


def _deeper(more: int, made: Expression, values: tuple[Any, Any]) -> Evaluation:
    return made.evaluate(values) if more <= 0 else _deeper(more - 1, made, values)


TOO_DEEP = "internal error: the expression nests too deeply"


def test_a_full_stack_is_an_error_of_the_evaluation() -> None:
    made = compiled("-(" * 200 + "self" + ")" * 200 + " == 1 / (self - self)", INTEGER)
    assert str(made.evaluate((1, None)).error) == "division by zero"
    found = _below(100, made, (1, None))
    assert isinstance(found.error, PanicError)
    assert str(found.error) == TOO_DEEP


def test_a_full_stack_at_the_first_evaluation_is_forgotten_at_the_next() -> None:
    made = compiled("-(" * 200 + "self" + ")" * 200 + " == 1", INTEGER)
    assert str(_below(100, made, (1, None)).error) == TOO_DEEP
    assert made.evaluate((1, None)).value is True
