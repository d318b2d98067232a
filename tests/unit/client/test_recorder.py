"""Events: what is written, when it is a series, and that nothing waits for it or fails by it."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs, formatEvent

from extapi import Api, DynamicClient, Group, Kind, Version
from extapi.client.eventsink import DELIVERY, QUEUED, RETRY, TRIES, WRITERS
from extapi.client.kube import Client
from extapi.client.recorder import FINISH, KNOWN, REFRESH, SPAM_BURST, EventRecorder
from extapi.client.transport import ClientRequest, TransportError
from extapi.testing import InMemoryServer, serve
from tests.unit.client.building import now
from tests.unit.client.kubernetes import Answer, Kubernetes, status

ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
EVENTS = "/apis/events.k8s.io/v1/namespaces/kitchen/events"
CORE = "/api/v1/namespaces/kitchen/events"
POT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pot",
    "metadata": {"name": "soup", "namespace": "kitchen", "uid": "u1", "resourceVersion": "7"},
}

events = Api(
    Group("events.k8s.io", Kind("Event", storage="v1", status=False, versions={"v1": Version(ANY)})),
)
"""A cluster that has the newer events."""


def recorder(server: InMemoryServer, instance: str = "stove-1") -> EventRecorder:
    context = server.server.context
    return EventRecorder(context, "example.com/stove", instance, clock=server.clock, jitter=lambda: 0.0)


def written(server: InMemoryServer, path: str = EVENTS) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.request("GET", path).json()["items"]
    return found


class Cluster:
    """A cluster that answers as a test says, and a recorder."""

    def __init__(self, react: Any) -> None:
        self.clock: Any = now()
        self.kubernetes = Kubernetes(react)
        client = DynamicClient(Client(self.kubernetes), self.clock, lambda: 0.0)
        self.recorder = EventRecorder(client, "stove", "stove-1", clock=self.clock, jitter=lambda: 0.0)


def test_an_event_says_what_happened_to_which_object() -> None:
    with serve(events) as server:
        recorder(server).warning(POT, "BoiledOver", "Cook", "there is soup on the stove", related={"kind": "Stove"})
        (event,) = written(server)
        metadata = event.pop("metadata")
        assert metadata["name"].startswith("soup.17")
        assert metadata["namespace"] == "kitchen"
        assert event == {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "eventTime": "2023-11-14T22:13:20.000000Z",
            "reportingController": "example.com/stove",
            "reportingInstance": "stove-1",
            "action": "Cook",
            "reason": "BoiledOver",
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pot",
                "name": "soup",
                "namespace": "kitchen",
                "uid": "u1",
                "resourceVersion": "7",
            },
            "related": {"kind": "Stove"},
            "note": "there is soup on the stove",
            "type": "Warning",
        }


def test_what_happens_again_within_six_minutes_is_a_series() -> None:
    with serve(events) as server:
        stove = recorder(server)
        stove.normal(POT, "Stirred", "Cook", "stirred it")
        server.advance(60)
        changed = {**POT, "metadata": {**POT["metadata"], "resourceVersion": "8"}}
        stove.normal(changed, "Stirred", "Cook", "stirred it again")
        (event,) = written(server)
        assert event["series"] == {"count": 2, "lastObservedTime": "2023-11-14T22:14:20.000000Z"}
        assert event["note"] == "stirred it"
        for _ in range(3):
            server.advance(60)
            stove.normal(POT, "Stirred", "Cook", "stirred it")
        assert written(server)[0]["series"]["count"] == 2  # counted here, and written when the series ends
        server.advance(2 * FINISH)
        assert written(server)[0]["series"]["count"] == 5


def test_what_happens_again_after_that_is_another_event() -> None:
    with serve(events) as server:
        stove = recorder(server)
        stove.normal(POT, "Stirred", "Cook", "stirred it")
        server.advance(FINISH)
        stove.normal(POT, "Stirred", "Cook", "stirred it")
        assert [event.get("series") for event in written(server)] == [None, None]


@pytest.mark.parametrize(
    ("kind", "reason", "action", "name"),
    [
        ("warning", "Stirred", "Cook", "soup"),
        ("normal", "Salted", "Cook", "soup"),
        ("normal", "Stirred", "Taste", "soup"),
        ("normal", "Stirred", "Cook", "stew"),
    ],
)
def test_what_differs_is_no_series(kind: str, reason: str, action: str, name: str) -> None:
    with serve(events) as server:
        stove = recorder(server)
        stove.normal(POT, "Stirred", "Cook", "stirred it")
        getattr(stove, kind)({**POT, "metadata": {**POT["metadata"], "name": name}}, reason, action, "stirred it")
        assert len(written(server)) == 2


def test_a_series_that_goes_on_is_written_now_and_then() -> None:
    with serve(events) as server:
        stove = recorder(server)
        for _ in range(int(REFRESH / 60) + 14):
            stove.normal(POT, "Stirred", "Cook", "stirred it")
            server.advance(60)
        (event,) = written(server)
        assert event["series"]["count"] > 30


def test_an_event_that_has_expired_meanwhile_is_made_again() -> None:
    with serve(events) as server:
        stove = recorder(server)
        stove.normal(POT, "Stirred", "Cook", "stirred it")
        server.request("DELETE", f"{EVENTS}/{written(server)[0]['metadata']['name']}")
        stove.normal(POT, "Stirred", "Cook", "stirred it")
        (event,) = written(server)
        assert event["series"]["count"] == 2


def test_events_of_what_is_in_no_namespace_are_in_default() -> None:
    with serve(events) as server:
        recorder(server).normal({"kind": "Kitchen", "metadata": {"name": "k"}}, "Opened", "Open", "it is open")
        (event,) = written(server, EVENTS.replace("kitchen", "default"))
        assert event["regarding"] == {"kind": "Kitchen", "name": "k"}


def test_a_name_that_is_none_for_an_event_is_replaced() -> None:
    with serve(events) as server:
        recorder(server).normal({"kind": "Role", "metadata": {"name": "system:x"}}, "Made", "Make", "it is made")
        (event,) = written(server, EVENTS.replace("kitchen", "default"))
        assert ":" not in event["metadata"]["name"]


def test_where_the_group_is_missing_they_are_events_of_the_core_group() -> None:
    with serve(Api(Group("a.example.com", Kind("A", storage="v1", versions={"v1": Version(ANY)})))) as server:
        built_in = server.cluster  # the built-in control plane's kinds, with their rules
        legacy = Kubernetes(lambda _: None)

        async def send(request: ClientRequest) -> Any:
            legacy.requests.append(request)
            if "/events.k8s.io/" in request.path:
                return status(404, "NotFound", "the server could not find the requested resource")
            return await built_in.server.transport().send(request)

        legacy.send = send  # type: ignore[method-assign]  # a cluster of long ago
        client = DynamicClient(Client(legacy), server.clock, lambda: 0.0)
        stove = EventRecorder(client, "example.com/stove", "stove-1", clock=server.clock, jitter=lambda: 0.0)
        stove.normal(POT, "Stirred", "Cook", "stirred it")
        server.advance(60)
        stove.normal(POT, "Stirred", "Cook", "stirred it")
        server.advance(1)
        (event,) = built_in.request("GET", CORE).json()["items"]
        assert event["involvedObject"]["uid"] == "u1"
        assert (event["count"], event["message"], event["type"]) == (2, "stirred it", "Normal")
        assert event["firstTimestamp"] == "2023-11-14T22:13:20Z"
        assert event["lastTimestamp"] > event["firstTimestamp"]
        assert event["source"] == {"component": "example.com/stove"}
        asked = [request.path for request in legacy.requests if "/events.k8s.io/" in request.path]
        assert len(asked) == 1


def test_a_namespace_that_is_missing_is_no_group_that_is_missing() -> None:
    answer = status(404, "NotFound", 'namespaces "kitchen" not found', name="kitchen", kind="namespaces")
    cluster = Cluster(lambda _: answer)
    with capturedLogs() as logs:
        cluster.recorder.normal(POT, "Stirred", "Cook", "stirred it")
    assert len(cluster.kubernetes.requests) == 1
    assert [event["why"] for event in logs] == ['the server refused it: namespaces "kitchen" not found']


@pytest.mark.parametrize("answer", [TransportError("no route"), status(500, "InternalError"), status(429, "")])
def test_while_the_cluster_is_away_it_is_tried_again_and_given_up_at_last(answer: Any) -> None:
    cluster = Cluster(lambda _: answer)
    with capturedLogs() as logs:
        cluster.recorder.normal(POT, "Stirred", "Cook", "stirred it")
        for tries in range(1, TRIES + 5):
            assert len(cluster.kubernetes.requests) == min(tries, TRIES)
            cluster.clock.advance(RETRY)
    assert [event["count"] for event in logs] == [1]


def test_an_event_whose_first_answer_was_lost_goes_on_as_a_series() -> None:
    answers = iter([TransportError("lost"), status(409, "AlreadyExists"), Answer(200, {})])
    cluster = Cluster(lambda _: next(answers))
    cluster.recorder.normal(POT, "Stirred", "Cook", "stirred it")
    cluster.clock.advance(RETRY)
    cluster.recorder.normal(POT, "Stirred", "Cook", "stirred it")
    assert [request.method for request in cluster.kubernetes.requests] == ["POST", "POST", "PATCH"]


def test_recording_never_waits_and_what_is_too_much_is_dropped() -> None:
    cluster = Cluster(lambda _: Deferred())
    with capturedLogs() as logs:
        for number in range(QUEUED + 5):
            pot = {"kind": "Pot", "metadata": {"name": f"p{number}"}}
            cluster.recorder.normal(pot, "Stirred", "Cook", "stirred it")
    assert len(cluster.kubernetes.requests) == 1
    # The log is not filled either. (Garbage of other tests may log meanwhile.)
    assert [event["count"] for event in logs if "count" in event] == [1, 2, 4]


def test_series_to_remember_are_bounded() -> None:
    cluster = Cluster(lambda _: Answer(201, {"apiVersion": "events.k8s.io/v1", "kind": "Event"}))
    for number in range(KNOWN + 10):
        pot = {"kind": "Pot", "metadata": {"name": f"p{number}"}}
        cluster.recorder.normal(pot, "Stirred", "Cook", "stirred it")
    assert len(cluster.recorder._known) == KNOWN
    cluster.recorder.normal(pot, "Stirred", "Cook", "stirred it")  # the last one is known
    assert len(cluster.kubernetes.requests) == KNOWN + 11
    cluster.recorder.normal({"kind": "Pot", "metadata": {"name": "p0"}}, "Stirred", "Cook", "stirred it")
    assert cluster.kubernetes.requests[-1].method == "POST"  # the first one is not
    cluster.recorder.stop()


def test_events_about_one_object_have_a_rate() -> None:
    with serve(events) as server:
        stove = recorder(server)
        for number in range(int(SPAM_BURST) + 10):
            stove.normal(POT, f"Reason{number}", "Cook", "stirred it")
        assert len(written(server)) == SPAM_BURST
        stove.normal({"kind": "Pot", "metadata": {"name": "other", "namespace": "kitchen"}}, "A", "B", "c")
        assert len(written(server)) == SPAM_BURST + 1


@pytest.mark.parametrize(
    ("about", "reason", "action"),
    [({"metadata": {"name": "a"}}, "A", "B"), ({"kind": "Pot"}, "A", "B"), (POT, "", "B"), (POT, "A", "")],
)
def test_what_is_no_event_is_told_in_the_log_and_does_not_fail_the_controller(
    about: dict[str, Any], reason: str, action: str
) -> None:
    cluster = Cluster(lambda _: Answer(201, {}))
    with capturedLogs() as logs:
        cluster.recorder.normal(about, reason, action, "a note")
    assert len(logs) == 1
    assert cluster.kubernetes.requests == []


def test_texts_are_cut_to_what_an_event_may_have() -> None:
    with serve(events) as server:
        recorder(server, "i" * 200).normal(POT, "R" * 200, "A" * 200, "é" * 1000)
        (event,) = written(server)
        sizes = {name: len(event[name].encode()) for name in ("reason", "action", "reportingInstance", "note")}
        assert sizes == {"reason": 128, "action": 128, "reportingInstance": 128, "note": 1023}


def test_nothing_is_written_after_the_stop() -> None:
    cluster = Cluster(lambda _: TransportError("no route"))
    cluster.recorder.normal(POT, "Stirred", "Cook", "stirred it")
    cluster.recorder.stop()
    cluster.recorder.normal(POT, "Salted", "Cook", "salted it")
    cluster.clock.advance(3600)
    assert len(cluster.kubernetes.requests) == 1
    assert cluster.clock.getDelayedCalls() == []


def test_a_component_is_a_qualified_name() -> None:
    cluster = Cluster(lambda _: Answer(201, {}))
    client = DynamicClient(Client(cluster.kubernetes), cluster.clock, lambda: 0.0)
    with pytest.raises(ValueError, match="the component 'my stove' is not a qualified name"):
        EventRecorder(client, "my stove", "i", clock=cluster.clock, jitter=lambda: 0.0)


def pots(number: int) -> list[dict[str, Any]]:
    return [{"kind": "Pot", "metadata": {"name": f"p{each}", "namespace": "kitchen"}} for each in range(number)]


def names(cluster: Cluster) -> list[str]:
    """The objects of the events that were written, in order."""
    return [json.loads(request.body or b"")["regarding"]["name"] for request in cluster.kubernetes.requests]


def test_what_is_no_character_is_replaced_as_go_does_it() -> None:
    """Go's encoding/json writes each byte that is not UTF-8 as U+FFFD."""
    cluster = Cluster(lambda _: Answer(201, {}))
    cluster.recorder.warning(POT, "Failed", "Cook", "cannot read " + os.fsdecode(b"\xff"))
    (request,) = cluster.kubernetes.requests
    assert json.loads(request.body or b"")["note"] == "cannot read \ufffd"


