"""The fields of a kind that field selectors can name (``selectableFields`` of CRDs; behaviour E34).

Reads their values from objects. Matching is in :mod:`extapi.api.selectors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from extapi.api.definition import NAMESPACED, Kind
from extapi.api.types import Obj
from extapi.registry.schemapaths import missing
from extapi.schema.structural import Structural

TYPES = ("boolean", "integer", "string")
"""The types that a selectable field can have."""


class Selectable:
    """The paths of one version."""

    __slots__ = ("_computed", "_paths")

    def __init__(self, kind: Kind, version: str) -> None:
        self._computed = kind.behaviour.selecting.computed
        self._paths = {
            path.removeprefix("."): path.removeprefix(".").split(".") for path in kind.selectable_of(version)
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The paths, such as ``spec.color``."""
        return tuple(self._paths)

    def values(self, obj: Obj) -> dict[str, str]:
        """The values in an object of this version, as text; of a missing field the empty string."""
        found = {name: _text(obj, steps) for name, steps in self._paths.items()}
        if self._computed:
            found |= {name: compute(obj) for name, compute in self._computed.items()}
        return found

    def decoded(self, value: bytes) -> dict[str, str]:
        """As :meth:`values`, from an object's JSON."""
        return self.values(msgspec.json.decode(value))


def selectable(kind: Kind, version: str) -> tuple[str, ...]:
    """All fields that selectors can name: those of metadata first."""
    selecting = kind.behaviour.selecting
    own = (*(path.removeprefix(".") for path in kind.selectable_of(version)), *selecting.computed)
    return (*selecting.common(own, namespaced=kind.scope is NAMESPACED), *own)


def selectable_problems(kind: Kind, version: str, structural: Structural) -> Iterator[str]:
    """Paths that lead nowhere in a version, or to a type other than :data:`TYPES`."""
    for path in kind.selectable_of(version):
        why = _problem(structural, path.removeprefix(".").split("."))
        if why:
            yield f"kind {kind.name}: version {version}: selectable {path}: {why}"


def _problem(structural: Structural, steps: list[str]) -> str:
    found = structural
    for step in steps:
        below = found.properties.get(step)
        if below is None:
            return missing(found.properties, step)
        found = below
    return "" if found.type in TYPES else f"its type is none of {', '.join(TYPES)}"


def _text(obj: Any, steps: list[str]) -> str:
    for step in steps:
        obj = obj.get(step) if isinstance(obj, dict) else None
    if obj is None:
        return ""
    if isinstance(obj, bool):
        return "true" if obj else "false"
    return str(obj)
