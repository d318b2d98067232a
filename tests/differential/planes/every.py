"""All conversations by their names, each with its topic in front."""

from __future__ import annotations

from tests.differential.cases import Case
from tests.differential.planes import (
    access,
    applying,
    common,
    definitions,
    further,
    numbers,
    own,
    policies,
    reviews,
    webhooks,
    wire,
)

MODULES = (applying, common, own, further, reviews, access, wire, numbers, definitions, webhooks, policies)


def all_cases() -> dict[str, Case]:
    """Name and conversation."""
    return {name: case for module in MODULES for name, case in module.CASES.items()}
