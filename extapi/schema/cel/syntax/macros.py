"""Macros: calls that the parser replaces by loops and tests.

Nodes that a macro makes are where its call is, at the opening parenthesis. The condition, step and result of a loop are
built as cel-go builds them, since costs are counted over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from extapi.schema.cel.syntax.copies import Copier
from extapi.schema.cel.syntax.nodes import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
)

_PUBLIC_ACCUMULATOR: Final = "__result__"
"""What the accumulator was called once. No variable of a macro may have the name."""
SORTED: Final = "@__sortBy_input__"
"""The variable that ``sortBy`` binds to its list."""
UNUSED: Final = "#unused"
"""The variable of a loop over nothing."""


class Macros(NamedTuple):
    """Which macros there are, beside the standard ones. That depends on the version of Kubernetes."""

    optional: bool = True
    """``optMap`` and ``optFlatMap``, and the question marks of ``a.?b``, ``a[?b]``, ``[?a]``, ``{?a: b}``: from 1.28."""
    two_variables: bool = True
    """``all``, ``exists`` and ``existsOne`` with two variables, ``transformList``, ``transformMap`` and
    ``transformMapEntry``: from 1.32."""
    sort_by: bool = True
    """``sortBy``: from 1.34."""


ALL: Final = Macros()

Expander = Callable[[int, Any, list[Node], Copier], Node]
"""Makes the node of a macro from the offset of its call, its target (None for a function), its arguments, and what
copies nodes."""
Key = tuple[str, int, bool]
"""A macro's name, number of arguments, and whether it is called on a target."""


class MacroError(ValueError):
    """Arguments that a macro cannot take. ``str`` is cel-go's text.

    Attributes:
        offset: Of the argument.
    """

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


@lru_cache(maxsize=8)
def expanders(macros: Macros) -> Mapping[Key, Expander]:
    """The macros by their keys."""
    found: dict[Key, Expander] = dict(_STANDARD)
    if macros.optional:
        found |= _OPTIONAL
    if macros.two_variables:
        found |= _TWO_VARIABLES
    if macros.sort_by:
        found |= _SORT_BY
    return found


def _name(argument: Node, message: str) -> str:
    if type(argument) is not Ident:
        raise MacroError(argument.offset, message)
    return argument.name


def _variable(argument: Node, message: str) -> str:
    name = _name(argument, message)
    if name in {ACCUMULATOR, _PUBLIC_ACCUMULATOR}:
        raise MacroError(argument.offset, "iteration variable overwrites accumulator variable")
    return name


def _variables(first: Node, second: Node) -> tuple[str, str]:
    """The two variables.

    Source: ``cel-go/ext`` extractIterVars.
    """
    names = _name(first, "argument must be a simple name"), _name(second, "argument must be a simple name")
    if names[0] == names[1]:
        raise MacroError(second.offset, f"duplicate variable name: {names[0]}")
    _variable(first, "")
    _variable(second, "")
    return names


def _one(loop: Callable[..., Comprehension], message: str) -> Expander:
    """The macro with one variable whose loop is made by that function."""

    def expand(offset: int, target: Any, arguments: list[Node], copy: Copier) -> Node:  # noqa: ARG001  one signature for all
        return loop(offset, target, (_variable(arguments[0], message), ""), arguments[1:])

    return expand


def _two(loop: Callable[..., Comprehension]) -> Expander:
    """The macro with two variables whose loop is made by that function."""

    def expand(offset: int, target: Any, arguments: list[Node], copy: Copier) -> Node:  # noqa: ARG001  one signature for all
        return loop(offset, target, _variables(arguments[0], arguments[1]), arguments[2:])

    return expand


def _all(offset: int, target: Node, variables: tuple[str, str], parts: list[Node]) -> Comprehension:
    return Comprehension(
        offset,
        range_=target,
        variable=variables[0],
        variable2=variables[1],
        initial=Literal(offset, value=True),
        condition=Call(offset, "@not_strictly_false", None, [Ident(offset, ACCUMULATOR)]),
        step=Call(offset, "_&&_", None, [Ident(offset, ACCUMULATOR), parts[0]]),
        result=Ident(offset, ACCUMULATOR),
        macro="all",
        body=parts[0],
    )


