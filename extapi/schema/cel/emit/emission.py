"""What is known while an expression is written, and how its values are passed on.

The value of a node with ``declared`` that is not plain is JSON as it is in the object, except for scalars, which are
converted when they are reached. :meth:`Emission.native` gives a value for those who do not know the schema.
"""

from __future__ import annotations

from typing import Any

from extapi.schema.cel.emit.writer import FunctionWriter
from extapi.schema.cel.environment import Environment
from extapi.schema.cel.syntax.nodes import Call, Ident, Node
from extapi.schema.cel.types import Type
from extapi.schema.cel.values.values import INT_MAX, INT_MIN


def kind(node: Node) -> str:
    """The kind of a node's type, where everything that may be of several kinds is "dyn"."""
    return "dyn" if node.type.name == "wrapper" else node.type.kind


def has_parameter(type_: Type) -> bool:
    """Whether a declared type is, or is made of, any type."""
    return type_.kind == "parameter" or any(map(has_parameter, type_.parameters))


def _is_reliable(node: Node) -> bool:
    """Whether a value certainly has its node's type.

    A function that takes values of any type, and got one of a type that nobody knows, seems to have made whatever is asked
    for first.
    """
    if isinstance(node, Call):
        return node.declared is not None or not any(has_parameter(each.result) for each in node.overloads)
    return node.declared is not None or not isinstance(node, Ident)


class LazyVariable:
    """A variable of ``optMap``: where its value is kept, what it is, and what is in scope there."""

    __slots__ = ("name", "node", "scope")

    def __init__(self, name: str, node: Node, scope: dict[str, str | LazyVariable]) -> None:
        self.name = name
        self.node = node
        self.scope = scope


class Emission:
    """The state of writing one expression.

    Attributes:
        environment: Where the expression is compiled.
        out: The lines.
        variables: The name in Python of each variable that is in scope.
    """

    __slots__ = ("environment", "out", "variables")

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.out = FunctionWriter()
        self.variables: dict[str, str | LazyVariable] = {
            each.name: f"v{index}" for index, each in enumerate(environment.variables)
        }

    def raw(self, node: Node) -> str:
        """The value of a node, which is JSON of ``node.declared`` if that is not plain.

        Raises:
            NotWrittenError: There is no code for it.
        """
        raise NotImplementedError

    def native(self, node: Node) -> str:
        """The value of a node, converted with all that is in it."""
        return self.converted(node, self.raw(node))

    def converted(self, node: Node, text: str) -> str:
        """What :meth:`raw` gave for a node, converted with all that is in it."""
        declared = node.declared
        if declared is None or declared.plain or declared.conversion or kind(node) == "opaque":
            return text
        made = self.out.atom(f"native({self.out.constant(declared)}, {text})")
        self.out.look_at_clock()  # conversion costs nothing, and a list may be long
        return made

    def boolean(self, node: Node) -> str:
        """The value of a node that has to be a bool."""
        text = self.raw(node)
        return text if kind(node) == "bool" and _is_reliable(node) else f"truth({text})"

    def literal(self, value: Any) -> str:
        """A constant."""
        if value is None or value is True or value is False:
            return str(value)
        if type(value) is int and INT_MIN < value <= INT_MAX:
            return str(value) if value >= 0 else f"({value})"
        return self.out.constant(value)
