"""Types of expressions and their mistakes: asked of Kubernetes 1.36.3's own environment, with cel-go 0.26."""

from __future__ import annotations

import pytest

from extapi.schema.cel.checking.checker import Checked, check
from extapi.schema.cel.syntax.nodes import Call, Node, Select
from extapi.schema.cel.syntax.parser import parse
from extapi.schema.cel.types import DYN, format_type, map_of, optional_of
from tests.unit.schema.cel.compiling import Schema, array, compiled, environment, mapping, of

INTEGER: Schema = {"type": "integer"}
OBJECT = of(
    {
        "a": INTEGER,
        "s": {"type": "string"},
        "b.c": INTEGER,
        "o": of({"c": INTEGER}),
        "u": {"x-kubernetes-preserve-unknown-fields": True},
        "m": mapping(INTEGER),
        "l": array(of({"v": INTEGER})),
        "d": {"type": "string", "format": "date"},
    }
)


def checked(text: str, schema: Schema | None = None) -> tuple[Node, Checked]:
    """The tree, and what the checker says of it."""
    made = environment(schema)
    root = parse(text, made.language.macros)
    return root, check(root, made)


def mistakes(text: str, schema: Schema | None = None) -> list[tuple[int, str]]:
    """Columns and texts, in the order of their places."""
    return sorted((offset + 1, message) for offset, message in checked(text, schema)[1].issues)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("nope", [(1, "undeclared reference to 'nope' (in container '')")]),
        ("a.b.c", [(1, "undeclared reference to 'a' (in container '')")]),
        (
            "a.b.c()",
            [
                (1, "undeclared reference to 'a' (in container '')"),
                (6, "undeclared reference to 'c' (in container '')"),
            ],
        ),
        ("nope()", [(5, "undeclared reference to 'nope' (in container '')")]),
        ("'a'.nope()", [(9, "undeclared reference to 'nope' (in container '')")]),
        (
            "nope1 + nope2",
            [
                (1, "undeclared reference to 'nope1' (in container '')"),
                (9, "undeclared reference to 'nope2' (in container '')"),
            ],
        ),
        (
            "[1].nope(x, true)",
            [
                (9, "undeclared reference to 'nope' (in container '')"),
                (10, "undeclared reference to 'x' (in container '')"),
            ],
        ),
        ("[1].all(x, y > 1)", [(12, "undeclared reference to 'y' (in container '')")]),
        ("[1].all(x, true) && x == 1", [(21, "undeclared reference to 'x' (in container '')")]),
        ("1 + 'a'", [(3, "found no matching overload for '_+_' applied to '(int, string)'")]),
        (
            "(1 + 'a') + nope",
            [
                (4, "found no matching overload for '_+_' applied to '(int, string)'"),
                (13, "undeclared reference to 'nope' (in container '')"),
            ],
        ),
        ("size()", [(5, "found no matching overload for 'size' applied to '()'")]),
        ("size(1, 2)", [(5, "found no matching overload for 'size' applied to '(int, int)'")]),
        ("''.size('a')", [(8, "found no matching overload for 'size' applied to 'string.(string)'")]),
        ("-'a'", [(1, "found no matching overload for '-_' applied to '(string)'")]),
        ("!1", [(1, "found no matching overload for '!_' applied to '(int)'")]),
        ("1 == 1.0", [(3, "found no matching overload for '_==_' applied to '(int, double)'")]),
        ("null == 1", [(6, "found no matching overload for '_==_' applied to '(null, int)'")]),
        ("[1] == ['a']", [(5, "found no matching overload for '_==_' applied to '(list(int), list(string))'")]),
        ("'a' in [1]", [(5, "found no matching overload for '@in' applied to '(string, list(int))'")]),
        ("'a' in 'b'", [(5, "found no matching overload for '@in' applied to '(string, string)'")]),
        ("[1]['a']", [(4, "found no matching overload for '_[_]' applied to '(list(int), string)'")]),
        ("{'a': 1}[1]", [(9, "found no matching overload for '_[_]' applied to '(map(string, int), int)'")]),
        ("true ? 1 : 'a'", [(6, "found no matching overload for '_?_:_' applied to '(bool, int, string)'")]),
        ("1 ? 2 : 3", [(3, "found no matching overload for '_?_:_' applied to '(int, int, int)'")]),
        ("1.f", [(2, "type 'int' does not support field selection")]),
        ("'a'.b", [(4, "type 'string' does not support field selection")]),
        ("[1].x", [(4, "type 'list(int)' does not support field selection")]),
        ("{'a': 1}.a.b", [(11, "type 'int' does not support field selection")]),
        ("1 && true", [(1, "expected type 'bool' but found 'int'")]),
        ("true || 'a'", [(9, "expected type 'bool' but found 'string'")]),
        ("1 && 'a'", [(1, "expected type 'bool' but found 'int'"), (6, "expected type 'bool' but found 'string'")]),
        (
            "1.all(x, x)",
            [(1, "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)")],
        ),
        (
            "'a'.all(x, true)",
            [(1, "expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)")],
        ),
        ("[1].all(x, x)", [(12, "expected type 'bool' but found 'int'")]),
        ("[1].all(x, x > 'a')", [(14, "found no matching overload for '_>_' applied to '(int, string)'")]),
        ("[1].map(x, x + 'a')", [(14, "found no matching overload for '_+_' applied to '(int, string)'")]),
        ("[1].filter(x, x)", [(11, "found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'")]),
        ("{'a': 1}.all(k, v, k == v)", [(22, "found no matching overload for '_==_' applied to '(string, int)'")]),
        (
            "optional.of('a').orValue(1)",
            [(25, "found no matching overload for 'orValue' applied to 'optional_type(string).(int)'")],
        ),
        ("[?1]", [(3, "expected type 'optional_type(int)' but found 'int'")]),
        ("{?'a': 1}", [(8, "expected type 'optional_type(int)' but found 'int'")]),
        (
            "math.max(1)",
            [
                (1, "undeclared reference to 'math' (in container '')"),
                (9, "found no matching overload for 'max' applied to '!error!.(int)'"),
            ],
        ),
        (
            "sets.contains([1], ['a'])",
            [(14, "found no matching overload for 'sets.contains' applied to '(list(int), list(string))'")],
        ),
        ("[1].join(',')", [(9, "found no matching overload for 'join' applied to 'list(int).(string)'")]),
        ("int{}", [(4, "'int' is not a message type")]),
        ("nope{}", [(5, "undeclared reference to 'nope' (in container '')")]),
        (
            "google.protobuf.Int64Value{valu: 1, value: 'a'}",
            [
                (32, "undefined field 'valu'"),
                (42, "expected type of field 'value' is 'int' but provided type is 'string'"),
            ],
        ),
        ("optional.of(1).?a", [(15, "type 'int' does not support field selection")]),
    ],
)
def test_mistakes(text: str, wanted: list[tuple[int, str]]) -> None:
    assert mistakes(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("self.nope == 1", [(5, "undefined field 'nope'")]),
        ("self.o.nope", [(7, "undefined field 'nope'")]),
        ("has(self.nope)", [(4, "undefined field 'nope'")]),
        ("self.?nope", [(5, "undefined field 'nope'")]),
        ("self.u", [(5, "undefined field 'u'")]),
        ("self.b.c", [(5, "undefined field 'b'")]),
        ("self.nope.x + 1", [(5, "undefined field 'nope'")]),
        ("self.o.c.d", [(9, "type 'int' does not support field selection")]),
        ("self.a.?b", [(7, "type 'int' does not support field selection")]),
        ("self.a == 'x'", [(8, "found no matching overload for '_==_' applied to '(int, string)'")]),
        ("self.l.all(x, x.nope)", [(16, "undefined field 'nope'")]),
        ("self.l[0].nope", [(10, "undefined field 'nope'")]),
        ("self.l.filter(x, x.v > 1)[0].nope", [(29, "undefined field 'nope'")]),
        ("(self.l + self.l).all(x, x.nope)", [(27, "undefined field 'nope'")]),
        ("self.l.exists_one(x, x.v > 1 && x.nope)", [(34, "undefined field 'nope'")]),
        (
            "self.l.map(x, x.v) == ['a']",
            [(20, "found no matching overload for '_==_' applied to '(list(int), list(string))'")],
        ),
        ("self.m['a'] == 'x'", [(13, "found no matching overload for '_==_' applied to '(int, string)'")]),
        ("self.m[1]", [(7, "found no matching overload for '_[_]' applied to '(map(string, int), int)'")]),
        ("self.m.all(k, k == 1)", [(17, "found no matching overload for '_==_' applied to '(string, int)'")]),
        ("self.m.a.b", [(9, "type 'int' does not support field selection")]),
        ("self.d == 'a'", [(8, "found no matching overload for '_==_' applied to '(timestamp, string)'")]),
        (
            "self.?a.orValue('x')",
            [(16, "found no matching overload for 'orValue' applied to 'optional_type(int).(string)'")],
        ),
        (
            "self.a.all(x, true)",
            [(5, "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)")],
        ),
    ],
)
def test_mistakes_about_a_schema(text: str, wanted: list[tuple[int, str]]) -> None:
    assert mistakes(text, OBJECT) == wanted


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("{'a': {'b': 1}}.a.b", "int"),
        ("dyn(1).x", "dyn"),
        ("has(dyn({}).a)", "bool"),
        ("1 < 1.0", "bool"),
        ("dyn(1) == 'a'", "bool"),
        ("dyn([1])[0]", "dyn"),
        ("dyn(true) && true", "bool"),
        ("[1].exists_one(x, x == 1)", "bool"),
        ("[1].map(x, [x].map(x, string(x)))", "list(list(string))"),
        ("{'a': 1}.map(k, k)", "list(string)"),
        ("{'a': 1}.all(k, v, k == 'a' && v == 1)", "bool"),
        ("dyn([1]).map(x, x)", "list(dyn)"),
        ("[7].transformList(i, v, i < v)", "list(bool)"),
        ("[7].transformMap(i, v, string(v))", "map(int, string)"),
        ("{'a': 1}.transformMapEntry(k, v, {v: k})", "map(int, string)"),
        ("[1].sortBy(x, -x)", "list(int)"),
        ("{'a': 1}.?a", "optional_type(int)"),
        ("{'a': 1}[?'a']", "optional_type(int)"),
        ("optional.of({'a': 1}).a", "optional_type(int)"),
        ("optional.of({'a': 1}).?a", "optional_type(int)"),
        ("optional.of([1])[0]", "optional_type(int)"),
        ("[?optional.of(1)]", "list(int)"),
        ("{?'a': optional.of(1)}", "map(string, int)"),
        ("optional.of(1).optMap(x, string(x))", "optional_type(string)"),
        ("optional.of(1).optFlatMap(x, optional.of(x == 1))", "optional_type(bool)"),
        ("int", "type(int)"),
        (".int", "type(int)"),
        ("type(int)", "type(type(int))"),
        ("google.protobuf.NullValue.NULL_VALUE", "int"),
        ("timestamp(1) - timestamp(0)", "duration"),
        ("timestamp(1) - duration('1s')", "timestamp"),
        ("b'a' + b'b'", "bytes"),
        ("2u % 2u", "uint"),
    ],
)
def test_the_type_of_an_expression(text: str, type_: str) -> None:
    assert format_type(compiled(text).type) == type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("self.o", "selfType1.o"),
        ("self.m", "map(string, int)"),
        ("self.l.filter(x, x.v > 1)", "list(selfType1.l.@idx)"),
        ("self.l.map(x, x.v)", "list(int)"),
        ("self.?a", "optional_type(int)"),
        ("self.b__dot__c", "int"),
        ("self.m.x", "int"),
        ("self.d", "timestamp"),
        ("type(self.o)", "type(selfType1.o)"),
        ("self.s == 'x' ? self.a : self.o.c", "int"),
        ("self == oldSelf", "bool"),
        ("[self.o].all(self, self.c > 0)", "bool"),  # the macro's variable hides the rule's
    ],
)
def test_the_type_of_a_part_of_an_object(text: str, type_: str) -> None:
    assert format_type(compiled(text, OBJECT).type) == type_


