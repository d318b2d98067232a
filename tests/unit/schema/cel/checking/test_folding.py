"""What is constant, seen by what it costs to evaluate: constants are free.

Costs, types and texts are asked of Kubernetes 1.36.3's own environment, with cel-go 0.26.
"""

from __future__ import annotations

from typing import Any

import pytest

from extapi.schema.cel.checking.folding import FoldingError, fold
from extapi.schema.cel.syntax.nodes import Call, Comprehension, Ident, ListLiteral, Literal
from extapi.schema.cel.tree import checked
from extapi.schema.cel.values.values import Duration, TypeValue
from tests.unit.schema.cel.compiling import Schema, compiled, environment, refusal


def folded(text: str, schema: Schema | None = None) -> Any:
    """The tree of an expression, with what is constant replaced."""
    return fold(checked(text, environment(schema))[0])


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("1 + 1", 1),
        ("-1 + -(1)", 2),
        ("true ? 1 : 2", 0),
        ("[1, 2]", 0),
        ("[1, 2 + 3]", 11),
        ("[[1, 2], [3]][0][1]", 3),
        ("[?optional.of(1), 2].size()", 12),
        ("{'a': 1}", 0),
        ("{'a': 1 + 1}", 31),
        ("{'a': {'b': 1}}.a.b + 1", 4),
        ("{?'a': optional.of(1)}.size()", 32),
        ("has({'a': 1}.b)", 1),
        ("int('1')", 0),
        ("int(string(1))", 0),
        ("int(dyn('1'))", 0),
        ("int(timestamp(1))", 0),
        ("string(1 + 1)", 2),
        ("dyn('a') == 'a'", 1),
        ("[dyn(1)][0] == 1", 3),
        ("duration('1h').getHours() == 1", 2),
        ("quantity('1').isInteger()", 2),  # no conversion to cel-go
        ("int", 0),
        ("[int]", 0),
        ("type(int)", 0),
        ("type(1) == int", 1),
        ("google.protobuf.Timestamp == type(timestamp(0))", 1),
        ("google.protobuf.NullValue.NULL_VALUE + 1", 1),
        ("google.protobuf.Int64Value{value: int('1')}", 40),
        ("1 in [1, 2, 3]", 0),
        ("1 in []", 0),
        ("1 in [1 + 1]", 12),
        ("1 in {1: 2}", 1),
        ("['a', 'b'].all(x, x in ['a', 'b'])", 9),
        ("['a', 'b'].all(x, x in ['a', 'b' + 'c'])", 35),
        ("['1', '2'].all(x, int(x) > int('0'))", 13),
        ("[1].all(i, x, x > int('0'))", 6),
        ("['a'].filter(x, x == string(1))", 3),
        ("optional.of(1).optMap(x, int('1') + x)", 7),
    ],
)
def test_what_an_expression_of_constants_costs(text: str, cost: int) -> None:
    found = compiled(text).evaluate(())
    assert (found.error, found.cost) == (None, cost)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("int('x')", "type conversion error from 'string' to 'int'"),
        ("double('x')", "type conversion error from 'string' to 'double'"),
        ("bool('x')", "type conversion error from 'string' to 'bool'"),
        ("uint(-1)", "unsigned integer overflow"),
        ("string(b'\\xff')", "invalid UTF-8 in bytes, cannot convert to string"),
        ("duration(string(1)) == duration('1s')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("true ? int('x') : 1", "type conversion error from 'string' to 'int'"),
        ("[int('x')]", "type conversion error from 'string' to 'int'"),
        ("['a'].map(x, int('x'))", "type conversion error from 'string' to 'int'"),
        ("matches('a', '(')", "error parsing regexp: missing closing ): `(`"),
        ("'a'.find('(')", "error parsing regexp: missing closing ): `(`"),
        ("'a'.findAll('(', 1)", "error parsing regexp: missing closing ): `(`"),
        ("dyn({'a': 1})[[1]]", "invalid qualifier type: *types.baseList"),
        ("dyn({'a': 1})[null]", "invalid qualifier type: types.Null"),
        ("dyn({'a': 1})[dyn(b'a')]", "invalid qualifier type: types.Bytes"),
        ("google.protobuf.Int64Value == int", "reference to undefined type: google.protobuf.Int64Value"),
        ("google.protobuf.Any", "reference to undefined type: google.protobuf.Any"),
    ],
)
def test_constants_without_a_value(text: str, why: str) -> None:
    with pytest.raises(FoldingError) as caught:
        folded(text)
    assert str(caught.value) == why
    assert refusal(text) == f"program instantiation failed: {why}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("['('].map(x, 'a'.find(x))", "Illegal regex: error parsing regexp: missing closing ): `(`"),
        ("[1][dyn('a')]", "unsupported index type 'string' in list"),
        (
            "ip('x') == ip('1.1.1.1')",
            'IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP',
        ),
    ],
)
def test_other_mistakes_are_left_to_the_evaluation(text: str, why: str) -> None:
    assert str(compiled(text).evaluate(()).error) == why


@pytest.mark.parametrize("name", ["duration", "timestamp"])
def test_names_that_schemas_add_have_no_value(name: str) -> None:
    text = f"{name} == type(self)"
    assert refusal(text, {"type": "string"}) == f"program instantiation failed: reference to undefined type: {name}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, [2].size() == 1 ? 3 : 4][0]", None),
        ("[[1], [2]]", [[1], [2]]),
        ("{'a': {'b': [true]}}", {"a": {"b": [True]}}),
        ("duration('1m')", Duration(60 * 10**9)),
        ("uint", TypeValue("uint")),
        ("1 in []", False),
    ],
)
def test_a_constant_becomes_a_literal(text: str, value: Any) -> None:
    root = folded(text)
    assert (root.value if isinstance(root, Literal) else None) == value


def test_a_literal_has_the_type_and_place_of_what_it_stands_for() -> None:
    root = folded("1 + int('2')")
    assert isinstance(root, Call)
    (_, constant) = root.args
    assert isinstance(constant, Literal)
    assert (constant.type.kind, constant.offset) == ("int", 7)


def test_variables_are_not_constant() -> None:
    root = folded("[self, 1]", {"type": "integer"})
    assert isinstance(root, ListLiteral)
    assert [type(each) for each in root.elements] == [Ident, Literal]


def test_what_authors_wrote_in_a_macro_stays_a_part_of_its_step() -> None:
    root = folded("[1, 2].filter(x, x in [1, int('2')])")
    assert isinstance(root, Comprehension)
    assert isinstance(root.step, Call)
    assert root.filter_ is root.step.args[0]
    assert isinstance(root.filter_, Call)
    assert isinstance(root.filter_.args[1], Literal)
    assert isinstance(root.range, Literal)
