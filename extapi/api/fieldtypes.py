"""Types for fields that many kinds have, with the schemas that controller-gen gives them in CRDs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from extapi.api.duration import parse_duration
from extapi.api.labelselectors import selector_of
from extapi.api.markers import Atomic, Description, Format, MaxLength, MinLength, Pattern
from extapi.api.types import Struct
from extapi.errors import BadRequest

_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_DURATION = r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$"

QuantityStr: TypeAlias = Annotated[int | str, Pattern(_QUANTITY)]
"""A quantity as clients write it: ``500m``, ``1.5Gi`` or ``2``. ``Quantity.parse(str(value))`` reads it."""

IntOrPercent: TypeAlias = Annotated[int | str, Pattern(r"^(100|[0-9]{1,2})%$")]
"""A number, or a percentage from ``0%`` to ``100%``."""

Duration: TypeAlias = Annotated[str, Format("duration"), Pattern(_DURATION)]
"""A duration as Go writes it: ``1h30m``, ``250ms``. :func:`duration_seconds` reads it."""


class SecretRef(Struct):
    """A reference to a Secret in the object's own namespace, or to one of its keys."""

    # Like SecretKeySelector of core/v1. It has no namespace, unlike SecretReference: with one, anybody who may write
    # the object could make the server read any Secret.
    name: Annotated[str, MinLength(1), MaxLength(253), Description("The name of the Secret.")]
    key: Annotated[str | None, MinLength(1), MaxLength(253), Description("A key in the Secret.")] = None


class LabelSelectorRequirement(Struct):
    """A condition on one label."""

    key: Annotated[str, Description("The key of the label.")]
    operator: Annotated[
        Literal["In", "NotIn", "Exists", "DoesNotExist"],
        Description("How the label's value relates to the values."),
    ]
    values: Annotated[
        list[str], Atomic(), Description("The values; not empty for In and NotIn, empty for Exists and DoesNotExist.")
    ] = []


class LabelSelector(Struct):
    """Selects objects by their labels. All conditions must hold; an empty selector selects every object."""

    # Like ``metav1.LabelSelector``.
    match_labels: Annotated[dict[str, str], Description("Labels and the values that they must have.")] = {}
    match_expressions: Annotated[
        list[LabelSelectorRequirement], Atomic(), Description("Further conditions on labels.")
    ] = []

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether the selector matches an object with these labels.

        Raises:
            ValueError: The selector is not valid, see :func:`selector_matches`.
        """
        return selector_matches(msgspec.to_builtins(self), labels)


def selector_matches(selector: Mapping[str, Any], labels: Mapping[str, str] | None) -> bool:
    """Whether a LabelSelector as JSON, such as ``obj["spec"]["selector"]``, matches an object with these labels.

    Raises:
        ValueError: The selector breaks a rule that its schema cannot express: an impossible label, or values that do
            not fit the operator.
    """
    try:
        return selector_of(selector).matches(dict(labels or {}))
    except BadRequest as error:
        raise ValueError(str(error)) from error


def duration_seconds(text: str) -> float:
    """A :data:`Duration` in seconds.

    Raises:
        ValueError: The text is not a duration; the message is Go's.
    """
    return parse_duration(text) / 1e9
