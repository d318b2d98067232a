"""Trees of expressions. Those in trees.json are what cel-go 0.26.0 makes in the environment of k8s.io/apiserver 0.36.3."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extapi.schema.cel.errors import CompileError
from extapi.schema.cel.syntax.macros import Macros
from extapi.schema.cel.syntax.nodes import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from extapi.schema.cel.syntax.parser import parse
from extapi.schema.cel.values.values import UInt

TREES: list[tuple[str, Any]] = json.loads(Path(__file__).with_name("trees.json").read_text())
LISTENED = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
VISITED = "ERROR: <input>:-1:0: max recursion depth exceeded"


def shown_value(value: Any) -> list[Any]:
    """A literal's value as trees.json has it."""
    if value is None:
        return ["null"]
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, int):
        return ["uint" if isinstance(value, UInt) else "int", str(int(value))]
    if isinstance(value, float):
        return ["double", value]
    if isinstance(value, bytes):
        return ["bytes", *value]
    return ["string", value]


def shown(node: Node) -> list[Any]:
    """A tree as trees.json has it."""
    offset = node.offset
    match node:
        case Literal(value=value):
            return ["lit", offset, shown_value(value)]
        case Ident(name=name):
            return ["id", offset, name]
        case Select():
            return ["select", offset, shown(node.operand), node.field, node.test_only]
        case Call(target=target):
            arguments = [shown(each) for each in node.args]
            return ["call", offset, node.function, None if target is None else shown(target), arguments]
        case ListLiteral(elements=elements):
            return ["list", offset, [shown(each) for each in elements], sorted(node.optionals)]
        case MapLiteral(entries=entries):
            return ["map", offset, [[shown(key), shown(value), marked] for key, value, marked in entries]]
        case StructLiteral(fields=fields):
            inside = [[name, shown(value), marked, place] for name, value, marked, place in fields]
            return ["struct", offset, node.name, inside]
        case Comprehension():
            parts = (node.initial, node.condition, node.step, node.result)
            names = [node.variable, node.variable2, node.accumulator]
            return ["fold", offset, shown(node.range), *names, *map(shown, parts)]
    raise AssertionError(node)


def expected(tree: Any) -> Any:
    """A tree of trees.json, with doubles read."""
    if not isinstance(tree, list):
        return tree
    if len(tree) == 2 and tree[0] == "double":
        return ["double", float.fromhex(tree[1])]
    return [expected(each) for each in tree]


@pytest.mark.parametrize(("text", "tree"), TREES, ids=[text for text, _ in TREES])
def test_an_expression_has_the_tree_and_the_places_that_it_has_in_cel_go(text: str, tree: Any) -> None:
    assert shown(parse(text)) == expected(tree)


def below(node: Node) -> list[Node]:
    """All nodes of a tree, each as often as it stands there."""
    found: list[Node] = [node]
    parts: list[Node] = []
    match node:
        case Select():
            parts = [node.operand]
        case Call(target=target):
            parts = [*([] if target is None else [target]), *node.args]
        case ListLiteral(elements=elements):
            parts = elements
        case MapLiteral(entries=entries):
            parts = [each for key, value, _ in entries for each in (key, value)]
        case StructLiteral(fields=fields):
            parts = [value for _, value, _, _ in fields]
        case Comprehension():
            parts = [node.range, node.initial, node.condition, node.step, node.result]
    for part in parts:
        found += below(part)
    return found


@pytest.mark.parametrize("text", [text for text, _ in TREES])
def test_no_node_stands_at_two_places(text: str) -> None:
    nodes = below(parse(text))
    assert len({id(node) for node in nodes}) == len(nodes)


