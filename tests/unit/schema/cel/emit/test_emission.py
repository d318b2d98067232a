"""How values are passed on between lines. What a value needs follows from its schema: see ``Declared``."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.emit.emission import has_parameter, kind
from extapi.schema.cel.emit.emitter import Emitter
from extapi.schema.cel.types import INT, list_of, map_of, parameter
from tests.unit.schema.cel.evaluating import tree_of
from tests.unit.schema.cel.sample import ENVIRONMENT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.a", "int"),
        ("self.d[0]", "timestamp"),
        ("self.o", "struct"),
        ("self.p", "dyn"),
        ("self.?a", "opaque"),
        ("google.protobuf.Int64Value{value: 1}", "dyn"),  # which may be null
    ],
)
def test_the_kind_of_a_value(text: str, expected: str) -> None:
    assert kind(tree_of(text, ENVIRONMENT)) == expected


@pytest.mark.parametrize("value", [None, True, False, 0, 3, -3, 2**63 - 1, -(2**63) + 1])
def test_a_short_constant_stands_in_the_text(value: Any) -> None:
    assert repr(eval(Emitter(ENVIRONMENT).literal(value))) == repr(value)  # noqa: S307


@pytest.mark.parametrize("value", ["text", b"bytes", 2.5, -(2**63), [1], {"a": 1}])
def test_other_constants_never_do(value: Any) -> None:
    emitter = Emitter(ENVIRONMENT)
    text = emitter.literal(value)
    assert text in {"1j", "k1"}
    assert str(value) not in emitter.out.source("def f():")


@pytest.mark.parametrize(
    ("text", "converts"),
    [
        ("self.l", False),
        ("self.w", False),
        ("self.m", False),
        ("self.a", False),
        ("self.u", False),  # read when it is reached
        ("self.d", True),
        ("self.os", True),
        ("self.sets[0]", True),
        ("self.maps[0]", True),
        ("self.hs[0]", True),
        ("self.?d", False),  # an optional is passed on
    ],
)
def test_only_what_is_not_plain_is_converted(text: str, converts: bool) -> None:
    emitter = Emitter(ENVIRONMENT)
    node = tree_of(text, ENVIRONMENT)
    value = emitter.native(node)
    assert ("native(" in emitter.out.source("def f():") + value) is converts


@pytest.mark.parametrize(
    ("text", "asks"),
    [("self.b", False), ("self.a == 1", False), ("dyn(self.b)", True), ("self.p", True)],
)
def test_what_may_be_no_bool_is_asked(text: str, asks: bool) -> None:
    emitter = Emitter(ENVIRONMENT)
    value = emitter.boolean(tree_of(text, ENVIRONMENT))
    assert value.startswith("truth(") is asks


def test_which_types_are_made_of_any_type() -> None:
    assert has_parameter(parameter("T"))
    assert has_parameter(map_of(INT, list_of(parameter("T"))))
    assert not has_parameter(list_of(INT))


def test_variables_have_names_of_ours() -> None:
    assert Emitter(ENVIRONMENT).variables == {"self": "v0"}
