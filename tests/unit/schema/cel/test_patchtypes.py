"""What expressions of mutations make. Expected values are Kubernetes 1.36.3's, asked of its own environment."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.environment import STORED, Environment, Variable, base_environment
from extapi.schema.cel.errors import CompileError, InstantiationError
from extapi.schema.cel.types import DYN, format_type
from extapi.schema.cel.values.made import MadeObject, MadeOperation

OBJECT = {"a": 5, "s": "x/y", "l": [1, 2], "m": {"k": 1}, "n": None}


@cache
def environment() -> Environment:
    return base_environment(STORED).with_variables([Variable("object", DYN)]).with_patches()


def evaluated(text: str) -> tuple[str, Any, str, int]:
    """Type, value, error and cost."""
    made = compile_expression(text, environment())
    found = made.evaluate([OBJECT])
    return format_type(made.type), found.value, str(found.error or ""), found.cost


@pytest.mark.parametrize(
    ("text", "type_", "value", "cost"),
    [
        ("Object{spec: Object.spec{a:1}}.spec.a", "dyn", 1, 83),
        ("Object{}.x", "dyn", None, 42),
        ("has(Object{a:1}.a)", "bool", True, 41),
        ("has(Object{a:1}.b)", "bool", False, 41),
        ("Object{a: 1} == Object{a: 1}", "bool", True, 81),
        ("Object{a: 1} == Object{a: 1.0}", "bool", False, 81),
        ("Object{a: [1]} == Object{a: [1]}", "bool", False, 81),
        ("Object{a: object.m} == Object{a: object.m}", "bool", True, 85),
        ("dyn(JSONPatch{op: 'add'}) == dyn(Object{})", "bool", False, 83),
        ("Object{a: 1} in [Object{a: 1}]", "bool", True, 91),
        ("[1].map(x, Object{a: x})[0].a", "dyn", 1, 57),
        ("JSONPatch{op: 'x'}.op", "string", "x", 42),
        ("JSONPatch{op: 'x'}.value", "dyn", None, 42),
        ("JSONPatch{}.from", "string", "", 42),
        ("has(JSONPatch{op: 'x'}.from)", "bool", False, 41),
        ("has(JSONPatch{value: null}.value)", "bool", True, 41),
        ("JSONPatch{op: 'a', value: [1]} == JSONPatch{op: 'a', value: [1.0]}", "bool", True, 81),
        ("[Object{a:1}].all(o, o.a == 1)", "bool", True, 57),
        ("jsonpatch.escapeKey(object.s)", "string", "x~1y", 3),
        ("optional.ofNonZeroValue(Object{}).hasValue()", "bool", False, 42),
        ("Object{a:1}.?a.hasValue()", "bool", False, 42),
        ("optional.of(Object{a: 1}).?a.hasValue()", "bool", True, 44),
    ],
)
def test_values(text: str, type_: str, value: Any, cost: int) -> None:
    assert evaluated(text) == (type_, value, "", cost)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("JSONPatch{foo: dyn(1)}", "unexpected JSONPatchType field: foo"),
        ("JSONPatch{op: object.a}", "unexpected type int64 for JSONPatchType 'op' field"),
        ("JSONPatch{path: dyn(1.5)}", "unexpected type float64 for JSONPatchType 'path' field"),
        ("JSONPatch{from: object.n}", "unexpected type structpb.NullValue for JSONPatchType 'from' field"),
        ("JSONPatch{op: object.l}", "unexpected type []interface {} for JSONPatchType 'op' field"),
        ("JSONPatch{op: object.m}", "unexpected type map[string]interface {} for JSONPatchType 'op' field"),
        ("Object{spec: Object.spec{b: 1}}.spec.c", "no such key: c"),
        ("Object{}.a.b", "no such key: b"),
        ("dyn(Object{a: 1}).a", "no such key: a"),
        ("Object{a: object.missing}", "no such key: missing"),
    ],
)
def test_errors(text: str, error: str) -> None:
    assert evaluated(text)[1:3] == (None, error)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Invalid{}", "undeclared reference to 'Invalid' (in container '')"),
        ("JSONPatch{op: 1}", "expected type of field 'op' is 'string' but provided type is 'int'"),
        ("JSONPatch{foo: 1}", "expected type of field 'foo' is '' but provided type is 'int'"),
        ("JSONPatch{op: null}", "expected type of field 'op' is 'string' but provided type is 'null'"),
        ("Object.spec{} == Object{}", "found no matching overload for '_==_' applied to '(Object.spec, Object)'"),
        ("[Object.a{}, Object.b{}]", "expected type 'Object.a' but found 'Object.b'"),
        ("Objects{}", "undeclared reference to 'Objects' (in container '')"),
    ],
)
def test_mistakes(text: str, error: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression(text, environment())
    assert str(caught.value).split("\n")[0].split(": ", 2)[2] == error


def test_a_type_is_no_value() -> None:
    with pytest.raises(InstantiationError, match=r"reference to undefined type: Object\.spec"):
        compile_expression("Object.spec", environment())


def test_others_do_not_have_them() -> None:
    with pytest.raises(CompileError, match="undeclared reference to 'Object'"):
        compile_expression("Object{}", base_environment(STORED))
    with pytest.raises(CompileError, match="undeclared reference to 'jsonpatch'"):
        compile_expression("jsonpatch.escapeKey('a')", base_environment(STORED))


def test_what_is_made() -> None:
    made = evaluated("Object{spec: Object.spec{tables: object.a + 1, ?none: optional.none(), ?some: optional.of(2)}}")[
        1
    ]
    assert isinstance(made, MadeObject)
    assert made.cel_type.name == "Object"
    assert made.fields["spec"].fields == {"tables": 6, "some": 2}
    (operation,) = evaluated("[JSONPatch{op: 'move', from: '/a', path: '/b', value: object.l}]")[1]
    assert isinstance(operation, MadeOperation)
    assert (operation.op, operation.source, operation.path, operation.value) == ("move", "/a", "/b", [1, 2])


def test_generated_code_makes_them() -> None:
    made = compile_expression("Object{a: object.a}", environment())
    made.evaluate([OBJECT])
    assert made._program is not None
