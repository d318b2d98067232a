"""Conditions of definitions; as apiextensions-apiserver/pkg/apihelpers sets them."""

from __future__ import annotations

from typing import Any

from extapi.crd.conditions import (
    ESTABLISHED,
    TERMINATING,
    DefinitionCondition,
    find_condition,
    is_true,
    set_condition,
)

NOT_YET = DefinitionCondition(ESTABLISHED, "False", "Installing", "soon")
DONE = DefinitionCondition(ESTABLISHED, "True", "InitialNamesAccepted", "now")


def test_the_time_of_a_condition_changes_only_with_its_status() -> None:
    obj: dict[str, Any] = {}
    set_condition(obj, NOT_YET, "2024-01-01T00:00:00Z")
    set_condition(obj, NOT_YET._replace(reason="Other", message="later"), "2024-01-02T00:00:00Z")
    assert obj["status"]["conditions"] == [
        {
            "type": "Established",
            "status": "False",
            "reason": "Other",
            "message": "later",
            "lastTransitionTime": "2024-01-01T00:00:00Z",
        }
    ]
    set_condition(obj, DONE, "2024-01-03T00:00:00Z")
    assert obj["status"]["conditions"][0]["lastTransitionTime"] == "2024-01-03T00:00:00Z"


def test_others_stay_in_their_order() -> None:
    obj: dict[str, Any] = {"status": {"conditions": [{"type": "Mine", "status": "True", "observedGeneration": 3}]}}
    set_condition(obj, DONE, "2024-01-01T00:00:00Z")
    set_condition(obj, DefinitionCondition("Mine", "True", "a", "b"), "2024-01-02T00:00:00Z")
    assert [each["type"] for each in obj["status"]["conditions"]] == ["Mine", "Established"]
    assert obj["status"]["conditions"][0]["observedGeneration"] == 3
    assert find_condition(obj, ESTABLISHED) == DONE
    assert is_true(obj, ESTABLISHED)
    assert find_condition(obj, TERMINATING) is None
    assert not is_true(obj, TERMINATING)
