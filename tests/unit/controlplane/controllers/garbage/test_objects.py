"""What is kept of an object, and what a reference means."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from extapi.controlplane.controllers.garbage.objects import Claim, Owner, observed, reduced
from tests.unit.controlplane.controllers.garbage.world import KINDS, owner, thing

REFERENCE = {
    "apiVersion": "v1",
    "kind": "Map",
    "name": "a",
    "uid": "u",
    "controller": True,
    "blockOwnerDeletion": False,
}


def of(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "b", "namespace": "one", "uid": "v", "resourceVersion": "7", **metadata}}


def test_an_object_as_it_is_sent() -> None:
    found = observed(KINDS["Widget"], of(ownerReferences=[REFERENCE], finalizers=["orphan", "a.b/c"]))
    assert found is not None
    assert (found.namespace, found.name, found.uid, found.resource_version) == ("one", "b", "v", "7")
    assert [each.to_dict() for each in found.owners] == [REFERENCE], "nothing is lost when it is written"
    assert (found.deleted, found.orphans, found.foreground) == (False, True, False)
    ends = observed(KINDS["Map"], of(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["foregroundDeletion"]))
    assert ends is not None
    assert (ends.deletes_dependents, ends.orphans_dependents) == (True, False)


@pytest.mark.parametrize(
    "metadata",
    [None, [], "x", {}, {"name": "a"}, {"name": 1, "uid": "u"}, {"name": "a", "uid": "u", "ownerReferences": {"a": 1}},
     {"name": "a", "uid": "u", "ownerReferences": [{"uid": 3}]}, {"name": "a", "uid": "u", "finalizers": "orphan"}],
)  # fmt: skip
def test_what_is_no_object_is_nothing(metadata: Any) -> None:
    """Any server may be registered. An informer goes on, and so does the collector."""
    assert observed(KINDS["Map"], {"metadata": metadata}) is None
    assert reduced(KINDS["Map"], {"metadata": metadata})["observed"] is None


def test_an_informer_keeps_little() -> None:
    obj = of(labels={"a": "b"}, managedFields=[{}], ownerReferences=[REFERENCE]) | {"spec": {}}
    kept = reduced(KINDS["Map"], obj)
    assert kept.pop("observed") == observed(KINDS["Map"], obj)
    assert kept == {"metadata": {"name": "b", "namespace": "one", "uid": "v", "resourceVersion": "7"}}


def test_dependents_share_the_texts_of_their_owner() -> None:
    one, two = (
        observed(KINDS["Map"], msgspec.json.decode(msgspec.json.encode(of(ownerReferences=[REFERENCE])))) for _ in "ab"
    )
    assert one is not None
    assert two is not None
    assert one.owners[0].uid is two.owners[0].uid
    assert one.namespace is two.namespace


@pytest.mark.parametrize(
    ("change", "fits"),
    [({}, True), ({"api_version": "example.com/v2"}, True), ({"api_version": "example.org/v1"}, False),
     ({"kind": "Map"}, False), ({"name": "other"}, False), ({"uid": "other"}, False)],
)  # fmt: skip
def test_a_reference_means_one_object(change: dict[str, str], fits: bool) -> None:
    widget = thing("Widget", "w")
    assert widget.fits(msgspec.structs.replace(owner(widget), **change), "one") is fits
    assert not widget.fits(owner(widget), "two")
    assert not widget.fits(owner(widget), ""), "a cluster-scoped dependent"
    assert thing("Base", "b").fits(owner(thing("Base", "b")), "two")


def test_a_claim_in_words() -> None:
    """``objectReference.String``; kubectl shows it in events."""
    claim = Claim.of(Owner("example.com/v1", "Widget", "w", "u"), "one")
    assert str(claim) == "[example.com/v1/Widget, namespace: one, name: w, uid: u]"
