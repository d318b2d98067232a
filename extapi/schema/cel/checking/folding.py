"""What is constant in an expression is computed once: names of types, conversions of literals, lists and maps of literals.

This is not only for speed. Constants cost nothing in cel-go, so costs depend on what it takes for constant.

Source: ``cel-go/interpreter`` planner.go and decorators.go (decOptimize).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Final

from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.evaluation.calling import call_dispatched
from extapi.schema.cel.evaluation.prices import CONSTANT_PATTERNS, constant_pattern
from extapi.schema.cel.evaluation.qualification import KEYS
from extapi.schema.cel.library.patterns import searcher
from extapi.schema.cel.messages import ENUM_VALUES, NOT_VALUES
from extapi.schema.cel.patchtypes import patch_type
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
from extapi.schema.cel.values.showing import go_type
from extapi.schema.cel.values.values import TypeValue

_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)

_INDEXING: Final = frozenset({"_[_]", "_[?_]"})


class FoldingError(ValueError):
    """A constant that has no value, or a name. ``str`` is cel-go's text."""


def fold(root: Node) -> Node:
    """Replace what is constant by literals, in place.

    Returns:
        What stands for the root now.

    Raises:
        FoldingError: A constant has no value.
    """
    return _Folder().fold(root)


class _Folder:
    __slots__ = ("_bodies",)

    def __init__(self) -> None:
        self._bodies: dict[Node, Node] = {}
        """What the parts of macros that authors wrote have become: they also stand in the macro's step."""

    def fold(self, node: Node) -> Node:
        found = self._bodies.get(node)
        if found is None:
            found = _FOLDS[type(node)](self, node)
        return found

    def _keep(self, node: Node) -> Node:
        return node

    def _ident(self, node: Ident) -> Node:
        return node if node.variable else _named(node, node.name.removeprefix("."))

    def _select(self, node: Select) -> Node:
        if node.qualified and node.variable:
            made = Ident(node.offset, node.qualified)
            made.type, made.declared = node.type, node.declared
            return made
        if node.qualified:
            return _named(node, node.qualified)
        node.operand = self.fold(node.operand)
        return node

    def _call(self, node: Call) -> Node:
        if node.target is not None:
            node.target = self.fold(node.target)
        arguments = node.args
        for index, each in enumerate(arguments):
            arguments[index] = self.fold(each)
        if len(arguments) == 1 and node.target is None and node.function in _CONVERSIONS:
            only = arguments[0]
            if isinstance(only, Literal):
                try:
                    return _literal(node, call_dispatched(node.overloads, (only.value,)))
                except EvaluationError as error:
                    raise FoldingError(str(error)) from error
        if node.function == "@in" and len(node.overloads) == 1 and node.overloads[0].id == "in_list":
            within = arguments[1]
            if isinstance(within, Literal) and not within.value:
                return _literal(node, value=False)
        _check_pattern(node)
        if node.function in _INDEXING and isinstance(arguments[1], Literal) and type(arguments[1].value) not in KEYS:
            raise FoldingError(f"invalid qualifier type: {go_type(arguments[1].value)}")
        return node

    def _list(self, node: ListLiteral) -> Node:
        constant = not node.optionals
        for index, each in enumerate(node.elements):
            node.elements[index] = folded = self.fold(each)
            constant = constant and isinstance(folded, Literal)
        if not constant:
            return node
        return _literal(node, [each.value for each in node.elements if isinstance(each, Literal)])

    def _map(self, node: MapLiteral) -> Node:
        constant = True
        for index, (key, value, optional) in enumerate(node.entries):
            folded_key, folded_value = self.fold(key), self.fold(value)
            node.entries[index] = (folded_key, folded_value, optional)
            constant = (
                constant
                and not optional
                and isinstance(folded_key, Literal)
                and isinstance(folded_key.value, Hashable)
                and isinstance(folded_value, Literal)
            )
        if not constant:
            return node
        pairs = ((key, value) for key, value, _ in node.entries)
        return _literal(
            node,
            {key.value: value.value for key, value in pairs if isinstance(key, Literal) and isinstance(value, Literal)},
        )

    def _struct(self, node: StructLiteral) -> Node:
        for index, (name, value, optional, offset) in enumerate(node.fields):
            node.fields[index] = (name, self.fold(value), optional, offset)
        return node

    def _comprehension(self, node: Comprehension) -> Node:
        if node.filter_ is not None:
            node.filter_ = self._part(node.filter_)
        if node.body is not None and node.macro != "bind":
            node.body = self._part(node.body)
        node.range = self.fold(node.range)
        node.initial = self.fold(node.initial)
        node.condition = self.fold(node.condition)
        node.step = self.fold(node.step)
        node.result = self.fold(node.result)
        if node.macro == "bind":
            node.body = node.result
        return node

    def _part(self, node: Node) -> Node:
        self._bodies[node] = found = self.fold(node)
        return found

    by_node: ClassVar[dict[type[Node], Any]] = {
        Call: _call,
        Comprehension: _comprehension,
        Ident: _ident,
        ListLiteral: _list,
        Literal: _keep,
        MapLiteral: _map,
        Select: _select,
        StructLiteral: _struct,
    }
    """How each kind of node is done."""


_FOLDS: Final = _Folder.by_node


def _check_pattern(node: Call) -> None:
    """Compile the literal pattern of a call, if it has one.

    Raises:
        FoldingError: It is wrong.
    """
    if node.function in CONSTANT_PATTERNS and constant_pattern(node):
        pattern = node.args[0] if node.target is not None else node.args[1]
        try:
            searcher(pattern.value)  # type: ignore[attr-defined] # it is a literal
        except EvaluationError as error:
            raise FoldingError(str(error)) from error


def _literal(node: Node, value: Any) -> Literal:
    made = Literal(node.offset, value)
    made.type = node.type
    return made


def _named(node: Node, name: str) -> Node:
    if name in ENUM_VALUES:
        return _literal(node, ENUM_VALUES[name])
    if node.type.kind != "type":
        return node
    if name in NOT_VALUES or (node.type.parameters and patch_type(node.type.parameters[0].name) is not None):
        raise FoldingError(f"reference to undefined type: {name}")
    return _literal(node, TypeValue(name))
