"""Managed fields of creates, updates and patches: behaviour E22, E69, E70."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Review
from tests.unit.verbs.sample import WIDGETS, Shop, widget


def entries(obj: dict[str, Any]) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", ())}


@pytest.mark.parametrize(
    ("manager", "agent", "shown"),
    [
        ("boss", "kubectl/v1", "boss"),
        ("", "kubectl/v1.30 (linux)", "kubectl"),
        ("", "", "unknown"),
        ("", "x" * 200, "x" * 128),
    ],
)
def test_the_manager_is_given_or_the_agent(shop_served: Shop, manager: str, agent: str, shown: str) -> None:
    query = {"fieldManager": manager} if manager else {}
    made = shop_served.request("POST", WIDGETS, query, {"User-Agent": agent}, widget(spec={"size": 2}))
    assert list(entries(made.json())) == [shown]


def test_whoever_writes_a_field_gets_it(shop_served: Shop) -> None:
    shop_served.create(spec={"size": 1, "color": "pink"})
    shop_served.advance(60)
    changed = shop_served.merge({"spec": {"size": 2}, "metadata": {"labels": {"a": "b"}}}, fieldManager="u").json()
    assert entries(changed) == {
        "unknown": {"f:spec": {".": {}, "f:color": {}}},
        "u": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:size": {}}},
    }
    times = [entry["time"] for entry in changed["metadata"]["managedFields"]]
    assert times == ["2023-11-14T22:13:20Z", "2023-11-14T22:14:20Z"]


def test_who_changes_nothing_manages_nothing(shop_served: Shop) -> None:
    made = shop_served.create(spec={"size": 1})
    shop_served.advance(60)
    assert shop_served.put(made, fieldManager="u").json() == made
    assert shop_served.merge({"spec": {"size": 1}}, fieldManager="u").json() == made


@pytest.mark.parametrize("entry", [{}, {"operation": "Nope"}])
def test_managers_are_forgotten_by_an_empty_entry_alone(shop_served: Shop, entry: dict[str, Any]) -> None:
    """A malformed entry is ignored; it is not in the object, and the managers before stay."""
    made = shop_served.create(spec={"size": 1})
    sent = {**made, "metadata": {**made["metadata"], "managedFields": [entry]}}
    answer = shop_served.put(sent)
    assert answer.status == 200
    assert list(entries(answer.json())) == ([] if not entry else ["unknown"])


def test_a_patch_that_names_them_with_an_escape_is_read(shop_served: Shop) -> None:
    shop_served.create(spec={"size": 1})
    patched = shop_served.merge(b'{"metadata":{"managed\\u0046ields":[{}]}}').json()
    assert entries(patched) == {}


def test_admission_that_breaks_them_is_warned_of(shop_served: Shop) -> None:
    """Behaviour E70: they are as before; what it changes without breaking them counts."""

    async def breaks(review: Review) -> None:
        review.object.metadata.managed_fields = [{"operation": "Nope"}]
        review.object.metadata.labels["seen"] = "yes"

    shop_served.plugin.on_mutate = breaks
    answer = shop_served.request("POST", WIDGETS, body=widget(spec={"size": 2}))
    assert answer.json()["metadata"]["labels"] == {"seen": "yes"}
    assert entries(answer.json()) == {"unknown": {"f:spec": {".": {}, "f:color": {}, "f:size": {}}}}
    assert ".metadata.managedFields was in an invalid state after admission" in answer.headers["warning"]
    patched = shop_served.merge({"spec": {"size": 3}})
    assert list(entries(patched.json())) == ["unknown"]
    assert "managedFields was in an invalid state" in patched.headers["warning"]

    async def forgets(review: Review) -> None:
        review.object.metadata.managed_fields = []

    shop_served.plugin.on_mutate = forgets
    forgotten = shop_served.merge({"spec": {"size": 4}})
    assert entries(forgotten.json()) == {}
    assert "warning" not in forgotten.headers


def test_what_admission_changes_back_is_no_change(shop_served: Shop) -> None:
    """Of managed fields only a time is new, and that alone is not written."""
    made = shop_served.create(spec={"size": 1})
    shop_served.advance(60)

    async def back(review: Review) -> None:
        review.object.spec.size = 1

    shop_served.plugin.on_mutate = back
    assert shop_served.merge({"spec": {"size": 2}}).json() == made
