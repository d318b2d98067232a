"""The generated function: nothing of a user's text is in it, and nothing but its own names is in its reach."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import pytest

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.emit.emitter import Emitter
from extapi.schema.cel.emit.program import write
from extapi.schema.cel.emit.runtime import NAMESPACE
from extapi.schema.cel.environment import Variable
from extapi.schema.cel.errors import CostLimitExceededError, DeadlineExceededError
from tests.unit.schema.cel.evaluating import environment_of, generated, program_of, schema_of, stop_at, tree_of
from tests.unit.schema.cel.sample import ENVIRONMENT, OBJECT, SCHEMA

TRAP = "__import__('os').system('x')"
PLANTED = {"type": "object", "properties": {"planted": {"type": "string"}, "m": SCHEMA["properties"]["m"]}}
TEXTS = [
    f'self.planted == "{TRAP}"',
    f'self.planted.matches("{TRAP[:10]}")',
    f'"planted" in self.m && self.m["{TRAP}"] == 1',
    f'self.m[?"{TRAP}"].orValue(1) == 1 && has(self.planted)',
    f'{{"{TRAP}": self.planted}}.size() == 1',
    f'[self.planted, "{TRAP}"].exists(planted, planted == "{TRAP}")',
    f'self.planted in ["{TRAP}", "b"]',
    f'self.?planted.optMap(planted, planted + "{TRAP}").hasValue()',
    f'self.planted.startsWith("{TRAP}") ? b"{TRAP}" == b"planted" : "{TRAP}" < self.planted',
    f'"{TRAP}%s".format([self.planted]) == self.planted.replace("planted", "{TRAP}")',
]
METHODS = {"append", "endswith", "get", "items", "present", "startswith", "value"}


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_that_a_user_wrote_is_in_the_text_of_the_code(text: str) -> None:
    environment = environment_of(PLANTED)
    emitter = Emitter(environment)
    value = emitter.native(tree_of(text, environment))
    source = emitter.out.source("def f(v0, L, H):\n c = 0") + f" return {value}, c\n"
    for planted in ("planted", "import", "system", "'", '"'):
        assert planted not in source
    kinds = {type(each.value) for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Constant)}
    assert kinds <= {bool, complex, float, int, type(None)}


@pytest.mark.parametrize("text", TEXTS)
def test_the_code_reaches_nothing_but_its_own_names(text: str) -> None:
    program: Any = program_of(text, environment_of(PLANTED))
    assert isinstance(program, FunctionType)
    assert program.__globals__ is NAMESPACE
    waiting: list[CodeType] = [program.__code__]
    assert set(waiting[0].co_names) <= {*NAMESPACE, *METHODS}
    assert not any(isinstance(each, CodeType) for each in waiting[0].co_consts)


def test_a_name_that_a_property_shares_with_code_is_only_a_name() -> None:
    names = ["c", "L", "H", "v0", "t1", "k1", "f", "__builtins__", "fail"]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
    obj = {name: index for index, name in enumerate(names)}
    environment = environment_of(schema)
    for index, name in enumerate(names):
        identifier = name.replace("__", "__underscores__")
        assert generated(f"self.{identifier}", environment, obj) == (index, 2)
        assert generated(f"[7].map({name.strip('_')}, {name.strip('_')} + 1)", environment, obj)[0] == [8]


def test_there_is_no_program_where_no_code_is_written() -> None:
    text = "google.protobuf.Int64Value{value: self.a}"
    assert write(tree_of(text, ENVIRONMENT), ENVIRONMENT, frozenset({"self"})) is None


def test_a_variable_is_read_only_if_it_is_used() -> None:
    duration = schema_of({"type": "string", "format": "duration"})
    environment = ENVIRONMENT.with_variables(
        [Variable("self", duration.type, duration), Variable("oldSelf", duration.type, duration)]
    )
    assert generated("self.getSeconds()", environment, "61s", "no duration") == (61, 2)
    with pytest.raises(Exception, match="no duration"):
        generated("self == oldSelf", environment, "61s", "no duration")


def test_an_object_is_not_changed() -> None:
    obj = {"l": [1, 2], "os": [{"k": "a", "n": 1}], "d": ["2020-01-02"]}
    program_of("self.os", ENVIRONMENT)
    generated("self.os + self.os", ENVIRONMENT, obj)
    generated("self.l.map(x, x + 1) + self.l", ENVIRONMENT, obj)
    generated("self.d.map(x, x)", ENVIRONMENT, obj)
    assert obj == {"l": [1, 2], "os": [{"k": "a", "n": 1}], "d": ["2020-01-02"]}


# -- limits; the costs are those that cel-go has


@pytest.mark.parametrize(("text", "cost"), [("self.l.all(x, x > 0)", 18), ("self.l.map(x, x * 2)", 45)])
def test_a_loop_ends_beyond_its_limit(text: str, cost: int) -> None:
    program: Any = program_of(text, ENVIRONMENT)
    assert program(OBJECT, cost, stop_at(cost))[1] == cost
    with pytest.raises(CostLimitExceededError):
        program({"l": [1] * 1000}, cost, stop_at(cost))
    expression = compile_expression(text, ENVIRONMENT)
    assert expression.evaluate([OBJECT], limit=cost).error is None
    found = expression.evaluate([OBJECT], limit=cost - 1)
    assert str(found.error) == "operation cancelled: actual cost limit exceeded"


@pytest.mark.parametrize(
    ("text", "obj"),
    [
        ("self.l.all(x, x > 0)", {"l": [1] * 20_000}),
        ("self.l.isSorted()", {"l": [1] * 100}),
        ("self.os == self.os", {"os": [{"k": "a"}] * 100}),
        ("self.l + self.l == self.l", {"l": [1] * 100}),
        ("self.os.filter(x, x.k == 'a').size() == 1", {"os": [{"k": "a"}] * 20_000}),
    ],
)
def test_the_clock_is_looked_at(text: str, obj: dict[str, Any]) -> None:
    found = compile_expression(text, ENVIRONMENT).evaluate([obj], expired=lambda: True)
    assert isinstance(found.error, DeadlineExceededError)


def test_the_clock_is_not_looked_at_for_what_is_quick() -> None:
    expired: Callable[[], bool] = pytest.fail
    made = compile_expression("self.a == 1 && self.s.size() < 20", ENVIRONMENT)
    made.evaluate([OBJECT])  # writes the program
    assert made.evaluate([OBJECT], expired=expired).value is True
