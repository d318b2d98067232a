"""What begins an operand: names, literals, prefix operators, brackets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from extapi.schema.cel.syntax import tokens as kind
from extapi.schema.cel.syntax.literals import LiteralError, read_bytes, read_double, read_int, read_string, read_uint
from extapi.schema.cel.syntax.machine import BRACKET, PREFIX, Machine
from extapi.schema.cel.syntax.nodes import Ident, ListLiteral, Literal, MapLiteral, Node, StructLiteral
from extapi.schema.cel.syntax.source import MistakeError

RESERVED: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)
"""Names that no variable or function may have. Source: ``cel-go/parser`` reservedIds."""


def _name(parser: Machine) -> Node | None:
    index = parser.index
    name = parser.texts[index]
    following = parser.kinds[index + 1]
    if parser.objects and following in "{." and _is_object(parser, index):
        return _object(parser, "")
    if name in RESERVED:
        raise MistakeError(parser.offsets[index], f"reserved identifier: {name}")
    if following == "(":
        parser.index = index + 1
        return parser.open_arguments(name, None)
    parser.index = index + 1
    return Ident(parser.offsets[index], name)


def _dotted_name(parser: Machine) -> Node | None:
    index = parser.index + 1
    if parser.kinds[index] != kind.IDENTIFIER:
        raise parser.unexpected()
    name = parser.texts[index]
    parser.index = index
    if parser.objects and _is_object(parser, index):
        return _object(parser, ".")
    if name in RESERVED:
        raise MistakeError(parser.offsets[index - 1], f"reserved identifier: {name}")
    parser.index = index + 1
    if parser.kinds[index + 1] == "(":
        return parser.open_arguments("." + name, None)
    return Ident(parser.offsets[index], "." + name)


def _is_object(parser: Machine, index: int) -> bool:
    """Whether a brace follows the name with dots that begins there."""
    kinds = parser.kinds
    while kinds[index + 1] == "." and kinds[index + 2] == kind.IDENTIFIER:
        index += 2
    return kinds[index + 1] == "{"


def _object(parser: Machine, name: str) -> Node | None:
    kinds = parser.kinds
    while kinds[parser.index] != "{":
        name += parser.texts[parser.index]
        parser.index += 1
    brace = parser.offsets[parser.index]
    parser.index += 1
    if parser.closes("}"):
        return StructLiteral(brace, name, [])
    parser.push(BRACKET, brace, "field", (name, [], []))
    field(parser)
    return None


def field(parser: Machine) -> None:
    """Read the name of an object's field, up to its value."""
    marked = parser.marked()
    index = parser.index
    if parser.kinds[index] != kind.IDENTIFIER or parser.kinds[index + 1] != ":":
        raise parser.unexpected()
    parser.stack[-1].left[1].append((parser.texts[index], marked, parser.offsets[index + 1]))
    parser.index = index + 2


def _literal(read: Callable[[str], Any]) -> Callable[[Machine], Node]:
    def literal(parser: Machine) -> Node:
        index = parser.index
        try:
            value = read(parser.texts[index])
        except LiteralError as error:
            raise MistakeError(parser.offsets[index], str(error)) from None
        parser.index = index + 1
        return Literal(parser.offsets[index], value)

    return literal


def _minus(parser: Machine) -> Node | None:
    index = parser.index
    offset = parser.offsets[index]
    following = parser.kinds[index + 1]
    if following in {kind.INT, kind.DOUBLE}:
        read: Callable[[str], Any] = read_int if following == kind.INT else read_double
        try:
            value = read("-" + parser.texts[index + 1])
        except LiteralError as error:
            raise MistakeError(offset, str(error)) from None
        parser.index = index + 2
        return Literal(offset, value)
    _prefixes(parser, "-", "-_")
    return None


def _not(parser: Machine) -> None:
    _prefixes(parser, "!", "!_")


def _prefixes(parser: Machine, operator: str, function: str) -> None:
    """A run of one prefix operator, of which two cancel out. Only a member may follow, which may be a negative number."""
    start = index = parser.index
    kinds = parser.kinds
    while kinds[index] == operator:
        index += 1
    parser.index = index
    following = kinds[index]
    if following == "!" or (following == "-" and kinds[index + 1] not in {kind.INT, kind.DOUBLE}):
        raise parser.unexpected()
    if (index - start) % 2:
        parser.push(PREFIX, parser.offsets[start], function, None)


def _parenthesis(parser: Machine) -> None:
    parser.push(BRACKET, parser.offsets[parser.index], "(", None)
    parser.index += 1


def _list(parser: Machine) -> Node | None:
    offset = parser.offsets[parser.index]
    parser.index += 1
    if parser.closes("]"):
        return ListLiteral(offset, [])
    left: tuple[list[Node], list[int]] = ([], [])
    parser.push(BRACKET, offset, "[", left)
    if parser.marked():
        left[1].append(0)
    return None


def _map(parser: Machine) -> Node | None:
    offset = parser.offsets[parser.index]
    parser.index += 1
    if parser.closes("}"):
        return MapLiteral(offset, [])
    # Keys and values, in turn, and which entries are marked.
    parser.push(BRACKET, offset, "{", ([], [parser.marked()]))
    return None


BEFORE: Final[Mapping[str, Callable[[Machine], Node | None]]] = {
    kind.IDENTIFIER: _name,
    ".": _dotted_name,
    kind.INT: _literal(read_int),
    kind.UINT: _literal(read_uint),
    kind.DOUBLE: _literal(read_double),
    kind.STRING: _literal(read_string),
    kind.BYTES: _literal(read_bytes),
    "true": _literal(lambda _: True),
    "false": _literal(lambda _: False),
    "null": _literal(lambda _: None),
    "-": _minus,
    "!": _not,
    "(": _parenthesis,
    "[": _list,
    "{": _map,
}
"""By the kind of the token. Each returns the operand, or None if another one comes first."""
