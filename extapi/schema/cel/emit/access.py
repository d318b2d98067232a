"""Variables, fields, keys and indices: what costs one unit, and one more per step."""

from __future__ import annotations

from typing import Any, Final

from extapi.schema.cel.declared import Declared
from extapi.schema.cel.emit.emission import Emission, LazyVariable
from extapi.schema.cel.emit.writer import NotWrittenError
from extapi.schema.cel.evaluation.attributes import INDEXING, is_attribute, is_choice
from extapi.schema.cel.syntax.nodes import Call, Ident, Literal, Node, Select
from extapi.schema.cel.types import Type, is_optional

_SCALARS: Final = frozenset({"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"})


def attribute(emitter: Emission, node: Node) -> str:
    """An attribute, with its own unit."""
    text = resolve(emitter, node)
    if not is_choice(node):
        emitter.out.charge(1)
    return text


def select(emitter: Emission, node: Select) -> str:
    """A field, or whether it is there."""
    return presence(emitter, node) if node.test_only else attribute(emitter, node)


def resolve(emitter: Emission, node: Node) -> str:
    """An attribute without its own unit, as where it is an index or a branch of a condition."""
    if isinstance(node, Ident):
        return _variable(emitter, node)
    if isinstance(node, Select) and not node.test_only and not node.qualified:
        return emitter.out.short(_field(emitter, node, node.operand, node.field, optional=False))
    if isinstance(node, Call):
        match node.function:
            case "_?._":
                name = node.args[1]
                if isinstance(name, Literal):
                    return _field(emitter, node, node.args[0], name.value, optional=True)
            case "_[_]" | "_[?_]":
                return emitter.out.short(_index(emitter, node))
            case "_?_:_":
                return _conditional(emitter, node)
    return emitter.raw(node)


def read_scalar(declared: Declared | None, text: str) -> str:
    """A value of a schema, converted if it is a scalar that needs it."""
    if declared is None or not declared.conversion:
        return text
    if declared.conversion == "double":
        return f"float({text})"
    return f"read_{declared.conversion}({text})"


def _variable(emitter: Emission, node: Ident) -> str:
    found = emitter.variables.get(node.name.removeprefix("."))
    if found is None or not _keeps_schema(node):
        raise NotWrittenError
    if isinstance(found, str):
        return found
    return _lazy(emitter, found)


def _keeps_schema(node: Node) -> bool:
    """Whether a variable or choice is the same to us as to cel-go, which takes the schema from what is in an optional."""
    if not is_optional(node.type):
        return True
    inner = node.type.parameters[0] if node.type.parameters else node.type
    if inner.kind in _SCALARS:
        return True
    return inner.kind in {"list", "map", "struct"} and node.declared is not None and node.declared.plain


def _lazy(emitter: Emission, found: LazyVariable) -> str:
    out = emitter.out
    if found.name not in out.initialized:
        with out.block(f"if {found.name} is UNSET:"):
            saved, emitter.variables = emitter.variables, found.scope
            out.line(f"{found.name} = {emitter.raw(found.node)}")
            emitter.variables = saved
        out.initialized |= {found.name}
    return found.name


def _field(emitter: Emission, node: Node, operand: Node, field: str, *, optional: bool) -> str:
    out = emitter.out
    value = resolve(emitter, operand)
    type_ = operand.type
    if is_optional(type_) and not _is_optional_chain(operand):
        raise NotWrittenError
    if optional or is_optional(type_):
        inner = type_.parameters[0] if is_optional(type_) else type_
        key = out.constant(_key(emitter, operand, inner, field)[0])
        return _optional_step(emitter, node, operand, value, key)
    out.charge(1)
    if type_.kind == "struct":
        name, declared = _key(emitter, operand, type_, field)
        key = out.constant(name)
        if declared is not None and declared.nullable:
            return read_scalar(declared, f"present({value}, {key})")
        return read_scalar(declared, f"{value}[{key}]")
    key = out.constant(field)
    if type_.kind == "map":
        return read_scalar(node.declared, f"{value}[{key}]")
    return f"step({value}, {key})"


def _key(emitter: Emission, operand: Node, type_: Type, field: str) -> tuple[str, Declared | None]:
    """How a field is named in the value, and its schema, if the value is JSON of one."""
    if type_.kind != "struct" or type_.name in emitter.environment.objects:
        return field, None
    declared = operand.declared
    known = declared if declared is not None and declared.type == type_ else emitter.environment.struct(type_.name)
    named = None if known is None else known.field(field)
    if known is None or named is None:
        raise NotWrittenError
    if declared is not None:
        return named
    # The value has been converted: fields are named by their identifiers, and scalars are CEL's.
    identifier = field if field in known.fields else f"__{field}__"
    return identifier, None


