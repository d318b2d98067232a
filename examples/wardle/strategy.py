"""The rules of flunders and fischers that a schema cannot express."""

from __future__ import annotations

from collections.abc import Iterable

from extapi import FieldError, Strategy

from . import v1alpha1
from .internal import FISCHER, FLUNDER, Flunder


class FlunderStrategy(Strategy):
    """A flunder refers to at most one object, and names its kind."""

    def prepare(self, obj: Flunder, old: Flunder | None) -> None:
        """Treat empty texts like missing ones, and a reference without a type as one to a flunder."""
        del old
        spec = obj.spec
        for name in ("flunder_reference", "fischer_reference", "reference", "reference_type"):
            setattr(spec, name, getattr(spec, name) or None)
        if spec.reference is not None and spec.reference_type is None:
            spec.flunder_reference, spec.reference, spec.reference_type = spec.reference, None, FLUNDER

    def validate(self, obj: Flunder, old: Flunder | None) -> Iterable[FieldError]:
        """Apply the rules of sample-apiserver's ``pkg/apis/wardle/validation``, in its order and words."""
        del old
        spec = obj.spec
        flunder, fischer, kind = spec.flunder_reference or "", spec.fischer_reference or "", spec.reference_type or ""
        at_flunder, at_fischer = "spec.flunderReference", "spec.fischerReference"
        if flunder and fischer:
            yield FieldError.invalid(at_fischer, fischer, "cannot be set with flunderReference at the same time")
        elif flunder and kind != FLUNDER:
            yield FieldError.invalid(at_flunder, flunder, "cannot be set if referenceType is not Flunder")
        elif fischer and kind != FISCHER:
            yield FieldError.invalid(at_fischer, fischer, "cannot be set if referenceType is not Fischer")
        elif not fischer and kind == FISCHER:
            yield FieldError.invalid(at_fischer, fischer, "cannot be empty if referenceType is Fischer")
        elif not flunder and kind == FLUNDER:
            yield FieldError.invalid(at_flunder, flunder, "cannot be empty if referenceType is Flunder")
        if kind not in {"", FISCHER, FLUNDER}:
            yield FieldError.invalid("spec.referenceType", kind, "must be Flunder or Fischer")


class FischerStrategy(Strategy):
    """A fischer may disallow any names."""

    def prepare(self, obj: v1alpha1.Fischer, old: v1alpha1.Fischer | None) -> None:
        """Treat an empty list like a missing one."""
        del old
        obj.disallowed_flunders = obj.disallowed_flunders or None
