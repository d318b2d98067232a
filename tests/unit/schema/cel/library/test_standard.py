"""The standard library, function by function, against what cel-go answered.

``standard_cases.json`` has one call per line: the overload, its arguments, and the value or error that cel-go 0.26.0 gave
in the environment of Kubernetes 1.36. ``standard_signatures.txt`` has the declarations of that environment.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extapi.errors import go_float
from extapi.schema.cel.declarations import Overload, by_function
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.comprehensions import TWO_VARIABLE
from extapi.schema.cel.library.optionals import OPTIONALS
from extapi.schema.cel.library.standard import CROSS_TYPE_COMPARISONS, STANDARD, STANDARD_WITH_CROSS_TYPES
from extapi.schema.cel.library.standard_operators import elsewhere
from extapi.schema.cel.types import format_type
from extapi.schema.cel.values.durations import show_duration
from extapi.schema.cel.values.time import parse_timestamp, show_timestamp
from extapi.schema.cel.values.values import (
    NONE,
    Duration,
    OptionalValue,
    Timestamp,
    TypeValue,
    UInt,
    some,
    type_name,
)

HERE = Path(__file__)
CASES = json.loads(HERE.with_name("standard_cases.json").read_text())
SIGNATURES = HERE.with_name("standard_signatures.txt").read_text().splitlines()
ALL = (*STANDARD_WITH_CROSS_TYPES, *OPTIONALS, *TWO_VARIABLE)
BY_ID = {each.id: each for each in ALL}

READ: dict[str, Callable[[str], Any]] = {
    "int": int,
    "uint": lambda text: UInt(int(text)),
    "double": float,
    "string": str,
    "bytes": bytes.fromhex,
    "bool": lambda text: text == "true",
    "duration": lambda text: Duration(int(text)),
    "timestamp": parse_timestamp,
    "null": lambda _: None,
    "none": lambda _: NONE,
}


def read(written: Any) -> Any:
    """A value from how the cases write it."""
    if isinstance(written, str):
        kind, _, rest = written.partition(" ")
        return READ[kind](rest)
    if isinstance(written, list):
        return [read(each) for each in written]
    if "optional" in written:
        return some(read(written["optional"]))
    return {read(key): read(value) for key, value in written["map"]}


def shown(value: Any) -> str:
    """A value as cel-go's answers are written."""
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, OptionalValue):
        return f"optional({shown(value.value)})" if value.present else "optional.none"
    texts: dict[type, Callable[[], str]] = {
        bool: lambda: "true" if value else "false",
        float: lambda: go_float(value),
        Duration: lambda: show_duration(value),
        Timestamp: lambda: show_timestamp(value),
        bytes: lambda: f"[{' '.join(map(str, value))}]",
        TypeValue: lambda: value.name,
        type(None): lambda: "NULL_VALUE",
    }
    return f"{type_name(value)} {texts.get(type(value), lambda: str(value))()}"


def answer(overload: Overload, arguments: list[Any]) -> str:
    try:
        return shown(overload.call(*arguments))
    except EvaluationError as error:
        return f"error {error}"


@pytest.mark.parametrize(
    ("identifier", "arguments", "expected"), CASES, ids=[f"{identifier}-{args}" for identifier, args, _ in CASES]
)
def test_calls(identifier: str, arguments: list[Any], expected: str) -> None:
    assert answer(BY_ID[identifier], [read(each) for each in arguments]) == expected


def test_each_overload_has_cases() -> None:
    called = {identifier for identifier, _, _ in CASES}
    here = {each.id for each in (*STANDARD_WITH_CROSS_TYPES, *OPTIONALS) if each.call is not elsewhere}
    assert here - called == {"not_strictly_false"}


def test_what_is_no_call_says_so() -> None:
    with pytest.raises(NotImplementedError):
        BY_ID["logical_and"].call(True, False)


def test_a_loop_ends_at_false_alone() -> None:
    call = BY_ID["not_strictly_false"].call
    assert call(False) is False
    assert call(True) is True
    assert call(EvaluationError("no such key: k")) is True


def test_declarations_are_those_of_cel_go() -> None:
    functions = by_function(ALL)
    written = [
        f"{each.id} {'.' if each.member else ''}{name}({', '.join(map(format_type, each.arguments))})"
        f" -> {format_type(each.result)}{'' if each.strict else ' nonstrict'}"
        for name in sorted(functions)
        for each in functions[name]
    ]
    assert written == SIGNATURES


def test_comparisons_of_different_types_are_apart() -> None:
    assert {*STANDARD, *CROSS_TYPE_COMPARISONS} == set(STANDARD_WITH_CROSS_TYPES)
    assert len(STANDARD) + len(CROSS_TYPE_COMPARISONS) == len(STANDARD_WITH_CROSS_TYPES)
    assert all(len(set(each.arguments)) == 2 for each in CROSS_TYPE_COMPARISONS)
