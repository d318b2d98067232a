"""What follows an operand: selections, operators, what closes a bracket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from extapi.schema.cel.syntax import tokens as kind
from extapi.schema.cel.syntax.machine import (
    AND,
    BRACKET,
    ELSE,
    OR,
    PRODUCT,
    RELATION,
    SUM,
    THEN,
    Machine,
    Open,
)
from extapi.schema.cel.syntax.nodes import Call, ListLiteral, Literal, MapLiteral, Node, Select, StructLiteral
from extapi.schema.cel.syntax.operands import field
from extapi.schema.cel.syntax.source import MistakeError

_BINARY: Final[Mapping[str, tuple[int, str]]] = {
    "<": (RELATION, "_<_"),
    "<=": (RELATION, "_<=_"),
    ">": (RELATION, "_>_"),
    ">=": (RELATION, "_>=_"),
    "==": (RELATION, "_==_"),
    "!=": (RELATION, "_!=_"),
    "in": (RELATION, "@in"),
    "+": (SUM, "_+_"),
    "-": (SUM, "_-_"),
    "*": (PRODUCT, "_*_"),
    "/": (PRODUCT, "_/_"),
    "%": (PRODUCT, "_%_"),
}


def _member(parser: Machine, node: Node) -> Node | None:
    index = parser.index
    kinds = parser.kinds
    offset = parser.offsets[index]
    following = kinds[index + 1]
    if following == kind.IDENTIFIER:
        name = parser.texts[index + 1]
        parser.index = index + 2
        if kinds[index + 2] != "(":
            return Select(offset, node, name)
        return parser.open_arguments(name, node)
    parser.index = index + 1
    if following != "?" or kinds[index + 2] != kind.IDENTIFIER:
        raise parser.unexpected()
    if not parser.macros.optional:
        raise MistakeError(offset, "unsupported syntax '.?'")
    parser.index = index + 3
    return Call(offset, "_?._", None, [node, Literal(parser.offsets[index + 2], parser.texts[index + 2])])


def _index(parser: Machine, node: Node) -> None:
    offset = parser.offsets[parser.index]
    parser.index += 1
    function = "_[_]"
    if parser.kinds[parser.index] == "?":
        if not parser.macros.optional:
            raise MistakeError(offset, "unsupported syntax '[?'")
        parser.index += 1
        function = "_[?_]"
    parser.push(BRACKET, offset, function, node)


def _binary(parser: Machine, node: Node) -> None:
    index = parser.index
    binding, function = _BINARY[parser.kinds[index]]
    if parser.stack[-1].binding >= binding:
        node = parser.reduce(node, binding)
    parser.push(binding, parser.offsets[index], function, node)
    parser.index = index + 1


def _and(parser: Machine, node: Node) -> None:
    _chain(parser, node, AND, "_&&_")


def _or(parser: Machine, node: Node) -> None:
    _chain(parser, node, OR, "_||_")


def _chain(parser: Machine, node: Node, binding: int, function: str) -> None:
    node = parser.reduce(node, binding + 1)
    link = (node, parser.offsets[parser.index])
    top = parser.stack[-1]
    if top.binding == binding:
        top.left.append(link)
    else:
        parser.push(binding, link[1], function, [link])
    parser.index += 1


def _question(parser: Machine, node: Node) -> None:
    node = parser.reduce(node, OR)
    if parser.stack[-1].binding == THEN:
        raise parser.unexpected()
    parser.push(THEN, parser.offsets[parser.index], "_?_:_", node)
    parser.index += 1


def _colon(parser: Machine, node: Node) -> None:
    node = parser.reduce(node, OR)
    if parser.stack[-1].binding == THEN:
        condition = parser.pop()
        parser.push(ELSE, condition.offset, "_?_:_", (condition.left, node))
        parser.index += 1
        return
    node = parser.reduce(node, ELSE)
    _, _, opened, left = parser.stack[-1]
    if opened != "{" or len(left[0]) % 2:
        raise parser.unexpected()
    left[0].append(node)
    parser.index += 1


def _comma(parser: Machine, node: Node) -> Node | None:
    node = parser.reduce(node, ELSE)
    _, offset, opened, left = parser.stack[-1]
    if opened == "call":
        left[2].append(node)
        parser.index += 1
        return None
    if opened == "[":
        left[0].append(node)
        if parser.closes("]"):
            parser.pop()
            return ListLiteral(offset, left[0], frozenset(left[1]))
        parser.index += 1
        if parser.marked():
            left[1].append(len(left[0]))
        return None
    return _comma_in_braces(parser, node)


def _comma_in_braces(parser: Machine, node: Node) -> Node | None:
    top = parser.stack[-1]
    if top.function == "{" and len(top.left[0]) % 2:
        top.left[0].append(node)
        if parser.closes("}"):
            parser.pop()
            return _entries(top)
        parser.index += 1
        top.left[1].append(parser.marked())
        return None
    if top.function == "field":
        top.left[2].append(node)
        if parser.closes("}"):
            parser.pop()
            return _fields(top)
        parser.index += 1
        field(parser)
        return None
    raise parser.unexpected()


def _entries(opened: Open) -> Node:
    operands, marks = opened.left
    return MapLiteral(opened.offset, list(zip(operands[::2], operands[1::2], marks, strict=True)))


def _fields(opened: Open) -> Node:
    name, fields, values = opened.left
    made = [(field, value, marked, offset) for (field, marked, offset), value in zip(fields, values, strict=True)]
    return StructLiteral(opened.offset, name, made)


def _close_parenthesis(parser: Machine, node: Node) -> Node:
    node = parser.reduce(node, ELSE)
    _, offset, opened, left = parser.stack[-1]
    if opened not in {"(", "call"}:
        raise parser.unexpected()
    parser.pop()
    parser.index += 1
    if opened == "(":
        return node
    name, target, arguments = left
    arguments.append(node)
    return parser.called(offset, name, target, arguments)


def _close_square(parser: Machine, node: Node) -> Node:
    node = parser.reduce(node, ELSE)
    _, offset, opened, left = parser.stack[-1]
    if opened == "[":
        left[0].append(node)
        node = ListLiteral(offset, left[0], frozenset(left[1]))
    elif opened in {"_[_]", "_[?_]"}:
        node = Call(offset, opened, None, [left, node])
    else:
        raise parser.unexpected()
    parser.pop()
    parser.index += 1
    return node


def _close_brace(parser: Machine, node: Node) -> Node:
    node = parser.reduce(node, ELSE)
    top = parser.stack[-1]
    if top.function == "{" and len(top.left[0]) % 2:
        top.left[0].append(node)
        node = _entries(top)
    elif top.function == "field":
        top.left[2].append(node)
        node = _fields(top)
    else:
        raise parser.unexpected()
    parser.pop()
    parser.index += 1
    return node


AFTER: Final[Mapping[str, Callable[[Machine, Node], Node | None]]] = {
    ".": _member,
    "[": _index,
    "&&": _and,
    "||": _or,
    "?": _question,
    ":": _colon,
    ",": _comma,
    ")": _close_parenthesis,
    "]": _close_square,
    "}": _close_brace,
} | dict.fromkeys(_BINARY, _binary)
"""By the kind of the token. Each returns what is an operand now, or None if another one comes first."""
