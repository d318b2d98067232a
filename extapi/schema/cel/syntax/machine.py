"""The stack of the parser: operator precedence without recursion, so that depth costs no Python frames."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from extapi.schema.cel.syntax import tokens as kind
from extapi.schema.cel.syntax.copies import Copier, TooManyCopiesError
from extapi.schema.cel.syntax.depth import RECURSION_LIMIT, too_deep
from extapi.schema.cel.syntax.macros import MacroError, Macros, expanders
from extapi.schema.cel.syntax.nodes import Call, Node
from extapi.schema.cel.syntax.source import NOWHERE, MistakeError

# How tightly what is open on the stack binds. Less than ELSE: only its closing token ends it.
BRACKET: Final = 0
THEN: Final = 1
ELSE: Final = 2
OR: Final = 3
AND: Final = 4
RELATION: Final = 5
SUM: Final = 6
PRODUCT: Final = 7
PREFIX: Final = 8


class Open(NamedTuple):
    """Something on the stack that waits for operands."""

    binding: int
    offset: int
    function: str
    """Of an operator; of a bracket, what it opened."""
    left: Any
    """What is there already: an operand, or what the bracket has gathered."""


class Machine:
    """Parses one text."""

    __slots__ = ("copier", "expanders", "index", "kinds", "macros", "objects", "offsets", "open", "stack", "texts")

    def __init__(self, text: str, macros: Macros) -> None:
        self.kinds, self.texts, self.offsets = kind.tokenize(text)
        self.index = 0
        self.macros = macros
        self.expanders = expanders(macros)
        self.copier = Copier()
        self.objects = "{" in text
        """Whether there may be an object's literal: looked for after names only if so."""
        self.stack = [Open(BRACKET, 0, kind.END, None)]
        self.open = [1, 0, 0, 0, 0, 0, 0, 0, 0]
        """How many of each binding are on the stack."""

    def end(self, node: Node) -> Node:
        """The tree, at the end of the text."""
        node = self.reduce(node, ELSE)
        if len(self.stack) > 1:
            raise self.unexpected()
        # As many levels as tokens at most.
        if len(self.kinds) > RECURSION_LIMIT and too_deep(node):
            raise MistakeError(NOWHERE, "max recursion depth exceeded")
        return node

    def unexpected(self) -> MistakeError:
        """The error that the token cannot be there."""
        return MistakeError(self.offsets[self.index], f"Syntax error: mismatched input '{self.texts[self.index]}'")

    def push(self, binding: int, offset: int, function: str, left: Any) -> None:
        """Leave something open."""
        self.stack.append(Open(binding, offset, function, left))
        counts = self.open
        counts[binding] += 1
        if len(self.stack) > RECURSION_LIMIT:
            brackets = counts[BRACKET]
            nested = max(counts[ELSE], counts[RELATION], counts[SUM] + counts[PRODUCT])
            if brackets + nested > RECURSION_LIMIT:
                raise MistakeError(NOWHERE, f"expression recursion limit exceeded: {RECURSION_LIMIT}")

    def pop(self) -> Open:
        """Close what was opened last."""
        top = self.stack.pop()
        self.open[top.binding] -= 1
        return top

    def reduce(self, node: Node, binding: int) -> Node:
        """Close the operators that bind at least as tightly; the operand is the last one of theirs."""
        stack = self.stack
        while (top := stack[-1]).binding >= binding:
            stack.pop()
            found, offset, function, left = top
            self.open[found] -= 1
            if found == PREFIX:
                node = Call(offset, function, None, [node])
            elif found > AND:
                node = Call(offset, function, None, [left, node])
            elif found == ELSE:
                node = Call(offset, function, None, [*left, node])
            else:
                node = _balanced(function, left, node)
        return node

    def called(self, offset: int, name: str, target: Node | None, arguments: list[Node]) -> Node:
        """A call, or what the macro of that name makes."""
        expand = self.expanders.get((name, len(arguments), target is not None))
        if expand is None:
            return Call(offset, name, target, arguments)
        try:
            return expand(offset, target, arguments, self.copier)
        except MacroError as error:
            raise MistakeError(error.offset, str(error)) from None
        except TooManyCopiesError as error:
            raise MistakeError(offset, str(error)) from None

    def closes(self, bracket: str) -> bool:
        """Whether the bracket closes here, where nothing, or a comma alone, may stand before it."""
        index = self.index
        if self.kinds[index] == ",":
            index += 1
        if self.kinds[index] != bracket:
            return False
        self.index = index + 1
        return True

    def marked(self) -> bool:
        """Whether a question mark stands here."""
        if self.kinds[self.index] != "?":
            return False
        if not self.macros.optional:
            raise MistakeError(self.offsets[self.index], "unsupported syntax '?'")
        self.index += 1
        return True

    def open_arguments(self, name: str, target: Node | None) -> Node | None:
        """Begin the arguments of a call; if there are none, it is complete."""
        index = self.index
        offset = self.offsets[index]
        if self.kinds[index + 1] == ")":
            self.index = index + 2
            return self.called(offset, name, target, [])
        self.index = index + 1
        self.push(BRACKET, offset, "call", (name, target, []))
        return None


def _balanced(function: str, chain: list[tuple[Node, int]], last: Node) -> Node:
    """The calls of a chain of ``&&`` or ``||``, as a balanced tree.

    Source: ``cel-go/parser`` logicManager.balancedTree.
    """
    if len(chain) == 1:
        return Call(chain[0][1], function, None, [chain[0][0], last])
    operands = [operand for operand, _ in chain]
    operands.append(last)

    def tree(low: int, high: int) -> Node:
        middle = (low + high + 1) // 2
        left = operands[middle] if middle == low else tree(low, middle - 1)
        right = operands[middle + 1] if middle == high else tree(middle + 1, high)
        return Call(chain[middle][1], function, None, [left, right])

    return tree(0, len(chain) - 1)
