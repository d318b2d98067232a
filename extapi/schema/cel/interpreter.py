"""Evaluates an expression node by node, exactly as cel-go does: every error, and every unit of cost.

Generated code (:mod:`extapi.schema.cel.emit`) is what usually runs. It gives up at the first error, even one that ``||``
would absorb, since what cel-go evaluates and charges after an error is intricate: both operands of a sum are evaluated,
and a call whose argument failed still costs. Then the expression is evaluated again, here.

Errors are values here: EvaluationError is returned, never raised, so that what stands beside can be evaluated.

Source: ``cel-go/interpreter`` interpretable.go, attributes.go and runtimecost.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from extapi.schema.cel.calling import call_dispatched
from extapi.schema.cel.cost.estimate import LIST_COST, MAP_COST, STRUCT_COST
from extapi.schema.cel.environment import Environment
from extapi.schema.cel.errors import CostLimitExceededError, DeadlineExceededError, EvaluationError, PanicError
from extapi.schema.cel.escaping import escape
from extapi.schema.cel.messages import make_message
from extapi.schema.cel.prices import call_cost, constant_pattern, is_constant_set
from extapi.schema.cel.qualification import ABSENT, KEYS, find, missing, qualify
from extapi.schema.cel.reading import Typed, equal_read, materialized, read, without_schema
from extapi.schema.cel.syntax.nodes import (
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
from extapi.schema.cel.values.showing import go_type, show
from extapi.schema.cel.values.values import (
    NONE,
    OptionalValue,
    some,
)
from extapi.schema.structural import MISSING

CHECK_FREQUENCY: Final = 100
"""After how many turns of a loop the deadline is looked at."""

_UNHASHABLE: Final = "runtime error: hash of unhashable type"
_NO_OVERLOAD: Final = "no such overload"
_INDEXING: Final = frozenset({"_[_]", "_[?_]", "_?._"})
_OPTIONAL: Final = frozenset({"_[?_]", "_?._"})
_PASSING: Final = frozenset({"optional.of", "optional.ofNonZeroValue", "value", "hasValue", "dyn"})
"""Functions that pass values on as they are."""
_ALTERNATIVES: Final = frozenset({"or", "orValue"})


class _Lazy:
    """A variable of ``optMap``, evaluated when it is first asked for."""

    __slots__ = ("node", "value")

    def __init__(self, node: Node) -> None:
        self.node: Node | None = node
        self.value: Any = None


class Interpreter:
    """One evaluation.

    Attributes:
        cost: What it has cost so far.
    """

    __slots__ = ("_expired", "_limit", "_turns", "_variables", "cost")

    def __init__(
        self, environment: Environment, values: Sequence[Any], *, limit: int, expired: Callable[[], bool] | None = None
    ) -> None:
        self.cost = 0
        self._limit = limit
        self._expired = expired
        self._turns = 0
        self._variables: dict[str, Any] = {}
        for variable, value in zip(environment.variables, values, strict=True):
            self._variables[variable.name] = _variable(variable.declared, value, optional=variable.optional)

    def evaluate(self, node: Node) -> Any:
        """The value of a node, or an EvaluationError.

        Raises:
            CostLimitExceededError: It costs too much.
            DeadlineExceededError: Its time is up.
        """
        return _EVALUATE[type(node)](self, node)

    def _charge(self, cost: int) -> None:
        self.cost += cost
        if self.cost > self._limit:
            raise CostLimitExceededError(self.cost)

    def _literal(self, node: Literal) -> Any:
        return node.value

    def _attribute(self, node: Node) -> Any:
        value = self._resolve(node, [])
        if not _is_conditional(node):
            self._charge(1)
        return value

    def _presence(self, node: Select) -> Any:
        """``has(operand.field)``: the variable's own unit is taken back."""
        value = self._resolve(node.operand, [_Presence(node.field)])
        if _is_conditional(node.operand):
            self.cost -= 1
        if type(value) is OptionalValue:
            return value.present
        return value

    def _select(self, node: Select) -> Any:
        return self._presence(node) if node.test_only else self._attribute(node)

    def _resolve(self, node: Node, qualifiers: list[_Qualifier]) -> Any:
        """The value of an attribute, qualified by what follows it. Qualifiers cost a unit each, the attribute nothing."""
        while True:
            if isinstance(node, Select) and not node.test_only and not node.qualified:
                qualifiers.append(_Qualifier(node.field))
                node = node.operand
            elif isinstance(node, Call) and node.function in _INDEXING:
                index = node.args[1]
                optional = node.function in _OPTIONAL
                if isinstance(index, Literal):
                    qualifiers.append(_Qualifier(index.value, optional=optional))
                else:
                    qualifiers.append(_Qualifier(optional=optional, node=index))
                node = node.args[0]
            else:
                break
        if isinstance(node, Ident):
            return self._qualified(self._variable(node), qualifiers)
        if isinstance(node, Call) and node.function == "_?_:_":
            condition = self.evaluate(node.args[0])
            if condition is True:
                return self._branch(node.args[1], qualifiers)
            if condition is False:
                return self._branch(node.args[2], qualifiers)
            return condition if isinstance(condition, EvaluationError) else EvaluationError(_NO_OVERLOAD)
        if isinstance(node, Select) and node.test_only:
            # In a choice, cel-go forgets that presence is asked for: what is behind an optional stays one.
            return self._resolve(node.operand, [_Presence(node.field)])
        return self._qualified(self.evaluate(node), qualifiers)

    def _branch(self, node: Node, qualifiers: list[_Qualifier]) -> Any:
        return self._resolve(node, qualifiers)

    def _variable(self, node: Ident) -> Any:
        name = node.name.removeprefix(".")
        value = self._variables.get(name, MISSING)
        if type(value) is _Lazy:
            if value.node is not None:
                initial, value.node = value.node, None
                value.value = self.evaluate(initial)
            return value.value
        if value is MISSING:
            return EvaluationError(f"no such attribute(s): {name}")
        return value

    def _qualified(self, value: Any, qualifiers: list[_Qualifier]) -> Any:
        """The value after its qualifiers, which were gathered from the last to the first."""
        if isinstance(value, EvaluationError):
            return value
        optional = type(value) is OptionalValue
        if optional:
            if not value.present:
                return value
            value = without_schema(value.value)
            if isinstance(value, EvaluationError) and qualifiers:
                return value
        for qualifier in reversed(qualifiers):
            optional = optional or qualifier.optional
            key = qualifier.key if qualifier.node is None else self._index(qualifier.node)
            if isinstance(key, EvaluationError):
                if not optional:
                    self._charge(1)
                return key
            found = _found(value, key)
            if type(qualifier) is _Presence:
                if isinstance(found, EvaluationError):
                    self._charge(1)
                    return found
                if optional:
                    if found is ABSENT:
                        return NONE
                    self._charge(1)
                    return some(found)
                self._charge(1)
                return found is not ABSENT
            if optional:
                if isinstance(found, EvaluationError):
                    return found
                if found is ABSENT:
                    return NONE
                self._charge(1)
            else:
                self._charge(1)
                if isinstance(found, EvaluationError):
                    return found
                if found is ABSENT:
                    return missing(value, key)
            value = found
        return some(value) if optional else value

    def _index(self, node: Node) -> Any:
        """An index that is no literal: an attribute does not cost its own unit here."""
        key = self._resolve(node, []) if _is_attribute(node) else self.evaluate(node)
        if isinstance(key, EvaluationError) or type(key) in KEYS:
            return key
        return EvaluationError(f"invalid qualifier type: {go_type(key.raw if type(key) is Typed else key)}")

    def _call(self, node: Call) -> Any:
        function = node.function
        if function in {"_&&_", "_||_"}:
            return self._logic(node, absorbing=function == "_||_")
        if function in _INDEXING or function == "_?_:_":
            return self._attribute(node)
        if function in {"_==_", "_!=_"}:
            return self._equality(node)
        if function == "@in" and is_constant_set(node):
            return self._member(node)
        if function == "@not_strictly_false":
            value = self.evaluate(node.args[0])
            self._charge(1)
            return value if type(value) is bool else True
        target = node.target
        if function in _ALTERNATIVES and target is not None and len(node.args) == 1:
            return self._alternative(node, target)
        parts = node.args if target is None else [target, *node.args]
        values: list[Any] = []
        error: EvaluationError | None = None
        strict = all(overload.strict for overload in node.overloads)
        stops = strict and (len(parts) > 2 or constant_pattern(node))
        for part in parts:
            value = _EVALUATE[type(part)](self, part)
            if type(value) is Typed or type(value) is OptionalValue:
                value = _argument(node.function, value)
            if strict and isinstance(value, EvaluationError):
                if stops and len(values) < len(parts) - 1:
                    return value  # and costs nothing, since cel-go does not find the arguments that come after it
                error = error or value
            values.append(value)
        result: Any = error
        if error is None:
            self._precharge(node, values)
            try:
                result = call_dispatched(node.overloads, values)
            except PanicError:
                raise
            except EvaluationError as failure:
                result = failure
        self._charge(call_cost(node, values, result))
        return result

    def _alternative(self, node: Call, target: Node) -> Any:
        """``or`` and ``orValue``, which are free and look at their argument only if they need it."""
        value = self.evaluate(target)
        if type(value) is not OptionalValue:
            return value
        if value.present:
            return value.value if node.function == "orValue" else value
        return self.evaluate(node.args[0])

    def _precharge(self, node: Call, values: list[Any]) -> None:
        """Refuse a call that would cost more than is left, before it does its work."""
        before = call_cost(node, values, None)
        if self.cost + before > self._limit:
            raise CostLimitExceededError(self.cost + before)

    def _logic(self, node: Call, *, absorbing: bool) -> Any:
        error: EvaluationError | None = None
        for each in node.args:
            value = _EVALUATE[type(each)](self, each)
            if value is absorbing:
                return absorbing
            if value is not (not absorbing) and error is None:
                error = value if isinstance(value, EvaluationError) else EvaluationError(_NO_OVERLOAD)
        return (not absorbing) if error is None else error

    def _equality(self, node: Call) -> Any:
        one, other = node.args
        first = _EVALUATE[type(one)](self, one)
        second = _EVALUATE[type(other)](self, other)
        result: Any
        if isinstance(first, EvaluationError):
            result = first
        elif isinstance(second, EvaluationError):
            result = second
        else:
            try:
                same = equal_read(first, second)
                result = same is (node.function == "_==_")
            except PanicError:
                raise
            except EvaluationError as error:
                result = error
        self._charge(call_cost(node, [_sized(first), _sized(second)], result))
        return result

    def _member(self, node: Call) -> Any:
        """``x in [...]`` with literals: free, but for what x costs."""
        value = self.evaluate(node.args[0])
        if isinstance(value, EvaluationError):
            return value
        members = node.args[1].value  # type: ignore[attr-defined] # it is a literal
        return find(dict.fromkeys(members, True), materialized(value)) is True

    def _list(self, node: ListLiteral) -> Any:
        made: list[Any] = []
        for index, each in enumerate(node.elements):
            value = self.evaluate(each)
            if isinstance(value, EvaluationError):
                return self._constructed(LIST_COST, value)
            if index in node.optionals:
                if type(value) is not OptionalValue:
                    error = EvaluationError(
                        f"cannot initialize optional list element from non-optional value {show(value)}"
                    )
                    return self._constructed(LIST_COST, error)
                if value.present:
                    made.append(materialized(value.value))
                continue
            made.append(materialized(value))
        return self._constructed(LIST_COST, made)

    def _map(self, node: MapLiteral) -> Any:
        made: dict[Any, Any] = {}
        for key_node, value_node, optional in node.entries:
            key = self.evaluate(key_node)
            if isinstance(key, EvaluationError):
                return self._constructed(MAP_COST, key)
            value = self.evaluate(value_node)
            if isinstance(value, EvaluationError):
                return self._constructed(MAP_COST, value)
            key = materialized(key)
            if optional:
                if type(value) is not OptionalValue:
                    error = EvaluationError(
                        f"cannot initialize optional entry '{show(key)}' from non-optional value {show(value)}"
                    )
                    return self._constructed(MAP_COST, error)
                if not value.present:
                    made.pop(key, None)
                    continue
                value = value.value
            try:
                made[key] = materialized(value)
            except TypeError:
                raise PanicError(_UNHASHABLE) from None
        return self._constructed(MAP_COST, made)

    def _struct(self, node: StructLiteral) -> Any:
        fields: dict[str, Any] = {}
        for name, value_node, optional, _ in node.fields:
            value = self.evaluate(value_node)
            if isinstance(value, EvaluationError):
                return self._constructed(STRUCT_COST, value)
            if optional:
                if type(value) is not OptionalValue:
                    error = EvaluationError(
                        f"cannot initialize optional entry '{name}' from non-optional value {show(value)}"
                    )
                    return self._constructed(STRUCT_COST, error)
                if not value.present:
                    fields.pop(name, None)
                    continue
                value = value.value
            fields[name] = materialized(value)
        try:
            made = make_message(node.name.removeprefix("."), fields)
        except EvaluationError as error:
            made = error
        return self._constructed(STRUCT_COST, made)

    def _constructed(self, cost: int, value: Any) -> Any:
        self._charge(cost)
        return value

    def _comprehension(self, node: Comprehension) -> Any:
        names = (node.accumulator, node.variable, node.variable2)
        variables = self._variables
        if node.macro == "bind":
            before = {name: variables.get(name, MISSING) for name in names}
            variables[node.accumulator] = _Lazy(node.initial)
            value = self.evaluate(node.result)
            self._restore(before)
            return value
        within = self.evaluate(node.range)
        if isinstance(within, EvaluationError):
            return within
        try:
            turns = _turns(within, two=bool(node.variable2))
        except EvaluationError as error:
            return error
        before = {name: variables.get(name, MISSING) for name in names}
        variables[node.accumulator] = _initial(node.initial)
        for first, second in turns:
            variables[node.variable] = first
            if node.variable2:
                variables[node.variable2] = second
            if self.evaluate(node.condition) is False:
                break
            variables[node.accumulator] = self.evaluate(node.step)
            self._turns += 1
            if self._expired is not None and self._turns % CHECK_FREQUENCY == 0 and self._expired():
                raise DeadlineExceededError
        for name in names[1:]:
            if before[name] is MISSING:
                variables.pop(name, None)
            else:
                variables[name] = before[name]
        value = self.evaluate(node.result)
        self._restore(before)
        return value

    def _restore(self, before: dict[str, Any]) -> None:
        for name, value in before.items():
            if value is MISSING:
                self._variables.pop(name, None)
            else:
                self._variables[name] = value


