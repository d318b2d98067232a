"""Every case, sent to both sides: the answers are the same, but for what ``deliberate`` allows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.differential.conftest import Plane
from tests.differential.deliberate import DELIBERATE, allowed, remaining
from tests.differential.every import all_cases
from tests.differential.playing import Answers
from tests.differential.side import BEACONS, OLDER, delete, get, merge, post, probe, put

pytestmark = pytest.mark.needs("crd")


@pytest.mark.parametrize("name", all_cases())
def test_both_sides_answer_alike(converse: Callable[[str], Answers], name: str) -> None:
    ours, theirs = converse(name)
    entries = allowed(name)
    left = [remaining(*answers, entries) for answers in zip(ours, theirs, strict=True)]
    assert [answer for answer, _ in left] == [answer for _, answer in left]
    assert ours != theirs or not entries, "this case needs no entry in DELIBERATE any more"


def members(value: Any) -> Any:
    """The names of all members in their order, without managedFields, which we do not have."""
    if isinstance(value, dict):
        return [(name, members(item)) for name, item in value.items() if name != "managedFields"]
    return [members(item) for item in value] if isinstance(value, list) else None


def test_members_come_in_the_same_order(plane: Plane) -> None:
    """Behaviour M18, N23: and the answer of a write has the order of a read."""
    meta = {"labels": {"b": "1", "a": "2"}, "annotations": {"x": "y"}, "finalizers": ["example.com/guard"]}
    obj = probe(meta=meta)
    put_obj = probe(meta={**meta, "resourceVersion": "{rv}", "labels": {"z": "1", "uid": "2"}})
    steps = [
        post(obj),
        get("/new"),
        put("/new", put_obj),
        get("/new"),
        merge("/new/status", {"status": {"seen": 1, "ready": True}}),
        get("/new"),
        merge("/new", {"metadata": {"annotations": {"uid": "1", "resourceVersion": "2"}}}),
        get("/new"),
        delete("/new"),
        get("/new"),
        get(f"{OLDER}/new"),
        post({"apiVersion": "{g}/v1", "kind": "Beacon", "metadata": {"name": "lit"}, "size": 3}, BEACONS),
        get(f"{BEACONS}/lit"),
        get(BEACONS),
        get(f"{BEACONS}?pretty=true"),
    ]
    sides = plane.pair()
    ours, theirs = (side.play("order", steps, lambda body: members(json.loads(body))) for side in sides)
    for side in sides:
        side.close()
    assert ours == theirs
    assert ours[0:10:2] == ours[1:10:2]
    assert [name for name, _ in ours[0]] == ["apiVersion", "kind", "metadata", "spec"]


def test_each_difference_names_cases_that_exist_and_a_reason() -> None:
    known = set(all_cases())
    for entry in DELIBERATE:
        assert entry.reason
        assert entry.cases
        assert known.issuperset(entry.cases), set(entry.cases) - known
