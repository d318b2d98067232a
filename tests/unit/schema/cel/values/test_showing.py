"""Values in messages, as Go's ``%v`` prints those of cel-go 0.26.0."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.values.showing import LONGEST, show
from extapi.schema.cel.values.time import parse_timestamp
from extapi.schema.cel.values.values import NONE, Duration, TypeValue, UInt, some


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("k", "k"),
        ("", ""),
        (5, "5"),
        (UInt(5), "5"),
        (1e6, "1e+06"),
        (True, "true"),
        (False, "false"),
        (None, "0"),
        (b"ab", "[97 98]"),
        (b"", "[]"),
        (Duration(5400 * 10**9), "1h30m0s"),
        (parse_timestamp("2023-07-14T10:30:45Z"), "2023-07-14 10:30:45 +0000 UTC"),
        (TypeValue("int"), "int"),
        (TypeValue("list"), "list(dyn)"),
        (TypeValue("map"), "map(dyn, dyn)"),
        ([1, "a", [True]], "[1, a, [true]]"),
        ([], "[]"),
        ({"a": 1, "b": [2]}, "{a: 1, b: [2]}"),
        (NONE, "optional.none()"),
        (some("a"), "optional(a)"),
    ],
)
def test_show(value: Any, shown: str) -> None:
    assert show(value) == shown


def test_values_of_libraries_show_themselves() -> None:
    class Address:
        def __str__(self) -> str:
            return "10.0.0.1"

    assert show([Address()]) == "[10.0.0.1]"


def test_long_values_are_cut() -> None:
    assert show("x" * (LONGEST + 1)) == "x" * LONGEST + "..."
    for value in (["x" * 1000] * 10_000, {str(number): "y" * 1000 for number in range(10_000)}, b"z" * 100_000):
        assert len(show(value)) < 5 * LONGEST


def test_deep_values_are_cut() -> None:
    value: Any = "innermost"
    for _ in range(100_000):
        value = [value]
    shown = show(value)
    assert shown.startswith("[[[")
    assert "..." in shown
    assert len(shown) < LONGEST