class _Qualifier:
    """A field, key or index that is asked for: ``key``, or what ``node`` evaluates to."""

    __slots__ = ("key", "node", "optional")

    def __init__(self, key: Any = None, *, optional: bool = False, node: Node | None = None) -> None:
        self.key = key
        self.optional = optional
        self.node = node


class _Presence(_Qualifier):
    """A field whose presence is asked for."""

    __slots__ = ()


def _argument(function: str, value: Any) -> Any:
    """An argument of a function, read as far as the function needs it."""
    if function in _PASSING:
        return value
    if function == "size" and type(value) is Typed:
        return value.raw
    try:
        return materialized(value)
    except EvaluationError as error:
        return error


def _sized(value: Any) -> Any:
    """Something of the same size, without a schema."""
    if type(value) is OptionalValue and type(value.value) is Typed:
        return some(value.value.raw)
    return value.raw if type(value) is Typed else value


def _variable(declared: Any, value: Any, *, optional: bool) -> Any:
    if optional:
        return NONE if value is MISSING or value is None else some(_read(declared, value))
    return value if value is MISSING or declared is None else _read(declared, value)


def _read(declared: Any, value: Any) -> Any:
    try:
        return read(declared, value)
    except EvaluationError as error:
        return error


def _initial(node: Node) -> Any:
    """What an accumulator begins with: true, false, a number, an empty list or map."""
    value = node.value if isinstance(node, Literal) else None
    return value.copy() if isinstance(value, list | dict) else value


