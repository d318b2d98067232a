"""What code is written for, and what is too deep for it.

Expected values and costs are cel-go 0.26.0's in the environment of Kubernetes 1.36.3.
"""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.emit.emitter import Emitter
from extapi.schema.cel.emit.writer import NotWrittenError
from extapi.schema.cel.syntax.nodes import Node
from tests.unit.schema.cel.evaluating import interpreted, judge_both, program_of, tree_of
from tests.unit.schema.cel.sample import ENVIRONMENT

OBJECT = {"a": 1, "b": True, "l": [1]}


def negated(depth: int) -> str:
    return "-(" * depth + "self.a" + ")" * depth


def chosen(depth: int) -> str:
    return "self.b ? (" * depth + "self.a" + ") : 0" * depth


def looped(depth: int) -> str:
    return "".join(f"self.l.all(x{index}, " for index in range(depth)) + "self.b" + ")" * depth


@pytest.mark.parametrize(
    ("text", "expected", "cost"),
    [(negated(40), 1, 42), (chosen(40), 1, 81), (looped(11), True, 68), (looped(12), True, 74)],
)
def test_code_nests(text: str, expected: Any, cost: int) -> None:
    judge_both(text, ENVIRONMENT, (OBJECT,), expected, cost)


def test_no_code_is_written_for_what_nests_too_deeply_and_the_interpreter_answers() -> None:
    text = negated(60)
    assert program_of(text, ENVIRONMENT) is None
    assert interpreted(text, ENVIRONMENT, OBJECT) == (1, 62)
    found = compile_expression(text, ENVIRONMENT).evaluate([OBJECT])
    assert (found.value, found.error, found.cost) == (1, None, 62)


def test_no_code_is_written_for_messages() -> None:
    with pytest.raises(NotWrittenError):
        Emitter(ENVIRONMENT).raw(tree_of("google.protobuf.Int64Value{value: self.a}", ENVIRONMENT))


def test_there_is_a_way_for_each_kind_of_node() -> None:
    kinds = {each for each in Node.__subclasses__() if each.__module__ == Node.__module__}
    assert kinds == set(Emitter.by_node)


def test_a_wide_expression_is_no_deep_one() -> None:
    text = " + ".join(["self.a"] * 40)
    judge_both(text, ENVIRONMENT, (OBJECT,), 40, 119)
