"""What is known of a macro beside its tree, and which macros there are. The trees are in trees.json."""

from __future__ import annotations

import pytest

from extapi.schema.cel.errors import CompileError
from extapi.schema.cel.syntax.macros import ALL, Macros, expanders
from extapi.schema.cel.syntax.nodes import Call, Comprehension, Node
from extapi.schema.cel.syntax.parser import parse
from tests.unit.schema.cel.syntax.test_parser import below

NONE = Macros(optional=False, two_variables=False, sort_by=False)


def loop(text: str) -> Comprehension:
    """The only loop of an expression."""
    (found,) = (node for node in below(parse(text)) if isinstance(node, Comprehension))
    return found


def place(node: Node | None) -> int | None:
    """Where a part is."""
    return None if node is None else node.offset


@pytest.mark.parametrize(
    ("text", "macro", "filter_", "body"),
    [
        ("a.all(x, p.q)", "all", None, 10),
        ("a.all(i, v, p.q)", "all", None, 13),
        ("a.exists(x, p.q)", "exists", None, 13),
        ("a.exists(i, v, p.q)", "exists", None, 16),
        ("a.exists_one(x, p.q)", "exists_one", None, 17),
        ("a.existsOne(i, v, p.q)", "exists_one", None, 19),
        ("a.filter(x, p.q)", "filter", 13, None),
        ("a.map(x, p.q)", "map", None, 10),
        ("a.map(x, p.q, r.s)", "map", 10, 15),
        ("a.transformList(i, v, p.q)", "transform_list", None, 23),
        ("a.transformList(i, v, p.q, r.s)", "transform_list", 23, 28),
        ("a.transformMap(i, v, p.q)", "transform_map", None, 22),
        ("a.transformMap(i, v, p.q, r.s)", "transform_map", 22, 27),
        ("a.transformMapEntry(i, v, {p: q})", "transform_map_entry", None, 26),
        ("a.transformMapEntry(i, v, p.q, {p: q})", "transform_map_entry", 27, 31),
        ("a.optMap(x, p.q)", "bind", None, 13),
        ("a.optFlatMap(x, p.q)", "bind", None, 17),
    ],
)
def test_a_loop_knows_what_was_written(text: str, macro: str, filter_: int | None, body: int | None) -> None:
    found = loop(text)
    assert (found.macro, place(found.filter_), place(found.body)) == (macro, filter_, body)
    inside = below(found.step) + below(found.result)
    assert all(part in inside for part in (found.filter_, found.body) if part is not None)


def test_without_a_set_its_macros_are_calls() -> None:
    for text, macros in {
        "a.optMap(x, x)": ALL._replace(optional=False),
        "a.optFlatMap(x, x)": ALL._replace(optional=False),
        "a.all(i, v, v)": ALL._replace(two_variables=False),
        "a.transformMap(i, v, v)": ALL._replace(two_variables=False),
        "a.sortBy(x, x)": ALL._replace(sort_by=False),
    }.items():
        assert not isinstance(parse(text), Call) or parse(text).function == "_?_:_"  # type: ignore[attr-defined]  # a call
        root = parse(text, macros)
        assert isinstance(root, Call)
        assert root.function == text[2:].partition("(")[0]


def test_standard_macros_are_always_there() -> None:
    assert isinstance(parse("a.all(x, x)", NONE), Comprehension)
    assert set(expanders(NONE)) < set(expanders(ALL))


def test_exists_one_in_camel_case_has_two_variables_in_kubernetes() -> None:
    """cel-go's parser knows it with one, but ``cel.StandardMacros``, which Kubernetes has, leaves it out."""
    assert isinstance(parse("a.existsOne(x, x)"), Call)
    assert isinstance(parse("a.existsOne(i, x, x)"), Comprehension)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.?b", "ERROR: <input>:1:2: unsupported syntax '.?'"),
        ("a[?b]", "ERROR: <input>:1:2: unsupported syntax '[?'"),
        ("[a, ?b]", "ERROR: <input>:1:5: unsupported syntax '?'"),
        ("{?a: b}", "ERROR: <input>:1:2: unsupported syntax '?'"),
        ("T{a: b, ?c: d}", "ERROR: <input>:1:9: unsupported syntax '?'"),
    ],
)
def test_question_marks_come_with_optional_types(text: str, message: str) -> None:
    parse(text)
    with pytest.raises(CompileError) as refused:
        parse(text, NONE)
    assert str(refused.value).partition("\n")[0] == message
