"""Writes an expression as Python: each node becomes lines, and an expression of Python for its value."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from extapi.schema.cel.emit import access, calls, loops
from extapi.schema.cel.emit.emission import Emission
from extapi.schema.cel.emit.writer import NotWrittenError
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

_DEEPEST: Final = 50
"""How deeply nodes nest at most in what code is written for."""


class Emitter(Emission):
    """Writes all kinds of nodes."""

    __slots__ = ("_depth",)

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._depth = 0

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

    def _literal(self, node: Literal) -> str:
        return self.literal(node.value)

    by_node: ClassVar[dict[type[Node], Any]] = {
        Call: calls.call,
        Comprehension: loops.comprehension,
        Ident: access.attribute,
        ListLiteral: calls.list_literal,
        Literal: _literal,
        MapLiteral: calls.map_literal,
        Select: access.select,
        StructLiteral: calls.struct_literal,
    }
    """How each kind of node is done."""


_EMIT: Final = Emitter.by_node
