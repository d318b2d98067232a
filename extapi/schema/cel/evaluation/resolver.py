"""Variables, and the steps from values to what is in them: what cel-go calls attributes.

Source: ``cel-go/interpreter`` attributes.go, and what runtimecost.go charges for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from extapi.schema.cel.declared import Declared
from extapi.schema.cel.environment import Environment
from extapi.schema.cel.errors import CostLimitExceededError, EvaluationError
from extapi.schema.cel.evaluation.attributes import CHOICE, INDEXING, OPTIONAL_STEPS, is_attribute, is_choice, path_to
from extapi.schema.cel.evaluation.qualification import ABSENT, KEYS, fields_of, missing, qualify, unset
from extapi.schema.cel.evaluation.reading import Typed, read_or_error, without_schema
from extapi.schema.cel.syntax.nodes import Call, Ident, Literal, Node, Select
from extapi.schema.cel.values.made import MadeObject
from extapi.schema.cel.values.showing import go_type
from extapi.schema.cel.values.values import NONE, OptionalValue, some
from extapi.schema.structural import MISSING

NO_OVERLOAD = "no such overload"
UNKNOWN: Final = object()
"""The value is not known yet."""


class LazyValue:
    """A variable of ``optMap``, evaluated when it is first asked for."""

    __slots__ = ("node", "value")

    def __init__(self, node: Node) -> None:
        self.node: Node | None = node
        self.value: Any = None


_UNUSUAL: Final = frozenset({LazyValue, OptionalValue})
"""Values of variables that are not simply what they are."""


class Resolver:
    """Variables and attributes of one evaluation.

    Attributes:
        cost: What it has cost so far.
        variables: The values of the variables that are in scope, by name.
    """

    __slots__ = ("_limit", "cost", "variables")

    def __init__(self, environment: Environment, values: Sequence[Any], *, limit: int) -> None:
        self.cost = 0
        self._limit = limit
        self.variables: dict[str, Any] = {}
        for variable, value in zip(environment.variables, values, strict=True):
            self.variables[variable.name] = _variable(variable.declared, value, optional=variable.optional)

    def evaluate(self, node: Node) -> Any:
        """The value of a node of any kind."""
        raise NotImplementedError

    def charge(self, cost: int) -> None:
        """Add to the cost.

        Raises:
            CostLimitExceededError: It is too high now.
        """
        self.cost += cost
        if self.cost > self._limit:
            raise CostLimitExceededError(self.cost)

    def ident(self, node: Ident) -> Any:
        """The value of a variable, with its unit of cost."""
        value = self.variables.get(node.name, MISSING)
        if value is MISSING or type(value) in _UNUSUAL:
            return self.attribute(node)
        self.charge(1)
        return value

    def attribute(self, node: Node) -> Any:
        """The value of an attribute, with its own unit of cost."""
        value = self._resolve(node, [])
        if not is_choice(node):
            self.charge(1)
        return value

    def _selected(self, node: Select) -> Any:
        """The value of a field, or whether it is there, if only fields of objects of the schema lead to it.

        That is the shortest way to what :meth:`_qualified` does. UNKNOWN: it is another case.
        """
        path = node.path
        if path is None:
            path = node.path = path_to(node.operand)
        if not path:
            return UNKNOWN
        value = self.variables.get(path[0], MISSING)
        for key in path[1:]:
            if type(value) is not Typed or not isinstance(value.raw, dict):
                return UNKNOWN
            named = value.declared.field(key)
            found = None if named is None else value.raw.get(named[0])
            if named is None or found is None:
                return UNKNOWN
            value = _read(named[1], found)
        named = value.declared.field(node.field) if type(value) is Typed and isinstance(value.raw, dict) else None
        if named is None:
            return UNKNOWN
        found = value.raw.get(named[0])
        self.charge(len(path) if node.test_only else len(path) + 1)
        if found is None:
            return False if node.test_only else missing(value, node.field)
        read = _read(named[1], found)
        return read if not node.test_only or isinstance(read, EvaluationError) else True

    def _presence(self, node: Select) -> Any:
        """``has(operand.field)``: the variable's own unit is taken back."""
        value = self._resolve(node.operand, [_Presence(node.field, of_struct=node.operand.type.kind == "struct")])
        if is_choice(node.operand):
            self.cost -= 1
        if type(value) is OptionalValue:
            return value.present
        return value

    def select(self, node: Select) -> Any:
        """A field, or whether it is there."""
        value = self._selected(node)
        if value is not UNKNOWN:
            return value
        return self._presence(node) if node.test_only else self.attribute(node)

    def _resolve(self, node: Node, qualifiers: list[_Qualifier]) -> Any:
        """The value of an attribute, qualified by what follows it. Qualifiers cost a unit each, the attribute nothing."""
        while True:
            if isinstance(node, Select) and not node.test_only and not node.qualified:
                qualifiers.append(_Qualifier(node.field, of_struct=node.operand.type.kind == "struct"))
                node = node.operand
            elif isinstance(node, Call) and node.function in INDEXING:
                index = node.args[1]
                optional = node.function in OPTIONAL_STEPS
                if isinstance(index, Literal):
                    qualifiers.append(_Qualifier(index.value, optional=optional))
                else:
                    qualifiers.append(_Qualifier(optional=optional, node=index))
                node = node.args[0]
            else:
                break
        if isinstance(node, Ident):
            return self._qualified(self._variable(node), qualifiers)
        if isinstance(node, Call) and node.function == CHOICE:
            condition = self.evaluate(node.args[0])
            if condition is True:
                return self._branch(node.args[1], qualifiers)
            if condition is False:
                return self._branch(node.args[2], qualifiers)
            return condition if isinstance(condition, EvaluationError) else EvaluationError(NO_OVERLOAD)
        if isinstance(node, Select) and node.test_only:
            # In a choice, cel-go forgets that presence is asked for: what is behind an optional stays one.
            return self._resolve(node.operand, [_Presence(node.field)])
        return self._qualified(self.evaluate(node), qualifiers)

    def _branch(self, node: Node, qualifiers: list[_Qualifier]) -> Any:
        return self._resolve(node, qualifiers)

    def _variable(self, node: Ident) -> Any:
        name = node.name.removeprefix(".")
        value = self.variables.get(name, MISSING)
        if type(value) is LazyValue:
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
        made = False
        for qualifier in reversed(qualifiers):
            if qualifier.of_struct and type(value) is MadeObject:
                value, made = _Fields(value.fields), True
            optional = optional or qualifier.optional
            key = qualifier.key if qualifier.node is None else self._index(qualifier.node)
            if isinstance(key, EvaluationError):
                if not optional:
                    self.charge(1)
                return key
            found = _found(value, key)
            if type(qualifier) is _Presence:
                if isinstance(found, EvaluationError):
                    self.charge(1)
                    return found
                if optional:
                    if found is ABSENT:
                        return NONE
                    self.charge(1)
                    return some(found)
                self.charge(1)
                return found is not ABSENT
            if optional:
                if isinstance(found, EvaluationError):
                    return found
                if found is ABSENT:
                    return NONE
                self.charge(1)
            else:
                self.charge(1)
                if isinstance(found, EvaluationError):
                    return found
                if found is ABSENT:
                    found = None if type(value) is _Fields else unset(value, key)
                    if found is ABSENT:
                        return missing(value, key)
            value = fields_of(found) if made else found
        return some(value) if optional else value

    def _index(self, node: Node) -> Any:
        """An index that is no literal: an attribute does not cost its own unit here."""
        key = self._resolve(node, []) if is_attribute(node) else self.evaluate(node)
        if isinstance(key, EvaluationError) or type(key) in KEYS:
            return key
        return EvaluationError(f"invalid qualifier type: {key.go_type if type(key) is Typed else go_type(key)}")


class _Qualifier:
    """A field, key or index that is asked for: ``key``, or what ``node`` evaluates to."""

    __slots__ = ("key", "node", "of_struct", "optional")

    def __init__(
        self, key: Any = None, *, optional: bool = False, node: Node | None = None, of_struct: bool = False
    ) -> None:
        self.key = key
        self.of_struct = of_struct
        """Whether it is known to be a field of an object."""
        self.optional = optional
        self.node = node


class _Presence(_Qualifier):
    """A field whose presence is asked for."""

    __slots__ = ()


class _Fields(dict[str, Any]):
    """The fields of an object that an expression has made. Those that it does not have are null."""

    __slots__ = ()


def _variable(declared: Any, value: Any, *, optional: bool) -> Any:
    if optional:
        return NONE if value is MISSING or value is None else some(read_or_error(declared, value))
    return value if value is MISSING or declared is None else read_or_error(declared, value)


def _read(declared: Declared, raw: Any) -> Any:
    """What is there, read or an error."""
    if declared.conversion:
        return read_or_error(declared, raw)
    return Typed(declared, raw) if isinstance(raw, list | dict) else raw


def _found(value: Any, key: Any) -> Any:
    try:
        return qualify(value, key)
    except EvaluationError as error:
        return error
