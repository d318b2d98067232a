"""Ready types of fields that many kinds have, with the schemas that controller-gen gives them in CRDs."""

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
"""A quantity as clients write it, ``500m``, ``1.5Gi`` or ``2``; ``Quantity.parse(str(value))`` reads it."""

IntOrPercent: TypeAlias = Annotated[int | str, Pattern(r"^(100|[0-9]{1,2})%$")]
"""A number, or a percentage from ``0%`` to ``100%``."""

Duration: TypeAlias = Annotated[str, Format("duration"), Pattern(_DURATION)]
"""A span of time as Go writes it: ``1h30m``, ``250ms``; :func:`duration_seconds` reads it."""


class SecretRef(Struct):
    """Names a Secret in the object's own namespace, or one of its keys."""

    # As a SecretKeySelector of core/v1. There is no namespace in it, as in a SecretReference: who may write the object
    # could have the server read any Secret.
    name: Annotated[str, MinLength(1), MaxLength(253), Description("The name of the Secret.")]
    key: Annotated[str | None, MinLength(1), MaxLength(253), Description("The key of the Secret that is meant.")] = None


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
    """Selects objects by their labels. All conditions have to hold; an empty selector selects every object."""

    # As ``metav1.LabelSelector``.
    match_labels: Annotated[dict[str, str], Description("Labels with the values that they have to have.")] = {}
    match_expressions: Annotated[
        list[LabelSelectorRequirement], Atomic(), Description("Further conditions on labels.")
    ] = []

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether it selects an object with these labels. Raises ValueError as :func:`selector_matches`."""
        return selector_matches(msgspec.to_builtins(self), labels)


def selector_matches(selector: Mapping[str, Any], labels: Mapping[str, str] | None) -> bool:
    """Whether a LabelSelector as JSON, such as ``obj["spec"]["selector"]``, selects an object with these labels.

    Raises ValueError for what the schema cannot know to be wrong: a label that cannot be, values that do not fit the operator.
    """
    try:
        return selector_of(selector).matches(dict(labels or {}))
    except BadRequest as error:
        raise ValueError(str(error)) from error


def duration_seconds(text: str) -> float:
    """The seconds of a :data:`Duration`. Raises ValueError with Go's text."""
    return parse_duration(text) / 1e9