@pytest.mark.parametrize("uid", ["\udcff", {1, 2}, float("nan")])
def test_an_event_that_cannot_be_written_is_dropped_alone(uid: Any) -> None:
    cluster = Cluster(lambda _: Answer(201, {}))
    odd = {"kind": "Pot", "metadata": {"name": "odd", "namespace": "kitchen", "uid": uid}}
    with capturedLogs() as logs:
        for pot in (*pots(1), odd, *pots(2)[1:]):
            cluster.recorder.normal(pot, "Stirred", "Cook", "stirred it")
    assert names(cluster) == ["p0", "p1"]
    assert len([event for event in logs if "dropped" in event["log_format"]]) == 1


@pytest.mark.parametrize("about", [None, "pot", {"kind": "Pot", "metadata": "odd"}])
def test_recording_does_not_fail_the_controller(about: Any) -> None:
    cluster = Cluster(lambda _: Answer(201, {}))
    with capturedLogs() as logs:
        cluster.recorder.normal(about, "Stirred", "Cook", "stirred it")
    assert [formatEvent(event) for event in logs] == ["an event of stove was dropped: it cannot be read"]


def test_what_waits_at_the_end_is_written() -> None:
    """As client-go's recorder does it, for which ``Shutdown`` waits."""
    pending: list[Deferred[Answer]] = []

    def react(_: ClientRequest) -> Deferred[Answer]:
        pending.append(Deferred())
        return pending[-1]

    cluster = Cluster(react)
    for pot in pots(20):
        cluster.recorder.normal(pot, "Stirred", "Cook", "stirred it")
    closing = Deferred.fromCoroutine(cluster.recorder.close())
    while pending:
        assert not closing.called
        assert len(pending) <= WRITERS
        cluster.clock.advance(DELIVERY / 30)
        pending.pop(0).callback(Answer(201, {}))
    assert closing.called
    assert sorted(names(cluster)) == sorted(f"p{each}" for each in range(20))
    assert cluster.clock.getDelayedCalls() == []
    with capturedLogs() as logs:
        cluster.recorder.normal(POT, "Salted", "Cook", "salted it")
    assert (len(cluster.kubernetes.requests), len(logs)) == (20, 1)


