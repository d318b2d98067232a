"""Mistakes in literals, which are found once all types are right: bad durations, times and patterns, mixed lists.

Source: ``cel-go/cel`` validator.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError, Issue
from extapi.schema.cel.library.patterns import searcher
from extapi.schema.cel.library.string_format import format_problem
from extapi.schema.cel.syntax.nodes import (
    Call,
    Comprehension,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from extapi.schema.cel.types import Type, alike, format_type
from extapi.schema.cel.values.conversions import (
    int_to_duration,
    int_to_timestamp,
    string_to_duration,
    string_to_timestamp,
)


def _duration(value: Any) -> Any:
    return string_to_duration(value) if isinstance(value, str) else int_to_duration(value)


def _timestamp(value: Any) -> Any:
    return string_to_timestamp(value) if isinstance(value, str) else int_to_timestamp(value)


_CHECKED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "duration": _duration,
    "timestamp": _timestamp,
    "matches": searcher,
}
"""Functions whose first argument is checked if it is a literal, in the order of their errors."""


def literal_issues(nodes: Sequence[Node]) -> Iterator[Issue]:
    """The mistakes in the literals among the nodes of a checked expression."""
    for function, check in _CHECKED.items():
        for node in nodes:
            if isinstance(node, Call) and node.function == function and node.args:
                argument = node.args[0]
                if isinstance(argument, Literal) and not _accepts(check, argument.value):
                    yield Issue(argument.offset, f"invalid {function} argument")
    exempt = _formatted(nodes)
    for node in nodes:
        if isinstance(node, ListLiteral) and node not in exempt:
            yield from _mixed_list(node)
    for node in nodes:
        if isinstance(node, MapLiteral) and node not in exempt:
            yield from _mixed_map(node)
    for node in nodes:
        if isinstance(node, Call) and node.function == "format":
            yield from _format(node)


def _format(node: Call) -> Iterator[Issue]:
    text = node.target
    arguments = node.args[0] if len(node.args) == 1 else None
    if isinstance(text, Literal) and isinstance(text.value, str) and isinstance(arguments, ListLiteral):
        problem = format_problem(text.value, arguments.elements)
        if problem is not None:
            yield Issue((problem.node or node).offset, problem.message)


def _formatted(nodes: Sequence[Node]) -> set[Node]:
    """What stands inside a call of ``format``, whose list may be mixed.

    The checker lists a node before what is inside it, so one walk over the list finds all.
    """
    found: set[Node] = set()
    for node in nodes:
        inside = node in found
        if isinstance(node, Call):
            if inside or node.function == "format":
                found.update(node.args)
                if node.target is not None:
                    found.add(node.target)
        elif inside:
            found.update(_children(node))
    return found


def _children(node: Node) -> Iterator[Node]:
    match node:
        case ListLiteral():
            yield from node.elements
        case MapLiteral():
            for key, value, _ in node.entries:
                yield key
                yield value
        case Select():
            yield node.operand
        case StructLiteral():
            for _, value, _, _ in node.fields:
                yield value
        case Comprehension():
            yield from (node.range, node.initial, node.condition, node.step, node.result)


def _accepts(check: Callable[[Any], Any], value: Any) -> bool:
    try:
        check(value)
    except EvaluationError:
        return False
    return True


def _mixed_list(node: ListLiteral) -> Iterator[Issue]:
    first: Type | None = None
    for index, each in enumerate(node.elements):
        found = each.type.parameters[0] if index in node.optionals and each.type.parameters else each.type
        if first is None:
            first = found
        elif not alike(found, first):
            yield _mismatch(each, first, found)
            return


def _mixed_map(node: MapLiteral) -> Iterator[Issue]:
    first: tuple[Type, Type] | None = None
    for key, value, optional in node.entries:
        found = value.type.parameters[0] if optional and value.type.parameters else value.type
        if first is None:
            first = (key.type, found)
            continue
        if not alike(key.type, first[0]):
            yield _mismatch(key, first[0], key.type)
        if not alike(found, first[1]):
            yield _mismatch(value, first[1], found)


def _mismatch(node: Node, expected: Type, found: Type) -> Issue:
    return Issue(node.offset, f"expected type '{format_type(expected)}' but found '{format_type(found)}'")
