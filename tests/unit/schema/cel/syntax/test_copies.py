from __future__ import annotations

import pytest

from extapi.schema.cel.errors import CompileError
from extapi.schema.cel.syntax.copies import COPIES_LIMIT, Copier, TooManyCopiesError, children
from extapi.schema.cel.syntax.nodes import Comprehension, MapLiteral, Node, StructLiteral
from extapi.schema.cel.syntax.parser import parse
from tests.unit.schema.cel.syntax.test_parser import below, shown

EVERYTHING = "{'a': [T{x: -b.c, ?y: d[0]}, ?e]}.f(g.all(x, has(x.y)), h.map(x, x > 1u, b'z'), i.filter(x, x), k.?l)"


def test_a_copy_is_equal_and_shares_nothing() -> None:
    root = parse(EVERYTHING)
    clone = Copier()(root, root.offset)
    struct = next(node for node in below(clone) if isinstance(node, StructLiteral))
    places = [offset for *_, offset in struct.fields]
    assert places == [root.offset] * 2
    struct.fields = [
        (name, value, marked, offset)
        for (name, value, marked, _), (*_, offset) in zip(
            struct.fields, next(node for node in below(root) if isinstance(node, StructLiteral)).fields, strict=True
        )
    ]
    assert shown(clone) == shown(root)
    assert not {id(node) for node in below(clone)} & {id(node) for node in below(root)}


def test_what_was_written_of_a_macro_is_that_of_the_copy() -> None:
    for loop in below(Copier()(parse(EVERYTHING), 0)):
        if isinstance(loop, Comprehension):
            inside = below(loop.step)
            assert loop.filter_ is None or loop.filter_ in inside
            assert loop.body is None or loop.body in inside


def test_children_are_all_nodes_below() -> None:
    def walked(node: Node) -> list[Node]:
        return [node] + [each for child in children(node) for each in walked(child)]

    root = parse(EVERYTHING)
    assert {id(node) for node in walked(root)} == {id(node) for node in below(root)}


def test_copies_of_one_expression_are_bounded() -> None:
    copier = Copier()
    tree = parse("[" + "1," * (COPIES_LIMIT // 2) + "]")
    assert len(copier(tree, 0).elements) == COPIES_LIMIT // 2
    with pytest.raises(TooManyCopiesError):
        copier(tree, 0)


def test_macros_that_copy_macros_are_refused_before_they_fill_the_memory() -> None:
    assert not isinstance(parse("a.?b" + ".optMap(x, x)" * 8), MapLiteral)
    with pytest.raises(CompileError, match=r"^ERROR: <input>:1:\d+: too many nested macros of optional values\n"):
        parse("a.?b" + ".optMap(x, x)" * 100)
