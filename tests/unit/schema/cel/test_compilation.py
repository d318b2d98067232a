"""From text to expression. Expected values are asked of Kubernetes 1.36.3's own compiler of rules."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from extapi.schema.cel import compile_against
from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.environment import base_environment
from extapi.schema.cel.errors import CompileError, InstantiationError, Issue
from extapi.schema.cel.expression import Expression
from extapi.schema.cel.types import BOOL, INT, STRING, optional_of
from tests.unit.schema.cel.compiling import compiled, environment, of

OBJECT = of({"a": {"type": "integer"}, "s": {"type": "string", "maxLength": 10}})


def test_an_expression_knows_its_text_type_and_cost() -> None:
    made_in = environment(OBJECT)
    found = compile_expression("has(self.a) && self.a > 1", made_in)
    assert (found.text, found.type, found.cost) == ("has(self.a) && self.a > 1", BOOL, (1, 4))
    assert found.environment is made_in


@pytest.mark.parametrize(
    ("text", "cost"),
    [("self.s.contains('a')", 6), ("oldSelf.s.contains(self.s)", 20), ("[1].all(x, 'abc'.contains('a'))", 15)],
)
def test_the_schema_says_how_large_values_are(text: str, cost: int) -> None:
    assert compiled(text, OBJECT).cost.max == cost


def test_an_expression_with_mistakes() -> None:
    with pytest.raises(CompileError) as caught:
        compiled("self.nope", OBJECT)
    assert str(caught.value) == "ERROR: <input>:1:5: undefined field 'nope'\n | self.nope\n | ....^"
    assert caught.value.issues == (Issue(4, "undefined field 'nope'"),)


LISTENED = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
VISITED = "ERROR: <input>:-1:0: max recursion depth exceeded"


@pytest.mark.parametrize(
    "text",
    [
        "(" * 249 + "1" + ")" * 249,
        "[" * 249 + "1" + "]" * 249,
        "string(" * 249 + "1" + ")" * 249,
        "true ? 1 : " * 249 + "1",
        "dyn({})" + ".a" * 250,
    ],
)
def test_an_expression_may_nest_deeply(text: str) -> None:
    compile_expression(text, base_environment())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("(" * 250 + "1" + ")" * 250, LISTENED),
        ("string(" * 250 + "1" + ")" * 250, LISTENED),
        ("true ? 1 : " * 250 + "1", LISTENED),
        ("dyn({})" + ".a" * 251, VISITED),
    ],
)
def test_an_expression_may_not_nest_more_deeply(text: str, wanted: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression(text, base_environment())
    assert str(caught.value).partition("\n")[0] == wanted


def _below(frames: int, text: str) -> Expression:
    """Compile with that many frames left."""
    frame: Any = sys._getframe()
    used = 0
    while frame is not None:
        used, frame = used + 1, frame.f_back
    return _deeper(sys.getrecursionlimit() - used - frames, text)


def _deeper(more: int, text: str) -> Expression:
    return compile_expression(text, base_environment()) if more <= 0 else _deeper(more - 1, text)


def test_a_full_stack_is_a_mistake_of_the_expression() -> None:
    """In the words in which cel-go refuses depth; it has no such limit of its own."""
    text = "-(" * 200 + "1" + ")" * 200
    with pytest.raises(CompileError) as caught:
        _below(150, text)
    assert str(caught.value).partition("\n")[0] == VISITED
    assert compile_expression(text, base_environment()).type == INT


@pytest.mark.parametrize(
    ("text", "type_", "why"),
    [
        ("int('x') == 1", BOOL, "type conversion error from 'string' to 'int'"),
        ("int('x')", INT, "type conversion error from 'string' to 'int'"),
        ("self.s.find('(')", STRING, "error parsing regexp: missing closing ): `(`"),
        ("duration == type(duration('1s'))", BOOL, "reference to undefined type: duration"),
    ],
)
def test_constants_without_a_value(text: str, type_: Any, why: str) -> None:
    with pytest.raises(InstantiationError) as caught:
        compiled(text, OBJECT)
    assert (str(caught.value), caught.value.type) == (why, type_)


# -- what authors may use


def test_an_author_compiles_against_a_schema() -> None:
    found = compile_against("self.a == oldSelf.a", OBJECT)
    assert (found.type, found.cost) == (BOOL, (4, 4))
    assert found.evaluate(({"a": 1}, {"a": 2})).value is False


def test_an_author_says_that_it_is_a_whole_object() -> None:
    assert compile_against("self.metadata.name == 'a'", OBJECT, root=True).cost == (4, 4)
    with pytest.raises(CompileError, match="undefined field 'metadata'"):
        compile_against("self.metadata.name == 'a'", OBJECT)


def test_an_author_gets_an_optional_old_value() -> None:
    found = compile_against("oldSelf", {"type": "integer"}, optional_old_self=True)
    assert found.type == optional_of(INT)


def test_a_schema_without_a_type_is_refused() -> None:
    with pytest.raises(ValueError, match="the type of the schema is not known"):
        compile_against("true", {"x-kubernetes-preserve-unknown-fields": True})
