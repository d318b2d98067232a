"""Signatures in one line. Ids and types are those of cel-go 0.26's standard library and of Kubernetes' own."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.declarations import NOT_LITERAL, by_function, overload
from extapi.schema.cel.types import (
    BOOL,
    DYN,
    INT,
    STRING,
    UINT,
    URL,
    Type,
    list_of,
    map_of,
    optional_of,
    parameter,
    type_of,
)

T, K, V = parameter("T"), parameter("K"), parameter("V")


def nothing(*_: Any) -> Any:
    """What no test calls."""


@pytest.mark.parametrize(
    ("signature", "function", "member", "arguments", "result", "parameters"),
    [
        (".charAt(string, int) -> string", "charAt", True, (STRING, INT), STRING, ()),
        ("f(int,string) -> int", "f", False, (INT, STRING), INT, ()),
        ("url(string) -> url", "url", False, (STRING,), URL, ()),
        ("optional.none() -> optional(V)", "optional.none", False, (), optional_of(V), ("V",)),
        ("sets.contains(list(T), list(T)) -> bool", "sets.contains", False, (list_of(T), list_of(T)), BOOL, ("T",)),
        ("_[_](map(K, V), K) -> V", "_[_]", False, (map_of(K, V), K), V, ("K", "V")),
        ("@in(T, list(T)) -> bool", "@in", False, (T, list_of(T)), BOOL, ("T",)),
        ("type(T) -> type(T)", "type", False, (T,), type_of(T), ("T",)),
        ("_?_:_(bool, T, T) -> T", "_?_:_", False, (BOOL, T, T), T, ("T",)),
        ("_<_(uint, int) -> bool", "_<_", False, (UINT, INT), BOOL, ()),
        (
            ".f(map(string, list(optional(dyn))), list(map(K, V))) -> map(V, K)",
            "f",
            True,
            (map_of(STRING, list_of(optional_of(DYN))), list_of(map_of(K, V))),
            map_of(V, K),
            ("K", "V"),
        ),
    ],
)
def test_what_a_signature_says(
    signature: str, function: str, member: bool, arguments: tuple[Type, ...], result: Type, parameters: tuple[str, ...]
) -> None:
    made = overload("identifier", signature, nothing)
    assert (made.id, made.function, made.member) == ("identifier", function, member)
    assert (made.arguments, made.result, made.parameters) == (arguments, result, parameters)


@pytest.mark.parametrize(
    "signature",
    [
        "f(int)",
        "f(int) -> ",
        "f(int) -> nope",
        "f(list) -> int",
        "f(set(int)) -> int",
        "f(list(int) -> int",
        "f(t) -> int",
    ],
)
def test_signatures_that_cannot_be_read(signature: str) -> None:
    with pytest.raises(ValueError, match="cannot read the"):
        overload("identifier", signature, nothing)


def test_a_call_costs_one_unit_and_is_strict_unless_it_is_said() -> None:
    made = overload("identifier", "f(int) -> int", nothing)
    assert (made.cost, made.estimate, made.strict, made.guarded) == (1, None, True, True)
    made = overload("identifier", "f(int) -> int", nothing, cost=3, strict=False, guarded=False)
    assert (made.cost, made.strict, made.guarded) == (3, False, False)


def test_overloads_of_a_function_keep_their_order() -> None:
    first = overload("first", "f(int) -> int", nothing)
    other = overload("other", "g(int) -> int", nothing)
    second = overload("second", ".f(int) -> int", nothing)
    assert by_function([first, other, second]) == {"f": (first, second), "g": (other,)}


def test_no_value_is_not_null() -> None:
    assert NOT_LITERAL is not None
