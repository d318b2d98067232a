"""Copies of a tree: a macro that needs its target twice copies it, since a node stands at one place."""

from __future__ import annotations

import copy
from typing import Any, Final

from extapi.schema.cel.syntax.nodes import (
    Call,
    Comprehension,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)

COPIES_LIMIT: Final = 20_000
"""How many nodes may be copied for one expression. cel-go has no limit, so it takes twice the time and memory for each
``optMap`` that is called on the result of another one."""


class TooManyCopiesError(Exception):
    """An expression whose macros copy more than :data:`COPIES_LIMIT` nodes."""


class Copier:
    """Copies trees for one expression, of whatever depth."""

    __slots__ = ("copied",)

    def __init__(self) -> None:
        self.copied = 0

    def __call__(self, root: Node, offset: int) -> Any:
        """A copy of a tree.

        Args:
            root: The tree.
            offset: Where the macro is; fields of an object are there in the copy.

        Raises:
            TooManyCopiesError: That is too much for one expression.

        Source: ``cel-go/parser`` exprHelper.Copy.
        """
        clones: dict[int, Node] = {}
        order: list[Node] = []
        todo = [root]
        while todo:
            self.copied += 1
            if self.copied > COPIES_LIMIT:
                raise TooManyCopiesError("too many nested macros of optional values")
            node = todo.pop()
            clones[id(node)] = copy.copy(node)
            order.append(node)
            todo += children(node)
        for node in order:
            _relink(clones[id(node)], clones, offset)
        return clones[id(root)]


def children(node: Node) -> list[Node]:
    """The nodes below one."""
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, Call):
        return node.args if node.target is None else [node.target, *node.args]
    if isinstance(node, ListLiteral):
        return node.elements
    if isinstance(node, MapLiteral):
        return [each for key, value, _ in node.entries for each in (key, value)]
    if isinstance(node, StructLiteral):
        return [value for _, value, _, _ in node.fields]
    if isinstance(node, Comprehension):
        return [node.range, node.initial, node.condition, node.step, node.result]
    return []


def _relink(clone: Node, clones: dict[int, Any], offset: int) -> None:
    """Let a clone's children be clones."""
    if isinstance(clone, Select):
        clone.operand = clones[id(clone.operand)]
    elif isinstance(clone, Call):
        clone.args = [clones[id(each)] for each in clone.args]
        if clone.target is not None:
            clone.target = clones[id(clone.target)]
    elif isinstance(clone, ListLiteral):
        clone.elements = [clones[id(each)] for each in clone.elements]
    elif isinstance(clone, MapLiteral):
        clone.entries = [(clones[id(key)], clones[id(value)], mark) for key, value, mark in clone.entries]
    elif isinstance(clone, StructLiteral):
        clone.fields = [(name, clones[id(value)], mark, offset) for name, value, mark, _ in clone.fields]
    elif isinstance(clone, Comprehension):
        for slot in ("range", "initial", "condition", "step", "result"):
            setattr(clone, slot, clones[id(getattr(clone, slot))])
        for slot in ("filter_", "body"):
            part = getattr(clone, slot)
            setattr(clone, slot, None if part is None else clones[id(part)])
