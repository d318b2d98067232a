"""How types are written: expected texts are those of cel-go 0.26's ``FormatCELType``."""

from __future__ import annotations

import pytest

from extapi.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    ERROR,
    INT,
    IP,
    NAMES,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    alike,
    format_type,
    is_optional,
    list_of,
    map_of,
    opaque,
    optional_of,
    parameter,
    struct,
    type_of,
)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (BOOL, "bool"),
        (BYTES, "bytes"),
        (DOUBLE, "double"),
        (DURATION, "duration"),
        (DYN, "dyn"),
        (ERROR, "!error!"),
        (INT, "int"),
        (NULL, "null"),
        (STRING, "string"),
        (TIMESTAMP, "timestamp"),
        (UINT, "uint"),
        (IP, "net.IP"),
        (Type("dyn", "any"), "any"),
        (Type("int", "wrapper"), "wrapper(int)"),
        (list_of(STRING), "list(string)"),
        (map_of(STRING, list_of(DYN)), "map(string, list(dyn))"),
        (optional_of(INT), "optional_type(int)"),
        (type_of(INT), "type(int)"),
        (Type("type", "type"), "type"),
        (struct("a.B"), "a.B"),
        (parameter("T"), "T"),
        (list_of(parameter("T")), "list(T)"),
        (Type("opaque", "vector", (INT, STRING)), "vector(int, string)"),
    ],
)
def test_how_a_type_is_written(type_: Type, text: str) -> None:
    assert format_type(type_) == text


def test_only_values_that_may_be_absent_are_optional() -> None:
    assert is_optional(optional_of(INT))
    assert not is_optional(list_of(optional_of(INT)))
    assert not is_optional(struct("optional_type"))
    assert not is_optional(opaque("net.IP"))


def test_types_are_compared_by_value() -> None:
    assert map_of(STRING, list_of(INT)) == map_of(STRING, list_of(INT))
    assert list_of(INT) != list_of(UINT)
    assert struct("a") != opaque("a")


MAYBE_INT, MAYBE_UINT = Type("int", "wrapper"), Type("uint", "wrapper")


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (INT, INT, True),
        (INT, UINT, False),
        (INT, MAYBE_INT, True),
        (MAYBE_INT, MAYBE_UINT, False),
        (list_of(map_of(STRING, INT)), list_of(map_of(STRING, MAYBE_INT)), True),
        (list_of(INT), list_of(MAYBE_UINT), False),
        (struct("a"), struct("b"), False),
        (struct("a"), opaque("a"), False),
        (DYN, Type("dyn", "any"), False),
        (Type("type", "type"), type_of(INT), False),
    ],
)
def test_a_scalar_that_may_be_null_is_like_one_that_may_not(first: Type, second: Type, wanted: bool) -> None:
    """As cel-go's IsExactType has it, which compares kinds, names and parameters."""
    assert alike(first, second) is wanted
    assert alike(second, first) is wanted


def test_each_name_in_declarations_stands_for_another_type() -> None:
    assert len(set(NAMES.values())) == len(NAMES)
