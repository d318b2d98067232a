"""From text to the tree.

What stands before an operand is read by :mod:`extapi.schema.cel.syntax.operands`, what stands after one by
:mod:`extapi.schema.cel.syntax.continuations`; each either has an operand, or leaves something open on the stack of
:mod:`extapi.schema.cel.syntax.machine` and needs another operand first. They know what is right. At the first thing that
is not, they give up.
"""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.errors import CompileError, Issue
from extapi.schema.cel.syntax.continuations import AFTER
from extapi.schema.cel.syntax.machine import Machine
from extapi.schema.cel.syntax.macros import ALL, Macros
from extapi.schema.cel.syntax.nodes import Node
from extapi.schema.cel.syntax.operands import BEFORE
from extapi.schema.cel.syntax.source import NOWHERE, MistakeError, failure
from extapi.schema.cel.syntax.tokens import END

SIZE_LIMIT: Final = 100_000
"""How many code points an expression may have. Source: ``cel-go/parser`` NewParser."""


def parse(text: str, macros: Macros = ALL) -> Node:
    """The tree of an expression.

    Raises:
        CompileError: It is not an expression, or a macro in it cannot be expanded.

    Source: ``cel-go/parser`` Parser.Parse.
    """
    if len(text) > SIZE_LIMIT:
        message = f"expression code point size exceeds limit: size: {len(text)}, limit {SIZE_LIMIT}"
        raise failure(text, [Issue(NOWHERE, message)])
    try:
        return _tree(Machine(text, macros))
    except MistakeError as mistake:
        raise _explained(text, macros, mistake.issue) from None


def _explained(text: str, macros: Macros, first: Issue) -> CompileError:
    """What is wrong with a text that was refused.

    Args:
        text: The text.
        macros: The macros that there are.
        first: The mistake for which it was refused.
    """
    if first.offset == NOWHERE:
        # Too deep, which is found before any other mistake of syntax, and after all others.
        return failure(text, [first])
    # Only a text that is refused pays for the automaton, in time and memory.
    from extapi.schema.cel.syntax.mistakes.report import mistakes_in  # noqa: PLC0415 - only when needed

    return failure(text, mistakes_in(text, macros) or [first])


def _tree(machine: Machine) -> Node:
    """The tree of all tokens."""
    kinds = machine.kinds
    node: Node | None = None
    while True:
        while node is None:
            before = BEFORE.get(kinds[machine.index])
            if before is None:
                raise machine.unexpected()
            node = before(machine)
        while node is not None:
            after = AFTER.get(kinds[machine.index])
            if after is None:
                if kinds[machine.index] != END:
                    raise machine.unexpected()
                return machine.end(node)
            node = after(machine, node)
