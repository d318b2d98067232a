"""How a function of CEL is declared: its overloads with their types, what they do and what they cost.

A library is a module in :mod:`extapi.schema.cel.library` with a tuple of :class:`Overload`, each with its signature in
one line: ``".charAt(string, int) -> string"``. A dot at the beginning says that it is called on its first argument, as
in ``x.charAt(3)``. A capital letter is a type that each call fills in. What an overload costs at run time and what it may
cost at most stand beside what it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from extapi.schema.cel.intervals import Interval
from extapi.schema.cel.types import NAMES, Type, list_of, map_of, optional_of, parameter, type_of


class Operand(Protocol):
    """An argument, to those who estimate the cost of a call.

    Source: ``cel-go/checker`` AstNode, and what ``k8s.io/apiserver/pkg/cel/library`` CostEstimator asks of it.
    """

    type: Type

    def size(self) -> Interval:
        """How large it may be; unknown if neither expression nor schema say."""

    def computed_size(self) -> Interval | None:
        """Its size as far as the expression itself says it."""

    def element(self) -> Operand | None:
        """What stands for the elements of a list (of anything with type parameters); None for other types."""

    def literal(self) -> Any:
        """Its value, if it is written as a literal; otherwise :data:`NOT_LITERAL`."""


class _NotLiteral:
    """The type of :data:`NOT_LITERAL`."""

    __slots__ = ()


NOT_LITERAL: Final[Any] = _NotLiteral()
"""No value, where None is one."""

Call = Callable[..., Any]
"""What an overload does: takes its arguments, receiver first; raises EvaluationError."""
Cost = int | Callable[[Sequence[Any], Any], int]
"""What a call has cost, given its arguments and its result. An argument or the result may be an EvaluationError: a call
whose arguments failed has a cost, too. Sizes are asked of :func:`extapi.schema.cel.values.sizes.size_of`."""
Estimate = Callable[[Operand | None, Sequence[Operand]], tuple[Interval, Interval | None]]
"""What a call may cost, without its arguments, and how large its result may be (None if nobody knows). It gets the
receiver, or None, and the other arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """One signature of a function."""

    id: str
    """cel-go's name of the overload, by which costs and plans refer to it."""
    function: str
    member: bool
    """Whether it is called on its first argument."""
    arguments: tuple[Type, ...]
    """The receiver first."""
    result: Type
    parameters: tuple[str, ...]
    """The type parameters that occur."""
    call: Call
    cost: Cost = 1
    estimate: Estimate | None = None
    """None: one unit."""
    strict: bool = True
    """Whether an argument that failed makes the call fail."""
    guarded: bool = True
    """Whether the types of values are looked at before a call, where they were not known when it was checked."""


_SIGNATURE: Final = re.compile(r"(\.?)([@\w.]+|[^\s(]+)\((.*)\) -> (\S.*)")


def overload(
    identifier: str,
    signature: str,
    call: Call,
    *,
    cost: Cost = 1,
    estimate: Estimate | None = None,
    strict: bool = True,
    guarded: bool = True,
) -> Overload:
    """Declare an overload.

    Args:
        identifier: cel-go's id of it.
        signature: Such as ``".charAt(string, int) -> string"`` or ``"sets.contains(list(T), list(T)) -> bool"``.
        call: What it does.
        cost: Its cost at run time: a number, or a function of arguments and result.
        estimate: Its cost before; None for one unit.
        strict: Whether a failed argument makes the call fail.
        guarded: Whether types are looked at at run time.

    Raises:
        ValueError: The signature cannot be read.
    """
    match = _SIGNATURE.fullmatch(signature)
    if match is None:
        raise ValueError(f"cannot read the signature {signature!r}")
    dot, function, arguments, result = match.groups()
    types = tuple(_read(argument) for argument in _split(arguments))
    made = _read(result)
    found: dict[str, None] = {}
    for each in (*types, made):
        _collect(each, found)
    return Overload(
        id=identifier,
        function=function,
        member=bool(dot),
        arguments=types,
        result=made,
        parameters=tuple(found),
        call=call,
        cost=cost,
        estimate=estimate,
        strict=strict,
        guarded=guarded,
    )


def by_function(overloads: Iterable[Overload]) -> Mapping[str, tuple[Overload, ...]]:
    """The overloads of each function, in their order."""
    found: dict[str, list[Overload]] = {}
    for each in overloads:
        found.setdefault(each.function, []).append(each)
    return {name: tuple(several) for name, several in found.items()}


def _split(text: str) -> list[str]:
    parts: list[str] = []
    depth = start = 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()] if text.strip() else []


_CONSTRUCTORS: Final[Mapping[str, Callable[..., Type]]] = {
    "list": list_of,
    "map": map_of,
    "optional": optional_of,
    "type": type_of,
}


def _read(text: str) -> Type:
    found = NAMES.get(text)
    if found is not None:
        return found
    if len(text) == 1 and text.isupper():
        return parameter(text)
    name, _, inner = text.partition("(")
    if not inner.endswith(")") or name not in _CONSTRUCTORS:
        raise ValueError(f"cannot read the type {text!r}")
    return _CONSTRUCTORS[name](*map(_read, _split(inner[:-1])))


def _collect(type_: Type, found: dict[str, None]) -> None:
    if type_.kind == "parameter":
        found[type_.name] = None
    for each in type_.parameters:
        _collect(each, found)
