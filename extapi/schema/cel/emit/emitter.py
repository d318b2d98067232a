"""Writes an expression as Python: each node becomes lines, and an expression of Python for its value.

The value of a node with ``declared`` that is not plain is JSON as it is in the object, except for scalars, which are
converted when they are reached. :meth:`Emitter.native` gives a value for those who do not know the schema.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from extapi.schema.cel.emit import access, calls, loops, operators
from extapi.schema.cel.emit.writer import NotWrittenError, Writer
from extapi.schema.cel.environment import Environment
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
from extapi.schema.cel.values.values import INT_MAX, INT_MIN

_DEEPEST: Final = 50
"""How deeply nodes nest at most in what code is written for."""


class Lazy:
    """A variable of ``optMap``: where its value is kept, what it is, and what is in scope there."""

    __slots__ = ("name", "node", "scope")

    def __init__(self, name: str, node: Node, scope: dict[str, str | Lazy]) -> None:
        self.name = name
        self.node = node
        self.scope = scope


class Emitter:
    """The state of writing one expression.

    Attributes:
        environment: Where the expression is compiled.
        out: The lines.
        variables: The name in Python of each variable that is in scope.
    """

    __slots__ = ("_depth", "environment", "out", "variables")

    def __init__(self, environment: Environment) -> None:
        self._depth = 0
        self.environment = environment
        self.out = Writer()
        self.variables: dict[str, str | Lazy] = {
            each.name: f"v{index}" for index, each in enumerate(environment.variables)
        }

    def raw(self, node: Node) -> str:
        """The value of a node, which is JSON of ``node.declared`` if that is not plain.

        Raises:
            NotWrittenError: There is no code for it.
        """
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NotWrittenError
        text: str = _EMIT[type(node)](self, node)
        self._depth -= 1
        return self.out.short(text)

    def native(self, node: Node) -> str:
        """The value of a node, converted with all that is in it."""
        return self.converted(node, self.raw(node))

    def converted(self, node: Node, text: str) -> str:
        """What :meth:`raw` gave for a node, converted with all that is in it."""
        declared = node.declared
        if declared is None or declared.plain or declared.conversion or operators.kind(node) == "opaque":
            return text
        return f"native({self.out.constant(declared)}, {text})"

    def boolean(self, node: Node) -> str:
        """The value of a node that has to be a bool."""
        text = self.raw(node)
        return text if operators.kind(node) == "bool" else f"truth({text})"

    def literal(self, value: Any) -> str:
        """A constant."""
        if value is None or value is True or value is False:
            return str(value)
        if type(value) is int and INT_MIN < value <= INT_MAX:
            return str(value) if value >= 0 else f"({value})"
        return self.out.constant(value)

    def _literal(self, node: Literal) -> str:
        return self.literal(node.value)

    def _struct(self, _: StructLiteral) -> str:
        raise NotWrittenError

    by_node: ClassVar[dict[type[Node], Any]] = {
        Call: calls.call,
        Comprehension: loops.comprehension,
        Ident: access.attribute,
        ListLiteral: calls.list_literal,
        Literal: _literal,
        MapLiteral: calls.map_literal,
        Select: access.select,
        StructLiteral: _struct,
    }
    """How each kind of node is done."""


_EMIT: Final = Emitter.by_node
