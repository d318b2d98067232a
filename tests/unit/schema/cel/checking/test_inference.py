"""What type parameters turn out to be. Types of expressions are asked of Kubernetes 1.36.3's environment, with cel-go 0.26."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.checking.inference import Inference
from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.types import (
    BOOL,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    Type,
    format_type,
    list_of,
    map_of,
    optional_of,
    parameter,
)
from tests.unit.schema.cel.compiling import compiled


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("[]", "list(dyn)"),
        ("{}", "map(dyn, dyn)"),
        ("[[], [1]]", "list(list(int))"),
        ("[[1], []]", "list(list(int))"),
        ("[null]", "list(null)"),
        ("[dyn(1)][0]", "dyn"),
        ("[{'a': 1}, {}][0].a", "int"),
        ("true ? [] : [1]", "list(int)"),
        ("true ? [1] : []", "list(int)"),
        ("true ? dyn(1) : 2", "dyn"),
        ("true ? 2 : dyn(1)", "dyn"),
        ("true ? null : duration('1s')", "null"),
        ("true ? duration('1s') : null", "duration"),
        ("true ? null : optional.of(1)", "null"),
        ("dyn(1) + 1", "int"),
        ("dyn(1) + dyn(1)", "dyn"),
        ("-dyn(1)", "dyn"),
        ("[1][dyn(0)]", "int"),
        ("[1] + []", "list(int)"),
        ("[] + [1]", "list(int)"),
        ("[] + []", "list(dyn)"),
        ("optional.none()", "optional_type(dyn)"),
        ("optional.none().orValue(1)", "int"),
        ("optional.of(optional.of(1))", "optional_type(optional_type(int))"),
        ("[1][?0]", "optional_type(int)"),
        ("sets.contains([1], [])", "bool"),
        ("[google.protobuf.Int64Value{}, 1]", "list(wrapper(int))"),
        ("[1, google.protobuf.Int64Value{}]", "list(int)"),
        ("{'a': google.protobuf.Int64Value{}, 'b': 1}", "map(string, wrapper(int))"),
        ("[google.protobuf.Int64Value{}] + [1]", "list(wrapper(int))"),
        ("true ? 1 : google.protobuf.Int64Value{}", "int"),
        ("[].map(x, [x]).size() == 0 ? optional.none() : optional.of({})", "optional_type(map(dyn, dyn))"),
    ],
)
def test_the_type_of_an_expression(text: str, type_: str) -> None:
    assert format_type(compiled(text).type) == type_


def declared(signature: str) -> Overload:
    def call(*_: Any) -> Any:
        raise NotImplementedError

    return overload("identifier", signature, call)


@pytest.mark.parametrize(
    ("signature", "arguments", "wanted"),
    [
        ("f(int) -> bool", [INT], BOOL),
        ("f(int) -> bool", [STRING], None),
        ("f(int) -> bool", [DYN], BOOL),
        ("f(list(T)) -> T", [list_of(INT)], INT),
        ("f(T, T) -> bool", [INT, STRING], None),
        ("f(T, T) -> T", [list_of(DYN), list_of(INT)], list_of(DYN)),
        ("f(map(K, V), K) -> optional(V)", [map_of(STRING, INT), STRING], optional_of(INT)),
        ("f(map(K, V), K) -> V", [map_of(STRING, INT), INT], None),
        ("f(T) -> list(T)", [optional_of(INT)], list_of(optional_of(INT))),
    ],
)
def test_which_overloads_fit(signature: str, arguments: list[Type], wanted: Type | None) -> None:
    assert Inference().fits(declared(signature), arguments) == wanted


def test_nothing_is_known_of_what_comes_from_dyn() -> None:
    found = Inference().fits(declared("f(list(T)) -> T"), [DYN])
    assert found is not None
    assert found.kind == "parameter"


def test_each_call_has_its_own_parameters() -> None:
    types = Inference()
    first = declared("f(list(T)) -> T")
    assert types.fits(first, [list_of(INT)]) == INT
    assert types.fits(first, [list_of(STRING)]) == STRING


def test_what_does_not_fit_says_nothing() -> None:
    types = Inference()
    unknown = types.fresh()
    assert types.fits(declared("f(list(int), string) -> int"), [list_of(unknown), INT]) is None
    assert types.known(unknown) == unknown
    assert not types.assignable(map_of(unknown, INT), map_of(STRING, BOOL))
    assert types.known(unknown) == unknown


def test_what_fits_is_kept() -> None:
    types = Inference()
    unknown = types.fresh()
    assert types.fits(declared("f(list(int)) -> int"), [list_of(unknown)]) == INT
    assert types.known(list_of(unknown)) == list_of(INT)
    assert not types.assignable(unknown, STRING)


def test_fresh_parameters_differ() -> None:
    types = Inference()
    assert types.fresh() != types.fresh()


@pytest.mark.parametrize(
    ("before", "found", "wanted"),
    [
        (None, INT, INT),
        (INT, INT, INT),
        (INT, STRING, DYN),
        (INT, DYN, DYN),
        (DYN, INT, DYN),
        (NULL, DURATION, DURATION),
        (DURATION, NULL, NULL),
        (list_of(INT), list_of(parameter("T")), list_of(parameter("T"))),
        (list_of(INT), list_of(STRING), DYN),
    ],
)
def test_the_type_of_elements_of_two_types(before: Type | None, found: Type, wanted: Type) -> None:
    """``joinTypes``, with cel-go's dynAggregateLiteralElementTypes: another type is no mistake here."""
    assert Inference().join(before, found) == wanted