def _exists(offset: int, target: Node, variables: tuple[str, str], parts: list[Node]) -> Comprehension:
    going = Call(offset, "!_", None, [Ident(offset, ACCUMULATOR)])
    return Comprehension(
        offset,
        range_=target,
        variable=variables[0],
        variable2=variables[1],
        initial=Literal(offset, value=False),
        condition=Call(offset, "@not_strictly_false", None, [going]),
        step=Call(offset, "_||_", None, [Ident(offset, ACCUMULATOR), parts[0]]),
        result=Ident(offset, ACCUMULATOR),
        macro="exists",
        body=parts[0],
    )


def _exists_one(offset: int, target: Node, variables: tuple[str, str], parts: list[Node]) -> Comprehension:
    more = Call(offset, "_+_", None, [Ident(offset, ACCUMULATOR), Literal(offset, 1)])
    return Comprehension(
        offset,
        range_=target,
        variable=variables[0],
        variable2=variables[1],
        initial=Literal(offset, 0),
        condition=Literal(offset, value=True),
        step=Call(offset, "_?_:_", None, [parts[0], more, Ident(offset, ACCUMULATOR)]),
        result=Call(offset, "_==_", None, [Ident(offset, ACCUMULATOR), Literal(offset, 1)]),
        macro="exists_one",
        body=parts[0],
    )


def _gather(
    offset: int,
    target: Node,
    variables: tuple[str, str],
    step: Node,
    initial: Node,
    macro: str,
    parts: list[Node | None],
) -> Comprehension:
    """A loop that makes a list or map of what it meets, if there is a filter, of what passes that."""
    filter_, body = parts
    if filter_ is not None:
        step = Call(offset, "_?_:_", None, [filter_, step, Ident(offset, ACCUMULATOR)])
    return Comprehension(
        offset,
        range_=target,
        variable=variables[0],
        variable2=variables[1],
        initial=initial,
        condition=Literal(offset, value=True),
        step=step,
        result=Ident(offset, ACCUMULATOR),
        macro=macro,
        filter_=filter_,
        body=body,
    )


def _appended(offset: int, element: Node) -> Node:
    return Call(offset, "_+_", None, [Ident(offset, ACCUMULATOR), ListLiteral(offset, [element])])


def _filtered(parts: list[Node]) -> list[Node | None]:
    """Filter and body, of which the filter may be left out."""
    return [None, *parts][-2:]


def _map(offset: int, target: Node, variables: tuple[str, str], parts: list[Node]) -> Comprehension:
    name = "transform_list" if variables[1] else "map"
    step = _appended(offset, parts[-1])
    return _gather(offset, target, variables, step, ListLiteral(offset, []), name, _filtered(parts))


def _filter(offset: int, target: Any, arguments: list[Node], copy: Copier) -> Node:  # noqa: ARG001  one signature for all
    variable = _variable(arguments[0], "argument is not an identifier")
    step = _appended(offset, arguments[0])
    return _gather(offset, target, (variable, ""), step, ListLiteral(offset, []), "filter", [arguments[1], None])


def _transform_map(offset: int, target: Node, variables: tuple[str, str], parts: list[Node]) -> Comprehension:
    entry = [Ident(offset, ACCUMULATOR), Ident(offset, variables[0]), parts[-1]]
    step = Call(offset, "cel.@mapInsert", None, entry)
    return _gather(offset, target, variables, step, MapLiteral(offset, []), "transform_map", _filtered(parts))


def _transform_map_entry(offset: int, target: Node, variables: tuple[str, str], parts: list[Node]) -> Comprehension:
    step = Call(offset, "cel.@mapInsert", None, [Ident(offset, ACCUMULATOR), parts[-1]])
    return _gather(offset, target, variables, step, MapLiteral(offset, []), "transform_map_entry", _filtered(parts))


