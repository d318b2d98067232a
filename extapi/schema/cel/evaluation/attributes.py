"""What an attribute is: a variable or another value, and the steps from it to a field, an entry or an element.

cel-go evaluates and charges attributes in one piece. Source: ``cel-go/interpreter`` attributes.go and planner.go.
"""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.syntax.nodes import Call, Ident, Node, Select

INDEXING: Final = frozenset({"_[_]", "_[?_]", "_?._"})
"""The calls that are steps."""
OPTIONAL_STEPS: Final = frozenset({"_[?_]", "_?._"})
"""Those that may lead nowhere."""
CHOICE: Final = "_?_:_"
"""The call that chooses between two attributes."""


def is_attribute(node: Node) -> bool:
    """Whether a node is a variable, a step from something, or a choice."""
    if isinstance(node, Call):
        return node.function in INDEXING or node.function == CHOICE
    return isinstance(node, Ident) or (isinstance(node, Select) and not node.test_only)


def origin(node: Node) -> Node:
    """Where the steps to a value begin."""
    while True:
        if isinstance(node, Select) and not node.test_only and not node.qualified:
            node = node.operand
        elif isinstance(node, Call) and node.function in INDEXING:
            node = node.args[0]
        else:
            return node


def path_to(node: Node) -> tuple[str, ...]:
    """The variable and the fields that lead to a value; empty if there is anything else on the way."""
    fields: list[str] = []
    while isinstance(node, Select) and not node.test_only and not node.qualified:
        fields.append(node.field)
        node = node.operand
    return (node.name.removeprefix("."), *reversed(fields)) if isinstance(node, Ident) else ()


def is_choice(node: Node) -> bool:
    """Whether an attribute begins with a choice: it then has no cost of its own."""
    node = origin(node)
    return isinstance(node, Call) and node.function == CHOICE
