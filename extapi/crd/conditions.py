"""The conditions in a definition's status. Reads no clock: the current time is an argument.

Source: ``apiextensions-apiserver/pkg/apihelpers/helpers.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from extapi.api.types import Obj

ESTABLISHED: Final = "Established"
NAMES_ACCEPTED: Final = "NamesAccepted"
NON_STRUCTURAL: Final = "NonStructuralSchema"
TERMINATING: Final = "Terminating"
APPROVED: Final = "KubernetesAPIApprovalPolicyConformant"


class DefinitionCondition(NamedTuple):
    """What a condition says."""

    type: str
    status: str
    reason: str
    message: str


def find_condition(obj: Mapping[str, Any], kind: str) -> DefinitionCondition | None:
    """The condition of a type; None if there is none."""
    for each in (obj.get("status") or {}).get("conditions") or ():
        if each.get("type") == kind:
            return DefinitionCondition(kind, each.get("status", ""), each.get("reason", ""), each.get("message", ""))
    return None


def is_true(obj: Mapping[str, Any], kind: str) -> bool:
    """Whether the condition of a type is there and true."""
    found = find_condition(obj, kind)
    return found is not None and found.status == "True"


def set_condition(obj: Obj, condition: DefinitionCondition, now: str) -> None:
    """Write a condition into the status of a definition, in place. Its time changes only with its status."""
    status = obj.setdefault("status", {})
    new = {**condition._asdict(), "lastTransitionTime": now}
    conditions = list(status.get("conditions") or ())
    for index, old in enumerate(conditions):
        if old.get("type") == condition.type:
            if old.get("status") == condition.status and old.get("lastTransitionTime"):
                new["lastTransitionTime"] = old["lastTransitionTime"]
            conditions[index] = {**old, **new}
            break
    else:
        conditions.append(new)
    status["conditions"] = conditions
