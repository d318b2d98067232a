"""Promised names as the sources define them: where each one is, and what of it is shown in the API reference."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import extapi

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign


GIVEN = frozenset({"Context", "Informer", "WorkQueue", "EventRecorder", "DynamicClient", "Leadership"})
"""Classes that authors get and do not make: their constructors are no part of the promise."""


WRITTEN = frozenset({"Strategy"})
"""Classes that authors inherit from: their methods are shown as they are written, as those of protocols are."""


INTERNAL = {
    "Kind": {"behaviour"},
    "Review": {"converter", "obj", "old", "old_version", "warned", "result", "called", "hub_object", "refresh"},
    "Context": {"own", "stop", "close"},
    "DynamicClient": {"own", "stop"},
    "EventRecorder": {"close", "stop"},
    "Informer": {"start"},
    "Leadership": {"change"},
    "WorkQueue": {"stop"},
    "ApiError": {"with_details", "metadata"},
    "FieldError": {"type", "value"},
    "InMemoryServer": {"log_health"},
    "Namespaces": {"wait_synced", "synced", "live", "get"},
    "Stream": {"read", "reply"},
}
"""What has no underscore and is no part of the promise all the same."""


@dataclass(frozen=True)
class Found:
    """Where a name is defined: its statement, and the docstring."""

    name: str
    module: str
    node: Definition
    text: str


def definition(module: str, name: str) -> Found:
    """Where ``name`` of ``module`` is defined, followed through imports."""
    body = _module(module).body
    body = [*body, *(each for node in body if isinstance(node, ast.If) for each in node.body)]  # if TYPE_CHECKING
    for node, after in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.ImportFrom(module=str(source)) if any(each.name == name for each in node.names):
                return definition(source, name)
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() if node.name == name:
                return Found(name, module, node, ast.get_docstring(node) or "")
            case ast.Assign(targets=[ast.Name(id=target)]) if target == name:
                return Found(name, module, node, text_after(after))
            case ast.AnnAssign(target=ast.Name(id=target)) if target == name:
                return Found(name, module, node, text_after(after))
    raise LookupError(f"{module} does not define {name}")


@cache
def _module(name: str) -> ast.Module:
    file = importlib.import_module(name).__file__
    assert file is not None
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def bases(found: Found) -> Iterator[Found]:
    """The classes of ours that a class inherits from, the nearest first, without itself."""
    assert isinstance(found.node, ast.ClassDef)
    for base in found.node.bases:
        name = ast.unparse(base)
        if name in {"Protocol", "Marker"}:
            continue
        try:
            parent = definition(found.module, name)
        except (LookupError, ModuleNotFoundError, AssertionError):
            continue  # not ours
        if parent.module.startswith("extapi") and isinstance(parent.node, ast.ClassDef):
            yield parent
            yield from bases(parent)


def promised_base(found: Found) -> str:
    """The promised class that it inherits its members from, if any; of a type that is its fields, each says all."""
    return next(
        (each.name for each in bases(found) if each.name in extapi.__all__ and each.name not in {"Struct", "Object"}),
        "",
    )


def functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for each in getattr(node, "body", ()):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each


def fields(found: Found) -> Iterator[ast.AnnAssign]:
    """Of a dataclass or a Struct."""
    assert isinstance(found.node, ast.ClassDef)
    for each in found.node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            name, annotation = each.target.id, ast.unparse(each.annotation)
            hidden = name.startswith("_") or name in INTERNAL.get(found.name, ())
            if not hidden and not annotation.startswith("ClassVar"):
                yield each


def is_property(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(each).endswith(("property", ".setter")) for each in method.decorator_list)


def text_after(node: ast.stmt | None) -> str:
    """The docstring of an attribute is a statement of its own after it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return ""


def described(annotation: ast.expr) -> str:
    """The text of a ``Description`` in it."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Description":
            return str(ast.literal_eval(node.args[0]))
    return ""