def test_an_event_is_not_written_by_two_at_a_time() -> None:
    """It would be made twice, and the second answer is that it exists: the count would be lost."""
    first: Deferred[Answer] = Deferred()
    answers = iter([first])
    cluster = Cluster(lambda _: next(answers, Answer(200, {})))
    cluster.recorder.normal(POT, "Stirred", "Cook", "stirred it")
    cluster.recorder.normal(POT, "Stirred", "Cook", "stirred it")
    closing = Deferred.fromCoroutine(cluster.recorder.close())
    assert len(cluster.kubernetes.requests) == 1
    first.callback(Answer(201, {}))
    assert [request.method for request in cluster.kubernetes.requests] == ["POST", "PATCH"]
    assert closing.called


def test_while_the_cluster_is_away_each_event_is_tried_once_more_at_the_end() -> None:
    cluster = Cluster(lambda _: TransportError("no route"))
    for pot in pots(3):
        cluster.recorder.normal(pot, "Stirred", "Cook", "stirred it")
    assert names(cluster) == ["p0"]
    with capturedLogs() as logs:
        closing = Deferred.fromCoroutine(cluster.recorder.close())
    assert (closing.called, sorted(names(cluster))) == (True, ["p0", "p0", "p1", "p2"])
    assert [event["why"] for event in logs if "why" in event] == ["it could not be written: no route"] * 2
    assert cluster.clock.getDelayedCalls() == []


def test_a_cluster_that_does_not_answer_holds_up_no_end() -> None:
    cluster = Cluster(lambda _: Deferred())
    for pot in pots(20):
        cluster.recorder.normal(pot, "Stirred", "Cook", "stirred it")
    with capturedLogs() as logs:
        closing = Deferred.fromCoroutine(cluster.recorder.close())
        ended = []
        for seconds in (DELIVERY - 0.1, 0.1):
            cluster.clock.advance(seconds)
            ended.append(closing.called)
    assert ended == [False, True]
    assert [formatEvent(event) for event in logs] == [
        "20 events of stove dropped: they could not be written within 4 s of the end"
    ]
    assert (len(cluster.kubernetes.requests), cluster.clock.getDelayedCalls()) == (WRITERS, [])


def test_a_page_of_a_load_balancer_does_not_mean_that_a_group_is_missing() -> None:
    answers = iter([Answer(404, b"<html>404</html>"), Answer(404, b"<html>404</html>")])
    cluster = Cluster(lambda _: next(answers, Answer(201, {})))
    for pot in pots(2):
        cluster.recorder.normal(pot, "Stirred", "Cook", "stirred it")
    assert [request.path for request in cluster.kubernetes.requests] == [EVENTS, CORE, EVENTS]