def _found(value: Any, key: Any) -> Any:
    try:
        return qualify(value, key)
    except EvaluationError as error:
        return error


def _turns(within: Any, *, two: bool) -> Iterable[tuple[Any, Any]]:
    """The variables of each turn of a loop.

    Raises:
        EvaluationError: There is nothing to loop over.
    """
    if type(within) is Typed:
        return _typed_turns(within, two=two)
    if isinstance(within, list):
        return enumerate(list(within)) if two else ((each, None) for each in list(within))
    if isinstance(within, dict):
        return list(within.items())
    if two:
        raise EvaluationError(f"unsupported comprehension range type: {go_type(within)}")
    raise EvaluationError(f"got '{go_type(within)}', expected iterable type")


def _typed_turns(within: Typed, *, two: bool) -> Iterable[tuple[Any, Any]]:
    declared, raw = within.declared, within.raw
    if isinstance(raw, list):
        values = [_read(declared.element, each) for each in raw]
        return enumerate(values) if two else ((each, None) for each in values)
    if declared.element is not None:
        return [(key, _read(declared.element, value)) for key, value in raw.items()]
    return [
        (escape(key) or key, _read(declared.properties[key], value))
        for key, value in raw.items()
        if key in declared.properties
    ]


def _is_conditional(node: Node) -> bool:
    """Whether an attribute is one of two, chosen by a condition: it then has no cost of its own."""
    while True:
        if isinstance(node, Select) and not node.test_only and not node.qualified:
            node = node.operand
        elif isinstance(node, Call) and node.function in _INDEXING:
            node = node.args[0]
        else:
            return isinstance(node, Call) and node.function == "_?_:_"


def _is_attribute(node: Node) -> bool:
    if isinstance(node, Call):
        return node.function in _INDEXING or node.function == "_?_:_"
    return isinstance(node, Ident) or (isinstance(node, Select) and not node.test_only)


_EVALUATE: Final[dict[type[Node], Any]] = {
    Call: Interpreter._call,
    Comprehension: Interpreter._comprehension,
    Ident: Interpreter._attribute,
    ListLiteral: Interpreter._list,
    Literal: Interpreter._literal,
    MapLiteral: Interpreter._map,
    Select: Interpreter._select,
    StructLiteral: Interpreter._struct,
}
