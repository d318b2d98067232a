"""The hub: what a flunder is, whatever version a client speaks. Only conversion and rules see these types."""

from __future__ import annotations

from extapi import Object, Struct

FLUNDER, FISCHER = "Flunder", "Fischer"
"""What a flunder may refer to."""


class FlunderSpec(Struct):
    flunder_reference: str | None = None
    fischer_reference: str | None = None
    reference: str | None = None
    """One of v1alpha1 whose type is not said, or is none; ``prepare`` gives it to flunders in the first case."""
    reference_type: str | None = None


class Flunder(Object):
    spec: FlunderSpec = FlunderSpec()