def _has(offset: int, target: Any, arguments: list[Node], copy: Copier) -> Node:  # noqa: ARG001  one signature for all
    tested = arguments[0]
    if type(tested) is not Select:
        raise MacroError(tested.offset, "invalid argument to has() macro")
    return Select(offset, tested.operand, tested.field, test_only=True)


def _bind(offset: int, name: str, value: Node, body: Node) -> Comprehension:
    """The value of the body with the variable bound to a value: a loop over nothing, whose accumulator it is."""
    return Comprehension(
        offset,
        range_=ListLiteral(offset, []),
        variable=UNUSED,
        accumulator=name,
        initial=value,
        condition=Literal(offset, value=False),
        step=Ident(offset, name),
        result=body,
        macro="bind",
        body=body,
    )


def _bound(offset: int, target: Node, arguments: list[Node], macro: str) -> Comprehension:
    """The value of the last argument, with the variable bound to the value of the target."""
    name = _name(arguments[0], f"{macro}() variable name must be a simple identifier")
    return _bind(offset, name, Call(offset, "value", target, []), arguments[1])


def _opt_map(offset: int, target: Any, arguments: list[Node], copy: Copier) -> Node:
    bound = _bound(offset, copy(target, offset), arguments, "optMap")
    return _if_present(offset, target, Call(offset, "optional.of", None, [bound]))


def _opt_flat_map(offset: int, target: Any, arguments: list[Node], copy: Copier) -> Node:
    return _if_present(offset, target, _bound(offset, copy(target, offset), arguments, "optFlatMap"))


def _if_present(offset: int, target: Node, then: Node) -> Node:
    none = Call(offset, "optional.none", None, [])
    return Call(offset, "_?_:_", None, [Call(offset, "hasValue", target, []), then, none])


def _sort_by(offset: int, target: Any, arguments: list[Node], copy: Copier) -> Node:  # noqa: ARG001  one signature for all
    if type(target) not in {ListLiteral, Select, Ident, Comprehension, Call}:
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.offset, message)
    variable = _variable(arguments[0], "argument is not an identifier")
    keys = _map(offset, Ident(offset, SORTED), (variable, ""), arguments[1:])
    called = Call(offset, "@sortByAssociatedKeys", Ident(offset, SORTED), [keys])
    return _bind(offset, SORTED, target, called)


_ONE_ARGUMENT: Final = "argument must be a simple name"
_STANDARD: Final[Mapping[Key, Expander]] = {
    ("has", 1, False): _has,
    ("all", 2, True): _one(_all, _ONE_ARGUMENT),
    ("exists", 2, True): _one(_exists, _ONE_ARGUMENT),
    ("exists_one", 2, True): _one(_exists_one, _ONE_ARGUMENT),
    ("map", 2, True): _one(_map, "argument is not an identifier"),
    ("map", 3, True): _one(_map, "argument is not an identifier"),
    ("filter", 2, True): _filter,
}
_OPTIONAL: Final[Mapping[Key, Expander]] = {
    ("optMap", 2, True): _opt_map,
    ("optFlatMap", 2, True): _opt_flat_map,
}
_TWO_VARIABLES: Final[Mapping[Key, Expander]] = {
    ("all", 3, True): _two(_all),
    ("exists", 3, True): _two(_exists),
    ("existsOne", 3, True): _two(_exists_one),
    ("exists_one", 3, True): _two(_exists_one),
    ("transformList", 3, True): _two(_map),
    ("transformList", 4, True): _two(_map),
    ("transformMap", 3, True): _two(_transform_map),
    ("transformMap", 4, True): _two(_transform_map),
    ("transformMapEntry", 3, True): _two(_transform_map_entry),
    ("transformMapEntry", 4, True): _two(_transform_map_entry),
}
_SORT_BY: Final[Mapping[Key, Expander]] = {("sortBy", 2, True): _sort_by}
