"""Attributes in the interpreter. Expected values and costs are cel-go 0.26.0's in the environment of Kubernetes 1.36.3."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.environment import rule_environment
from extapi.schema.cel.errors import CostLimitExceededError
from extapi.schema.cel.evaluation.resolver import Resolver
from extapi.schema.structural import MISSING
from tests.unit.schema.cel.evaluating import Failed, interpreted, schema_of, some, tree_of
from tests.unit.schema.cel.sample import ENVIRONMENT, OBJECT, SCHEMA

CASES: list[tuple[str, Any, int]] = [
    ("self.a", 1, 2),
    ("self.o.x", "v", 3),
    ("self.o.y", Failed("no such key: y"), 3),
    ("self.m.z", Failed("no such key: z"), 3),
    ("self.l[7]", Failed("index out of bounds: 7"), 3),
    ("self.l[self.a]", 2, 4),
    ("self.l[self.m.z]", Failed("no such key: z"), 5),
    ("self.m[string(self.o.y)]", Failed("no such key: y"), 7),
    ("has(self.o.x)", True, 2),
    ("has(self.m.z)", False, 2),
    ("has(self.?m.z)", False, 1),
    ("has(self.os[0].n)", True, 3),
    ("has(self.os[9].n)", Failed("index out of bounds: 9"), 2),
    ("self.?m.z", "none", 2),
    ("self.?m.k", some(7), 3),
    ("self.?os[0].?n", some(1.0), 4),
    ("self.?os[9].k", "none", 2),
    ("self.?l[?self.m.z]", Failed("no such key: z"), 4),
    ("self.?l[self.m.z]", Failed("no such key: z"), 4),
    ("(self.b ? self.?o : self.?o).x", some("v"), 4),
    ("(self.b ? self.m : self.m).z", Failed("no such key: z"), 4),
    ("self.b ? has(self.?o.x) : false", some("v"), 4),
    ("self.b ? self.l[9] : 1", Failed("index out of bounds: 9"), 4),
    ("self.m.z > 0 ? 1 : 2", Failed("no such key: z"), 4),
    ("dyn(self.p) ? 1 : 2", Failed("no such overload"), 3),
    ("[self.?o][0].x", Failed("no such key: x"), 15),
    ("[self.?o][0].?x", "none", 14),
    ("optional.of(optional.of(self.o)).value().x", some("v"), 7),
    ("optional.of(quantity('1')).or(optional.none()).hasValue()", True, 3),
    (
        "(self.b ? optional.of(quantity('1')) : optional.none()).value()",
        Failed("unsupported conversion to ref.Val: (*resource.Quantity)1"),
        5,
    ),
    ("self.?o.optMap(o, o.x)", some("v"), 9),
    ("self.?m.z.optMap(x, 1 / (self.a - 1))", "none", 4),
    ("self.?m.k.optMap(x, 1 / (self.a - 1))", Failed("division by zero"), 9),
    ("self.?o.optMap(o, has(o.x))", some(True), 8),
    ("dyn(self.o).z", Failed("no such key: z"), 5),
    ("dyn(self.a).z", Failed("no such key: z"), 5),
    ("dyn(self.a)[0]", Failed("no such key: 0"), 5),
    ("has(dyn(self.a).z)", False, 4),
    ("dyn(self.l).k", Failed("unsupported index type 'string' in list"), 5),
    ("dyn(self.l)['k']", Failed("unsupported index type 'string' in list"), 5),
    ("dyn(self.m)[1]", Failed("no such overload"), 5),
]


@pytest.mark.parametrize(("text", "expected", "cost"), CASES)
def test_an_attribute_has_the_value_and_cost_of_cel_go(text: str, expected: Any, cost: int) -> None:
    assert interpreted(text, ENVIRONMENT, OBJECT) == (expected, cost)


def test_a_variable_that_has_no_value_is_an_error() -> None:
    assert interpreted("self.a", ENVIRONMENT, MISSING) == (Failed("no such attribute(s): self"), 1)


@pytest.mark.parametrize(("text", "cost"), [("self.a", 2), ("self.o.x", 3), ("has(self.o.x)", 2), ("self.?o.?x", 3)])
def test_a_charge_beyond_the_limit_ends_it(text: str, cost: int) -> None:
    node = tree_of(text, ENVIRONMENT)
    run: Any = _with_limit(cost)
    run.evaluate(node)
    assert run.cost == cost
    with pytest.raises(CostLimitExceededError):
        _with_limit(cost - 1).evaluate(node)


def _with_limit(limit: int) -> Resolver:
    from extapi.schema.cel.evaluation.interpreter import Interpreter  # noqa: PLC0415

    return Interpreter(ENVIRONMENT, [OBJECT], limit=limit)


OPTIONAL = rule_environment(schema_of(SCHEMA["properties"]["u"]), optional_old_self=True)


@pytest.mark.parametrize(
    ("text", "old", "expected"),
    [
        ("oldSelf.hasValue()", MISSING, False),
        ("oldSelf.hasValue()", "1m", True),
        ("oldSelf.orValue(self) == self", MISSING, True),
        ("oldSelf.orValue(self) == self", "60s", True),
        ("oldSelf.value().getSeconds() == 60", "1m", True),
        ("oldSelf.optMap(o, o < self).orValue(true)", "1m", False),
    ],
)
def test_an_old_value_that_may_be_missing(text: str, old: Any, expected: bool) -> None:
    """As in ``k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel`` validation.go, optionalOldSelf."""
    assert interpreted(text, OPTIONAL, "60s", old)[0] is expected
    assert compile_expression(text, OPTIONAL).evaluate(["60s", old]).value is expected
