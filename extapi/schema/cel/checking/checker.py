"""The type checker: gives each node its type, each call its overloads, and says what does not fit.

Besides, it notes from which part of the schema a value comes (``Node.declared``): objects are never converted, so whoever
evaluates the expression has to know how to read them.

Source: ``cel-go/checker`` checker.go and errors.go.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from extapi.schema.cel.checking.inference import Inference
from extapi.schema.cel.checking.provenance import source_of
from extapi.schema.cel.checking.unification import substituted
from extapi.schema.cel.declarations import Overload
from extapi.schema.cel.declared import Declared
from extapi.schema.cel.environment import Environment
from extapi.schema.cel.errors import Issue
from extapi.schema.cel.messages import ENUM_VALUES
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
from extapi.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    Type,
    format_type,
    is_optional,
    list_of,
    map_of,
    optional_of,
)
from extapi.schema.cel.values.values import UInt

_LITERALS: Final[dict[type, Type]] = {
    bool: BOOL,
    bytes: BYTES,
    float: DOUBLE,
    int: INT,
    str: STRING,
    type(None): NULL,
    UInt: UINT,
}
_LOGIC: Final = frozenset({"_&&_", "_||_"})
_LOOSE: Final = frozenset({"dyn", "error"})

_Scope = dict[str, tuple[Type, Declared | None]]


class Checked:
    """What the checker found out about a whole expression.

    Attributes:
        nodes: All nodes, each after those that it was checked after.
        issues: What is wrong.
        used: The variables of the environment that occur.
    """

    __slots__ = ("issues", "nodes", "used")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.issues: list[Issue] = []
        self.used: set[str] = set()


def check(root: Node, environment: Environment) -> Checked:
    """Check an expression; fills in what :mod:`extapi.schema.cel.syntax.nodes` says."""
    types = Inference()
    checker = _Checker(environment, types)
    checker.check(root)
    found = checker.found
    for node in found.nodes:
        type_ = node.type
        if type_.parameters or type_.kind == "parameter":
            node.type = substituted(types.bindings, type_, unbound=DYN)
    return found


class _Checker:
    __slots__ = ("_environment", "_scopes", "_types", "_variables", "found")

    def __init__(self, environment: Environment, types: Inference) -> None:
        self._environment = environment
        self._variables: _Scope = {each.name: (each.type, each.declared) for each in environment.variables}
        self._scopes: list[_Scope] = []
        self._types = types
        self.found = Checked()

    def check(self, node: Node) -> Type:
        self.found.nodes.append(node)
        _CHECKS[type(node)](self, node)
        return node.type

    def _report(self, node: Node, message: str) -> None:
        self.found.issues.append(Issue(node.offset, message))

    def _mismatch(self, node: Node, expected: Type, found: Type) -> None:
        self._report(node, f"expected type '{format_type(expected)}' but found '{format_type(found)}'")

    def _undeclared(self, node: Node, name: str) -> None:
        self._report(node, f"undeclared reference to '{name}' (in container '')")

    def _lookup(self, name: str) -> tuple[Type, Declared | None, bool] | None:
        """Type and schema of a name, and whether it is a variable; otherwise it is the name of a type."""
        name = name.removeprefix(".")
        for scope in reversed(self._scopes):
            if name in scope:
                return (*scope[name], True)
        found = self._variables.get(name)
        if found is not None:
            self.found.used.add(name)
            return (*found, True)
        named = self._environment.type_named(name)
        if named is None and name in ENUM_VALUES:
            named = INT
        return None if named is None else (named, None, False)

    def _literal(self, node: Literal) -> None:
        node.type = _LITERALS[type(node.value)]

    def _ident(self, node: Ident) -> None:
        found = self._lookup(node.name)
        if found is None:
            self._undeclared(node, node.name)
            return
        node.name = node.name.removeprefix(".")
        node.type, node.declared, node.variable = found

    def _select(self, node: Select) -> None:
        name = _qualified(node)
        found = self._lookup(name) if name else None
        if found is not None:
            node.type, node.declared, node.variable = found
            node.qualified = name.removeprefix(".")
            return
        self.check(node.operand)  # here, where the stack is less deep than in a method of its own
        type_, declared = self._field(node, node.operand, node.field, optional=False)
        if node.test_only:
            node.type = BOOL
        else:
            node.type, node.declared = self._types.known(type_), declared

    def _field(self, node: Node, operand: Node, field: str, *, optional: bool) -> tuple[Type, Declared | None]:
        """The type of a field of something that has been checked, and its schema."""
        type_ = self._types.known(operand.type)
        optional = optional or is_optional(type_)
        if is_optional(type_):
            type_ = type_.parameters[0]
        found, declared = ERROR, None
        match type_.kind:
            case "map":
                found = type_.parameters[1]
                declared = None if operand.declared is None else operand.declared.element
            case "struct":
                found, declared = self._field_of(node, operand, type_, field)
            case "parameter":
                self._types.assignable(DYN, type_)
                found = DYN
            case _:
                if type_.kind not in _LOOSE:
                    self._report(node, f"type '{format_type(type_)}' does not support field selection")
                found = DYN
        return (optional_of(found) if optional else found), declared

    def _field_of(self, node: Node, operand: Node, type_: Type, field: str) -> tuple[Type, Declared | None]:
        members = self._environment.members(type_.name)
        if members is not None:
            member = members.get(field)
            if member is None:
                self._report(node, f"undefined field '{field}'")
            return member or ERROR, None
        declared = operand.declared
        if declared is None or declared.type != type_:
            declared = self._environment.struct(type_.name)
        if declared is None:
            self._report(node, f"unexpected failed resolution of '{type_.name}'")
            return ERROR, None
        found = declared.field(field) if self._environment.language.keywords_as_fields else declared.fields.get(field)
        if found is None:
            self._report(node, f"undefined field '{field}'")
            return ERROR, None
        return found[1].type, found[1]

    def _call(self, node: Call) -> None:
        if node.function == "_?._":
            self._optional_select(node)
            return
        for argument in node.args:
            self.check(argument)
        functions = self._environment.language.functions
        if node.target is None:
            name = node.function.removeprefix(".")
            overloads = functions.get(name)
            if overloads is None:
                self._undeclared(node, node.function)
                return
            node.function = name
            self._resolve(node, overloads)
            return
        prefix = _qualified(node.target)
        name = f"{prefix}.{node.function}".removeprefix(".")
        if prefix and name in functions:
            node.function, node.target = name, None
            self._resolve(node, functions[name])
            return
        self.check(node.target)
        overloads = functions.get(node.function)
        if overloads is None:
            self._undeclared(node, node.function)
            return
        self._resolve(node, overloads)

    def _optional_select(self, node: Call) -> None:
        operand, field = node.args
        if not isinstance(field, Literal) or not isinstance(field.value, str):
            self._report(field, "unsupported optional field selection")
            return
        self.check(operand)
        type_, node.declared = self._field(node, operand, field.value, optional=True)
        node.type = self._types.known(type_)
        node.overloads = self._environment.language.functions["_?._"]
        self.found.nodes.append(field)
        field.type = STRING

    def _resolve(self, node: Call, overloads: tuple[Overload, ...]) -> None:
        target = node.target
        arguments = node.args if target is None else [target, *node.args]
        if node.function in _LOGIC:
            wrong = [each for each in arguments if not self._types.assignable(each.type, BOOL)]
            for each in wrong:
                self._mismatch(each, BOOL, each.type)
            if not wrong:
                node.type, node.overloads = BOOL, overloads[:1]
            return
        types = [each.type for each in arguments]
        member = target is not None
        count = len(types)
        result: Type | None = None
        chosen: list[Overload] = []
        for overload in overloads:
            if overload.member is not member or len(overload.arguments) != count:
                continue
            found = self._types.fits(overload, types)
            if found is None:
                continue
            chosen.append(overload)
            if result is None:
                result = found
            elif result.kind != "dyn" and found != result:
                result = DYN
        if result is None:
            shown = [format_type(substituted(self._types.bindings, each, unbound=DYN)) for each in types]
            signature = f"{shown[0]}.({', '.join(shown[1:])})" if member else f"({', '.join(shown)})"
            self._report(node, f"found no matching overload for '{node.function}' applied to '{signature}'")
            return
        node.type = result
        node.overloads = tuple(chosen)
        node.declared = source_of(node, arguments)

    def _unwrapped(self, node: Node, *, optional: bool) -> Type:
        if not optional:
            return node.type
        if is_optional(node.type):
            return node.type.parameters[0]
        if node.type.kind != "dyn":
            self._mismatch(node, optional_of(node.type), node.type)
        return node.type

    def _list(self, node: ListLiteral) -> None:
        element: Type | None = None
        for index, each in enumerate(node.elements):
            self.check(each)
            element = self._types.join(element, self._unwrapped(each, optional=index in node.optionals))
        node.type = list_of(self._types.fresh() if element is None else element)

    def _map(self, node: MapLiteral) -> None:
        key_type: Type | None = None
        value_type: Type | None = None
        for key, value, optional in node.entries:
            key_type = self._types.join(key_type, self.check(key))
            self.check(value)
            value_type = self._types.join(value_type, self._unwrapped(value, optional=optional))
        if key_type is None or value_type is None:
            key_type, value_type = self._types.fresh(), self._types.fresh()
        node.type = map_of(key_type, value_type)

    def _struct(self, node: StructLiteral) -> None:
        found = self._lookup(node.name)
        if found is None:
            self._undeclared(node, node.name)
            return
        named = found[0]
        if named.kind != "type":
            self._report(node, f"'{named.name}' is not a type")
        elif not self._environment.can_be_made(node.name.removeprefix(".")):
            self._report(node, f"'{named.parameters[0].name}' is not a message type")
        else:
            node.type = named.parameters[0]
        for field, value, optional, offset in node.fields:
            self.check(value)
            wanted = (
                ERROR if node.type == ERROR else self._environment.field_to_fill(node.name.removeprefix("."), field)
            )
            if wanted is None:
                self.found.issues.append(Issue(offset, f"undefined field '{field}'"))
                wanted = ERROR
            type_ = self._unwrapped(value, optional=optional)
            if not self._types.assignable(wanted, type_):
                self.found.issues.append(
                    Issue(
                        offset,
                        f"expected type of field '{field}' is '{format_type(wanted)}' but provided type is "
                        f"'{format_type(type_)}'",
                    )
                )

    def _comprehension(self, node: Comprehension) -> None:
        self.check(node.range)
        accumulated = self.check(node.initial)
        first, second = self._variables_of(node)
        self._scopes.append({node.accumulator: (accumulated, node.initial.declared)})
        inner: _Scope = {node.variable: first}
        if node.variable2:
            inner[node.variable2] = second
        self._scopes.append(inner)
        self.check(node.condition)
        if not self._types.assignable(BOOL, node.condition.type):
            self._mismatch(node.condition, BOOL, node.condition.type)
        self.check(node.step)
        if not self._types.assignable(accumulated, node.step.type):
            self._mismatch(node.step, accumulated, node.step.type)
        self._scopes.pop()
        self.check(node.result)
        self._scopes.pop()
        node.type = self._types.known(node.result.type)
        if node.macro == "bind":
            node.declared = node.result.declared

    def _variables_of(self, node: Comprehension) -> tuple[tuple[Type, Declared | None], tuple[Type, Declared | None]]:
        """Types and schemas of the variables of a loop."""
        type_ = self._types.known(node.range.type)
        declared = node.range.declared
        element = None if declared is None else declared.element
        match type_.kind:
            case "list":
                value = (type_.parameters[0], element)
                return ((INT, None), value) if node.variable2 else (value, value)
            case "map":
                return (type_.parameters[0], None), (type_.parameters[1], element)
            case "dyn" | "error" | "parameter":
                self._types.assignable(DYN, type_)
                return (DYN, None), (DYN, None)
        self._report(
            node.range,
            f"expression of type '{format_type(type_)}' cannot be range of a comprehension (must be list, map, or dynamic)",
        )
        return (ERROR, None), (ERROR, None)

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


_CHECKS: Final = _Checker.by_node


def _qualified(node: Node) -> str:
    """The name with dots that a node is, if it is one."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test_only:
        prefix = _qualified(node.operand)
        return f"{prefix}.{node.field}" if prefix else ""
    return ""
