"""Evaluates an expression node by node, exactly as cel-go does: every error, and every unit of cost.

Generated code (:mod:`extapi.schema.cel.emit`) is what usually runs. It gives up at the first error, even one that ``||``
would absorb, since what cel-go evaluates and charges after an error is intricate: both operands of a sum are evaluated,
and a call whose argument failed still costs. Then the expression is evaluated again, here.

Errors are values here: EvaluationError is returned, never raised, so that what stands beside can be evaluated.

Source: ``cel-go/interpreter`` interpretable.go, attributes.go and runtimecost.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from extapi.schema.cel.environment import Environment
from extapi.schema.cel.errors import CostLimitExceededError, DeadlineExceededError, EvaluationError, PanicError
from extapi.schema.cel.estimate import LIST_COST, MAP_COST, STRUCT_COST
from extapi.schema.cel.evaluation.attributes import CHOICE, INDEXING
from extapi.schema.cel.evaluation.calling import call_dispatched
from extapi.schema.cel.evaluation.iteration import initial, turns
from extapi.schema.cel.evaluation.prices import (
    call_cost,
    constant_pattern,
    is_constant_set,
    is_underpriced,
    stops_at_error,
)
from extapi.schema.cel.evaluation.qualification import find
from extapi.schema.cel.evaluation.reading import Typed, equal_read, materialized, read_or_error, sized
from extapi.schema.cel.evaluation.resolver import NO_OVERLOAD, LazyValue, Resolver
from extapi.schema.cel.messages import MESSAGES, make_message
from extapi.schema.cel.patchtypes import maker
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
from extapi.schema.cel.values.showing import show
from extapi.schema.cel.values.sizes import tenth
from extapi.schema.cel.values.values import OptionalValue
from extapi.schema.structural import MISSING

_UNHASHABLE: Final = "runtime error: hash of unhashable type"
_PASSING: Final = frozenset({"optional.of", "optional.ofNonZeroValue", "value", "hasValue", "dyn"})
"""Functions that pass values on as they are."""
_PLAIN: Final = frozenset({bool, int, str})
_LARGE: Final = (Typed, list, dict, OptionalValue)
"""Values whose comparison may take long."""


class Interpreter(Resolver):
    """One evaluation."""

    __slots__ = ("_expired",)

    def __init__(
        self, environment: Environment, values: Sequence[Any], *, limit: int, expired: Callable[[], bool] | None = None
    ) -> None:
        super().__init__(environment, values, limit=limit)
        self._expired = expired

    def evaluate(self, node: Node) -> Any:
        """The value of a node, or an EvaluationError.

        Raises:
            CostLimitExceededError: It costs too much.
            DeadlineExceededError: Its time is up.
            PanicError: cel-go would panic.
        """
        return _EVALUATE[type(node)](self, node)

    def _look_at_clock(self) -> None:
        """Stop if the time is up."""
        if self._expired is not None and self._expired():
            raise DeadlineExceededError

    def _literal(self, node: Literal) -> Any:
        return node.value

    def _call(self, node: Call) -> Any:
        special = _SPECIAL.get(node.function)
        return self._called(node) if special is None else special(self, node)

    def _called(self, node: Call) -> Any:
        """A call of a function about which there is nothing special."""
        target = node.target
        parts = node.args if target is None else [target, *node.args]
        values: list[Any] = []
        error: EvaluationError | None = None
        strict = all(overload.strict for overload in node.overloads)
        stops = strict and stops_at_error(node, len(parts))
        for part in parts:
            value = _EVALUATE[type(part)](self, part)
            if type(value) is Typed or type(value) is OptionalValue:
                value = _argument(node.function, value)
                self._look_at_clock()
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
                result = _worded(node, values, failure)
            if is_underpriced(node):
                self._look_at_clock()
        self.charge(call_cost(node, values, result))
        return result

    def _alternative(self, node: Call) -> Any:
        """``or`` and ``orValue``, which are free and look at their argument only if they need it."""
        if node.target is None or len(node.args) != 1:
            return self._called(node)
        value = self.evaluate(node.target)
        if type(value) is not OptionalValue:
            return value
        if value.present:
            return value.value if node.function == "orValue" else value
        return self.evaluate(node.args[0])

    def _precharge(self, node: Call, values: list[Any]) -> None:
        """Refuse a call that would cost more than is left, before it does its work."""
        after = self.cost + call_cost(node, values, None)
        if after > self._limit:
            raise CostLimitExceededError(after)

    def _not_strictly_false(self, node: Call) -> Any:
        value = self.evaluate(node.args[0])
        self.charge(1)
        return value if type(value) is bool else True

    def _logic(self, node: Call) -> Any:
        absorbing = node.function == "_||_"
        error: EvaluationError | None = None
        for each in node.args:
            value = _EVALUATE[type(each)](self, each)
            if value is absorbing:
                return absorbing
            if value is not (not absorbing) and error is None:
                error = value if isinstance(value, EvaluationError) else EvaluationError(NO_OVERLOAD)
        return (not absorbing) if error is None else error

    def _equality(self, node: Call) -> Any:
        one, other = node.args
        first = _EVALUATE[type(one)](self, one)
        second = _EVALUATE[type(other)](self, other)
        result: Any
        kind = type(first)
        if kind is type(second) and kind in _PLAIN:
            self.charge(tenth(min(len(first), len(second))) if kind is str else 1)
            return (first == second) is (node.function == "_==_")
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
                result = error if node.function == "_==_" else True  # as in Go, what cannot be compared is not the same
            if isinstance(first, _LARGE):
                self._look_at_clock()
        self.charge(call_cost(node, [sized(first), sized(second)], result))
        return result

    def _member(self, node: Call) -> Any:
        """``x in [...]`` with literals: free, but for what x costs."""
        value = self.evaluate(node.args[0])
        if isinstance(value, EvaluationError):
            return value
        members = node.args[1].value  # type: ignore[attr-defined] # it is a literal
        return find(dict.fromkeys(members, True), materialized(value)) is True

    def _membership(self, node: Call) -> Any:
        """``x in y``."""
        if is_constant_set(node):
            return self._member(node)
        values = [_EVALUATE[type(each)](self, each) for each in node.args]
        result: Any = next((each for each in values if isinstance(each, EvaluationError)), None)
        within = values[1]
        if result is None and type(within) is Typed and isinstance(within.raw, list):
            result = _contains(within, values[0])
        elif result is None and type(within) is Typed and type(values[0]) is not str:
            result = EvaluationError(NO_OVERLOAD)  # a map of a schema has no other keys
        elif result is None:
            read = [_argument("@in", each) for each in values]
            result = next((each for each in read if isinstance(each, EvaluationError)), None)
            if result is None:
                try:
                    result = call_dispatched(node.overloads, read)
                except PanicError:
                    raise
                except EvaluationError as failure:
                    result = failure
        self._look_at_clock()
        self.charge(call_cost(node, [sized(each) for each in values], result))
        return result

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
            if type(key) is bytes:
                raise PanicError(f"{_UNHASHABLE} types.Bytes")
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
            name = node.name.removeprefix(".")
            made = make_message(name, fields) if name in MESSAGES else maker(node.type)(fields)
        except EvaluationError as error:
            made = error
        return self._constructed(STRUCT_COST, made)

    def _constructed(self, cost: int, value: Any) -> Any:
        self.charge(cost)
        return value

    def _comprehension(self, node: Comprehension) -> Any:
        names = (node.accumulator, node.variable, node.variable2)
        variables = self.variables
        if node.macro == "bind":
            before = {name: variables.get(name, MISSING) for name in names}
            variables[node.accumulator] = LazyValue(node.initial)
            value = self.evaluate(node.result)
            self._restore(before)
            return value
        within = self.evaluate(node.range)
        if isinstance(within, EvaluationError):
            return within
        try:
            seen = turns(within, two=bool(node.variable2))
        except EvaluationError as error:
            return error
        before = {name: variables.get(name, MISSING) for name in names}
        variables[node.accumulator] = initial(node.initial)
        for first, second in seen:
            variables[node.variable] = first
            if node.variable2:
                variables[node.variable2] = second
            if self.evaluate(node.condition) is False:
                break
            variables[node.accumulator] = self.evaluate(node.step)
            self._look_at_clock()
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
                self.variables.pop(name, None)
            else:
                self.variables[name] = value

    by_node: ClassVar[dict[type[Node], Any]] = {
        Call: _call,
        Comprehension: _comprehension,
        Ident: Resolver.ident,
        ListLiteral: _list,
        Literal: _literal,
        MapLiteral: _map,
        Select: Resolver.select,
        StructLiteral: _struct,
    }
    """How each kind of node is done."""
    by_function: ClassVar[dict[str, Any]] = {
        **dict.fromkeys((*INDEXING, CHOICE), Resolver.attribute),
        **dict.fromkeys(("_&&_", "_||_"), _logic),
        **dict.fromkeys(("_==_", "_!=_"), _equality),
        **dict.fromkeys(("or", "orValue"), _alternative),
        "@in": _membership,
        "@not_strictly_false": _not_strictly_false,
    }
    """How calls are done about which there is something special."""


_EVALUATE: Final = Interpreter.by_node
_SPECIAL: Final = Interpreter.by_function


def _worded(node: Call, values: list[Any], failure: EvaluationError) -> EvaluationError:
    """The error of a call. ``matches`` says more if its pattern is no literal: cel-go then calls something else."""
    if node.function == "matches" and str(failure) == NO_OVERLOAD and not constant_pattern(node):
        return failure if isinstance(values[0], str) else EvaluationError(f"{NO_OVERLOAD}: matches")
    return failure


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


def _contains(within: Typed, value: Any) -> Any:
    """Whether a list of a schema has an element. Those that cannot be compared with the value are an error if none is it.

    Source: ``k8s.io/apiserver/pkg/cel/common`` unstructuredList.Contains.
    """
    error: EvaluationError | None = None
    for each in within.raw:
        element = read_or_error(within.declared.element, each)
        if isinstance(element, EvaluationError):
            error = error or element
            continue
        try:
            if equal_read(element, value):
                return True
        except PanicError:
            raise
        except EvaluationError as failure:
            error = error or failure
    return False if error is None else error
