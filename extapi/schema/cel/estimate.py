"""What an expression may cost at least and at most, by the sizes that its schema allows.

It is kube-apiserver's estimate to the unit, since it decides which rules may be written. It is no upper bound:
``self.i == 1`` is estimated at 2 and costs 3.

Source: ``cel-go/checker`` cost.go, ``apiextensions-apiserver/pkg/apiserver/schema/cel`` sizeEstimator.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, NamedTuple

from extapi.schema.cel.declarations import NOT_LITERAL, Operand, Overload
from extapi.schema.cel.declared import Declared
from extapi.schema.cel.intervals import LARGEST, NOTHING, ONE, UNKNOWN, Interval, fixed
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
    StructLiteral,
)
from extapi.schema.cel.types import Type, is_optional

LIST_COST: Final = 10
MAP_COST: Final = 30
STRUCT_COST: Final = 40
"""What it costs to make a list, a map, a message."""

_SELECTED: Final = frozenset({"map", "struct", "parameter"})
_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_CONCATENATIONS: Final = frozenset({"add_string", "add_bytes", "add_list"})


class _Path:
    """The way to a value: its variable, then fields, ``@items``, ``@values``, ``@keys`` or ``@indices``.

    It is a slice as Go has them. Paths that begin alike share an array as long as there is room, so a step from one of
    them can replace the last step of another. cel-go's estimates depend on that.
    """

    __slots__ = ("_array", "_length")

    def __init__(self, array: list[str], length: int) -> None:
        self._array = array
        self._length = length

    def step(self, name: str) -> _Path:
        """This path and one step more."""
        array, length = self._array, self._length
        if length == len(array):
            array = [*array, *[""] * max(length, 1)]
        array[length] = name
        return _Path(array, length + 1)

    def parts(self) -> list[str]:
        """The variable and the steps."""
        return self._array[: self._length]


_NOWHERE: Final = _Path([], 0)


class _Entries(NamedTuple):
    """The sizes of what is in a list or map."""

    kind: str
    key: Interval
    value: Interval


class _Local(NamedTuple):
    """A variable of a macro."""

    path: _Path
    size: Interval | None
    entries: _Entries | None


def estimate(root: Node, declared: Declared | None) -> Interval:
    """The cost of a checked expression; ``declared`` is the schema of its variables."""
    return _Estimator(declared).cost(root)


class _Estimator:
    __slots__ = ("_declared", "_entries", "_locals", "_paths", "_sizes")

    def __init__(self, declared: Declared | None) -> None:
        self._declared = declared
        self._paths: dict[Node, _Path] = {}
        self._sizes: dict[Node, Interval] = {}
        self._entries: dict[Node, _Entries] = {}
        self._locals: dict[str, list[_Local]] = {}

    def cost(self, node: Node) -> Interval:
        found: Interval = _COSTS[type(node)](self, node)
        return found

    def _literal(self, _: Literal) -> Interval:
        return NOTHING

    def _ident(self, node: Ident) -> Interval:
        local = self._local(node.name)
        self._paths[node] = _NOWHERE.step(node.name.removeprefix(".")) if local is None else local.path
        return ONE

    def _select(self, node: Select) -> Interval:
        if node.qualified:
            self._paths[node] = _NOWHERE.step(node.qualified)
            return ONE
        cost = self.cost(node.operand)
        if node.test_only:
            return cost
        self._paths[node] = self._path(node.operand).step(node.field)
        return cost.plus(ONE) if node.operand.type.kind in _SELECTED else cost

    def _list(self, node: ListLiteral) -> Interval:
        cost = fixed(LIST_COST)
        item = Interval(LARGEST if node.elements else 0, 0)
        for each in node.elements:
            cost = cost.plus(self.cost(each))
            item = item.union(self.size_or_unknown(each))
        self._entries[node] = _Entries("list", ONE, item)
        return cost

    def _map(self, node: MapLiteral) -> Interval:
        cost = fixed(MAP_COST)
        keys = values = Interval(LARGEST if node.entries else 0, 0)
        for key, value, _ in node.entries:
            cost = cost.plus(self.cost(key)).plus(self.cost(value))
            keys = keys.union(self.size_or_unknown(key))
            values = values.union(self.size_or_unknown(value))
        self._entries[node] = _Entries("map", keys, values)
        return cost

    def _struct(self, node: StructLiteral) -> Interval:
        cost = fixed(STRUCT_COST)
        for _, value, _, _ in node.fields:
            cost = cost.plus(self.cost(value))
        return cost

    def _call(self, node: Call) -> Interval:
        if node.function == "dyn":
            cost = ONE.plus(self.cost(node.args[0]))
            self._copy_sizes(node.args[0], node)
            return cost
        costs: list[Interval] = []
        arguments: list[_Node] = []
        for each in node.args:  # not a comprehension, which would be one more frame per level
            costs.append(self.cost(each))
            arguments.append(_Node(self, each))
        cost, target = NOTHING, None
        if node.target is not None:
            cost = self.cost(node.target)
            target = _Node(self, node.target)
        call = Interval(LARGEST, 0)
        size: Interval | None = None
        for overload in node.overloads:
            found, result = self._overload(node, overload, target, arguments, costs)
            call = call.union(found)
            if result is not None:
                size = result if size is None else size.union(result)
            if overload.id in {"index_list", "index_map"}:
                entries = self._entries_of(node.args[0])
                size = None if entries is None else entries.value
                step = "@items" if overload.id == "index_list" else "@values"
                self._paths[node] = self._path(node.args[0]).step(step)
            if size is None:
                size = self.size(node)
        if size is not None:
            self._sizes[node] = size
        return cost.plus(call)

    def _overload(
        self, node: Call, overload: Overload, target: Operand | None, arguments: list[_Node], costs: list[Interval]
    ) -> tuple[Interval, Interval | None]:
        """The cost of a call with its arguments, and the size of its result."""
        match overload.id:
            case "logical_or" | "logical_and":
                return Interval(costs[0].min, costs[0].plus(costs[1]).max), None
            case "conditional":
                self._union_entries(node, node.args[1], node.args[2])
                size = self.size_or_unknown(node.args[1]).union(self.size_or_unknown(node.args[2]))
                return costs[0].plus(costs[1].union(costs[2])), size
        if overload.id in _CONCATENATIONS:
            self._union_entries(node, node.args[0], node.args[1])
        cost, result = (ONE, None) if overload.estimate is None else overload.estimate(target, arguments)
        for each in costs:
            cost = cost.plus(each)
        return cost, result

    def _comprehension(self, node: Comprehension) -> Interval:
        cost = self.cost(node.range).plus(self.cost(node.initial))
        self._push(node.accumulator, self._path(node.initial), self.size(node.initial), self._entries_of(node.initial))
        if node.macro == "bind":
            cost = cost.plus(self.cost(node.result))
            self._locals[node.accumulator].pop()
            self._copy_sizes(node.result, node)
            return cost
        self._push_variables(node)
        turn = self.cost(node.condition).plus(self.cost(node.step))
        self._locals[node.variable].pop()
        if node.variable2:
            self._locals[node.variable2].pop()
        cost = cost.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        turns = self.size_or_unknown(node.range)
        if isinstance(node.initial, Literal):
            self._sizes[node] = self.size_or_unknown(node.initial)
        elif isinstance(node.initial, ListLiteral | MapLiteral):
            self._sizes[node] = turns
            entries = self._entries_of(node.step)
            if entries is not None:
                self._entries[node] = entries
        return cost.plus(turns.times(turn))

    def _push_variables(self, node: Comprehension) -> None:
        entries = self._entries_of(node.range)
        kind = node.range.type.kind if entries is None else entries.kind
        path = self._path(node.range)
        key, value = (None, None) if entries is None else (entries.key, entries.value)
        if node.variable2:
            self._push(node.variable, path.step("@indices" if kind == "list" else "@keys"), key, None)
            self._push(node.variable2, path.step("@items" if kind == "list" else "@values"), value, None)
        elif kind == "list":
            self._push(node.variable, path.step("@items"), value, None)
        else:
            self._push(node.variable, path.step("@keys"), key, None)

    def _push(self, name: str, path: _Path, size: Interval | None, entries: _Entries | None) -> None:
        self._locals.setdefault(name, []).append(_Local(path, size, entries))

    def _local(self, name: str) -> _Local | None:
        found = self._locals.get(name)
        return found[-1] if found else None

    def _path(self, node: Node) -> _Path:
        if isinstance(node, Ident):
            local = self._local(node.name)
            if local is not None:
                return local.path
        return self._paths.get(node, _NOWHERE)

    def size_of_elements(self, node: Node) -> Interval | None:
        """The size of the elements of a list, as its schema has it. Accumulators have none."""
        path = self._path(node).parts()
        return self._size_at([*path, "@items"]) if path and path[0] != ACCUMULATOR else None

    def _size_at(self, path: list[str]) -> Interval | None:
        """The size that the schema allows at a path, whose first part is the variable."""
        declared = self._declared
        if declared is None or not path:
            return None
        for step in path[1:]:
            if step == "@keys":
                return NOTHING if declared.type.kind == "map" else None
            if step in {"@items", "@values"}:
                found = declared.element
            else:
                named = declared.fields.get(step)
                found = None if named is None else named[1]
            if found is None:
                return None
            declared = found
        return Interval(0, declared.max_elements)

    def size(self, node: Node) -> Interval | None:
        """The size of a node's value, as far as it is known."""
        found = self._sizes.get(node)
        if found is not None:
            return found
        if isinstance(node, Literal):
            return fixed(len(node.value)) if isinstance(node.value, str | bytes) else ONE
        if isinstance(node, ListLiteral):
            return fixed(len(node.elements))
        if isinstance(node, MapLiteral):
            return fixed(len(node.entries))
        found = self._size_at(self._path(node).parts())
        if found is not None:
            self._sizes[node] = found
            return found
        if _is_scalar(node.type):
            return ONE
        local = self._local(node.name) if isinstance(node, Ident) else None
        return None if local is None else local.size

    def size_or_unknown(self, node: Node) -> Interval:
        """The size of a node's value."""
        found = self.size(node)
        return UNKNOWN if found is None else found

    def _entries_of(self, node: Node) -> _Entries | None:
        found = self._entries.get(node)
        if found is None and isinstance(node, Ident):
            local = self._local(node.name)
            return None if local is None else local.entries
        return found

    def _union_entries(self, node: Node, first: Node, second: Node) -> None:
        one, other = self._entries_of(first), self._entries_of(second)
        if one is not None and other is not None:
            self._entries[node] = _Entries(one.kind, one.key.union(other.key), one.value.union(other.value))

    def _copy_sizes(self, source: Node, node: Node) -> None:
        size = self.size(source)
        if size is not None:
            self._sizes[node] = size
        entries = self._entries_of(source)
        if entries is not None:
            self._entries[node] = entries

    by_node: ClassVar[dict[type[Node], Any]] = {
        Call: _call,
        Comprehension: _comprehension,
        Ident: _ident,
        ListLiteral: _list,
        Literal: _literal,
        MapLiteral: _map,
        Select: _select,
        StructLiteral: _struct,
    }
    """How each kind of node is done."""


