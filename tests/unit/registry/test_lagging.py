"""What a server answers whose cache is behind: another process has written, and the log of it comes late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from extapi.client.transport import ClientRequest
from extapi.codec.strictjson import encode
from extapi.controlplane.controllers.namespaces import NamespaceController
from extapi.storage.memory import MemoryBackend
from extapi.testing import Stream
from extapi.testing.memory import START
from tests.lagging import LaggingBackend, VirtualTime
from tests.unit.controlplane.controllers.cluster import ROOT, cluster, create
from tests.unit.registry.pair import MERGE, Answers, Pair, names, revision, told
from tests.unit.verbs.sample import WIDGETS, failure, widget

WATCH_LIST = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


# -- reads


@pytest.mark.parametrize(
    "query",
    [{}, {"limit": "1"}, {"labelSelector": "a=b"}, {"fieldSelector": "metadata.name=w"}],
    ids=["all", "limit", "labels", "name"],
)
def test_a_consistent_list_has_what_another_process_wrote(pair: Pair, query: dict[str, str]) -> None:
    """Behaviour E28, K12."""
    pair.near.hold()
    made = pair.create(labels={"a": "b"})
    answers = pair.asked(WIDGETS, query)
    pair.advance(2)
    assert answers == []
    pair.near.flow()
    pair.advance(0.1)
    assert names(answers[0]) == ["w"]
    assert int(answers[0].json()["metadata"]["resourceVersion"]) == revision(made)


def test_a_consistent_get_has_what_another_process_wrote(pair: Pair) -> None:
    """Behaviour E24: an object that was made, changed, and is gone."""
    pair.near.hold()
    steps: tuple[Callable[[], Any], ...] = (
        pair.create,
        lambda: pair.patch({"spec": {"size": 7}}),
        lambda: pair.made(pair.there("DELETE", f"{WIDGETS}/w")),
    )
    for step in steps:
        made = step()
        answers = pair.asked(f"{WIDGETS}/w")
        pair.advance(2)
        assert answers == []
        pair.near.flow()
        pair.advance(0.1)
        pair.near.hold()
        if step is steps[2]:
            assert answers[0].status == 404
        else:
            assert answers[0].json() == made


@pytest.mark.parametrize("path", [WIDGETS, f"{WIDGETS}/w"])
@pytest.mark.parametrize("query", [{}, {"resourceVersion": "next"}], ids=["consistent", "N"])
def test_a_cache_that_stays_behind_is_a_timeout(pair: Pair, path: str, query: dict[str, str]) -> None:
    """Behaviour E24: 504 after 3 s."""
    before = revision(pair.known())
    pair.near.hold()
    current = revision(pair.patch({"spec": {"size": 2}}))
    answers = pair.asked(path, {key: str(current) for key in query})
    pair.advance(2.9)
    assert answers == []
    pair.advance(0.3)
    assert answers[0].status == 504
    assert answers[0].headers["retry-after"] == "1"
    assert failure(answers[0]) == {
        "message": f"Timeout: Too large resource version: {current}, current: {before}",
        "reason": "Timeout",
        "details": {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
    }
    pair.near.flow()
    assert pair.here("GET", path).status == 200


def test_reads_that_may_be_old_do_not_wait(pair: Pair) -> None:
    """Behaviour E24, E28: any state for 0, one that is reached for N; an exact one comes from the store."""
    old = pair.known()
    pair.near.hold()
    new = pair.patch({"spec": {"size": 2}})
    for text in ("0", str(revision(old))):
        assert pair.here("GET", f"{WIDGETS}/w", {"resourceVersion": text}).json() == old
        assert pair.here("GET", WIDGETS, {"resourceVersion": text}).json()["items"] == [old]
    for obj in (old, new):
        exact = {"resourceVersion": str(revision(obj)), "resourceVersionMatch": "Exact"}
        assert pair.here("GET", WIDGETS, exact).json()["items"] == [obj]


def test_a_read_of_a_revision_waits_for_it_and_not_for_more(pair: Pair) -> None:
    """Behaviour E24: not older than N."""
    pair.near.hold()
    first, second = pair.create("a"), pair.create("b")
    answers = pair.asked(WIDGETS, {"resourceVersion": str(revision(first))})
    pair.advance(1)
    assert answers == []
    pair.near.flow()
    pair.advance(0.1)
    assert names(answers[0])[0] == "a"
    assert int(answers[0].json()["metadata"]["resourceVersion"]) in (revision(first), revision(second))


def test_who_has_created_reads_what_he_created(pair: Pair) -> None:
    """Whatever else is missing: a commit of this process is in its tails when it returns, and all before it."""
    pair.near.hold()
    pair.create("before")
    made = pair.made(pair.here("POST", WIDGETS, body=widget()), 201)
    assert pair.here("GET", f"{WIDGETS}/w", {"resourceVersion": "0"}).json() == made
    assert pair.here("GET", f"{WIDGETS}/w").json() == made
    assert names(pair.here("GET", WIDGETS)) == ["before", "w"]


@pytest.mark.parametrize("late", [True, False], ids=["answered late", "written late"])
def test_a_commit_is_seen_before_its_answer_or_not_at_all(pair: Pair, late: bool) -> None:
    """Either way the reader sees a state that the log had."""
    pair.server.far.answers_late = late
    for number in range(10):
        writing: Answers = []
        request = ClientRequest("POST", WIDGETS, body=encode(widget(f"w{number}")))
        pair.begun(pair.server.other, request, writing)
        answered = len(writing)
        listed = pair.here("GET", WIDGETS)
        assert number + 1 >= len(names(listed)) >= number + answered
        pair.advance(0.2)
        assert writing[0].status == 201
    assert len(names(pair.here("GET", WIDGETS))) == 10


# -- watches


def test_a_watch_without_a_revision_begins_with_what_another_process_wrote(pair: Pair) -> None:
    """Behaviour F4."""
    pair.known("a")
    pair.near.hold()
    made = pair.create("b")
    answers: list[Stream] = []
    pair.server.clock.callLater(1, pair.near.flow)
    answers.append(pair.watched({"allowWatchBookmarks": "true"}))
    pair.advance(2)
    assert [(kind, name) for kind, name, _ in told(answers[0])] == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]
    assert told(answers[0])[2][2] == revision(made)


def test_a_watch_from_a_revision_that_is_not_here_yet_tells_only_what_is_after_it(pair: Pair) -> None:
    """Behaviour F5."""
    pair.near.hold()
    pair.create("a")
    since = revision(pair.create("b"))
    stream = pair.watched({"resourceVersion": str(since)})
    after = pair.create("c")
    pair.advance(1)
    assert stream.lines == []
    pair.near.flow()
    pair.advance(0.2)
    assert told(stream) == [("ADDED", "c", revision(after))]


def test_a_watch_that_breaks_off_is_resumed_without_loss_and_repetition(pair: Pair) -> None:
    """Behaviour F13, F18: the cache is filled anew, and the events since are in it."""
    expected = []
    seen: list[tuple[str, str, int]] = []
    last = 0
    for number in range(12):
        expected.append(("ADDED", f"w{number:02}", revision(pair.create(f"w{number:02}"))))
        query = {"resourceVersion": str(last)} if last else {"resourceVersion": "0"}
        stream = pair.watched(query)
        if not last:
            assert stream.reply.status == 200
        expected.append(("MODIFIED", f"w{number:02}", revision(pair.patch({"spec": {"size": 2}}, f"w{number:02}"))))
        pair.advance(0.01 * (number % 4))
        pair.near.cut(compacted=True)
        pair.advance(1)
        assert stream.ended
        if stream.events:
            seen += told(stream)
            last = seen[-1][2]
    stream = pair.watched({"resourceVersion": str(last)})
    pair.advance(1)
    seen += told(stream)
    assert [event for event in seen if event[0] == "MODIFIED"] == [each for each in expected if each[0] == "MODIFIED"]
    assert sorted(set(seen)) == sorted(seen)
    assert [event[2] for event in seen] == sorted(event[2] for event in seen)
    assert seen == expected


def test_a_watch_outlives_a_log_that_breaks_off(pair: Pair) -> None:
    """Behaviour F18: the log is read on from where it was, so that no watcher has to come again."""
    expected = []
    stream = pair.watched({"resourceVersion": "0"})
    for number in range(12):
        expected.append(("ADDED", f"w{number:02}", revision(pair.create(f"w{number:02}"))))
        expected.append(("MODIFIED", f"w{number:02}", revision(pair.patch({"spec": {"size": 2}}, f"w{number:02}"))))
        pair.advance(0.01 * (number % 4))
        pair.near.cut()
        pair.advance(0.01 * (number % 5))
    pair.advance(1)
    assert not stream.ended
    assert told(stream) == expected


def test_bookmarks_do_not_overtake_events(pair: Pair) -> None:
    """Behaviour F11: a bookmark says how far the client has been told, not how far the log is."""
    before = revision(pair.known("a"))
    stream = pair.watched({"resourceVersion": str(before), "allowWatchBookmarks": "true"})
    pair.near.hold()
    made = pair.create("b")
    pair.advance(61)
    assert told(stream) == [("BOOKMARK", "", before)]
    pair.near.flow()
    pair.advance(61)
    assert told(stream)[1:] == [("ADDED", "b", revision(made)), ("BOOKMARK", "", revision(made))]


@pytest.mark.parametrize("reached", [True, False])
def test_the_end_of_the_initial_events_has_the_revision_that_they_show(pair: Pair, reached: bool) -> None:
    """Behaviour F6: those of revision 0 may be old, those without one may not."""
    old = pair.known("a")
    pair.near.hold()
    new = pair.create("b")
    if reached:
        pair.server.clock.callLater(0.5, pair.near.flow)
    stream = pair.watched({**WATCH_LIST, **({} if reached else {"resourceVersion": "0"})})
    pair.advance(1)
    shown = ["a", "b"] if reached else ["a"]
    assert [name for _, name, _ in told(stream)] == [*shown, ""]
    assert told(stream)[-1] == ("BOOKMARK", "", revision(new if reached else old))
    pair.near.flow()
    pair.advance(1)
    assert [name for _, name, _ in told(stream)][len(shown) + 1 :] == ["b"][len(shown) - 1 :]


# -- readiness


def test_a_server_whose_log_is_away_serves_what_it_has(pair: Pair) -> None:
    """Behaviour E24, F18: watches wait, and so do reads that want to be as fresh as the store, but not for ever."""
    known = pair.known()
    stream = pair.watched({"resourceVersion": str(revision(known))})
    pair.near.hold()
    pair.near.cut()
    changed = pair.patch({"spec": {"size": 2}})
    assert pair.here("GET", "/readyz").status == 200
    assert pair.here("GET", f"{WIDGETS}/w", {"resourceVersion": "0"}).json() == known
    late = pair.watched({"resourceVersion": str(revision(known))})
    fresh = pair.asked(WIDGETS)
    pair.advance(3.5)
    assert [(answer.status, answer.json()["reason"]) for answer in fresh] == [(504, "Timeout")]
    pair.near.flow()
    pair.advance(1)
    assert pair.here("GET", f"{WIDGETS}/w").json() == changed
    for each in (stream, late):
        assert told(each) == [("MODIFIED", "w", revision(changed))]


def test_a_server_without_the_log_is_not_ready(pair: Pair) -> None:
    """Behaviour C22, E35, F18: reads are refused until the cache has been filled anew; writes go on."""
    pair.known()
    pair.near.breaks = 1.0
    pair.near.cut(compacted=True)
    assert pair.here("GET", "/readyz").status == 500
    for query in ({}, {"watch": "true"}, {"resourceVersion": "0"}):
        refused = pair.here("GET", WIDGETS, query)
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    pair.patch({"metadata": {"labels": {"there": "1"}}})
    answer = pair.here("PATCH", f"{WIDGETS}/w", headers=MERGE, body={"metadata": {"labels": {"here": "1"}}})
    changed = pair.made(answer)
    assert changed["metadata"]["labels"] == {"there": "1", "here": "1"}
    assert pair.made(pair.here("PATCH", f"{WIDGETS}/w", headers=MERGE, body={})) == changed
    pair.near.breaks = 0.0
    pair.advance(10)
    assert pair.here("GET", "/readyz").status == 200
    assert pair.here("GET", f"{WIDGETS}/w").json() == changed


def test_a_server_that_is_behind_is_not_ready_before_it_has_caught_up(pair: Pair) -> None:
    """Behaviour E35: the cache is filled with an old state first, which nobody is shown."""
    for name in "abc":
        pair.create(name)
    pair.near.hold()
    pair.near.cut(compacted=True)
    pair.advance(1)
    assert pair.here("GET", "/readyz").status == 500
    assert pair.here("GET", WIDGETS, {"resourceVersion": "0"}).status == 429
    pair.near.flow()
    pair.advance(1)
    assert pair.here("GET", "/readyz").status == 200
    assert names(pair.here("GET", WIDGETS, {"resourceVersion": "0"})) == ["a", "b", "c"]


def test_a_cache_that_is_filled_anew_has_what_came_right_after_the_compaction(pair: Pair) -> None:
    """Behaviour F8, F13: the log is read from the revision of the pages, and no watch can begin before it."""
    old, kept = pair.known("a"), pair.known("b")
    pair.server.run(pair.server.log.compact(revision(kept), expected=pair.server.run(pair.server.log.oldest())))
    made = pair.create("c")
    pair.near.cut(compacted=True)
    pair.advance(1)
    assert names(pair.here("GET", WIDGETS)) == ["a", "b", "c"]
    stream = pair.watched({"resourceVersion": str(revision(kept))})
    assert told(stream) == [("ADDED", "c", revision(made))]
    late = pair.watched({"resourceVersion": str(revision(old))})
    assert [(kind, obj["code"]) for kind, obj in late.events] == [("ERROR", 410)]


# -- controllers


@pytest.mark.parametrize("seed", range(3))
def test_a_namespace_takes_along_what_another_process_put_into_it(seed: int) -> None:
    """Its controller lists what is left: a list that does not wait would call the namespace empty too early."""
    clock = VirtualTime(START)
    log = MemoryBackend(clock)
    near = LaggingBackend(log, clock, seed)
    far = LaggingBackend(log, clock, seed)
    with cluster(NamespaceController(), backend=near, clock=clock) as here, cluster(backend=far, clock=clock) as there:
        create(there, ROOT, "full")
        for name in ("one", "two"):
            create(there, f"{ROOT}/full/configmaps", name)
        path = "/apis/example.com/v1/namespaces/full/widgets"
        create(there, path, "late", metadata={"finalizers": ["example.com/mine"]})
        here.advance(1)
        near.hold()
        there.request("PATCH", f"{path}/late", headers=MERGE, body={"metadata": {"finalizers": []}})
        create(there, path, "later")
        there.request("DELETE", f"{ROOT}/full")
        clock.callLater(1, near.flow)
        here.advance(10)
        assert there.request("GET", f"{ROOT}/full").status == 404
        for kind in (f"{ROOT}/full/configmaps", path):
            assert names(there.request("GET", kind)) == []
        assert there.run(log.page(b"/registry/example.com/", at=None, after=b"", limit=0)).entries == []
