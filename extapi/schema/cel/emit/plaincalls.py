"""Calls of functions without anything special: charge, then call."""

from __future__ import annotations

from collections.abc import Sequence

from extapi.schema.cel.emit.emission import Emission, has_parameter
from extapi.schema.cel.evaluation.prices import PRICED_BY_NAME, is_underpriced, priced
from extapi.schema.cel.syntax.nodes import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node
from extapi.schema.cel.types import Type


def plain_call(emitter: Emission, node: Call, parts: Sequence[Node]) -> str:
    """A call without anything special."""
    out = emitter.out
    arguments = []
    for part in parts:
        # What passes a value of a schema on gets it as it is.
        text = emitter.native(part) if node.declared is None else emitter.raw(part)
        arguments.append(out.atom(text))
    return _finished_call(emitter, node, parts, arguments)


def _finished_call(emitter: Emission, node: Call, parts: Sequence[Node], arguments: Sequence[str]) -> str:
    """Charge and call, given the arguments."""
    out = emitter.out
    overloads = node.overloads
    listed = ", ".join(arguments)
    if len(overloads) == 1 and (not overloads[0].guarded or all(map(_is_certain, parts, overloads[0].arguments))):
        made = f"{out.constant(overloads[0].call)}({listed})"
    else:
        made = f"dispatch({out.constant(overloads)}, ({listed}{',' if len(arguments) == 1 else ''}))"
    cost = priced(overloads)
    fixed = isinstance(cost, int) or (len(overloads) != 1 and node.function not in PRICED_BY_NAME)
    charge_call(emitter, node, arguments)
    if not fixed:
        out.check_limit()
    name = out.atom(made)
    if is_underpriced(node):
        out.look_at_clock()
    return name


def _is_certain(part: Node, wanted: Type) -> bool:
    """Whether an argument needs no look at its type before a call."""
    return _fits(part.type, wanted) and (not wanted.parameters or _has_known_elements(part))


def _fits(found: Type, wanted: Type) -> bool:
    if wanted.kind in {"dyn", "parameter"}:
        return True
    if found.kind == "dyn" or found.name == "wrapper":
        return False
    return all(map(_fits, found.parameters, wanted.parameters))


def _has_known_elements(part: Node) -> bool:
    """Whether the type of a list or map is that of its elements.

    A function that takes lists of any type, and got something of a type that nobody knows, seems to have made a list of
    whatever is asked for first.
    """
    while isinstance(part, Comprehension) and part.macro == "filter":
        part = part.range
    if part.declared is not None or isinstance(part, Literal | ListLiteral | MapLiteral | Ident):
        return True
    if isinstance(part, Call) and not any(has_parameter(each.result) for each in part.overloads):
        return True
    return isinstance(part, Comprehension) and part.body is not None and not part.body.type.parameters


def charge_call(emitter: Emission, node: Call, arguments: Sequence[str]) -> None:
    """Charge for a call."""
    out = emitter.out
    overloads = node.overloads
    cost = priced(overloads)
    if len(overloads) != 1 and node.function not in PRICED_BY_NAME:
        out.charge(1)
    elif isinstance(cost, int):
        out.charge(cost)
    else:
        out.charge_text(f"{out.constant(cost)}(({', '.join(arguments)},), None)")