def refusal(text: str, macros: Macros | None = None) -> str:
    """The error of an expression, or an empty text."""
    try:
        parse(text, macros or Macros())
    except CompileError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("text", "limit", "message"),
    [
        (lambda depth: "(" * depth + "a" + ")" * depth, 249, LISTENED),
        (lambda depth: "[" * depth + "]" * depth, 250, LISTENED),
        (lambda depth: "f(" * depth + ")" * depth, 250, LISTENED),
        (lambda depth: "f(" * depth + "a" + ")" * depth, 249, LISTENED),
        (lambda depth: "{1: " * depth + "1" + "}" * depth, 249, LISTENED),
        (lambda depth: "T{a: " * depth + "1" + "}" * depth, 249, LISTENED),
        (lambda depth: "a ? b : " * depth + "c", 249, LISTENED),
        (lambda depth: "a || (" * depth + "a" + ")" * depth, 249, LISTENED),
        (lambda depth: "a || b && (" * depth + "a" + ")" * depth, 249, LISTENED),
        (lambda depth: "1 + (" * depth + "1" + ")" * depth, 124, LISTENED),
        (lambda depth: "a == (" * depth + "a" + ")" * depth, 124, LISTENED),
        (lambda depth: "1 + 1 * (" * depth + "1" + ")" * depth, 83, LISTENED),
        (lambda depth: "a" + ".b" * depth, 250, VISITED),
        (lambda depth: "a" + ".?b" * depth, 250, VISITED),
        (lambda depth: "a" + "[0]" * depth, 250, VISITED),
        (lambda depth: "a" + ".f()" * depth, 250, VISITED),
        (lambda depth: "1" + " + 1" * depth, 250, VISITED),
        (lambda depth: "a" + " == a" * depth, 250, VISITED),
        (lambda depth: "a" + ".b" * 125 + " + a" * depth, 125, VISITED),
        (lambda depth: "has(a" + ".b" * depth + ")", 250, VISITED),
        (lambda depth: "a.sortBy(x, x)" + ".b" * depth, 249, VISITED),
        (lambda depth: "a.?b.optMap(x, x)" + ".b" * depth, 248, VISITED),
    ],
    ids=lambda each: each(1) if callable(each) else None,
)
def test_an_expression_is_as_deep_as_cel_go_allows(text: Callable[[int], str], limit: int, message: str) -> None:
    assert refusal(text(limit)) == ""
    assert refusal(text(limit + 1)) == message


def test_prefix_operators_are_no_depth() -> None:
    assert isinstance(parse("!" * 20_000 + "a"), Ident)
    assert isinstance(parse("-" * 20_001 + "a"), Call)


def on_a_deep_stack(depth: int, call: Callable[[], object]) -> object:
    """Call with as many frames around."""
    return call() if not depth else on_a_deep_stack(depth - 1, call)


@pytest.mark.parametrize(
    "text",
    [
        "(a || b && " * 249 + "a" + ")" * 249,
        "a.all(x, " * 100 + "x" + ")" * 100,
        " && ".join(["a"] * 10_000),
        "a.?b.optMap(x, x).optMap(x, x)" + ".b" * 200,
        "(" * 300,
        "(a || " * 249 + "if" + ")" * 249,
        "f(" * 249 + "1 1" + ")" * 249,
    ],
    ids=["parentheses", "macros", "chain", "copies", "too deep", "reserved", "syntax"],
)
def test_depth_needs_few_frames_of_python(text: str) -> None:
    """Under the interpreter's default limit, beneath a test runner's and a server's frames."""
    used = len(list(_frames()))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(used + 100)
    try:
        on_a_deep_stack(20, lambda: refusal(text))
    finally:
        sys.setrecursionlimit(limit)


def _frames() -> Any:
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop


def test_long_chains_are_balanced() -> None:
    node: Node = parse(" || ".join(["a"] * 1024))
    depth = 0
    while isinstance(node, Call):
        node = node.args[0]
        depth += 1
    assert depth == 10


def test_an_expression_has_a_hundred_thousand_code_points_at_most() -> None:
    assert refusal("é" * 100_001) == (
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
    )
    assert isinstance(parse("x" * 100_000), Ident)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" + "1," * 40_000, "ERROR: <input>:1:80002: Syntax error: mismatched input '<EOF>'"),
        ("if && " * 10_000 + "a", "ERROR: <input>:1:1: reserved identifier: if"),
        ("a && " * 10_000 + "#", "ERROR: <input>:1:50001: Syntax error: token recognition error at: '#'"),
    ],
)
def test_a_long_text_is_refused_in_few_words(text: str, message: str) -> None:
    """Where cel-go's words would take too long: the place is right."""
    assert refusal(text).startswith(message)


def test_strings_that_do_not_end_are_read_once() -> None:
    """A text in which reading every unfinished string to its end would take a minute."""
    assert refusal(('"""\n\\' * 20_000)[:100_000]).startswith(
        "ERROR: <input>:1:3: Syntax error: token recognition error at: '\"\n'"
    )
