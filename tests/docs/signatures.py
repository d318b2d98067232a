"""Signatures of the API reference, of syntax trees: as one calls what is called, as one writes what an author writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tests.docs.definitions import GIVEN, INTERNAL, WRITTEN, Found, bases, fields, functions, promised_base


def constructor(found: Found) -> str:
    """How an object of the class is made; what the class is where nobody makes one."""
    node = found.node
    assert isinstance(node, ast.ClassDef)
    names = [ast.unparse(base) for base in node.bases]
    if "Protocol" in names:
        return f"class {found.name}(Protocol)"
    if found.name in GIVEN:
        return f"class {found.name}"
    if any(name.endswith("Enum") for name in names):
        return f"class {found.name}({', '.join(names)})"
    chain = [found, *bases(found)]
    for each in chain:
        for method in functions(each.node):
            if method.name == "__init__":
                return signature(method, name=found.name, hidden=INTERNAL.get(found.name, set()), returns=False)
    all_fields = [field for each in reversed(chain) for field in fields(each)]
    inherits = promised_base(found)
    if not all_fields or (inherits and not list(fields(found))):
        if names == ["Marker"]:
            return f"{found.name}()"
        return f"class {found.name}" + (f"({', '.join(names)})" if names else "")
    by_name = any(
        each.name == "Struct" or "kw_only=True" in "".join(map(ast.unparse, _decorators(each))) for each in chain
    )
    positional = [_parameter(field) for field in all_fields if not by_name or "kw_only=False" in _value(field)]
    named = [_parameter(field) for field in all_fields if by_name and "kw_only=False" not in _value(field)]
    return _call(found.name, [*positional, *(["*", *named] if named else [])])


def _decorators(found: Found) -> list[ast.expr]:
    return found.node.decorator_list if isinstance(found.node, ast.ClassDef) else []


def _value(field: ast.AnnAssign) -> str:
    return ast.unparse(field.value) if field.value is not None else ""


def _parameter(field: ast.AnnAssign) -> str:
    text = f"{ast.unparse(field.target)}: {type_text(field.annotation)}"
    made = re.fullmatch(r"(?:msgspec\.)?field\((.*)\)", _value(field))
    if made is None:
        return text + (f" = {quoted(field.value)}" if field.value is not None else "")
    if factory := re.search(r"default_factory=(\w+)", made[1]):
        return text + " = " + {"dict": "{}", "list": "[]"}.get(factory[1], f"{factory[1]}()")
    default = re.search(r"default=([^,]+)", made[1])
    return text + (f" = {default[1]}" if default else "")


def method_line(found: Found, method: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """As it is written, where an author writes it; else as it is called."""
    assert isinstance(found.node, ast.ClassDef)
    if found.name in WRITTEN or "Protocol" in {ast.unparse(base) for base in found.node.bases}:
        begin = "async def" if isinstance(method, ast.AsyncFunctionDef) else "def"
        return f"{begin} {signature(method, bound=False)}"
    begin = "await " if isinstance(method, ast.AsyncFunctionDef) else ""
    return begin + signature(method, name=f"{_receiver(found.name, method)}.{method.name}")


def _receiver(name: str, method: ast.AST) -> str:
    """Class methods are called on the class."""
    decorators = {ast.unparse(each) for each in getattr(method, "decorator_list", ())}
    return name if decorators & {"classmethod", "staticmethod"} else variable(name)


def variable(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def signature(
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    *,
    name: str = "",
    hidden: Iterable[str] = (),
    bound: bool = True,
    returns: bool = True,
) -> str:
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(arguments.defaults)), *arguments.defaults]
    pairs = list(zip(plain, defaults, strict=True))
    if bound and pairs and pairs[0][0].arg in {"self", "cls"}:
        pairs = pairs[1:]
    words = [_argument(argument, default) for argument, default in pairs]
    named = [
        _argument(argument, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if argument.arg not in hidden
    ]
    if arguments.vararg:
        words.append("*" + _argument(arguments.vararg, None))
    elif named:
        words.append("*")
    words += named
    if arguments.kwarg:
        words.append("**" + _argument(arguments.kwarg, None))
    result = f" -> {type_text(node.returns)}" if returns and node.returns is not None else ""
    return _call(name or node.name, words, result)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg + (f": {type_text(argument.annotation)}" if argument.annotation is not None else "")
    if default is None:
        return text
    return text + (" = " if argument.annotation is not None else "=") + quoted(default)


def _call(name: str, words: list[str], result: str = "") -> str:
    """On one line if it fits."""
    line = f"{name}({', '.join(words)}){result}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{name}(", *(f"    {word}," for word in words), f"){result}"])


def type_text(annotation: ast.expr) -> str:
    """As it is written, without markers."""
    if (
        isinstance(annotation, ast.Subscript)
        and ast.unparse(annotation.value) == "Annotated"
        and isinstance(annotation.slice, ast.Tuple)
    ):
        return type_text(annotation.slice.elts[0])
    return ast.unparse(annotation).replace("'", '"')


def quoted(node: ast.expr) -> str:
    """Code with the quotes that we use."""
    return repr(node.value).replace("'", '"') if isinstance(node, ast.Constant) else ast.unparse(node).replace("'", '"')
