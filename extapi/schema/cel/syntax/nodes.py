"""The syntax tree of an expression.

The parser makes it, with macros expanded as cel-go expands them. The checker then fills in types, overloads, and the
schemas from which values come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from extapi.schema.cel.types import ERROR, Type

if TYPE_CHECKING:
    from extapi.schema.cel.declarations import Overload
    from extapi.schema.cel.declared import Declared

ACCUMULATOR: Final = "@result"
"""The variable in which a macro gathers its result; no expression can name it."""


class Node:
    """A node.

    Attributes:
        offset: Where it is, in code points. Nodes that a macro makes are where the macro's call is.
        type: Its type, once checked.
        declared: The part of the schema that its value has come from, if that is known.
    """

    __slots__ = ("declared", "offset", "type")

    # Subclasses repeat this instead of calling it, which would take a third of the time that a node takes.
    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.type: Type = ERROR
        self.declared: Declared | None = None


class Literal(Node):
    """A number, string, bytes, bool or null. ``value`` stands as in :mod:`extapi.schema.cel.values.values`."""

    __slots__ = ("value",)

    def __init__(self, offset: int, value: Any) -> None:
        self.offset = offset
        self.type = ERROR
        self.declared = None
        self.value = value


class Ident(Node):
    """A variable, or the name of a type. ``name`` begins with a dot if it was written so.

    ``variable`` is filled in by the checker: False for the name of a type.
    """

    __slots__ = ("name", "variable")

    def __init__(self, offset: int, name: str) -> None:
        self.offset = offset
        self.type = ERROR
        self.declared = None
        self.name = name
        self.variable = True


class Select(Node):
    """``operand.field``; with ``test_only``, ``has(operand.field)``.

    ``qualified`` is filled in by the checker: the name, if the whole is a name with dots; ``variable``, whether that is the
    name of a variable, and not of a type. ``path`` is kept by the interpreter: the variable and the fields that lead to the
    operand, if it is nothing else.
    """

    __slots__ = ("field", "operand", "path", "qualified", "test_only", "variable")

    def __init__(self, offset: int, operand: Node, field: str, *, test_only: bool = False) -> None:
        self.offset = offset
        self.type = ERROR
        self.declared = None
        self.operand = operand
        self.field = field
        self.test_only = test_only
        self.path: tuple[str, ...] | None = None
        self.qualified = ""
        self.variable = False


class Call(Node):
    """A call of a function or operator, on ``target`` if there is one.

    Operators have cel-go's names: ``_&&_``, ``_||_``, ``!_``, ``-_``, ``_==_``, ``_!=_``, ``_<_``, ``_<=_``, ``_>_``,
    ``_>=_``, ``@in``, ``_+_``, ``_-_``, ``_*_``, ``_/_``, ``_%_``, ``_?_:_``, ``_[_]``, ``_[?_]``, ``_?._`` (whose
    second argument is a string literal), ``@not_strictly_false``. ``overloads`` is filled in by the checker.
    """

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, offset: int, function: str, target: Node | None, args: list[Node]) -> None:
        self.offset = offset
        self.type = ERROR
        self.declared = None
        self.function = function
        self.target = target
        self.args = args
        self.overloads: tuple[Overload, ...] = ()


class ListLiteral(Node):
    """``[a, ?b]``: ``optionals`` has the indices of elements with a question mark."""

    __slots__ = ("elements", "optionals")

    def __init__(self, offset: int, elements: list[Node], optionals: frozenset[int] = frozenset()) -> None:
        self.offset = offset
        self.type = ERROR
        self.declared = None
        self.elements = elements
        self.optionals = optionals


class MapLiteral(Node):
    """``{a: b, ?c: d}``: keys, values, and whether there is a question mark."""

    __slots__ = ("entries",)

    def __init__(self, offset: int, entries: list[tuple[Node, Node, bool]]) -> None:
        self.offset = offset
        self.type = ERROR
        self.declared = None
        self.entries = entries


class StructLiteral(Node):
    """``name{field: value, ?field: value}``: names, values, whether there is a question mark, and offsets."""

    __slots__ = ("fields", "name")

    def __init__(self, offset: int, name: str, fields: list[tuple[str, Node, bool, int]]) -> None:
        self.offset = offset
        self.type = ERROR
        self.declared = None
        self.name = name
        self.fields = fields


class Comprehension(Node):
    """A loop over ``range``, which only macros make.

    For each element, ``variable`` is the element of a list or the key of a map; with ``variable2``, the index or key, and
    that the element or value. As long as ``condition`` is true, ``accumulator``, which begins as ``initial``, becomes
    ``step``. The value is ``result``.

    ``macro`` names what was written: all, exists, exists_one, filter, map, bind (which ``optMap`` and ``optFlatMap``
    expand to), transform_list, transform_map, transform_map_entry. ``filter_`` and ``body`` are the parts that the author
    wrote, if any: the condition under which an element counts, and what is made of it, or is asked of it.
    """

    __slots__ = (
        "accumulator",
        "body",
        "condition",
        "filter_",
        "initial",
        "macro",
        "range",
        "result",
        "step",
        "variable",
        "variable2",
    )

    def __init__(
        self,
        offset: int,
        *,
        range_: Node,
        variable: str,
        variable2: str = "",
        accumulator: str = ACCUMULATOR,
        initial: Node,
        condition: Node,
        step: Node,
        result: Node,
        macro: str,
        filter_: Node | None = None,
        body: Node | None = None,
    ) -> None:
        self.offset = offset
        self.type = ERROR
        self.declared = None
        self.range = range_
        self.variable = variable
        self.variable2 = variable2
        self.accumulator = accumulator
        self.initial = initial
        self.condition = condition
        self.step = step
        self.result = result
        self.macro = macro
        self.filter_ = filter_
        self.body = body
