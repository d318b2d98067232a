"""Calls of functions, and literals of lists and maps that are not constant."""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.emit import access, operators, plaincalls
from extapi.schema.cel.emit.emission import Emission, kind
from extapi.schema.cel.emit.writer import NotWrittenError
from extapi.schema.cel.estimate import LIST_COST, MAP_COST, STRUCT_COST
from extapi.schema.cel.library.patterns import searcher
from extapi.schema.cel.messages import MESSAGES
from extapi.schema.cel.patchtypes import maker
from extapi.schema.cel.syntax.nodes import Call, ListLiteral, Literal, MapLiteral, Node, StructLiteral

_STRINGS: Final = {"starts_with_string": "startswith", "ends_with_string": "endswith"}


def call(emitter: Emission, node: Call) -> str:
    """Any call or operator."""
    function = node.function
    match function:
        case "_&&_" | "_||_":
            return operators.logic(emitter, node)
        case "!_" if len(node.overloads) == 1:
            return operators.negation(emitter, node)
        case "_==_" | "_!=_":
            return operators.equality(emitter, node)
        case "_<_" | "_<=_" | "_>_" | "_>=_":
            return operators.comparison(emitter, node)
        case "_+_" | "_-_" | "_*_" | "_/_" | "_%_":
            return operators.arithmetic(emitter, node)
        case "@in":
            return operators.membership(emitter, node)
        case "_[_]" | "_[?_]" | "_?._" | "_?_:_":
            return access.attribute(emitter, node)
        case "or" | "orValue" if node.target is not None and len(node.args) == 1:
            return _alternative(emitter, node)
        case "size":
            return _size(emitter, node)
        case "@not_strictly_false":
            raise NotWrittenError
        case "optional.ofNonZeroValue" if kind(node.args[0]) in {"dyn", "list", "map", "struct"}:
            raise NotWrittenError  # a container of a schema is never zero, and nothing tells it from others here
        case "dyn" if kind(node.args[0]) in {"list", "map", "struct"}:
            raise NotWrittenError  # likewise: it cannot be compared with everything
    if len(node.overloads) == 1:
        identifier = node.overloads[0].id
        if identifier in _STRINGS:
            return _affix(emitter, node, _STRINGS[identifier])
        if identifier == "matches_string" and node.target is not None:
            pattern = node.args[0]
            if isinstance(pattern, Literal):
                return _matches(emitter, node, pattern.value)
    return plaincalls.plain_call(emitter, node, node.args if node.target is None else [node.target, *node.args])


def _size(emitter: Emission, node: Call) -> str:
    part = node.args[0] if node.target is None else node.target
    form = kind(part)
    if form not in {"string", "bytes", "list", "map"} or len(node.overloads) != 1:
        return plaincalls.plain_call(emitter, node, [part])
    text = emitter.raw(part)
    emitter.out.charge(1)
    return f"len({text})"


def _affix(emitter: Emission, node: Call, method: str) -> str:
    out = emitter.out
    if node.target is None:
        raise NotWrittenError
    text = out.atom(emitter.native(node.target))
    part = emitter.native(node.args[0])
    out.charge_text(f"ceil(len({text}) * .1)")
    return f"{text}.{method}({part})"


def _matches(emitter: Emission, node: Call, pattern: str) -> str:
    out = emitter.out
    if node.target is None:
        raise NotWrittenError
    text = out.atom(emitter.native(node.target))
    factor = _ceiling(len(pattern) * 0.25)
    out.charge_text(f"ceil((1.0 + len({text})) * .1) * {factor}")
    return f"{out.constant(searcher(pattern))}({text})"


def _ceiling(number: float) -> int:
    return int(-(-number // 1))


def _alternative(emitter: Emission, node: Call) -> str:
    """``or`` and ``orValue``, which are free and look at their argument only if they need it."""
    out = emitter.out
    target, other = node.target, node.args[0]
    if target is None or kind(target) != "opaque":
        raise NotWrittenError
    same = target.declared is other.declared and node.declared is target.declared
    value = out.atom(emitter.raw(target))
    name = out.name()
    with out.block(f"if {value}.present:"):
        if node.function == "or":
            if not same and target.declared is not None and not target.declared.plain:
                raise NotWrittenError
            out.line(f"{name} = {value}")
        elif same or target.declared is None or target.declared.plain or target.declared.conversion:
            out.line(f"{name} = {value}.value")
        else:
            out.line(f"{name} = native({out.constant(target.declared)}, {value}.value)")
    with out.block("else:"):
        out.line(f"{name} = {emitter.raw(other) if same else emitter.native(other)}")
    return name


def _member(emitter: Emission, node: Node) -> str:
    """A value in a list or map. A container of a schema cannot be compared with everything, which nobody could tell there."""
    if node.declared is not None and kind(node) in {"list", "map", "struct"}:
        raise NotWrittenError
    return emitter.native(node)


def list_literal(emitter: Emission, node: ListLiteral) -> str:
    """``[a, b]``."""
    out = emitter.out
    items: list[str] = []
    for index, each in enumerate(node.elements):
        text = _member(emitter, each)
        if index in node.optionals:
            if each.declared is not None and not each.declared.plain and not each.declared.conversion:
                raise NotWrittenError
            text = f"*given({text})"
        items.append(text)
    out.charge(LIST_COST)
    return f"[{', '.join(items)}]"


def map_literal(emitter: Emission, node: MapLiteral) -> str:
    """``{a: b}``."""
    out = emitter.out
    pairs: list[str] = []
    for key, value, optional in node.entries:
        if optional or kind(key) in {"bytes", "dyn"}:  # bytes are no key, and make Go panic
            raise NotWrittenError
        key_text = out.atom(emitter.native(key))
        pairs.append(f"{key_text}: {_member(emitter, value)}")
    out.charge(MAP_COST)
    return f"{{{', '.join(pairs)}}}"


def struct_literal(emitter: Emission, node: StructLiteral) -> str:
    """``Object.spec{a: b}``, and ``JSONPatch{op: "add"}``."""
    out = emitter.out
    if node.name.removeprefix(".") in MESSAGES or any(optional for _, _, optional, _ in node.fields):
        raise NotWrittenError
    members = [f"{out.constant(name)}: {_member(emitter, value)}" for name, value, _, _ in node.fields]
    out.charge(STRUCT_COST)
    return f"{out.constant(maker(node.type))}({{{', '.join(members)}}})"
