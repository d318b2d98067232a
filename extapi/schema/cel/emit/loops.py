"""Comprehensions: one loop of Python per macro.

Each turn pays for what the macro expands to: for its condition, and for reading and writing the accumulator.
"""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.declared import Declared
from extapi.schema.cel.emit import access
from extapi.schema.cel.emit.emission import Emission, LazyVariable, kind
from extapi.schema.cel.emit.writer import NotWrittenError
from extapi.schema.cel.syntax.nodes import Comprehension, Literal, Node
from extapi.schema.cel.types import is_optional

_ADDED: Final = 12
"""A turn of ``map``: the accumulator, a list of one element, and the sum."""
_ADDED_CONSTANT: Final = 2
"""The same where the list is constant."""
_MAKING_MAPS: Final = frozenset({"transform_map", "transform_map_entry"})
_KEPT: Final = 13
"""A turn of ``filter`` that keeps its element, which is read once more."""


def comprehension(emitter: Emission, node: Comprehension) -> str:
    """Any macro that loops, and ``optMap``, which only looks like it."""
    if node.macro == "bind":
        return _bind(emitter, node)
    if node.macro not in _WRITE:
        raise NotWrittenError
    out = emitter.out
    head, prelude, names = _head(emitter, node)
    result = out.name()
    saved = dict(emitter.variables)
    write = _WRITE[node.macro]
    text = write(emitter, node, head, prelude, names, result)
    emitter.variables = saved
    return text


def _bind(emitter: Emission, node: Comprehension) -> str:
    out = emitter.out
    name = out.name()
    out.line(f"{name} = UNSET")
    before = emitter.variables.get(node.accumulator)
    scope = dict(emitter.variables)
    emitter.variables[node.accumulator] = LazyVariable(name, node.initial, scope)
    text = out.atom(emitter.raw(node.result))
    if before is None:
        del emitter.variables[node.accumulator]
    else:
        emitter.variables[node.accumulator] = before
    return text


def _head(emitter: Emission, node: Comprehension) -> tuple[str, list[str], dict[str, str]]:
    """The line that begins the loop, lines that begin each turn, and the names of the variables."""
    out = emitter.out
    within = node.range
    form = kind(within)
    declared = within.declared
    element = None if declared is None else declared.element
    text = emitter.raw(within)
    first = out.name()
    if not node.variable2:
        prelude: list[str] = []
        if form == "list":
            prelude = _reading(element, first)
            head = f"for {first} in {text}:"
        elif form == "map":
            head = f"for {first} in {text}:"
        elif form == "dyn":
            head = f"for {first} in turns({text}):"
        else:
            raise NotWrittenError
        return head, prelude, {node.variable: first}
    second = out.name()
    if form == "list":
        head = f"for {first}, {second} in enumerate({text}):"
    elif form == "map":
        head = f"for {first}, {second} in {text}.items():"
    elif form == "dyn":
        head = f"for {first}, {second} in pairs({text}):"
    else:
        raise NotWrittenError
    return head, _reading(element, second), {node.variable: first, node.variable2: second}


def _reading(element: Declared | None, name: str) -> list[str]:
    if element is None or not element.conversion:
        return [f"if {name} is None: fail()"] if element is not None and element.nullable else []
    return [f"{name} = {access.read_scalar(element, name)}"]


def _begin(emitter: Emission, prelude: list[str], names: dict[str, str]) -> None:
    for line in prelude:
        emitter.out.line(line)
    emitter.variables.update(names)


def _quantifier(
    emitter: Emission, node: Comprehension, head: str, prelude: list[str], names: dict[str, str], result: str
) -> str:
    """``all`` and ``exists``: their condition is asked at the beginning of each turn, and costs even if it ends the loop."""
    out = emitter.out
    every = node.macro == "all"
    out.line(f"{result} = {every}")
    with out.block(head, loop=True):
        out.line(f"c += {2 if every else 3}")
        out.line(f"if {'not ' if every else ''}{result}: break")
        _begin(emitter, prelude, names)
        out.charge(1)
        out.line(f"{result} = {emitter.boolean(_body(node))}")
        out.check_limit()
    out.charge(1)
    return result


def _exists_one(
    emitter: Emission, node: Comprehension, head: str, prelude: list[str], names: dict[str, str], result: str
) -> str:
    out = emitter.out
    out.line(f"{result} = 0")
    with out.block(head, loop=True):
        _begin(emitter, prelude, names)
        test = emitter.boolean(_body(node))
        with out.block(f"if {test}:"):
            out.charge(2)
            out.line(f"{result} += 1")
        out.check_limit()
    out.charge(2)
    return f"({result} == 1)"


def _gather(
    emitter: Emission, node: Comprehension, head: str, prelude: list[str], names: dict[str, str], result: str
) -> str:
    """``map``, ``filter``, ``transformList``, ``transformMap`` and ``transformMapEntry``."""
    out = emitter.out
    empty, add = ("{}", _insert) if node.macro in _MAKING_MAPS else ("[]", _append)
    out.line(f"{result} = {empty}")
    with out.block(head, loop=True):
        _begin(emitter, prelude, names)
        if node.filter_ is None:
            add(emitter, node, names, result)
        else:
            test = emitter.boolean(node.filter_)
            with out.block(f"if {test}:"):
                add(emitter, node, names, result)
        out.check_limit()
    out.charge(1)
    return result


def _append(emitter: Emission, node: Comprehension, names: dict[str, str], result: str) -> None:
    out = emitter.out
    if node.macro == "filter":
        if kind(node.range) == "list" and is_optional(node.range.type.parameters[0]):
            raise NotWrittenError  # cel-go packs the element anew
        out.charge(_KEPT)
        declared = None if node.range.declared is None else node.range.declared.element
        name = names[node.variable]
        lazily = declared is not None and not declared.plain and not declared.conversion
        listed = kind(node.range) == "list"
        text = f"native({out.constant(declared)}, {name})" if lazily and listed else name
    else:
        body = _body(node)
        text = emitter.native(body)
        out.charge(_ADDED_CONSTANT if isinstance(body, Literal) else _ADDED)
    out.line(f"{result}.append({text})")


def _insert(emitter: Emission, node: Comprehension, names: dict[str, str], result: str) -> None:
    out = emitter.out
    text = emitter.native(_body(node))
    if node.macro == "transform_map":
        out.charge(3)
        out.line(f"insert({result}, {names[node.variable]}, {text})")
    else:
        out.charge(2)
        out.line(f"insert_all({result}, {text})")


def _body(node: Comprehension) -> Node:
    if node.body is None:
        raise NotWrittenError
    return node.body


_WRITE: Final = {
    "all": _quantifier,
    "exists": _quantifier,
    "exists_one": _exists_one,
    "filter": _gather,
    "map": _gather,
    "transform_list": _gather,
    "transform_map": _gather,
    "transform_map_entry": _gather,
}
