"""The rules of flunders and fischers that no schema can say."""

from __future__ import annotations

from collections.abc import Iterable

from extapi import FieldError, Strategy

from . import v1alpha1
from .internal import FISCHER, FLUNDER, Flunder


class FlunderStrategy(Strategy):
    """A flunder refers to at most one thing, and says of what kind that is."""

    def prepare(self, obj: Flunder, old: Flunder | None) -> None:
        """An empty text is as good as a missing one; a reference of no type is one to a flunder."""
        del old
        spec = obj.spec
        for name in ("flunder_reference", "fischer_reference", "reference", "reference_type"):
            setattr(spec, name, getattr(spec, name) or None)
        if spec.reference is not None and spec.reference_type is None:
            spec.flunder_reference, spec.reference, spec.reference_type = spec.reference, None, FLUNDER

    def validate(self, obj: Flunder, old: Flunder | None) -> Iterable[FieldError]:
        """The rules and words of sample-apiserver's ``pkg/apis/wardle/validation``, in its order."""
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
    """A fischer may disallow what it likes."""

    def prepare(self, obj: v1alpha1.Fischer, old: v1alpha1.Fischer | None) -> None:
        """An empty list is as good as a missing one."""
        del old
        obj.disallowed_flunders = obj.disallowed_flunders or None
