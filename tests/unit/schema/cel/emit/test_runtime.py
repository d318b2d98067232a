"""What generated code calls. It fails where cel-go has an error, which the interpreter then finds: see ``Expression``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from extapi.schema.cel.emit import runtime
from extapi.schema.cel.errors import CostLimitExceededError, DeadlineExceededError, EvaluationError
from extapi.schema.cel.values.values import NONE, OptionalValue, UInt, some


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (runtime.truth, (True,), True),
        (runtime.truth, (False,), False),
        (runtime.element, ([5, 6], 1), 6),
        (runtime.present, ({"a": 0}, "a"), 0),
        (runtime.step, ({"a": 1}, "a"), 1),
        (runtime.step, ([5, 6], 1.0), 6),
        (runtime.step, ({1: "a"}, UInt(1)), "a"),
        (runtime.has_step, ({"a": None}, "a"), True),
        (runtime.has_step, ({"a": 1}, "b"), False),
        (runtime.equal_any, (1, 1.0), True),
        (runtime.equal_any, ("1", 1), False),
        (runtime.equal_any, (None, [1]), False),
        (runtime.equal_any, ([1], None), False),
        (runtime.equal_any, ([1], [1.0]), True),
        (runtime.member, (1.0, [1, 2]), True),
        (runtime.member, (True, [1, 2]), False),
        (runtime.member, ([1], [1, 2]), False),
        (runtime.has_key, ({1: 2}, 1.0), True),
        (runtime.has_key, ({1: 2}, True), False),
        (runtime.contains, ([1, 2], 2.0), True),
        (runtime.contains, ([1, 2], 3), False),
        (runtime.contains, ([1, 2], True), False),
        (runtime.given, (some(3),), (3,)),
        (runtime.given, (NONE,), ()),
    ],
)
def test_what_has_a_value(function: Callable[..., Any], arguments: tuple[Any, ...], expected: Any) -> None:
    found = function(*arguments)
    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (runtime.fail, ()),
        (runtime.truth, (1,)),
        (runtime.truth, (None,)),
        (runtime.element, ([5, 6], -1)),
        (runtime.element, ([5, 6], 2)),
        (runtime.present, ({"a": None}, "a")),
        (runtime.present, ({}, "a")),
        (runtime.step, ({"a": 1}, "b")),
        (runtime.step, ([5, 6], "a")),
        (runtime.step, ([5, 6], -1)),
        (runtime.step, (3, "a")),
        (runtime.step, (some({"a": 1}), "a")),
        (runtime.step, ({"a": 1}, [1])),
        (runtime.has_step, (some({"a": 1}), "a")),
        (runtime.optional_step, ({"a": 1}, [1], None, False)),
        (runtime.equal_any, ([1], 1)),
        (runtime.equal_any, ({}, [])),
        (runtime.turns, (3,)),
        (runtime.turns, ("abc",)),
        (runtime.pairs, (3,)),
        (runtime.insert, ({"a": 1}, "a", 2)),
        (runtime.insert_all, ({"a": 1}, {"b": 1, "a": 2})),
    ],
)
def test_what_has_none(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with pytest.raises((EvaluationError, LookupError)):
        function(*arguments)


@pytest.mark.parametrize(
    ("value", "key", "null_is_absent", "expected"),
    [
        ({"a": "1"}, "a", False, 1),
        (some({"a": "1"}), "a", False, 1),
        (NONE, "a", False, None),
        ({"a": "1"}, "b", False, None),
        ({"a": None}, "a", True, None),
        (["1"], 0, False, 1),
        (["1"], 1, False, None),
        (["1"], -1, False, None),
    ],
)
def test_a_step_that_may_lead_nowhere(value: Any, key: Any, null_is_absent: bool, expected: int | None) -> None:
    found = runtime.optional_step(value, key, int, null_is_absent)
    assert type(found) is OptionalValue
    assert (found.present, found.value) == (expected is not None, expected)


def test_a_null_may_be_a_value() -> None:
    found = runtime.optional_step({"a": None}, "a", None, False)
    assert (found.present, found.value) == (True, None)


def test_a_loop_sees_what_was_there_when_it_began() -> None:
    items = [1, 2]
    for each in runtime.turns(items):
        items.append(each)  # noqa: PERF402 - it must not see what it adds
    for _, each in runtime.pairs(items):
        items.append(each)
    assert items == [1, 2] * 4
    assert list(runtime.turns({"a": 1})) == ["a"]
    assert list(runtime.pairs({"a": 1})) == [("a", 1)]
    assert list(runtime.pairs(["x"])) == [(0, "x")]


def test_entries_that_are_new_are_added() -> None:
    mapping: dict[Any, Any] = {"a": 1}
    runtime.insert(mapping, "b", 2)
    runtime.insert_all(mapping, {"c": 3, "d": 4})
    assert mapping == {"a": 1, "b": 2, "c": 3, "d": 4}


def test_there_are_no_builtins_in_reach() -> None:
    assert runtime.NAMESPACE["__builtins__"] == {}
    assert {"eval", "exec", "getattr", "open", "__import__", "compile", "type"} & set(runtime.NAMESPACE) == set()


def test_when_to_ask_again_whether_to_go_on() -> None:
    assert runtime.go_on(5, (100, 10, None)) == 15
    assert runtime.go_on(95, (100, 10, lambda: False)) == 100
    assert runtime.go_on(100, (100, 10, None)) == 100
    with pytest.raises(CostLimitExceededError) as caught:
        runtime.go_on(101, (100, 10, None))
    assert caught.value.cost == 101
    with pytest.raises(DeadlineExceededError):
        runtime.go_on(5, (100, 10, lambda: True))
