"""The hub: a flunder independent of versions. Only conversions and rules use these types."""

from __future__ import annotations

from extapi import Object, Struct

FLUNDER, FISCHER = "Flunder", "Fischer"
"""The kinds that a flunder may refer to."""


class FlunderSpec(Struct):
    flunder_reference: str | None = None
    fischer_reference: str | None = None
    reference: str | None = None
    """A reference of v1alpha1 whose type is missing or unknown; ``prepare`` turns the former into a flunder's."""
    reference_type: str | None = None


class Flunder(Object):
    spec: FlunderSpec = FlunderSpec()
