"""Sets along types, as in structured-merge-diff's own tests."""

from __future__ import annotations

from extapi.managedfields.fieldset import FieldSet
from extapi.managedfields.typedsets import reconcile, with_named_fields
from tests.unit.managedfields.smdcases import cases


def test_the_same_named_fields_are_added() -> None:
    found = [
        (with_named_fields(FieldSet.from_json(case["fields"]), atom).to_json(), case["named"])
        for atom, case in cases("fields")
    ]
    assert any(named != case["fields"] for (named, _), (_, case) in zip(found, cases("fields"), strict=True))
    assert [pair for pair in found if pair[0] != pair[1]] == []


def test_changed_types_are_followed_alike() -> None:
    found = [(reconcile(FieldSet.from_json(case["before"]), atom).to_json(), case) for atom, case in cases("reconcile")]
    assert [pair for pair in found if pair[0] != pair[1]["fields"]] == []
    assert any(case["before"] != case["fields"] for _, case in found)
