"""All cases by their names, each with the name of its module in front."""

from __future__ import annotations

from tests.differential import (
    applying,
    creating,
    deleting,
    dial,
    mistakes,
    numbers,
    patching,
    reading,
    routing,
    ruling,
    scaling,
    schemas,
    updating,
    versions,
    watching,
)
from tests.differential.cases import Case

MODULES = {
    "read": reading,
    "create": creating,
    "update": updating,
    "patch": patching,
    "apply": applying,
    "delete": deleting,
    "route": routing,
    "schema": schemas,
    "version": versions,
    "watch": watching,
    "number": numbers,
    "part": scaling,
    "dial": dial,
    "rule": ruling,
    "mistake": mistakes,
}


def all_cases() -> dict[str, Case]:
    """Name and case."""
    return {f"{name}: {case}": found for name, module in MODULES.items() for case, found in module.CASES.items()}
