"""Which types fit each other. Expected values are those of cel-go 0.26's ``isAssignable`` and ``mostGeneral``, asked of it."""

from __future__ import annotations

import pytest

from extapi.schema.cel.checking.unification import Bindings, assignable, most_general, substituted
from extapi.schema.cel.types import (
    DOUBLE,
    DURATION,
    DYN,
    ERROR,
    INT,
    IP,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    opaque,
    optional_of,
    parameter,
    struct,
    type_of,
)

T, U = parameter("T"), parameter("U")
ANY = Type("dyn", "any")
MAYBE_INT, MAYBE_UINT = Type("int", "wrapper"), Type("uint", "wrapper")

FITTING: list[tuple[Type, Type]] = [
    (INT, INT),
    (INT, DYN),
    (DYN, INT),
    (ERROR, INT),
    (STRING, ANY),
    (ANY, list_of(INT)),
    (NULL, NULL),
    (NULL, DURATION),
    (DURATION, NULL),
    (TIMESTAMP, NULL),
    (NULL, struct("a")),
    (struct("a"), NULL),
    (NULL, optional_of(INT)),
    (optional_of(INT), NULL),
    (NULL, MAYBE_INT),
    (MAYBE_INT, NULL),
    (NULL, IP),
    (MAYBE_INT, INT),
    (INT, MAYBE_INT),
    (struct("a"), struct("a")),
    (list_of(INT), list_of(INT)),
    (list_of(DYN), list_of(INT)),
    (list_of(INT), list_of(DYN)),
    (map_of(STRING, INT), map_of(STRING, DYN)),
    (optional_of(INT), optional_of(INT)),
    (optional_of(DYN), optional_of(INT)),
    (type_of(INT), type_of(STRING)),
    (Type("type", "type"), type_of(INT)),
    (T, T),
]
DIFFERENT: list[tuple[Type, Type]] = [
    (INT, UINT),
    (NULL, INT),
    (STRING, NULL),
    (NULL, list_of(INT)),
    (NULL, type_of(INT)),
    (MAYBE_INT, MAYBE_UINT),
    (MAYBE_INT, DOUBLE),
    (struct("a"), struct("b")),
    (struct("a"), opaque("a")),
    (list_of(INT), list_of(UINT)),
    (list_of(INT), map_of(INT, INT)),
    (map_of(STRING, INT), map_of(INT, INT)),
    (optional_of(INT), optional_of(STRING)),
    (optional_of(INT), INT),
    (type_of(INT), INT),
    (list_of(T), T),
    (T, list_of(T)),
    (map_of(STRING, INT), map_of(T, T)),
    (map_of(list_of(T), T), map_of(U, U)),
]


@pytest.mark.parametrize(("source", "target"), FITTING)
def test_types_that_fit(source: Type, target: Type) -> None:
    bindings: Bindings = {}
    assert assignable(bindings, source, target)
    assert bindings == {}


@pytest.mark.parametrize(("source", "target"), DIFFERENT)
def test_types_that_do_not_fit(source: Type, target: Type) -> None:
    assert not assignable({}, source, target)


@pytest.mark.parametrize(
    ("source", "target", "bindings"),
    [
        (INT, T, {T: INT}),
        (T, INT, {T: INT}),
        (T, U, {U: T}),
        (DYN, T, {T: DYN}),
        (NULL, T, {T: NULL}),
        (list_of(INT), list_of(T), {T: INT}),
        (list_of(T), list_of(INT), {T: INT}),
        (optional_of(list_of(INT)), optional_of(T), {T: list_of(INT)}),
        (map_of(STRING, list_of(INT)), map_of(T, list_of(U)), {T: STRING, U: INT}),
        (map_of(STRING, DYN), map_of(T, T), {T: DYN}),
        (map_of(DYN, STRING), map_of(T, T), {T: DYN}),
        (map_of(NULL, DURATION), map_of(T, T), {T: NULL}),
        (map_of(T, INT), map_of(U, U), {T: INT, U: T}),
    ],
)
def test_what_type_parameters_are(source: Type, target: Type, bindings: Bindings) -> None:
    found: Bindings = {}
    assert assignable(found, source, target)
    assert found == bindings


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (INT, DYN, DYN),
        (DYN, INT, DYN),
        (list_of(DYN), list_of(INT), list_of(DYN)),
        (list_of(INT), list_of(DYN), list_of(DYN)),
        (T, INT, T),
        (INT, T, T),
        (optional_of(T), optional_of(INT), optional_of(T)),
        (NULL, DURATION, DURATION),
        (DURATION, NULL, NULL),
        (map_of(STRING, DYN), map_of(DYN, INT), map_of(DYN, INT)),
        (type_of(INT), type_of(STRING), type_of(INT)),
        (MAYBE_INT, INT, MAYBE_INT),
        (INT, MAYBE_INT, INT),
        (list_of(T), list_of(DYN), list_of(T)),
    ],
)
def test_which_of_two_types_says_less(first: Type, second: Type, wanted: Type) -> None:
    assert most_general(first, second) == wanted


def test_parameters_are_filled_in_to_the_bottom() -> None:
    bindings = {T: list_of(U), U: INT}
    assert substituted(bindings, map_of(STRING, T)) == map_of(STRING, list_of(INT))
    assert substituted(bindings, struct("a")) == struct("a")


def test_unbound_parameters_become_what_is_asked() -> None:
    assert substituted({}, list_of(T)) == list_of(T)
    assert substituted({U: list_of(T)}, optional_of(U), unbound=DYN) == optional_of(list_of(DYN))
