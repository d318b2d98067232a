"""What a loop sees. Source of what is expected: ``cel-go/interpreter`` evalFold, and what cel-go 0.26.0 says of other values."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.evaluation.iteration import turns
from extapi.schema.cel.evaluation.reading import Typed
from extapi.schema.cel.values.values import Duration
from tests.unit.schema.cel.evaluating import schema_of
from tests.unit.schema.cel.sample import OBJECT, SCHEMA


def typed(name: str, raw: Any = None) -> Typed:
    return Typed(schema_of(SCHEMA["properties"][name]), OBJECT[name] if raw is None else raw)


@pytest.mark.parametrize(
    ("within", "two", "expected"),
    [
        ([5, 6], False, [(5, None), (6, None)]),
        ([5, 6], True, [(0, 5), (1, 6)]),
        ({"a": 1}, False, [("a", 1)]),
        ({"a": 1}, True, [("a", 1)]),
        ([], True, []),
        (typed("l"), False, [(1, None), (2, None), (3, None)]),
        (typed("w"), True, [(0, "x"), (1, "yy")]),
        (typed("m"), True, [("k", 7), ("j", 2)]),
        (typed("gs"), False, [("a", None), (None, None)]),
        (typed("o", {"x": "v", "other": 1}), True, [("x", "v")]),
    ],
)
def test_the_variables_of_each_turn(within: Any, two: bool, expected: list[Any]) -> None:
    found = list(turns(within, two=two))
    assert ([first for first, _ in found], [second for _, second in found] if two else []) == (
        [first for first, _ in expected],
        [second for _, second in expected] if two else [],
    )


def test_elements_are_read() -> None:
    ((first, _),) = turns(Typed(schema_of({"type": "array", "items": SCHEMA["properties"]["u"]}), ["90s"]), two=False)
    assert (type(first), first) == (Duration, 90 * 10**9)


def test_an_element_that_does_not_fit_is_an_error_in_its_turn() -> None:
    seen = [value for value, _ in turns(typed("l", [1, None]), two=False)]
    assert seen[0] == 1
    assert isinstance(seen[1], EvaluationError)


def test_members_are_named_by_their_identifiers() -> None:
    within = Typed(schema_of({"type": "object", "properties": {"a-b": {"type": "string"}}}), {"a-b": "v"})
    assert list(turns(within, two=True)) == [("a__dash__b", "v")]


@pytest.mark.parametrize(
    ("within", "two", "text"),
    [
        (3, False, "got 'types.Int', expected iterable type"),
        (3, True, "unsupported comprehension range type: types.Int"),
        ("abc", False, "got 'types.String', expected iterable type"),
    ],
)
def test_what_cannot_be_looped_over(within: Any, two: bool, text: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        turns(within, two=two)
    assert str(caught.value) == text


def test_a_list_that_grows_meanwhile_is_seen_as_it_was() -> None:
    within = [1, 2]
    for each, _ in turns(within, two=False):
        within.append(each)
    assert within == [1, 2, 1, 2]
