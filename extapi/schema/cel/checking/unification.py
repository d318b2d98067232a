"""When a value of one type may stand where another is expected, and what type parameters then are.

Source: ``cel-go/checker`` types.go.
"""

from __future__ import annotations

from typing import Final

from extapi.schema.cel.types import Type, alike

Bindings = dict[Type, Type]
"""What type parameters stand for."""

_WILD: Final = frozenset({"dyn", "error"})
_NULLABLE: Final = frozenset({"opaque", "struct", "duration", "timestamp", "null"})
_SCALARS: Final = frozenset({"bool", "bytes", "double", "duration", "int", "string", "timestamp", "type", "uint"})
"""Kinds of which all types fit each other."""


def assignable(bindings: Bindings, source: Type, target: Type) -> bool:
    """Whether a ``source`` may stand for a ``target``. Adds to ``bindings``; if it may not, these are of no use."""
    if target.kind == "parameter":
        valid, bound = _substitutes(bindings, source, target)
        if valid or bound:
            return valid
    if source.kind == "parameter":
        return _substitutes(bindings, target, source)[0]
    if source.kind in _WILD or target.kind in _WILD:
        return True
    if source.kind == "null":
        return _nullable(target)
    if target.kind == "null":
        return _nullable(source)
    if source.kind != target.kind:
        return False
    if source.kind in _SCALARS:
        return True
    if source.name != target.name or len(source.parameters) != len(target.parameters):
        return False
    return all(map(assignable, (bindings,) * len(source.parameters), source.parameters, target.parameters))


def _nullable(type_: Type) -> bool:
    return type_.kind in _NULLABLE or type_.name == "wrapper"


def _substitutes(bindings: Bindings, found: Type, parameter: Type) -> tuple[bool, bool]:
    """Whether ``parameter`` can be ``found``, and whether it has been something already."""
    if found == parameter:
        return True, True
    before = bindings.get(parameter)
    if before is not None:
        if alike(found, before):
            return True, True
        if not assignable(bindings, found, before):
            return False, True
        general = most_general(found, before)
        if _free_of(bindings, parameter, general):
            bindings[parameter] = general
        return True, True
    if not _free_of(bindings, parameter, found):
        return False, False
    bindings[parameter] = found
    return True, False


def _free_of(bindings: Bindings, parameter: Type, within: Type) -> bool:
    """Whether ``parameter`` does not occur in ``within``: no type contains itself."""
    if parameter == within:
        return False
    if within.kind == "parameter":
        bound = bindings.get(within)
        return bound is None or _free_of(bindings, parameter, bound)
    return all(_free_of(bindings, parameter, each) for each in within.parameters)


def most_general(first: Type, second: Type) -> Type:
    """The one of two types that fit each other that says less."""
    return first if _says_less(first, second) else second


def _says_less(first: Type, second: Type) -> bool:
    if first.kind in {"dyn", "parameter"}:
        return True
    if second.kind in {"dyn", "parameter"} or first.kind != second.kind:
        return False
    if first.kind == "type":
        return True
    if not first.parameters:
        return alike(first, second)
    if first.name != second.name or len(first.parameters) != len(second.parameters):
        return False
    return all(map(_says_less, first.parameters, second.parameters))


def substituted(bindings: Bindings, type_: Type, *, unbound: Type | None = None) -> Type:
    """The type with its parameters filled in; those that are not bound become ``unbound``, if it is given."""
    if type_.kind == "parameter":
        found = bindings.get(type_)
        if found is not None:
            return substituted(bindings, found, unbound=unbound)
        return type_ if unbound is None else unbound
    if not type_.parameters:
        return type_
    return Type(
        type_.kind, type_.name, tuple(substituted(bindings, each, unbound=unbound) for each in type_.parameters)
    )
