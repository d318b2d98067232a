"""Our answers to what the judge is asked, in the judge's form."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from typing import Any

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.declared import Declared, declare
from extapi.schema.cel.environment import COMPATIBLE, STORED, Environment, Variable, base_environment
from extapi.schema.cel.rules import CompiledRule, compile_rules
from extapi.schema.cel.validator import OBJECT_BUDGET, rule_validator

from extapi.fielderrors import FieldError
from extapi.schema.cel.errors import CompileError
from extapi.schema.cel.expression import CALL_LIMIT
from extapi.schema.cel.types import DYN, format_type, optional_of
from extapi.schema.cel.values.values import OptionalValue, TypeValue, type_name
from extapi.schema.check import check
from extapi.schema.structural import MISSING, Structural, from_openapi, replace

Answer = dict[str, Any]


def expression(request: dict[str, Any]) -> Answer:
    """Compile a text, estimate it, evaluate it."""
    environment = base_environment(STORED if request.get("stored") else COMPATIBLE)
    variables = [_variable(each) for each in request.get("variables", ())]
    if variables:
        environment = environment.with_variables(variables)
    answer, compiled = _compiled(request["text"], environment)
    if compiled is None or request.get("compileOnly"):
        return answer
    values = [each.get("value") for each in request.get("variables", ())]
    found = compiled.evaluate(values, limit=request.get("limit", CALL_LIMIT))
    answer["cost"] = found.cost
    if found.error is None:
        answer["value"] = shown(found.value)
    else:
        answer["evaluationError"] = str(found.error)
    return answer


def _variable(given: dict[str, Any]) -> Variable:
    declared = None
    if "schema" in given:
        declared = declare(from_openapi(given["schema"]), root=bool(given.get("root")))
    type_ = DYN if declared is None else declared.type
    optional = bool(given.get("optional"))
    return Variable(given["name"], optional_of(type_) if optional else type_, declared, optional=optional)


def _compiled(text: str, environment: Environment) -> tuple[Answer, Any]:
    answer: Answer = {"cost": 0, "min": 0, "max": 0}
    try:
        compiled = compile_expression(text, environment)
    except CompileError as error:
        return {**answer, "error": str(error)}, None
    return {**answer, "type": format_type(compiled.type), "min": compiled.cost.min, "max": compiled.cost.max}, compiled


def shown(value: Any) -> Any:
    """A value as a list of its type's name and what it holds."""
    name = type_name(value)
    return [name, _held(value, name)]


def _held(value: Any, name: str) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case float():
            return _double(value)
        case OptionalValue():
            return [shown(value.value)] if value.present else []
        case TypeValue():
            return value.name
        case dict():
            entries = [[shown(key), shown(each)] for key, each in value.items()]
            return sorted(entries, key=str)
        case list():
            return [shown(each) for each in value]
        case bool() | None | str():
            return value
        case int():
            return int(value)
    return opaque(value, name)


def opaque(value: Any, name: str) -> str:
    """What a value without fields holds, as text."""
    return value.name if name == "kubernetes.NamedFormat" else str(value)


def _double(number: float) -> str:
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    # As hexadecimal, since the decimal forms of Go and Python differ.
    return "nan" if math.isnan(number) else number.hex()


def like(theirs: Any) -> Any:
    """A value of the judge's with doubles as :func:`shown` writes them, and maps in the same order."""
    if isinstance(theirs, list) and len(theirs) == 2 and isinstance(theirs[0], str):
        name, held = theirs
        if name == "double":
            return [name, held if held in {"nan", "+Inf", "-Inf"} else float(held).hex()]
        if name == "map":
            return [name, sorted(([like(key), like(each)] for key, each in held), key=str)]
        if name in {"list", "optional_type"}:
            return [name, [like(each) for each in held]]
    return theirs


def schema(request: dict[str, Any]) -> Answer:
    """Compile the rules of a schema, and validate objects by them."""
    structural = from_openapi(request["schema"])
    root, stored = bool(request.get("root")), bool(request.get("stored"))
    answer: Answer = {
        "rules": [_rule(*found) for found in _rules(structural, declare(structural, root=root), stored=stored)]
    }
    if request.get("compileOnly"):
        return answer
    validator = rule_validator(structural, root=root)
    answer["objects"] = objects = []
    budget = request.get("budget", OBJECT_BUDGET)
    for each in request.get("objects", ()):
        if validator is None:
            objects.append({"errors": [], "warnings": [], "remaining": budget, "cost": 0})
            continue
        old = each.get("old")
        found = validator.validate(
            each["object"],
            MISSING if old is None else old,
            budget=budget,
            call_limit=request.get("limit", CALL_LIMIT),
            ratchets=bool(request.get("ratchet")),
            path=request.get("path", ""),
        )
        objects.append(
            {
                "errors": [_error(error) for error in found.errors],
                "warnings": found.warnings,
                "remaining": found.remaining,
                "cost": budget - found.remaining,
            }
        )
    return answer


def _error(error: FieldError) -> Answer:
    return {"type": error.type.reason, "field": error.path, "detail": error.detail, "text": error.text()}


def _rules(
    rules: Structural, declared: Declared | None, path: str = "", *, stored: bool, node: Structural | None = None
) -> Iterator[tuple[str, int, CompiledRule]]:
    """Each rule, with where it is. Source: ``apiextensions-apiserver/pkg/apiserver/schema/cel`` validator."""
    node = rules if node is None else node
    if rules.validations and declared is not None:
        compiled = compile_rules(replace(node, validations=rules.validations), declared, stored=stored)
        yield from ((path, index, each) for index, each in enumerate(compiled))
    element = None if declared is None else declared.element
    for mark, one, other in (("[]", rules.items, node.items), ("{}", rules.additional, node.additional)):
        if one is not None and other is not None:
            yield from _rules(one, element, path + mark, stored=stored, node=other)
    for name, each in rules.properties.items():
        inner = node.properties.get(name)
        of = None if declared is None else declared.properties.get(name)
        if inner is not None and of is not None:
            yield from _rules(each, of, f"{path}.{name}", stored=stored, node=inner)
    for number, each in enumerate(rules.all_of):
        yield from _rules(each, declared, f"{path}&{number}", stored=stored, node=node)


def _rule(path: str, index: int, compiled: CompiledRule) -> Answer:
    answer: Answer = {
        "path": path,
        "index": index,
        "rule": compiled.rule.rule,
        "max": compiled.cost,
        "cardinality": compiled.cardinality,
        "usesOldSelf": compiled.uses_old_self,
        "messageMax": compiled.message_cost,
    }
    # Go's json leaves out what is empty.
    for key, text in (
        ("error", compiled.error),
        ("messageError", compiled.message_error),
        ("fieldPath", compiled.field_path),
    ):
        if text:
            answer[key] = text
    return answer


def definition(openapi: dict[str, Any], path: str) -> list[str]:
    """The texts of the errors of a definition's schema, sorted."""
    return [error.text() for error in check(from_openapi(openapi), path)]
