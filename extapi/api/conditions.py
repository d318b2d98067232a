"""Conditions in an object's status: their type, and how one is set. Reads no clock: the current time is an argument.

Source: ``metav1.Condition`` and ``meta.SetStatusCondition`` of ``k8s.io/apimachinery``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from extapi.api.markers import Description, Format, ListMap, MaxLength, Minimum, MinLength, Pattern
from extapi.api.timestamp import format_timestamp
from extapi.api.types import Obj, Struct

Truth: TypeAlias = Literal["True", "False", "Unknown"]

_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


class Condition(Struct):
    """One aspect of the current state of an object."""

    type: Annotated[
        str,
        MaxLength(316),
        Pattern(_TYPE),
        Description("Type of the condition, in CamelCase or as foo.example.com/CamelCase."),
    ]
    status: Annotated[Truth, Description("Whether the condition holds: True, False or Unknown.")]
    observed_generation: Annotated[
        int | None,
        Minimum(0),
        Description(
            "The metadata.generation that the condition was set for. If the object's is higher, the condition is out of date."
        ),
    ] = None
    last_transition_time: Annotated[str, Format("date-time"), Description("When the status last changed.")]
    reason: Annotated[
        str,
        MinLength(1),
        MaxLength(1024),
        Pattern(_REASON),
        Description("Why the condition has this status, in CamelCase, for programs."),
    ]
    message: Annotated[str, MaxLength(32768), Description("The details for people. May be empty.")]


Conditions: TypeAlias = Annotated[list[Condition], ListMap("type")]
"""The type of ``status.conditions``: a list with one condition per type."""


def set_condition(
    conditions: Sequence[Condition | Mapping[str, Any]],
    type: str,  # noqa: A002 - the condition's own word for it
    status: Truth,
    *,
    reason: str,
    message: str = "",
    observed_generation: int = 0,
    now: float,
) -> list[Obj]:
    """Set one condition, and return all of them as JSON, ready for ``patch_status``.

    ``lastTransitionTime`` becomes ``now`` if the condition is new or its status changes; otherwise it stays.

    Args:
        conditions: The current conditions. They are not changed: they may belong to an informer.
        type: The type of the condition to set.
        status: ``"True"``, ``"False"`` or ``"Unknown"``.
        reason: Why, in CamelCase, for programs.
        message: The details for people.
        observed_generation: ``obj["metadata"]["generation"]`` of the object that the status describes.
        now: The current time, in seconds since the epoch.

    Returns:
        New conditions, equal to ``conditions`` if nothing changed.

    Raises:
        ValueError: The status is not one of the three texts.
    """
    if status not in {"True", "False", "Unknown"}:
        raise ValueError(f'the status of a condition is "True", "False" or "Unknown", not {status!r}')
    found = [dict(each) if isinstance(each, Mapping) else msgspec.to_builtins(each) for each in conditions]
    old = next((each for each in found if each.get("type") == type), None)
    since = old.get("lastTransitionTime") if old is not None and old.get("status") == status else None
    condition = {
        "type": type,
        "status": status,
        "lastTransitionTime": since or format_timestamp(now),
        "reason": reason,
        "message": message,
        **({"observedGeneration": observed_generation} if observed_generation else {}),
    }
    if old is None:
        found.append(condition)
    else:
        found[found.index(old)] = condition
    return found
