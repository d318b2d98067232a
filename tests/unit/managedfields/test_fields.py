"""The fields that configurations name, as in structured-merge-diff's own tests."""

from __future__ import annotations

from extapi.managedfields.fields import fields_of
from tests.unit.managedfields.smdcases import cases


def test_the_same_fields_are_found() -> None:
    found = [(fields_of(case["value"], atom).to_json(), case["fields"]) for atom, case in cases("fields")]
    assert len(found) > 200
    assert [pair for pair in found if pair[0] != pair[1]] == []
