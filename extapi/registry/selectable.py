"""The fields of a kind that field selectors may ask for (``selectableFields`` of CRDs; spec E34).

Knows the paths of one version and reads their values from an object; which of them match is ``api/selectors``'s to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from extapi.api.definition import NAMESPACED, Kind
from extapi.schema.structural import Structural

COMMON = ("metadata.name", "metadata.namespace")
"""What field selectors may name of every namespaced kind."""
TYPES = ("boolean", "integer", "string")


class Selectable:
    """The paths of one version. Raises ValueError for one that leads nowhere, or to what is neither text, number nor truth."""

    __slots__ = ("_paths",)

    def __init__(self, kind: Kind, version: str, structural: Structural) -> None:
        self._paths = {
            path.removeprefix("."): path.removeprefix(".").split(".") for path in kind.selectable_of(version)
        }
        for name, steps in self._paths.items():
            found: Structural | None = structural
            for step in steps:
                found = found.properties.get(step) if found is not None else None
            if found is None or found.type not in TYPES:
                what = "there is no such field" if found is None else f"its type is none of {', '.join(TYPES)}"
                raise ValueError(f"kind {kind.name}: selectable .{name}: {what} in version {version}")

    def values(self, obj: Mapping[str, Any]) -> dict[str, str]:
        """What the fields are in an object of this version, as text; what is missing is empty."""
        return {name: _text(obj, steps) for name, steps in self._paths.items()}

    def decoded(self, value: bytes) -> dict[str, str]:
        """As :meth:`values`, from an object's JSON."""
        return self.values(msgspec.json.decode(value))


def selectable(kind: Kind, version: str) -> tuple[str, ...]:
    """All fields that selectors may name. Kinds of Kubernetes itself that have none of their own have both common ones."""
    own = tuple(path.removeprefix(".") for path in kind.selectable_of(version))
    both = kind.scope is NAMESPACED or (kind.native is not None and not own)
    return (*COMMON, *own) if both else ("metadata.name", *own)


def _text(obj: Any, steps: list[str]) -> str:
    for step in steps:
        obj = obj.get(step) if isinstance(obj, dict) else None
    if obj is None:
        return ""
    if isinstance(obj, bool):
        return "true" if obj else "false"
    return str(obj)
