"""Logic, equality, order, arithmetic and membership."""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.declared import Declared
from extapi.schema.cel.emit import plaincalls
from extapi.schema.cel.emit.emission import Emission, kind
from extapi.schema.cel.emit.writer import NotWrittenError
from extapi.schema.cel.evaluation.prices import is_constant_set
from extapi.schema.cel.syntax.nodes import Call, Literal, Node
from extapi.schema.cel.values.values import INT_MAX, INT_MIN

_SCALARS: Final = frozenset({"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"})
_SIZED: Final = frozenset({"string", "bytes"})
_EXACT: Final = frozenset({"bool", "bytes", "duration", "int", "string", "timestamp", "uint"})
"""Kinds that Python orders and compares as CEL does. Doubles have NaN, which CEL does not order."""
COMPARISONS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_TENTH: Final = 10
"""Up to so many characters, a walk through a string costs one unit."""


def logic(emitter: Emission, node: Call) -> str:
    """``&&`` and ``||``: a chain of terms, each evaluated if those before it have not decided."""
    out = emitter.out
    both = node.function == "_&&_"
    terms: list[Node] = []
    _flatten(node, node.function, terms)
    name = out.name()
    out.line(f"{name} = {emitter.boolean(terms[0])}")
    for term in terms[1:]:
        with out.block(f"if {name}:" if both else f"if not {name}:"):
            out.line(f"{name} = {emitter.boolean(term)}")
    return name


def _flatten(node: Node, function: str, terms: list[Node]) -> None:
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Call) and each.function == function:
            waiting.extend(reversed(each.args))
        else:
            terms.append(each)


def negation(emitter: Emission, node: Call) -> str:
    """``!``."""
    text = emitter.boolean(node.args[0])
    emitter.out.charge(1)
    return f"(not {text})"


def equality(emitter: Emission, node: Call) -> str:
    """``==`` and ``!=``."""
    first, second = node.args
    negated = node.function == "_!=_"
    kinds = kind(first), kind(second)
    if kinds[0] == kinds[1] and kinds[0] in _SCALARS:
        return _scalar_equality(emitter, first, second, kinds[0], "!=" if negated else "==")
    text = _deep_equality(emitter, node, first, second)
    return f"(not {text})" if negated else text


def _scalar_equality(emitter: Emission, first: Node, second: Node, kind_: str, operator: str) -> str:
    out = emitter.out
    one, other = emitter.raw(first), emitter.raw(second)
    if kind_ in _SIZED:
        one, other = _charged_sizes(emitter, first, second, one, other)
    else:
        out.charge(1)
    if isinstance(first, Literal) and isinstance(second, Literal):
        one, other = out.atom(one), out.atom(other)
    return f"({one} {operator} {other})"


def _charged_sizes(emitter: Emission, first: Node, second: Node, one: str, other: str) -> tuple[str, str]:
    """Charge for the comparison of two strings: a tenth of the shorter."""
    out = emitter.out
    if isinstance(second, Literal):
        known, text = second, out.atom(one)
        one = text
    elif isinstance(first, Literal):
        known, text = first, out.atom(other)
        other = text
    else:
        one, other = out.atom(one), out.atom(other)
        out.charge_text(f"ceil(min(len({one}), len({other})) * .1)")
        return one, other
    size = len(known.value)
    if size == 0:
        return one, other
    if size <= _TENTH:
        out.line(f"if {text}: c += 1")
    else:
        out.charge_text(f"ceil(min(len({text}), {size}) * .1)")
    return one, other


def _deep_equality(emitter: Emission, node: Call, first: Node, second: Node) -> str:
    out = emitter.out
    declared = first.declared
    same = declared is not None and declared is second.declared and kind(first) != "opaque"
    if same and declared is not None and declared.type.kind != "dyn":
        one, other = out.atom(emitter.raw(first)), out.atom(emitter.raw(second))
        _charge_equality(emitter, node, one, other)
        out.look_at_clock()
        return _typed_equality(emitter, declared, one, other)
    one, other = out.atom(emitter.native(first)), out.atom(emitter.native(second))
    _charge_equality(emitter, node, one, other)
    if kind(first) in {"list", "map", "struct", "dyn", "opaque"}:
        out.look_at_clock()
    return f"{'equal' if kind(first) == kind(second) != 'dyn' else 'equal_any'}({one}, {other})"


