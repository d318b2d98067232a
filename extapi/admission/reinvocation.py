"""What the plugins of one write note for the second time that they are asked about it.

Source: ``k8s.io/apiserver/pkg/admission`` ReinvocationContext.
"""

from __future__ import annotations

from typing import Any

from extapi.api.types import Obj


class ReinvocationContext:
    """Belongs to one write; all its reviews have the same."""

    __slots__ = ("again", "outputs", "silent", "values", "wanted")

    def __init__(self) -> None:
        self.again = False
        """Whether plugins are asked for the second time."""
        self.wanted = False
        """Whether a plugin wants that all are asked once more."""
        self.silent = 0
        """The generation of the cluster's configurations of which none is about the write; 0: one may be."""
        self.values: dict[str, Any] = {}
        """What a plugin keeps, by its name."""
        self.outputs: dict[str, Obj | None] = {}
        """The object as it was after a plugin, by the plugin's name."""
