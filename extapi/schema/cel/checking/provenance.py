"""From which part of a schema the value of a call comes, where the call passes it on."""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.declared import Declared
from extapi.schema.cel.syntax.nodes import Call, Node

_SAME_SOURCE: Final = frozenset({"optional.of", "optional.ofNonZeroValue", "value"})
_EITHER_SOURCE: Final = frozenset({"or", "orValue"})


def source_of(node: Call, arguments: list[Node]) -> Declared | None:
    """The schema from which the value of a call comes, where the call passes it on."""
    match node.function:
        case "_[_]" | "_[?_]":
            declared = arguments[0].declared
            return None if declared is None else declared.element
        case "_?_:_":
            return _common(arguments[1], arguments[2])
        case name if name in _SAME_SOURCE:
            return arguments[0].declared
        case name if name in _EITHER_SOURCE:
            return _common(arguments[0], arguments[1])
    return None


def _common(first: Node, second: Node) -> Declared | None:
    return first.declared if first.declared is second.declared else None