@pytest.mark.parametrize(
    ("text", "overloads"),
    [
        ("1 + 1", ["add_int64"]),
        ("1 < 2.0", ["less_int64_double"]),
        ("dyn(1) + 1", ["add_int64"]),
        ("dyn(1) < 1", ["less_int64", "less_double_int64", "less_uint64_int64"]),
        ("[1][0]", ["index_list"]),
        ("dyn(1)[0]", ["index_list", "index_map", "optional_list_index_int", "optional_map_index_value"]),
        ("'a'.size()", ["string_size"]),
        ("size('a')", ["size_string"]),
        ("sets.contains([1], [2])", ["list_sets_contains_list"]),
        ("true && false", ["logical_and"]),
    ],
)
def test_the_overloads_that_a_call_may_be(text: str, overloads: list[str]) -> None:
    """Ids of ``cel-go/common/overloads`` and of its libraries, of which ``resolveOverload`` keeps all that fit."""
    root, found = checked(text)
    assert isinstance(root, Call)
    assert not found.issues
    assert sorted(each.id for each in root.overloads) == sorted(overloads)


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("self.a == 1", {"self"}),
        ("self == oldSelf", {"self", "oldSelf"}),
        ("[1].all(self, self == 1)", set()),
        ("[oldSelf].all(self, self.a == 1)", {"oldSelf"}),
        ("'self' == 'oldSelf'", set()),
        ("dyn({}).self", set()),
    ],
)
def test_the_variables_that_occur(text: str, used: set[str]) -> None:
    assert checked(text, OBJECT)[1].used == used


def test_a_name_with_dots_is_one_name_if_there_is_one() -> None:
    root, found = checked("net.IP")
    assert isinstance(root, Select)
    assert (root.qualified, root.variable, found.issues) == ("net.IP", False, [])
    root, _ = checked("self.a", OBJECT)
    assert isinstance(root, Select)
    assert root.qualified == ""


def test_a_mistake_is_told_once() -> None:
    """What depends on something wrong is not wrong again."""
    assert len(mistakes("self.nope.x.y + self.nope2 > 3 && self.nope3", OBJECT)) == 3


def test_no_type_parameter_is_left() -> None:
    _, found = checked("[].map(x, [x]).size() == 0 ? optional.none() : optional.of({})")
    (one,) = [each for each in found.nodes if isinstance(each, Call) and each.function == "optional.none"]
    assert one.type == optional_of(map_of(DYN, DYN))
    assert "parameter" not in {each.type.kind for each in found.nodes}
