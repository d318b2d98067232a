"""As ``meta.SetStatusCondition``: what changes, and what stays."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Api, Condition, Conditions, Group, Kind, Object, Struct, Version, set_condition
from extapi.testing import serve

BEFORE, NOW = "2023-11-14T22:13:20Z", 1_700_000_060.0
AFTER = "2023-11-14T22:14:20Z"
READY: dict[str, Any] = {
    "type": "Ready",
    "status": "True",
    "lastTransitionTime": BEFORE,
    "reason": "Done",
    "message": "all is there",
    "observedGeneration": 3,
}


def test_a_new_condition_stands_at_the_end() -> None:
    other = {**READY, "type": "Other"}
    found = set_condition(
        [other], "Ready", "False", reason="Waiting", message="not yet", observed_generation=1, now=NOW
    )
    assert found == [
        other,
        {
            "type": "Ready",
            "status": "False",
            "lastTransitionTime": AFTER,
            "reason": "Waiting",
            "message": "not yet",
            "observedGeneration": 1,
        },
    ]


def test_what_is_set_already_changes_nothing() -> None:
    same = set_condition(
        [READY], "Ready", "True", reason="Done", message="all is there", observed_generation=3, now=NOW
    )
    assert same == [READY]


def test_the_time_changes_only_with_the_status() -> None:
    (same,) = set_condition([READY], "Ready", "True", reason="Still", message="m", observed_generation=4, now=NOW)
    assert same == {**READY, "reason": "Still", "message": "m", "observedGeneration": 4}
    (other,) = set_condition([READY], "Ready", "Unknown", reason="Done", now=NOW)
    assert (other["status"], other["lastTransitionTime"]) == ("Unknown", AFTER)


def test_a_generation_of_zero_is_left_out_as_in_go() -> None:
    (found,) = set_condition([READY], "Ready", "True", reason="Done", now=NOW)
    assert "observedGeneration" not in found


def test_what_an_informer_has_is_not_changed() -> None:
    given, copy = [READY], [dict(READY)]
    set_condition(given, "Ready", "False", reason="Gone", now=NOW)
    set_condition(given, "Other", "False", reason="Gone", now=NOW)
    assert given == copy


def test_conditions_may_be_structs() -> None:
    condition = Condition(type="Ready", status="True", last_transition_time=BEFORE, reason="Done", message="")
    (found,) = set_condition([condition], "Ready", "True", reason="Done", observed_generation=2, now=NOW)
    assert found == {**READY, "message": "", "observedGeneration": 2}


@pytest.mark.parametrize("status", [True, "true", "", None])
def test_a_status_is_one_of_three_texts(status: Any) -> None:
    with pytest.raises(ValueError, match='"True", "False" or "Unknown", not'):
        set_condition([], "Ready", status, reason="Done", now=NOW)


class ThingStatus(Struct):
    conditions: Conditions = []  # noqa: RUF012 -- a field: msgspec copies the default


class Thing(Object):
    status: ThingStatus = ThingStatus()


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"type": "not a type"}, "status.conditions[0].type"),
        ({"type": "A" * 317}, "status.conditions[0].type"),
        ({"status": "true"}, "status.conditions[0].status"),
        ({"observedGeneration": -1}, "status.conditions[0].observedGeneration"),
        ({"lastTransitionTime": "yesterday"}, "status.conditions[0].lastTransitionTime"),
        ({"reason": ""}, "status.conditions[0].reason"),
        ({"reason": "two words"}, "status.conditions[0].reason"),
        ({"message": None}, "status.conditions[0].message"),
        ({"message": "m" * 32769}, "status.conditions[0].message"),
    ],
)
def test_the_schema_has_the_rules_of_meta_v1(changes: dict[str, Any], path: str) -> None:
    api = Api(Group("a.example.com", Kind("Thing", storage="v1", versions={"v1": Version(Thing)})))
    with serve(api) as server:
        things = "/apis/a.example.com/v1/namespaces/default/things"
        thing = {"apiVersion": "a.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
        server.request("POST", things, body=thing)
        headers = {"Content-Type": "application/merge-patch+json"}

        def patched(*conditions: dict[str, Any]) -> Any:
            body = {"status": {"conditions": list(conditions)}}
            return server.request("PATCH", f"{things}/a/status", headers=headers, body=body).json()

        causes = patched({**READY, **changes})["details"]["causes"]
        assert {cause["field"] for cause in causes} == {path}
        assert patched(READY)["status"]["conditions"] == [READY]
        (twice,) = patched(READY, READY)["details"]["causes"]
        assert twice["reason"] == "FieldValueDuplicate"
