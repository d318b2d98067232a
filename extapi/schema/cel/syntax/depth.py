"""How deeply a tree is nested, as cel-go counts it."""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.syntax.copies import children
from extapi.schema.cel.syntax.nodes import Call, Comprehension, Node, Select

RECURSION_LIMIT: Final = 250
"""How deep. Source: ``cel-go/parser`` NewParser."""

_UNCOUNTED: Final = frozenset({"_&&_", "_||_", "!_", "-_"})


def too_deep(root: Node) -> bool:
    """Whether there are too many levels.

    Selections, indices, calls on a target, and operators other than logical and prefix ones are a level each.

    Source: ``cel-go/parser`` parser.Visit, checkAndIncrementRecursionDepth.
    """
    todo = [(root, 0)]
    while todo:
        node, depth = todo.pop()
        if isinstance(node, Comprehension):
            depth += 1
            parts = _parts(node)
            todo += [(part, depth) for part in parts if part is not None]
        elif isinstance(node, Call) and (bound := _bound(node)) is not None:
            depth += 1
            todo += [(bound[0], depth), (bound[1], depth)]
        else:
            if isinstance(node, Select) or (isinstance(node, Call) and _counts(node)):
                depth += 1
            todo += [(child, depth) for child in children(node)]
        if depth > RECURSION_LIMIT:
            return True
    return False


def _parts(loop: Comprehension) -> tuple[Node | None, ...]:
    """What the author of a macro wrote."""
    if loop.macro != "bind":
        return loop.range, loop.filter_, loop.body
    # A sortBy: those that optMap makes are found within the call that it makes as well.
    called = loop.result
    keys = called.args[0] if isinstance(called, Call) else None
    return loop.initial, keys.body if isinstance(keys, Comprehension) else None


def _counts(call: Call) -> bool:
    function = call.function
    return call.target is not None or function == "@in" or (function[0] == "_" and _is_operator(function))


def _is_operator(function: str) -> bool:
    return function not in _UNCOUNTED and not (function.isidentifier())


def _bound(call: Call) -> tuple[Node, Node] | None:
    """Target and body of an ``optMap`` or ``optFlatMap``, if the call is what was made of one."""
    if call.function != "_?_:_":
        return None
    then = call.args[1]
    if isinstance(then, Call) and then.function == "optional.of" and then.args:
        then = then.args[0]
    if isinstance(then, Comprehension) and then.macro == "bind" and then.body is not None:
        present = call.args[0]
        if isinstance(present, Call) and present.target is not None:
            return present.target, then.body
    return None
