"""Our answers to what the judge is asked about expressions, in the judge's form."""

from __future__ import annotations

import base64
import math
from fractions import Fraction
from typing import Any

from extapi.schema.cel.compilation import compile_expression
from extapi.schema.cel.declared import declare
from extapi.schema.cel.environment import COMPATIBLE, STORED, Environment, Variable, base_environment
from extapi.schema.cel.errors import CompileError, InstantiationError
from extapi.schema.cel.expression import CALL_LIMIT
from extapi.schema.cel.library.addresses import written
from extapi.schema.cel.types import DYN, format_type, optional_of
from extapi.schema.cel.values.values import OptionalValue, TypeValue, type_name
from extapi.schema.structural import from_openapi

Answer = dict[str, Any]


def expression(request: dict[str, Any]) -> Answer:
    """Compile a text, estimate it, evaluate it."""
    environment = base_environment(STORED if request.get("stored") else COMPATIBLE)
    variables = [_variable(each) for each in request.get("variables", ())]
    if variables:
        environment = environment.with_variables(variables)
    answer, made = compiled(request["text"], environment)
    if made is None or request.get("compileOnly"):
        return answer
    values = [each.get("value") for each in request.get("variables", ())]
    found = made.evaluate(values, limit=request.get("limit", CALL_LIMIT))
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


def compiled(text: str, environment: Environment) -> tuple[Answer, Any]:
    """The answer so far, and the expression, if it compiles."""
    answer: Answer = {"cost": 0, "min": 0, "max": 0}
    try:
        made = compile_expression(text, environment)
    except CompileError as error:
        return {**answer, "error": str(error)}, None
    except InstantiationError as error:
        return {**answer, "error": f"program instantiation failed: {error}"}, None
    return {**answer, "type": format_type(made.type), "min": made.cost.min, "max": made.cost.max}, made


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
    match name:
        case "kubernetes.NamedFormat":
            return str(value.name)
        case "kubernetes.Quantity":
            return str(Fraction(value.amount.mantissa) * Fraction(10) ** value.amount.exponent)
        case "kubernetes.URL":
            return str(value.parts)
        case "kubernetes.Semver":
            words = ".".join(word or str(number) for _, number, word in value.prerelease)
            return f"{value.major}.{value.minor}.{value.patch}{'-' if words else ''}{words}"
        case "net.CIDR":
            return f"{written(value.number, value.bits)}/{value.prefix}"
    return str(value)


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
        if name == "bytes":  # Go's json writes a slice that is nil as null
            return [name, held or ""]
        if name == "kubernetes.Quantity":
            return [name, str(Fraction(held))]
        if name == "kubernetes.Semver":
            return [name, held.partition("+")[0]]
        if name == "map":
            return [name, sorted(([like(key), like(each)] for key, each in held), key=str)]
        if name in {"list", "optional_type"}:
            return [name, [like(each) for each in held]]
    return theirs
