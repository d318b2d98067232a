"""Which of an author's modules a module imports, as its source says.

Must err on one side only: what a module could have got something from while it was imported is among its imports.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import ModuleType

_DYNAMIC = frozenset({"__import__", "exec", "eval", "importlib", "pkgutil", "runpy", "modules"})
"""Names in a module that may import others without saying so."""


def imports_of(module: ModuleType, source: str, modules: Mapping[str, ModuleType]) -> set[str]:
    """The names of the modules among ``modules`` from which ``module`` may have got something.

    Args:
        module: The module, as it has been imported.
        source: Its source; if it cannot be parsed, it may have imported all.
        modules: The author's modules, by name.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return set(modules)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.update(
                    _whole(alias.name if alias.asname else alias.name.partition(".")[0], modules), [alias.name]
                )
        elif isinstance(node, ast.ImportFrom):
            found.update(_from(module, node, modules))
        elif _is_dynamic(node):
            return set(modules)
    return found & modules.keys()


def dependents(changed: Collection[str], imports: Mapping[str, Collection[str]]) -> set[str]:
    """``changed``, and the modules that import one of them, directly or through others."""
    found = set(changed)
    while new := {name for name, imported in imports.items() if name not in found and not found.isdisjoint(imported)}:
        found |= new
    return found


def _from(module: ModuleType, node: ast.ImportFrom, modules: Mapping[str, ModuleType]) -> Iterator[str]:
    """The imports of ``from X import a, b``: each is an attribute of X, or a module below it."""
    base = _absolute(module, node)
    for alias in node.names:
        below = f"{base}.{alias.name}"
        submodule = modules.get(below)
        # A package that only contains the module is none of what it has been made of.
        if submodule is None or vars(module).get(alias.asname or alias.name) is not submodule:
            yield base
        yield from _whole(below, modules)


def _whole(name: str, modules: Mapping[str, ModuleType]) -> Iterable[str]:
    """A module, and all below: whoever has a package can reach its modules as attributes."""
    return [each for each in modules if each == name or each.startswith(f"{name}.")]


def _absolute(module: ModuleType, node: ast.ImportFrom) -> str:
    """The module that ``from ... import`` names."""
    if not node.level:
        return node.module or ""
    package = (module.__package__ or "").split(".")
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


def _is_dynamic(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in _DYNAMIC
