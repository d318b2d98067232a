"""Calls whose overload is found by the values. The errors are those of cel-go 0.26.0 in Kubernetes 1.36.3."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.environment import base_environment
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.evaluation.calling import call_dispatched
from extapi.schema.cel.values.values import Duration, UInt

FUNCTIONS = base_environment().language.functions


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        ("_+_", [1, 2], 3),
        ("_+_", ["a", "b"], "ab"),
        ("_+_", [UInt(1), UInt(2)], UInt(3)),
        ("_-_", [Duration(3), Duration(1)], Duration(2)),
        ("size", ["é"], 1),
        ("size", [[1, 2]], 2),
        ("_<_", [1, 1.5], True),
    ],
)
def test_the_values_say_which_overload_is_called(function: str, values: list[Any], expected: Any) -> None:
    found = call_dispatched(FUNCTIONS[function], values)
    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(
    ("function", "values", "text"),
    [
        ("_+_", [1, "a"], "no such overload"),
        ("size", [1], "no such overload: size"),
        ("_/_", [1, 0], "division by zero"),
        ("_+_", [2**63 - 1, 1], "integer overflow"),
    ],
)
def test_a_call_without_an_overload_or_a_value(function: str, values: list[Any], text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        call_dispatched(FUNCTIONS[function], values)
    assert str(caught.value) == text
