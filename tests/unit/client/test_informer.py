"""A copy that stays up to date, whatever happens to lists and watches."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import capturedLogs, formatEvent

from extapi.client.backoff import LAST
from extapi.client.informer import Informer
from extapi.client.kube import Client, ResourceName
from extapi.client.transport import ClientRequest, ConnectionLost, TransportError, Unreachable
from tests.unit.client.building import now
from tests.unit.client.kubernetes import Answer, Kubernetes, status

PODS = ResourceName("", "v1", "pods")


def _pod(name: str, version: int, namespace: str = "ns") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "resourceVersion": str(version)}}


class Cluster:
    """Lists what it is told to, and hands out watches one after the other."""

    def __init__(self) -> None:
        self.clock: Any = now()
        self.lists: list[Any] = []
        self.watches: list[Any] = []
        self.kubernetes = Kubernetes(self._react)
        self.changes: list[tuple[str, str]] = []

    def _react(self, request: ClientRequest) -> Any:
        if "watch" in dict(request.query):
            return self.watches.pop(0)
        return self.lists.pop(0)

    def lists_these(self, version: int, *objs: Any, token: str = "") -> None:
        metadata = {"resourceVersion": str(version), "continue": token}
        self.lists.append(Answer(200, {"items": list(objs) or None, "metadata": metadata}))

    def stream(self) -> Answer:
        answer = Answer(200, stream=True)
        self.watches.append(answer)
        return answer

    def informer(self, **options: Any) -> Informer:
        def on_change(kind: str, obj: Any) -> None:
            self.changes.append((kind, f"{obj['metadata']['name']}@{obj['metadata']['resourceVersion']}"))

        options.setdefault("on_change", on_change)
        return Informer(Client(self.kubernetes), PODS, clock=self.clock, jitter=lambda: 0.5, **options)

    @property
    def queries(self) -> list[dict[str, str]]:
        return [dict(each.query) for each in self.kubernetes.requests]


def test_list_then_watch() -> None:
    cluster = Cluster()
    cluster.lists_these(5, _pod("a", 3), _pod("b", 4))
    watch = cluster.stream()
    informer = cluster.informer(namespace="ns", field_selector="f=1", label_selector="l=2")
    informer.start()
    informer.start()
    assert informer.synced
    selectors = {"fieldSelector": "f=1", "labelSelector": "l=2"}
    assert cluster.queries == [
        {**selectors, "limit": "500"},
        {
            **selectors,
            "watch": "true",
            "resourceVersion": "5",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "53",
        },
    ]
    assert cluster.kubernetes.requests[0].path == "/api/v1/namespaces/ns/pods"
    watch.send("ADDED", _pod("c", 6))
    watch.send("MODIFIED", _pod("a", 7))
    watch.send("DELETED", _pod("b", 8))
    watch.send("DELETED", _pod("unknown", 9))
    watch.send("MODIFIED", _pod("a", 7))
    assert cluster.changes == [
        ("ADDED", "a@3"),
        ("ADDED", "b@4"),
        ("ADDED", "c@6"),
        ("MODIFIED", "a@7"),
        ("DELETED", "b@8"),
    ]
    assert informer.get("ns", "a") == _pod("a", 7)
    assert informer.get("ns", "b") is None
    assert informer.get("", "a") is None
    assert [each["metadata"]["name"] for each in informer.items()] == ["a", "c"]
    informer.stop()
    assert watch.closed
    assert cluster.clock.getDelayedCalls() == []


def test_pages() -> None:
    cluster = Cluster()
    cluster.lists_these(5, _pod("a", 3), token="next")
    cluster.lists_these(6, _pod("b", 4))
    cluster.stream()
    informer = cluster.informer()
    informer.start()
    assert cluster.queries[1] == {"limit": "500", "continue": "next"}
    assert cluster.queries[2]["resourceVersion"] == "6"
    assert len(list(informer.items())) == 2
    informer.stop()


def test_a_watch_goes_on_where_the_last_one_ended() -> None:
    cluster = Cluster()
    cluster.lists_these(5)
    first, second = cluster.stream(), cluster.stream()
    informer = cluster.informer()
    informer.start()
    first.send("ADDED", _pod("a", 6))
    first.send("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    first.end()
    assert cluster.queries[-1]["resourceVersion"] == "9"
    second.send("ADDED", _pod("b", 10))
    assert cluster.changes == [("ADDED", "a@6"), ("ADDED", "b@10")]
    informer.stop()


def test_a_watch_that_ends_at_once_is_not_asked_for_in_a_loop() -> None:
    """client-go: VeryShortWatchError."""
    cluster = Cluster()
    for _ in range(4):
        cluster.lists_these(5)
        cluster.stream().end()
    informer = cluster.informer()
    informer.start()
    assert _times(cluster, 3) == [1.2, 2.4, 4.8]
    informer.stop()


@pytest.mark.parametrize("reason", ["Expired", "Gone"])
def test_a_history_that_is_gone_is_listed_anew(reason: str) -> None:
    cluster = Cluster()
    cluster.lists_these(5, _pod("a", 3), _pod("b", 4))
    first = cluster.stream()
    cluster.lists_these(20, _pod("b", 4), _pod("c", 19))
    second = cluster.stream()
    informer = cluster.informer()
    informer.start()
    cluster.changes.clear()
    first.send("ERROR", {"kind": "Status", "code": 410, "reason": reason, "message": "too old"})
    cluster.clock.advance(1.3)
    assert cluster.changes == [("DELETED", "a@3"), ("ADDED", "c@19")]
    assert cluster.queries[-1]["resourceVersion"] == "20"
    second.send("ADDED", _pod("d", 21))
    assert informer.get("ns", "d") is not None
    informer.stop()


@pytest.mark.parametrize("failure", [TransportError("refused"), status(500, "InternalError"), KeyError("defect")])
def test_failures_back_off_up_to_a_bound(failure: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster()
    cluster.lists = [failure] * 9
    informer = cluster.informer()
    informer.start()
    times = [1]
    for _ in range(8):
        before = cluster.clock.seconds()
        cluster.clock.advance(cluster.clock.getDelayedCalls()[0].getTime() - before)
        times.append(round(cluster.clock.seconds() - before, 1))
    assert times[1:] == [1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 45.0, 45.0]
    before_it_worked = informer.synced
    cluster.lists_these(5)
    cluster.stream()
    cluster.clock.advance(45)
    assert (before_it_worked, informer.synced) == (False, True)
    informer.stop()


def test_a_watch_that_never_ends_is_taken_for_dead() -> None:
    cluster = Cluster()
    cluster.lists_these(5)
    first = cluster.stream()
    cluster.stream()
    informer = cluster.informer()
    informer.start()
    cluster.clock.advance(53 + 3)
    in_time = first.closed
    cluster.clock.advance(2)
    assert (in_time, first.closed) == (False, True)
    cluster.clock.advance(2)
    assert len(cluster.queries) == 3
    informer.stop()


def test_waiting_until_it_is_in_step() -> None:
    cluster = Cluster()
    page: Deferred[Answer] = Deferred()
    cluster.lists = [page]
    cluster.stream()
    informer = cluster.informer(on_change=None)
    done: list[Any] = []
    Deferred.fromCoroutine(informer.wait_synced()).addCallback(done.append)
    given_up = Deferred.fromCoroutine(informer.wait_synced())
    given_up.addErrback(lambda _: None)
    given_up.cancel()
    informer.start()
    assert done == []
    page.callback(Answer(200, {"items": [_pod("a", 1)], "metadata": {"resourceVersion": "5"}}))
    assert done == [None]
    Deferred.fromCoroutine(informer.wait_synced()).addCallback(done.append)
    assert done == [None, None]
    informer.stop()


def test_stopped_before_it_is_in_step() -> None:
    cluster = Cluster()
    cluster.lists = [TransportError("refused")]
    informer = cluster.informer()
    informer.start()
    failed: list[Any] = []
    Deferred.fromCoroutine(informer.wait_synced()).addErrback(failed.append)
    informer.stop()
    Deferred.fromCoroutine(informer.wait_synced()).addErrback(failed.append)
    assert [each.type for each in failed] == [CancelledError, CancelledError]
    assert cluster.clock.getDelayedCalls() == []
    informer.start()
    cluster.informer().stop()
    assert len(cluster.queries) == 1


@pytest.mark.parametrize("error", [RuntimeError("listener"), CancelledError(), SystemExit(1)])
def test_a_listener_that_fails_stops_nothing(error: BaseException) -> None:
    def broken(kind: str, obj: Any) -> None:
        raise error

    cluster = Cluster()
    cluster.lists_these(5, _pod("a", 1))
    watch = cluster.stream()
    informer = cluster.informer(on_change=broken)
    informer.start()
    watch.send("ADDED", _pod("b", 6))
    assert informer.get("ns", "b") is not None
    informer.stop()


def test_objects_of_kubernetes_own_lists_have_their_kind() -> None:
    """kube-apiserver leaves it out there, and an owner reference or an event needs it."""
    cluster = Cluster()
    cluster.lists.append(
        Answer(
            200, {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "5"}, "items": [_pod("a", 1)]}
        )
    )
    cluster.stream()
    informer = cluster.informer()
    informer.start()
    found = informer.get("ns", "a")
    assert found is not None
    assert (found["apiVersion"], found["kind"]) == ("v1", "Pod")
    informer.stop()


def test_an_object_that_was_made_again_is_another_one() -> None:
    """Between two lists: the watch would have shown both events."""
    cluster = Cluster()
    first, second = _pod("a", 3), _pod("a", 9)
    first["metadata"]["uid"], second["metadata"]["uid"] = "one", "two"
    cluster.lists_these(5, first)
    watch = cluster.stream()
    informer = cluster.informer()
    informer.start()
    cluster.lists_these(10, second)
    cluster.stream()
    watch.send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
    cluster.clock.advance(2)
    assert cluster.changes == [("ADDED", "a@3"), ("DELETED", "a@3"), ("ADDED", "a@9")]
    found = informer.get("ns", "a")
    assert found is not None
    assert found["metadata"]["uid"] == "two"
    informer.stop()


def test_only_what_is_left_of_an_object_is_kept() -> None:
    cluster = Cluster()
    cluster.lists_these(5, {**_pod("a", 3), "spec": {"large": True}})
    watch = cluster.stream()

    def transform(obj: Any) -> Any:
        return {"metadata": obj["metadata"]}

    informer = cluster.informer(transform=transform)
    informer.start()
    watch.send("MODIFIED", {**_pod("a", 6), "spec": {"large": True}})
    watch.send("ADDED", {**_pod("b", 7), "spec": {"large": True}})
    assert cluster.changes == [("ADDED", "a@3"), ("MODIFIED", "a@6"), ("ADDED", "b@7")]
    assert sorted(informer.items(), key=str) == [_pod("a", 6), _pod("b", 7)]
    informer.stop()


@pytest.mark.parametrize("error", [KeyError("spec"), CancelledError(), SystemExit(1)])
def test_an_object_for_which_the_transform_fails_does_not_keep_the_others_away(error: BaseException) -> None:
    cluster = Cluster()
    cluster.lists_these(5, _pod("odd", 2), {**_pod("a", 3), "spec": {"large": True}})
    watch = cluster.stream()

    def transform(obj: Any) -> Any:
        if obj["metadata"]["name"] == "odd":
            raise error
        return {"metadata": obj["metadata"]}

    informer = cluster.informer(transform=transform)
    with capturedLogs() as logs:
        informer.start()
        watch.send("MODIFIED", _pod("odd", 6))
        watch.send("DELETED", _pod("odd", 7))
    assert cluster.changes == [("ADDED", "odd@2"), ("ADDED", "a@3"), ("MODIFIED", "odd@6"), ("DELETED", "odd@7")]
    assert list(informer.items()) == [_pod("a", 3)]
    told = [formatEvent(event) for event in logs if "log_failure" in event]
    assert told == ["the transform of the informer of pods failed; ns/odd is kept as a whole"] * 3
    informer.stop()


def test_a_resource_that_the_server_does_not_have_has_no_objects() -> None:
    """Until it has it; then a server that has lost it is one that fails, and what was known stays."""
    cluster = Cluster()
    missing = status(404, "NotFound")
    cluster.lists += [missing, missing]
    informer = cluster.informer(optional=True)
    informer.start()
    assert informer.synced
    assert not list(informer.items())
    cluster.clock.advance(LAST * 1.5)
    cluster.lists_these(5, _pod("a", 3))
    cluster.watches += [missing] * 3
    cluster.clock.advance(LAST * 1.5)
    assert [each["metadata"]["name"] for each in informer.items()] == ["a"]
    informer.stop()


def test_a_resource_that_others_must_have_is_waited_for() -> None:
    cluster = Cluster()
    cluster.lists.append(status(404, "NotFound"))
    informer = cluster.informer()
    informer.start()
    assert not informer.synced
    informer.stop()


def _broken_after(cluster: Cluster, watch: Answer, seconds: float) -> None:
    cluster.clock.advance(seconds)
    watch.fail(TransportError("the answer broke off"))


def test_a_watch_that_has_lived_is_followed_by_the_next_at_once() -> None:
    """However it ended: load balancers cut connections on which nothing happens (haproxy of kubeadm's guide: 35 s)."""
    cluster = Cluster()
    cluster.lists_these(5)
    watches = [cluster.stream() for _ in range(6)]
    informer = cluster.informer()
    informer.start()
    for watch in watches[:4]:
        _broken_after(cluster, watch, 35)
    cluster.clock.advance(1.1)
    watches[4].end()
    assert [each.get("watch") for each in cluster.queries] == [None, *["true"] * 6]
    informer.stop()


def test_a_watch_that_breaks_at_once_is_followed_by_a_list() -> None:
    """What the watches do not tell, the list does: a proxy that holds answers back lets no watch begin."""
    cluster = Cluster()
    cluster.lists_these(5, _pod("a", 3))
    _ = cluster.stream()
    cluster.watches[0].fail(TransportError("the answer broke off"))
    cluster.lists_these(9, _pod("a", 8))
    cluster.watches.append(TransportError("no answer within 30 seconds"))
    cluster.lists_these(12, _pod("a", 11))
    cluster.stream()
    informer = cluster.informer()
    informer.start()
    cluster.clock.advance(1.21)
    assert cluster.changes[-1] == ("MODIFIED", "a@8")
    cluster.clock.advance(2.41)
    assert cluster.changes[-1] == ("MODIFIED", "a@11")
    informer.stop()


def _times(cluster: Cluster, count: int) -> list[float]:
    """Seconds between one attempt and the next."""
    found = []
    for _ in range(count):
        (due,) = (call.getTime() - cluster.clock.seconds() for call in cluster.clock.getDelayedCalls())
        found.append(round(due, 1))
        cluster.clock.advance(due)
    return found


def test_a_server_that_answers_each_watch_with_410_is_listed_less_and_less() -> None:
    """client-go: BackoffUntil around ListAndWatch, which a list that works does not begin anew."""
    cluster = Cluster()
    for number in range(8):
        cluster.lists_these(number)
        cluster.watches.append(status(410, "Expired"))
    informer = cluster.informer()
    informer.start()
    assert _times(cluster, 7) == [1.2, 2.4, 4.8, 9.6, 19.2, 38.4, 45.0]
    informer.stop()


def test_watches_that_tell_nothing_and_end_are_not_asked_for_in_a_loop() -> None:
    cluster = Cluster()
    for _ in range(4):
        cluster.lists_these(5)
        watch = cluster.stream()
        watch.send("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
        watch.send("ADDED", _pod("a", 5))  # it begins where this was
        watch.end()
    informer = cluster.informer()
    informer.start()
    assert _times(cluster, 3) == [1.2, 2.4, 4.8]
    assert [each.get("watch") for each in cluster.queries] == [None, "true"] * 4
    informer.stop()


@pytest.mark.parametrize("what", ["lists", "watches"])
def test_a_server_that_asks_for_time_gets_it(what: str) -> None:
    """RFC 9110, section 10.2.3. Within bounds: whoever names a day does not make the copy blind for one."""
    cluster = Cluster()
    if what == "watches":
        cluster.lists_these(5)
    getattr(cluster, what).extend(status(429, "TooManyRequests", retryAfterSeconds=each) for each in (20, 86400))
    getattr(cluster, what).append(status(429, "TooManyRequests"))
    informer = cluster.informer()
    informer.start()
    assert _times(cluster, 2) == [20, 60]
    assert [each.get("watch", "list") for each in cluster.queries].count("list") == (3 if what == "lists" else 1)
    informer.stop()


def test_a_server_that_is_away_is_not_listed_when_it_returns() -> None:
    """The watch goes on where it was (client-go: isWatchErrorRetriable)."""
    cluster = Cluster()
    cluster.lists_these(5)
    cluster.watches = [Unreachable("refused"), Unreachable("refused")]
    cluster.stream()
    informer = cluster.informer()
    informer.start()
    assert _times(cluster, 2) == [1.2, 2.4]
    assert [each.get("watch") for each in cluster.queries] == [None, "true", "true", "true"]
    informer.stop()


def test_a_watch_whose_connection_is_lost_goes_on_a_second_later() -> None:
    """A proxy closes what it accepts as long as nothing is behind it; client-go's watch is back a second after that."""
    cluster = Cluster()
    cluster.lists_these(5)
    cluster.watches = [ConnectionLost("closed") for _ in range(13)]
    cluster.stream()
    informer = cluster.informer()
    informer.start()
    assert _times(cluster, 13) == [1.0] * 13
    assert [each.get("watch") for each in cluster.queries] == [None, *["true"] * 14]
    informer.stop()


def test_a_list_whose_connection_is_lost_is_sent_again_soon_but_not_for_ever() -> None:
    cluster = Cluster()
    cluster.lists = [ConnectionLost("closed") for _ in range(12)]
    informer = cluster.informer()
    informer.start()
    assert _times(cluster, 11) == [1.0] * 10 + [1.2]
    informer.stop()


def test_bookmarks_are_no_objects() -> None:
    """They have a resourceVersion and nothing else, which an author's function cannot expect."""
    cluster = Cluster()
    cluster.lists_these(5)
    watch = cluster.stream()
    informer = cluster.informer(
        transform=lambda obj: {"metadata": {**obj["metadata"], "name": obj["metadata"]["name"]}}
    )
    informer.start()
    watch.send("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "9"}})
    watch.send("ADDED", _pod("a", 10))
    assert cluster.changes == [("ADDED", "a@10")]
    informer.stop()


def test_a_cancellation_that_is_none_of_its_own_ends_nothing() -> None:
    """A transport may raise one for a connection that it gives up."""
    cluster = Cluster()
    cluster.lists.append(CancelledError())
    cluster.lists_these(7, _pod("a", 7))
    cluster.stream()
    informer = cluster.informer()
    informer.start()
    cluster.clock.advance(1.21)
    assert cluster.changes == [("ADDED", "a@7")]
    informer.stop()


def test_it_knows_how_long_nothing_was_heard() -> None:
    cluster = Cluster()
    cluster.lists_these(5)
    watch = cluster.stream()
    informer = cluster.informer()
    informer.start()
    cluster.clock.advance(30)
    watch.send("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    cluster.watches = [Unreachable("refused")] * 9
    cluster.clock.advance(27)  # it is dead
    cluster.clock.pump([1] * 47)
    assert informer.problem() is None
    cluster.clock.pump([1] * 2)
    assert informer.problem() == "nothing has been heard of pods for 76 s"
    cluster.watches = []
    cluster.stream()
    cluster.clock.pump([1] * 60)
    assert informer.problem() is None
    informer.stop()
