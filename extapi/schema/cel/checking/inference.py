"""What types turn out to be while an expression is checked: type parameters, and which overloads fit.

Source: ``cel-go/checker`` checker.go (resolveOverload, joinTypes, isAssignable).
"""

from __future__ import annotations

from extapi.schema.cel.checking.unification import Bindings, assignable, most_general, substituted
from extapi.schema.cel.declarations import Overload
from extapi.schema.cel.types import DYN, Type, parameter


class Inference:
    """The types of one expression.

    Attributes:
        bindings: What type parameters stand for.
    """

    __slots__ = ("_counter", "bindings")

    def __init__(self) -> None:
        self._counter = 0
        self.bindings: Bindings = {}

    def known(self, type_: Type) -> Type:
        """A type as far as it is known now."""
        return substituted(self.bindings, type_)

    def fresh(self) -> Type:
        """A type that is yet to be found."""
        self._counter += 1
        return parameter(f"_var{self._counter - 1}")

    def assignable(self, source: Type, target: Type) -> bool:
        """Whether a ``source`` may stand for a ``target``; if so, what that says about type parameters is kept."""
        if source == target:
            return True
        bindings = self.bindings.copy()
        if assignable(bindings, source, target):
            self.bindings = bindings
            return True
        return False

    def fits(self, overload: Overload, types: list[Type]) -> Type | None:
        """The type of the result, if the overload fits these arguments."""
        expected: tuple[Type, ...] = overload.arguments
        result = overload.result
        if overload.parameters:
            instance = {parameter(name): self.fresh() for name in overload.parameters}
            expected = tuple(substituted(instance, each) for each in expected)
            result = substituted(instance, result)
        bindings = self.bindings.copy()
        for found, wanted in zip(types, expected, strict=True):
            if found != wanted and not assignable(bindings, found, wanted):
                return None
        self.bindings = bindings
        return substituted(bindings, result) if result.kind == "parameter" or result.parameters else result

    def join(self, before: Type | None, found: Type) -> Type:
        """The type of elements that have been of one type before, and now have another, too."""
        if before is None:
            return found
        return most_general(before, found) if self.assignable(before, found) else DYN
