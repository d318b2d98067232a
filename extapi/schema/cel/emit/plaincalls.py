"""Calls of functions without anything special: charge, then call."""

from __future__ import annotations

from collections.abc import Sequence

from extapi.schema.cel.emit.emission import Emission
from extapi.schema.cel.evaluation.prices import PRICED_BY_NAME, is_underpriced, priced
from extapi.schema.cel.syntax.nodes import Call, Node
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
    if len(overloads) == 1 and (
        not overloads[0].guarded or all(map(_is_certain, (part.type for part in parts), overloads[0].arguments))
    ):
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


def _is_certain(found: Type, wanted: Type) -> bool:
    """Whether values of a type need no look before a call."""
    if wanted.kind in {"dyn", "parameter"}:
        return True
    if found.kind == "dyn" or found.name == "wrapper":
        return False
    return all(map(_is_certain, found.parameters, wanted.parameters))


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