_COSTS: Final = _Estimator.by_node


class _Node:
    """An argument, to the estimate of an overload."""

    __slots__ = ("_computed", "_estimator", "_node", "type")

    def __init__(self, estimator: _Estimator, node: Node) -> None:
        self._estimator = estimator
        self._node = node
        self._computed = estimator.size(node)
        self.type: Type = node.type

    def size(self) -> Interval:
        return UNKNOWN if self._computed is None else self._computed

    def computed_size(self) -> Interval | None:
        return self._computed

    def element(self) -> Operand | None:
        if not self.type.parameters:
            return None
        size = self._estimator.size_of_elements(self._node)
        return _Element(self.type.parameters[0], UNKNOWN if size is None else size)

    def literal(self) -> Any:
        return self._node.value if isinstance(self._node, Literal) else NOT_LITERAL


class _Element:
    """What stands for the elements of a list."""

    __slots__ = ("_size", "type")

    def __init__(self, type_: Type, size: Interval) -> None:
        self.type = type_
        self._size = size

    def size(self) -> Interval:
        return self._size

    def computed_size(self) -> Interval | None:
        return None

    def element(self) -> Operand | None:
        return None

    def literal(self) -> Any:
        return NOT_LITERAL


def _is_scalar(type_: Type) -> bool:
    if is_optional(type_):
        return _is_scalar(type_.parameters[0])
    return type_.kind in _SCALARS
