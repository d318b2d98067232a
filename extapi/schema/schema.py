"""A compiled schema: made once per version of a kind, then used on every object that is read or written."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from extapi.errors import BadRequest, FieldError
from extapi.schema.default import defaulter, null_dropper
from extapi.schema.embedded import coerce_embedded, holds_embedded
from extapi.schema.prune import pruner
from extapi.schema.structural import Structural
from extapi.schema.validate import status_validator, validator

if TYPE_CHECKING:
    from extapi.schema.cel.validator import RuleValidator


class Schema:
    """The operations of a structural schema, in the order of behaviour J19: prune, default, validate, and its rules.

    Immutable. It is for whole objects, and does not look at ``metadata``, ``apiVersion`` and ``kind``. ``defined``: whether
    it is that of a CustomResourceDefinition.
    """

    __slots__ = (
        "_embeds",
        "default",
        "drop_nulls",
        "prune",
        "rules",
        "structural",
        "validate_against",
        "validate_status",
    )

    def __init__(self, structural: Structural, *, defined: bool = False) -> None:
        self.structural = structural
        self._embeds = holds_embedded(structural)
        self.prune = pruner(structural)
        """Removes unknown fields in place; returns their sorted paths."""
        self.default = defaulter(structural)
        """Drops meaningless nulls and fills in defaults, in place."""
        self.drop_nulls = null_dropper(structural)
        """Drops meaningless nulls, in place."""
        self.validate_against = validator(structural, defined=defined)
        self.validate_status = status_validator(structural)
        """As :meth:`validate`, of a write of the status alone."""
        self.rules = _rules(structural)
        """Runs the rules (``x-kubernetes-validations``), which may cost much; None if there are none."""

    def prune_and_default(self, obj: dict[str, Any]) -> list[str]:
        """Prune, then default, in place, as for every object that enters or leaves the store.

        Returns:
            The paths of unknown fields.
        """
        unknown = self.prune(obj)
        self.default(obj)
        return unknown

    def coerce_embedded(self, obj: dict[str, Any]) -> list[str]:
        """Coerce the metadata of embedded objects, in place.

        Returns:
            The paths of unknown fields in it.

        Raises:
            BadRequest: Something in it has the wrong type.
        """
        return coerce_embedded(obj, self.structural) if self._embeds else []

    def normalize_converted(self, obj: dict[str, Any]) -> None:
        """Prune an object that was converted to this schema's version, and coerce metadata of embedded objects, in place.

        What is embedded and malformed stays as it is: kube-apiserver would answer 500 for the whole object in this version.

        Source: ``apiextensions-apiserver/pkg/apiserver/customresource_handler.go`` schemaCoercingConverter.
        """
        self.prune(obj)
        self.drop_nulls(obj)
        with suppress(BadRequest):
            self.coerce_embedded(obj)

    def validate(self, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[FieldError]:
        """The errors of ``obj``, but for its rules; with ``old``, unchanged values are not checked."""
        return self.validate_against(obj, old)

    def accepts(self, obj: dict[str, Any]) -> bool:
        """Whether a new object has no errors, by its rules neither."""
        return not self.validate_against(obj, None) and (self.rules is None or not self.rules.validate(obj).errors)


def _rules(structural: Structural) -> RuleValidator | None:
    if not structural.has_rules:
        return None
    # A server without rules needs no CEL, which takes 70 ms to import.
    from extapi.schema.cel.validator import rule_validator  # noqa: PLC0415 - only when needed

    return rule_validator(structural)