def _optional_step(emitter: Emission, node: Node, operand: Node, value: str, key: str) -> str:
    """A step that may lead nowhere, which is then free."""
    out = emitter.out
    name = out.name()
    within = operand.declared
    declared = node.declared
    reader = "None" if declared is None or not declared.conversion else f"read_{declared.conversion}"
    strict = within is not None and within.element is None and within.type.kind != "dyn"
    out.line(f"{name} = optional_step({value}, {key}, {reader}, {strict})")
    out.charge_text(f"{name}.present")
    return name


def _index(emitter: Emission, node: Call) -> str:
    out = emitter.out
    operand, index = node.args
    value = resolve(emitter, operand)
    at = emitter.converted(index, resolve(emitter, index)) if is_attribute(index) else emitter.native(index)
    type_ = operand.type
    if is_optional(type_) and not _is_optional_chain(operand):
        raise NotWrittenError
    if operand.declared is not None and operand.declared.type.kind == "list" and index.type.kind == "dyn":
        raise NotWrittenError  # a list of a schema has only whole indices, and a step does not know that it is one
    if node.function == "_[?_]" or is_optional(type_):
        return _optional_step(emitter, node, operand, value, at)
    out.charge(1)
    if type_.kind == "list" and index.type.kind == "int":
        literal: Any = index.value if isinstance(index, Literal) else -1
        found = f"{value}[{at}]" if literal >= 0 else f"element({value}, {at})"
        return read_scalar(node.declared, found)
    if type_.kind == "map" and index.type.kind == "string":
        return read_scalar(node.declared, f"{value}[{at}]")
    if operand.declared is not None and not operand.declared.plain:
        raise NotWrittenError
    return f"step({value}, {at})"


def _is_optional_chain(node: Node) -> bool:
    """Whether the steps to a value began with an optional, or had a question mark.

    An optional that is itself an element or a member is no beginning: cel-go then looks for a step in it, and finds none.
    """
    while True:
        if isinstance(node, Select) and not node.test_only and not node.qualified:
            node = node.operand
        elif isinstance(node, Call) and node.function in INDEXING:
            if node.function != "_[_]":
                return True
            node = node.args[0]
        else:
            return is_optional(node.type)


def _conditional(emitter: Emission, node: Call) -> str:
    out = emitter.out
    if not _keeps_schema(node):
        raise NotWrittenError
    condition, first, second = node.args
    for branch in (first, second):
        asked = branch.operand if isinstance(branch, Select) and branch.test_only else None
        if asked is not None and (is_optional(asked.type) or is_choice(asked)):
            raise NotWrittenError
    test = emitter.boolean(condition)
    name = out.name()
    same = first.declared is second.declared
    with out.block(f"if {test}:"):
        text = resolve(emitter, first) if is_attribute(first) else emitter.raw(first)
        out.line(f"{name} = {text if same else emitter.converted(first, text)}")
    with out.block("else:"):
        text = resolve(emitter, second) if is_attribute(second) else emitter.raw(second)
        out.line(f"{name} = {text if same else emitter.converted(second, text)}")
    return name


def presence(emitter: Emission, node: Select) -> str:
    """``has(operand.field)``: one unit per step; the variable's own is taken back."""
    out = emitter.out
    operand, field = node.operand, node.field
    value = resolve(emitter, operand)
    type_ = operand.type
    if is_optional(type_):
        if not _is_optional_chain(operand):
            raise NotWrittenError
        inner = type_.parameters[0]
        key = out.constant(_key(emitter, operand, inner, field)[0])
        name = out.name()
        out.line(f"{name} = optional_step({value}, {key}, None, False)")
        # The step is charged if it leads somewhere; the attribute's unit and what presence takes back are even.
        out.charge_text(f"{name}.present")
        out.charge(-1 if is_choice(operand) else 0)
        return f"{name}.present"
    out.charge(0 if is_choice(operand) else 1)
    if type_.kind == "struct" and type_.name not in emitter.environment.objects:
        name, _ = _key(emitter, operand, type_, field)
        return f"({value}.get({out.constant(name)}) is not None)"
    key = out.constant(field)
    if type_.kind in {"map", "struct"}:
        return f"({key} in {value})"
    return f"has_step({value}, {key})"
