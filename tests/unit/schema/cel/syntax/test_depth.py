"""What counts as a level. Whole expressions at cel-go's limit are in test_parser.py."""

from __future__ import annotations

import pytest

from extapi.schema.cel.syntax.depth import RECURSION_LIMIT, too_deep
from extapi.schema.cel.syntax.nodes import Call, Ident, ListLiteral, Node, Select
from extapi.schema.cel.syntax.parser import parse


def nested(node: Node, levels: int) -> Node:
    """The node with that many selections around."""
    for _ in range(levels):
        node = Select(0, node, "x")
    return node


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("a", 0),
        ("a.b", 1),
        ("a.?b", 1),
        ("a[b]", 1),
        ("a[?b]", 1),
        ("a.f(b)", 1),
        ("f(a)", 0),
        ("a + b", 1),
        ("a == b", 1),
        ("a in b", 1),
        ("a ? b : c", 1),
        ("a && b || c", 0),
        ("!a", 0),
        ("-a", 0),
        ("[a]", 0),
        ("{a: b}", 0),
        ("T{a: b}", 0),
        ("f(a.b)", 1),
        ("{a.b: c.d.e}", 2),
        ("has(a.b)", 1),
        ("a.all(x, x)", 1),
        ("a.all(x, x.y)", 2),
        ("a.exists_one(x, x.y)", 2),
        ("a.map(x, x.y, x.y.z)", 3),
        ("a.filter(x, x.y)", 2),
        ("a.b.optMap(x, x)", 2),
        ("a.optMap(x, x.y)", 2),
        ("a.optFlatMap(x, x.y.z)", 3),
        ("a.sortBy(x, x.y)", 2),
        ("a.b.sortBy(x, x)", 2),
        ("a.transformMapEntry(k, v, {v.x: k})", 2),
        ("optional.of(a)", 1),
        ("a ? optional.of(b.c) : d", 3),
    ],
)
def test_levels(text: str, levels: int) -> None:
    assert not too_deep(nested(parse(text), RECURSION_LIMIT - levels))
    assert too_deep(nested(parse(text), RECURSION_LIMIT - levels + 1))


def test_a_chain_of_calls_is_walked_without_recursion() -> None:
    node: Node = Ident(0, "a")
    for _ in range(50_000):
        node = Call(0, "f", None, [ListLiteral(0, [node])])
    assert not too_deep(node)
