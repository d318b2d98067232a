"""Mistakes in literals, which are found once all types are right: bad durations, times and patterns, mixed lists.

Source: ``cel-go/cel`` validator.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from extapi.schema.cel.errors import EvaluationError, Issue
from extapi.schema.cel.library.patterns import searcher
from extapi.schema.cel.syntax.nodes import Call, ListLiteral, Literal, MapLiteral, Node
from extapi.schema.cel.types import Type, format_type
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
    for node in nodes:
        if isinstance(node, ListLiteral):
            yield from _mixed_list(node)
    for node in nodes:
        if isinstance(node, MapLiteral):
            yield from _mixed_map(node)


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
        elif found != first:
            yield _mismatch(each, first, found)
            return


def _mixed_map(node: MapLiteral) -> Iterator[Issue]:
    first: tuple[Type, Type] | None = None
    for key, value, optional in node.entries:
        found = value.type.parameters[0] if optional and value.type.parameters else value.type
        if first is None:
            first = (key.type, found)
            continue
        if key.type != first[0]:
            yield _mismatch(key, first[0], key.type)
        if found != first[1]:
            yield _mismatch(value, first[1], found)


def _mismatch(node: Node, expected: Type, found: Type) -> Issue:
    return Issue(node.offset, f"expected type '{format_type(expected)}' but found '{format_type(found)}'")
