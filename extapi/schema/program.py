"""A schema ready for use: compiled once, then asked for every object that is read or written."""

from __future__ import annotations

from typing import Any

from extapi.errors import FieldError
from extapi.schema.default import defaulter, null_dropper
from extapi.schema.embedded import coerce_embedded, holds_embedded
from extapi.schema.prune import pruner
from extapi.schema.structural import Structural
from extapi.schema.validate import validator


class Schema:
    """The three things done with a structural schema, in the order of spec J19: prune, default, validate.

    Immutable, and made for whole objects; it does not look at ``metadata``, ``apiVersion`` and ``kind``.
    """

    __slots__ = ("_embeds", "default", "drop_nulls", "prune", "structural", "validate_against")

    def __init__(self, structural: Structural) -> None:
        self.structural = structural
        self._embeds = holds_embedded(structural)
        self.prune = pruner(structural)
        """Removes in place what the schema does not know; the sorted paths of it."""
        self.default = defaulter(structural)
        """Drops meaningless nulls and fills in defaults, in place."""
        self.drop_nulls = null_dropper(structural)
        """Drops meaningless nulls, in place."""
        self.validate_against = validator(structural)

    def coerce(self, obj: dict[str, Any]) -> list[str]:
        """Prune, then default, in place: what every object goes through that comes in or out of the store."""
        unknown = self.prune(obj)
        self.default(obj)
        return unknown

    def coerce_embedded(self, obj: dict[str, Any]) -> list[str]:
        """Bring the metadata of objects inside of this one into shape, in place; the paths of unknown fields in it.

        For what a client sent only. Raises :class:`extapi.errors.BadRequest` for wrong types.
        """
        return coerce_embedded(obj, self.structural) if self._embeds else []

    def validate(self, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[FieldError]:
        """Every rule that ``obj`` breaks; with ``old``, those that an unchanged value broke before are let pass."""
        return self.validate_against(obj, old)