def _typed_equality(emitter: Emission, declared: Declared, one: str, other: str) -> str:
    if declared.plain:
        return f"({one} == {other})"
    return f"equal_typed({emitter.out.constant(declared)}, {one}, {other})"


def _charge_equality(emitter: Emission, node: Call, one: str, other: str) -> None:
    cost = node.overloads[0].cost
    if isinstance(cost, int):
        emitter.out.charge(cost)
    else:
        emitter.out.charge_text(f"{emitter.out.constant(cost)}(({one}, {other}), None)")


def comparison(emitter: Emission, node: Call) -> str:
    """``<`` and the like."""
    out = emitter.out
    first, second = node.args
    kinds = kind(first), kind(second)
    operator = COMPARISONS[node.function]
    one, other = emitter.native(first), emitter.native(second)
    if len(node.overloads) == 1 and kinds[0] == kinds[1] and kinds[0] in _EXACT:
        if kinds[0] in _SIZED:
            one, other = _charged_sizes(emitter, first, second, one, other)
        else:
            out.charge(1)
        if isinstance(first, Literal) and isinstance(second, Literal):
            one, other = out.atom(one), out.atom(other)
        return f"({one} {operator} {other})"
    plaincalls.charge_call(emitter, node, [one, other])
    return f"(compare({one}, {other}) {operator} 0)"


_INT_ARITHMETIC: Final = {"add_int64": "+", "subtract_int64": "-", "multiply_int64": "*"}
_DOUBLE_ARITHMETIC: Final = {"add_double": "+", "subtract_double": "-", "multiply_double": "*"}


def arithmetic(emitter: Emission, node: Call) -> str:
    """``+``, ``-``, ``*``, ``/`` and ``%``."""
    out = emitter.out
    certain = len(node.overloads) == 1 and all(kind(each) == each.type.kind != "dyn" for each in node.args)
    identifier = node.overloads[0].id if certain else ""
    if identifier in _INT_ARITHMETIC or identifier in _DOUBLE_ARITHMETIC:
        one, other = (out.atom(emitter.native(each)) for each in node.args)
        out.charge(1)
        name = out.name()
        whole = identifier in _INT_ARITHMETIC
        out.line(f"{name} = {one} {(_INT_ARITHMETIC if whole else _DOUBLE_ARITHMETIC)[identifier]} {other}")
        if whole:
            out.line(f"if not {INT_MIN} <= {name} <= {INT_MAX}: fail()")
        return name
    return plaincalls.plain_call(emitter, node, node.args)


def membership(emitter: Emission, node: Call) -> str:
    """``in``."""
    out = emitter.out
    needle, within = node.args
    if is_constant_set(node) and isinstance(within, Literal):
        value = emitter.native(needle)
        exact = {type(each) for each in within.value}
        if kind(needle) in {"string", "int"} and exact <= {str, int}:
            return f"({out.atom(value)} in {out.constant(frozenset(within.value))})"
        return f"member({value}, {out.constant(within.value)})"
    if kind(within) not in {"list", "map"} or len(node.overloads) != 1:
        return plaincalls.plain_call(emitter, node, node.args)
    value = out.atom(emitter.native(needle))
    if kind(within) == "map":
        mapping = emitter.raw(within)
        out.charge(1)
        if kind(needle) == "string":
            return f"({value} in {mapping})"
        if within.declared is not None:
            raise NotWrittenError  # a map of a schema has only strings as keys
        return f"has_key({mapping}, {value})"
    declared = within.declared
    plain = declared is None or declared.element is None or declared.element.plain
    items = out.atom(emitter.raw(within) if plain else emitter.native(within))
    out.charge_text(f"len({items})")
    if kind(needle) in {"string", "int"} and within.type.parameters[0].kind == kind(needle):
        return f"({value} in {items})"
    if kind(needle) == "dyn" and within.type.parameters[0].kind in {"list", "map", "struct"}:
        raise NotWrittenError  # an element of a schema cannot be compared with everything
    out.look_at_clock()
    return f"contains({items}, {value})"
