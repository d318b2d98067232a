"""Writes on a server whose cache has an older object than the store (behaviour K3)."""

from __future__ import annotations

from typing import Any

import pytest

from extapi.client.transport import ClientRequest
from extapi.codec.strictjson import encode
from tests.unit.registry.pair import MERGE, Answers, Pair, names, revision
from tests.unit.verbs.sample import WIDGETS, failure, widget

STUCK = "shop.example.com/stuck"


def test_a_patch_is_made_on_the_live_object(pair: Pair) -> None:
    """Behaviour K3."""
    pair.known()
    pair.near.hold()
    pair.patch({"metadata": {"labels": {"there": "1"}}})
    changed = pair.made(pair.here("PATCH", f"{WIDGETS}/w", headers=MERGE, body={"metadata": {"labels": {"here": "1"}}}))
    assert changed["metadata"]["labels"] == {"there": "1", "here": "1"}
    assert pair.here("GET", f"{WIDGETS}/w").json() == changed


def test_a_patch_that_changes_the_cached_object_in_nothing_may_change_the_live_one(pair: Pair) -> None:
    """Behaviour K3: equal bytes of a *live* object are not written."""
    pair.known(spec={"color": "red"})
    pair.near.hold()
    pair.patch({"spec": {"color": "green"}})
    changed = pair.made(pair.here("PATCH", f"{WIDGETS}/w", headers=MERGE, body={"spec": {"color": "red"}}))
    assert changed["spec"]["color"] == "red"
    pair.near.flow()
    assert pair.here("GET", f"{WIDGETS}/w").json() == changed


def test_a_patch_of_nothing_shows_the_live_object(pair: Pair) -> None:
    """Behaviour K3, K17: a dry run too; and what is gone is gone."""
    pair.known()
    pair.near.hold()
    live = pair.patch({"spec": {"color": "green"}})
    for query in ({}, {"dryRun": "All"}):
        answer = pair.here("PATCH", f"{WIDGETS}/w", query, MERGE, {})
        assert pair.made(answer) == live
    pair.there("DELETE", f"{WIDGETS}/w")
    for query in ({}, {"dryRun": "All"}):
        assert pair.here("PATCH", f"{WIDGETS}/w", query, MERGE, {}).status == 404
    assert pair.here("DELETE", f"{WIDGETS}/w", {"dryRun": "All"}).status == 404


def test_a_put_is_compared_with_the_live_object(pair: Pair) -> None:
    """Behaviour E40, K3: who names the live revision is served, who names the cached one is late."""
    old = pair.known()
    pair.near.hold()
    live = pair.patch({"spec": {"color": "green"}})
    for query in ({"dryRun": "All"}, {}):
        late = pair.here("PUT", f"{WIDGETS}/w", query, body=old)
        assert late.status == 409
        assert failure(late)["reason"] == "Conflict"
    answer = pair.here("PUT", f"{WIDGETS}/w", body={**live, "spec": {**live["spec"], "size": 9}})
    assert pair.made(answer)["spec"] == {"color": "green", "size": 9}


@pytest.mark.parametrize("tracked", [True, False])
def test_a_put_without_a_uid_is_of_the_live_object_though_the_cache_has_a_former_one(
    pair: Pair, *, tracked: bool
) -> None:
    """Behaviour E39, K3: the uid that the first attempt filled in is no precondition of the client's.

    An object without managers is not made anew to be given some.
    """
    nobody: dict[str, Any] = {"metadata": {"managedFields": [{}]}}
    former = pair.known()
    if not tracked:
        pair.patch(nobody)
        pair.made(pair.here("GET", f"{WIDGETS}/w"))
    pair.near.hold()
    pair.there("DELETE", f"{WIDGETS}/w")
    live = pair.create()
    if not tracked:
        live = pair.patch(nobody)
    assert ("managedFields" in live["metadata"]) is tracked
    assert live["metadata"]["uid"] != former["metadata"]["uid"]
    metadata = {name: value for name, value in live["metadata"].items() if name != "uid"}
    answer = pair.here("PUT", f"{WIDGETS}/w", body={**live, "metadata": metadata, "spec": {"color": "red", "size": 9}})
    assert pair.made(answer)["metadata"]["uid"] == live["metadata"]["uid"]


def test_a_put_that_writes_back_the_cached_object_is_late(pair: Pair) -> None:
    """Behaviour E40: although it would change nothing here."""
    old = pair.known()
    pair.near.hold()
    pair.patch({"spec": {"color": "green"}})
    assert pair.here("PUT", f"{WIDGETS}/w", body=old).status == 409


