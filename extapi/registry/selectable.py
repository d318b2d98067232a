"""The fields of a kind that field selectors may ask for (``selectableFields`` of CRDs; spec E34).

Reads their values from an object; which of them match is ``api/selectors``'s to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from extapi.api.definition import NAMESPACED, Kind
from extapi.api.types import Obj
from extapi.registry.schemapaths import missing
from extapi.schema.structural import Structural

COMMON = ("metadata.name", "metadata.namespace")
"""What field selectors may name of every namespaced kind."""
TYPES = ("boolean", "integer", "string")


class Selectable:
    """The paths of one version."""

    __slots__ = ("_made", "_paths")

    def __init__(self, kind: Kind, version: str) -> None:
        self._made = {} if kind.native is None else dict(kind.native.selects)
        self._paths = {
            path.removeprefix("."): path.removeprefix(".").split(".") for path in kind.selectable_of(version)
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The paths, such as ``spec.color``."""
        return tuple(self._paths)

    def values(self, obj: Obj) -> dict[str, str]:
        """What the fields are in an object of this version, as text; what is missing is empty."""
        found = {name: _text(obj, steps) for name, steps in self._paths.items()}
        if self._made:
            found |= {name: made(obj) for name, made in self._made.items()}
        return found

    def decoded(self, value: bytes) -> dict[str, str]:
        """As :meth:`values`, from an object's JSON."""
        return self.values(msgspec.json.decode(value))


def selectable(kind: Kind, version: str) -> tuple[str, ...]:
    """All fields that selectors may name. Kinds of Kubernetes itself that have none of their own have both common ones."""
    made = () if kind.native is None else tuple(kind.native.selects)
    own = (*(path.removeprefix(".") for path in kind.selectable_of(version)), *made)
    both = kind.scope is NAMESPACED or (kind.native is not None and not own)
    return (*COMMON, *own) if both else ("metadata.name", *own)


def selectable_problems(kind: Kind, version: str, structural: Structural) -> Iterator[str]:
    """The paths that lead nowhere in a version, or to what is neither text, number nor truth."""
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
