"""What is wrong with a tree beside its syntax: names, literals and macros, in as much of it as there is.

Source: ``cel-go/parser`` parser.Visit and what it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

from extapi.schema.cel.syntax.copies import Copier, TooManyCopiesError
from extapi.schema.cel.syntax.depth import RECURSION_LIMIT
from extapi.schema.cel.syntax.literals import LiteralError, read_bytes, read_double, read_int, read_string, read_uint
from extapi.schema.cel.syntax.macros import MacroError, Macros, expanders
from extapi.schema.cel.syntax.mistakes.recognizer import GivenUpError
from extapi.schema.cel.syntax.mistakes.scanner import Token
from extapi.schema.cel.syntax.mistakes.tree import Tree
from extapi.schema.cel.syntax.nodes import Call, Ident, ListLiteral, Literal, MapLiteral, Node, Select, StructLiteral
from extapi.schema.cel.syntax.operands import RESERVED
from extapi.schema.cel.syntax.source import BEFORE, NOWHERE

Steps = Generator[Tree | None, Node, Node]
"""Visits a tree: yields those inside, is sent their nodes, and returns its own."""


class _Unknown(Node):
    """In place of what could not be read."""

    __slots__ = ()


_INNER: Final[Mapping[str, tuple[str, str]]] = {
    "expr": ("op", "e"),
    "conditionalOr": ("ops", "e"),
    "conditionalAnd": ("ops", "e"),
    "relation": ("op", "calc"),
    "calc": ("op", "unary"),
    "MemberExpr": ("", "member"),
    "member": ("", "primary"),
    "Nested": ("", "e"),
    "ConstantLiteral": ("", "literal"),
}
"""What has a meaning of its own only with an operator, and what is inside otherwise."""
_COUNTED: Final = frozenset({"expr", "relation", "calc", "Select", "MemberCall", "Index"})
"""What counts as one level of depth."""


class Visitor:
    """Visits one tree.

    Attributes:
        mistakes: What was wrong: offsets and messages.
    """

    __slots__ = ("_copier", "_depth", "_expanders", "_optional", "mistakes")

    def __init__(self, macros: Macros, mistakes: list[tuple[int, str]]) -> None:
        self.mistakes = mistakes
        self._expanders = expanders(macros)
        self._optional = macros.optional
        self._copier = Copier()
        self._depth = 0

    def visit(self, root: Tree) -> Node:
        """The node of a tree, as far as there is one.

        Raises:
            GivenUpError: It is too deep.
        """
        stack: list[tuple[Steps, bool]] = []
        wanted = root.tree("e")
        while True:
            tree = _innermost(wanted)
            node = self._leaf(tree)
            if node is None and tree is not None:
                counted = tree.label in _COUNTED
                self._depth += counted
                if self._depth > RECURSION_LIMIT:
                    raise GivenUpError("max recursion depth exceeded")
                stack.append((_VISITS[tree.label](self, tree), counted))
            while stack:
                steps, counted = stack[-1]
                try:
                    wanted = next(steps) if node is None else steps.send(node)
                    break
                except StopIteration as stopped:
                    node = stopped.value
                    stack.pop()
                    self._depth -= counted
            if not stack and node is not None:
                return node

    def _leaf(self, tree: Tree | None) -> Node | None:
        """The node of a tree without trees inside."""
        if tree is None:
            return _Unknown(BEFORE)
        leaf = _LEAVES.get(tree.label)
        if leaf is not None:
            return leaf(self, tree)
        return None if tree.label in _VISITS else _Unknown(BEFORE)

    def _error(self, offset: int, message: str) -> Node:
        self.mistakes.append((offset, message))
        return _Unknown(offset)

    def _called(self, offset: int, name: str, target: Node | None, arguments: list[Node]) -> Node:
        expand = self._expanders.get((name, len(arguments), target is not None))
        if expand is None:
            return Call(offset, name, target, arguments)
        try:
            return expand(offset, target, arguments, self._copier)
        except MacroError as error:
            return self._error(error.offset, str(error))
        except TooManyCopiesError as error:
            return self._error(offset, str(error))

    # Operators.

    def visit_ternary(self, tree: Tree) -> Steps:
        """A condition."""
        operands: list[Node] = []
        for label in ("e", "e1", "e2"):
            operands.append((yield tree.tree(label)))  # noqa: PERF401  a comprehension cannot yield
        return Call(_place(tree.token("op")), "_?_:_", None, operands)

    def visit_chain(self, tree: Tree) -> Steps:
        """A chain of ``&&`` or ``||``."""
        node = yield tree.tree("e")
        function = "_||_" if tree.label == "conditionalOr" else "_&&_"
        for operator, operand in zip(tree.tokens("ops"), tree.trees("e1"), strict=False):
            # Not balanced: nobody will see this node but macros, which ask what kind it is.
            node = Call(operator.offset, function, None, [node, (yield operand)])
        return node

    def visit_binary(self, tree: Tree) -> Steps:
        """A relation, sum or product."""
        left = yield tree.inner(tree.rule)
        right = yield tree.inner(tree.rule, 1)
        operator = tree.token("op")
        function = "@in" if operator and operator.text == "in" else f"_{operator.text if operator else ''}_"
        return Call(_place(operator), function, None, [left, right])

    def visit_prefix(self, tree: Tree) -> Steps:
        """A run of a prefix operator."""
        operators = tree.tokens("ops")
        node = yield tree.inner("member")
        if len(operators) % 2:
            return Call(operators[0].offset, f"{operators[0].text}_", None, [node])
        return node

    def visit_unary(self, tree: Tree) -> Node:
        """An operand of which nothing is known."""
        return Literal(tree.first.offset, "<<error>>")

    # Members.

    def visit_select(self, tree: Tree) -> Steps:
        """A selection."""
        operand = yield tree.inner("member")
        name, operator = tree.tree("id"), tree.token("op")
        if name is None or operator is None:
            return _Unknown(tree.first.offset)
        field, error = _field_name(name)
        if error:
            self._error(name.first.offset, error)
        if tree.token("opt") is None:
            return Select(operator.offset, operand, field)
        if not self._optional:
            return self._error(operator.offset, "unsupported syntax '.?'")
        return Call(operator.offset, "_?._", None, [operand, Literal(name.first.offset, field)])

    def visit_member_call(self, tree: Tree) -> Steps:
        """A call on a target."""
        target = yield tree.inner("member")
        name = tree.token("id")
        if name is None:
            return _Unknown(tree.first.offset)
        arguments: list[Node] = []
        for argument in _arguments(tree):
            arguments.append((yield argument))  # noqa: PERF401  a comprehension cannot yield
        return self._called(_place(tree.token("open")), name.text, target, arguments)

    def visit_index(self, tree: Tree) -> Steps:
        """An index."""
        target = yield tree.inner("member")
        operator = tree.token("op")
        if operator is None:
            return _Unknown(tree.first.offset)
        index = yield tree.tree("index")
        function = "_[_]"
        if tree.token("opt") is not None:
            if not self._optional:
                return self._error(operator.offset, "unsupported syntax '[?'")
            function = "_[?_]"
        return Call(operator.offset, function, None, [target, index])

    # Operands.

    def visit_ident(self, tree: Tree) -> Node:
        """A name."""
        name = tree.token("id")
        if name is None:
            return _Unknown(tree.first.offset)
        if name.text in RESERVED:
            return self._error(tree.first.offset, f"reserved identifier: {name.text}")
        return Ident(name.offset, ("." if tree.token("leadingDot") else "") + name.text)

    def visit_global_call(self, tree: Tree) -> Steps:
        """A call of a function."""
        name = tree.token("id")
        if name is None:
            return _Unknown(tree.first.offset)
        if name.text in RESERVED:
            return self._error(tree.first.offset, f"reserved identifier: {name.text}")
        arguments: list[Node] = []
        for argument in _arguments(tree):
            arguments.append((yield argument))  # noqa: PERF401  a comprehension cannot yield
        dot = "." if tree.token("leadingDot") else ""
        return self._called(_place(tree.token("op")), dot + name.text, None, arguments)

    def visit_list(self, tree: Tree) -> Steps:
        """A list."""
        elements: list[Node] = []
        inside = tree.tree("elems")
        for each in inside.trees("elems") if inside else ():
            elements.append((yield each.tree("e")))
            mark = each.token("opt")
            if mark is not None and not self._optional:
                self._error(mark.offset, "unsupported syntax '?'")
        return ListLiteral(_place(tree.token("op")), elements)

    def visit_map(self, tree: Tree) -> Steps:
        """A map."""
        entries = tree.tree("entries")
        if entries is not None:
            keys, values = entries.trees("keys"), entries.trees("values")
            for index in range(len(entries.tokens("cols"))):
                if index >= len(keys) or index >= len(values):
                    break
                if keys[index].token("opt") is not None and not self._optional:
                    self._error(keys[index].first.offset, "unsupported syntax '?'")
                    continue
                yield keys[index].tree("e")
                yield values[index]
        return MapLiteral(_place(tree.token("op")), [])

    def visit_object(self, tree: Tree) -> Steps:
        """An object."""
        entries = tree.tree("entries")
        if entries is not None:
            colons, values = entries.tokens("cols"), entries.trees("values")
            for index, field in enumerate(entries.trees("fields")):
                if index >= len(colons) or index >= len(values):
                    break
                if field.token("opt") is not None and not self._optional:
                    self._error(field.first.offset, "unsupported syntax '?'")
                    continue
                name = field.tree("id")
                _, error = _field_name(name) if name is not None else ("", "unsupported ident kind")
                if error:
                    self._error(entries.first.offset, error)
                    continue
                yield values[index]
        return StructLiteral(_place(tree.token("op")), "", [])

    def visit_literal(self, tree: Tree) -> Node:
        """A literal."""
        offset = tree.first.offset
        token, sign = tree.token("tok"), tree.token("sign")
        if token is None or token.end < 0:
            return _Unknown(offset)
        try:
            return Literal(offset, _READERS[tree.label]((sign.text if sign else "") + token.text))
        except LiteralError as error:
            return self._error(offset, str(error))


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "Int": read_int,
    "Uint": read_uint,
    "Double": read_double,
    "String": read_string,
    "Bytes": read_bytes,
    "BoolTrue": lambda _: True,
    "BoolFalse": lambda _: False,
    "Null": lambda _: None,
}
_LEAVES: Final[Mapping[str, Callable[[Visitor, Tree], Node]]] = {
    "unary": Visitor.visit_unary,
    "Ident": Visitor.visit_ident,
} | dict.fromkeys(_READERS, Visitor.visit_literal)
_VISITS: Final[Mapping[str, Callable[[Visitor, Tree], Steps]]] = {
    "expr": Visitor.visit_ternary,
    "conditionalOr": Visitor.visit_chain,
    "conditionalAnd": Visitor.visit_chain,
    "relation": Visitor.visit_binary,
    "calc": Visitor.visit_binary,
    "LogicalNot": Visitor.visit_prefix,
    "Negate": Visitor.visit_prefix,
    "Select": Visitor.visit_select,
    "MemberCall": Visitor.visit_member_call,
    "Index": Visitor.visit_index,
    "GlobalCall": Visitor.visit_global_call,
    "CreateList": Visitor.visit_list,
    "CreateStruct": Visitor.visit_map,
    "CreateMessage": Visitor.visit_object,
}


def _innermost(tree: Tree | None) -> Tree | None:
    """The tree without those around it that only hold it.

    Source: ``cel-go/parser`` unnest.
    """
    while tree is not None:
        found = _INNER.get(tree.label)
        if found is None:
            return tree
        operator, inner = found
        if operator and tree.parts.get(operator):
            return tree
        tree = tree.tree("e") if inner == "e" else tree.inner(inner)
    return None


def _arguments(tree: Tree) -> list[Tree]:
    inside = tree.tree("args")
    return inside.trees("e") if inside is not None else []


def _place(token: Token | None) -> int:
    return NOWHERE if token is None else token.offset


def _field_name(tree: Tree) -> tuple[str, str]:
    """The name of a field, and what is wrong with it."""
    if tree.label == "EscapedIdentifier":
        return "", "unsupported syntax: '`'"
    name = tree.token("id")
    return (name.text, "") if name is not None else ("", "unsupported ident kind")
