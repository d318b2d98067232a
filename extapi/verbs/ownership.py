"""Owner references that occur twice are dropped, with a warning (spec E17)."""

from __future__ import annotations

from extapi.api.metadata import dedupe_owner_references
from extapi.api.types import Obj
from extapi.registry.base import Resource
from extapi.verbs.target import Target


def dedupe_owners(target: Target[Resource], obj: Obj) -> None:
    """Drop duplicates in place; the client is told."""
    warning = dedupe_owner_references(obj)
    if warning:
        target.call.warnings.append(warning)
