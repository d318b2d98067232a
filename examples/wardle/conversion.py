"""Conversions between the versions and the hub. The server converts metadata itself."""

from __future__ import annotations

from . import internal, v1alpha1, v1beta1


def from_v1alpha1(flunder: v1alpha1.Flunder) -> internal.Flunder:
    """Move the reference to the field of its type. One of an unknown type stays, so that validation can refuse it."""
    reference, kind = flunder.spec.reference, flunder.spec.reference_type
    spec = internal.FlunderSpec(reference_type=kind)
    if kind == internal.FLUNDER:
        spec.flunder_reference = reference
    elif kind == internal.FISCHER:
        spec.fischer_reference = reference
    else:
        spec.reference = reference
    return internal.Flunder(spec=spec)


def to_v1alpha1(flunder: internal.Flunder) -> v1alpha1.Flunder:
    """Take the reference of the type that is named."""
    spec = flunder.spec
    named = {internal.FLUNDER: spec.flunder_reference, internal.FISCHER: spec.fischer_reference}
    reference = named.get(spec.reference_type or "", spec.reference)
    return v1alpha1.Flunder(spec=v1alpha1.FlunderSpec(reference=reference, reference_type=spec.reference_type))


def from_v1beta1(flunder: v1beta1.Flunder) -> internal.Flunder:
    """Copy the fields; both types have the same."""
    return internal.Flunder(
        spec=internal.FlunderSpec(
            flunder_reference=flunder.spec.flunder_reference,
            fischer_reference=flunder.spec.fischer_reference,
            reference_type=flunder.spec.reference_type,
        )
    )


def to_v1beta1(flunder: internal.Flunder) -> v1beta1.Flunder:
    """Copy the fields. A reference without a type is never stored, so there is none here."""
    return v1beta1.Flunder(
        spec=v1beta1.FlunderSpec(
            flunder_reference=flunder.spec.flunder_reference,
            fischer_reference=flunder.spec.fischer_reference,
            reference_type=flunder.spec.reference_type,
        )
    )
