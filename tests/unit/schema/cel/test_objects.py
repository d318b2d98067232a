"""Objects whose members are values of CEL: ``variables`` of policies, and what is typed but not converted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.environment import STORED, Environment, Variable, base_environment
from extapi.schema.cel.errors import CompileError
from extapi.schema.cel.types import BOOL, DURATION, INT, NULL, STRING, TIMESTAMP, list_of, struct
from extapi.schema.cel.values.values import Duration

FIELDS = {
    "count": INT,
    "long": DURATION,
    "nothing": NULL,
    "words": list_of(STRING),
    "inner": struct("test.Inner"),
}


@pytest.fixture
def environment() -> Environment:
    return base_environment(STORED).with_variables(
        [Variable("made", struct("test.Made"))],
        {"test.Made": FIELDS, "test.Inner": {"at": TIMESTAMP}},
    )


def evaluated(text: str, environment: Environment, value: Mapping[str, Any]) -> Any:
    found = compile_expression(text, environment).evaluate((value,))
    return found.value if found.error is None else str(found.error)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("made.count + 1 == 3", True),
        ("made.long > duration('59m')", True),
        ("made.nothing == null", True),
        ("has(made.nothing)", True),
        ("has(made.count) && !has(made.inner)", True),
        ("made.words[1] == 'b' && made.words.all(w, size(w) == 1)", True),
        ("made.inner.at == timestamp('2024-01-01T00:00:00Z')", "no such key: inner"),
        ("made.?inner.orValue(null) == null", True),
    ],
)
def test_members(text: str, expected: Any, environment: Environment) -> None:
    value = {"count": 2, "long": Duration(3_600_000_000_000), "nothing": None, "words": ["a", "b"]}
    expression = compile_expression(text, environment)
    assert expression.type == BOOL
    assert evaluated(text, environment, value) == expected


def test_a_member_of_another_type_than_declared(environment: Environment) -> None:
    """kube-apiserver declares the times of a namespace as timestamps, and gives texts."""
    text = "made.inner.at < timestamp('2024-01-01T00:00:00Z')"
    value = {"inner": {"at": "2023-01-01T00:00:00Z"}}
    assert evaluated(text, environment, value) == "no such overload"


@pytest.mark.parametrize("text", ["made.missing == 1", "made.inner.other == 1", "has(made.missing)"])
def test_members_that_are_not_declared(text: str, environment: Environment) -> None:
    with pytest.raises(CompileError, match="undefined field"):
        compile_expression(text, environment)