def test_an_object_that_is_gone_can_be_created_again(pair: Pair) -> None:
    """Behaviour E14: names are compared in the store. One that is taken is taken, although the cache has none."""
    pair.known()
    pair.near.hold()
    pair.there("DELETE", f"{WIDGETS}/w")
    assert pair.here("PATCH", f"{WIDGETS}/w", headers=MERGE, body={"spec": {"size": 2}}).status == 404
    assert pair.here("DELETE", f"{WIDGETS}/w").status == 404
    assert pair.here("POST", WIDGETS, body=widget()).status == 201
    pair.create("other")
    assert pair.here("POST", WIDGETS, body=widget("other")).status == 409


def test_a_delete_is_of_the_live_object(pair: Pair) -> None:
    """Behaviour E45, K3: with its finalizers, and its preconditions."""
    old = pair.known()
    pair.near.hold()
    live = pair.patch({"metadata": {"finalizers": [STUCK]}})
    stale = {"preconditions": {"resourceVersion": str(revision(old))}}
    assert pair.here("DELETE", f"{WIDGETS}/w", body=stale).status == 409
    marked = pair.made(pair.here("DELETE", f"{WIDGETS}/w"))
    assert marked["metadata"]["finalizers"] == [STUCK]
    assert marked["metadata"]["generation"] == live["metadata"]["generation"] + 1


def test_a_second_delete_shows_the_live_object(pair: Pair) -> None:
    """Behaviour E49: nothing is written, so nothing else compares it with the store; and one that came anew is deleted."""
    pair.known(finalizers=[STUCK])
    pair.there("DELETE", f"{WIDGETS}/w")
    assert "deletionTimestamp" in pair.here("GET", f"{WIDGETS}/w").json()["metadata"]
    pair.near.hold()
    live = pair.patch({"metadata": {"labels": {"there": "1"}}})
    assert pair.made(pair.here("DELETE", f"{WIDGETS}/w")) == live
    pair.patch({"metadata": {"finalizers": None}})
    assert pair.there("GET", f"{WIDGETS}/w").status == 404
    pair.create()
    assert pair.made(pair.here("DELETE", f"{WIDGETS}/w"))["status"] == "Success"
    assert pair.there("GET", f"{WIDGETS}/w").status == 404


def test_a_collection_that_is_deleted_has_what_another_process_wrote(pair: Pair) -> None:
    """Behaviour E53: and each of its objects in its live state."""
    for name in "abc":
        pair.known(name)
    pair.near.hold()
    pair.patch({"metadata": {"finalizers": [STUCK]}}, "a")
    pair.there("DELETE", f"{WIDGETS}/b")
    pair.create("d")
    pair.server.clock.callLater(1, pair.near.flow)
    answer = pair.here("DELETE", WIDGETS)
    assert names(answer) == ["a", "c", "d"]
    (left,) = pair.there("GET", WIDGETS).json()["items"]
    assert left["metadata"]["name"] == "a"
    assert "deletionTimestamp" in left["metadata"]


def test_what_this_process_is_about_to_write_is_not_taken_for_what_another_wrote(pair: Pair) -> None:
    """The cache knows a commit of this process before the log has it; another one's may come first."""
    for number in range(10):
        name = f"w{number}"
        pair.known(name)
        answers: Answers = []
        patch = encode({"metadata": {"labels": {"here": "1"}}})
        pair.near.answers_late = False
        pair.begun(pair.server, ClientRequest("PATCH", f"{WIDGETS}/{name}", headers=MERGE, body=patch), answers)
        there = pair.patch({"metadata": {"labels": {"there": "1"}}}, name)
        listed = [pair.here("GET", WIDGETS).json()["items"][-1] for _ in range(3)]
        pair.advance(0.5)
        here = pair.made(answers[0])
        last = max(here, there, key=revision)
        assert last["metadata"]["labels"] == {"here": "1", "there": "1"}
        assert pair.here("GET", f"{WIDGETS}/{name}").json() == last
        assert all(seen in (here, there) for seen in listed)


def test_two_servers_that_patch_one_object_lose_nothing(pair: Pair) -> None:
    """Behaviour K3: as often as somebody else writes in between."""
    pair.known()
    answers: Answers = []
    for number in range(24):
        patch = encode({"metadata": {"labels": {f"l{number}": "x"}}})
        request = ClientRequest("PATCH", f"{WIDGETS}/w", headers=MERGE, body=patch)
        pair.begun(pair.server if number % 2 else pair.server.other, request, answers)
    pair.advance(10)
    assert [answer.status for answer in answers] == [200] * 24
    assert len(pair.here("GET", f"{WIDGETS}/w").json()["metadata"]["labels"]) == 24
