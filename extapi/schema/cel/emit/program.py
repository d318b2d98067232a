"""From the lines of a function to the function."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from extapi.schema.cel.emit.access import read_scalar
from extapi.schema.cel.emit.emitter import Emitter
from extapi.schema.cel.emit.runtime import NAMESPACE
from extapi.schema.cel.emit.writer import NotWrittenError
from extapi.schema.cel.environment import Environment
from extapi.schema.cel.syntax.nodes import Node

Program = Callable[..., tuple[Any, int]]
"""Takes the variables' values, the cost at which to look at the clock first, and the bounds. Returns the value and the cost.
Raises whatever Python raises if the expression has an error."""


def write(node: Node, environment: Environment, used: frozenset[str]) -> Program | None:
    """The function for a folded expression that uses those variables; None if there is no code for something in it."""
    emitter = Emitter(environment)
    out = emitter.out
    for index, variable in enumerate(environment.variables):
        declared = variable.declared
        if declared is not None and declared.conversion and not variable.optional and variable.name in used:
            out.line(f"v{index} = {read_scalar(declared, f'v{index}')}")
    try:
        value = emitter.native(node)
    except NotWrittenError:
        return None
    out.flush()
    out.line(f"return {value}, c")
    names = "".join(f"v{index}, " for index in range(len(environment.variables)))
    source = out.source(f"def f({names}L, H):\n c = 0")
    code = compile(source, "<cel>", "exec", dont_inherit=True)
    function = next(each for each in code.co_consts if hasattr(each, "co_code"))
    return FunctionType(out.bound(function), NAMESPACE, "cel")
