"""One name per thing: no two public classes of the product share a name, so that a reader who meets one knows which it is.

API types are excepted: each version of a kind has types of the same names, and the built-in control plane's types have the
names that Kubernetes gives them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PRODUCT = Path(__file__).parents[2] / "extapi"
API_TYPES = ("pizza", "controlplane/kinds")


def is_of_api_types(module: str) -> bool:
    return module.startswith(tuple(f"{folder}/" for folder in API_TYPES))


def homonyms() -> dict[str, list[str]]:
    """The modules of each class name that more than one module defines, but for API types."""
    modules = defaultdict(list)
    for path in sorted(PRODUCT.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(path.relative_to(PRODUCT).as_posix())
    return {
        name: found
        for name, found in modules.items()
        if len(found) > 1 and sum(not is_of_api_types(module) for module in found) > 1
    }


def test_each_name_stands_for_one_thing() -> None:
    assert homonyms() == {}
