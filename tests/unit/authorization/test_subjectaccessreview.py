"""Asking the cluster whether a user may (behaviour B10-B13)."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi.api.requestselectors import Selectors
from extapi.api.selectors import parse_label_selector
from extapi.api.user import User
from extapi.authorization.authorizer import Attributes, AuthorizationError, Decision, Verdict
from extapi.authorization.subjectaccessreview import (
    CACHED,
    CACHED_TOTAL,
    REFUSALS,
    SubjectAccessReviewer,
    review_of,
)
from extapi.client.fairqueue import FairQueue
from extapi.client.kube import Client
from extapi.client.transport import ConnectionLost, TransportError
from extapi.errors import TooManyRequests
from tests.unit.client.building import now, run
from tests.unit.client.kubernetes import Answer, Kubernetes, status

ALICE = User("alice", "7", ("devs", "system:authenticated"), {"scopes": ("a", "b")})
GET = Attributes(
    "get",
    "/apis/g/v1/namespaces/ns/pizzas/p/status",
    is_resource=True,
    group="g",
    version="v1",
    namespace="ns",
    resource="pizzas",
    subresource="status",
    name="p",
)


def _answer(**members: Any) -> Answer:
    return Answer(201, {"status": members})


def _reviewer(kubernetes: Kubernetes, clock: Any = None, **options: Any) -> SubjectAccessReviewer:
    return SubjectAccessReviewer(Client(kubernetes), clock=clock or now(), jitter=lambda: 0.0, **options)


def test_all_attributes_of_a_resource() -> None:
    kubernetes = Kubernetes(lambda _: _answer(allowed=True, reason="RBAC: allowed"))
    assert run(_reviewer(kubernetes).authorize(ALICE, GET)) == Decision(Verdict.ALLOW, "RBAC: allowed")
    (request,) = kubernetes.requests
    assert (request.method, request.path) == ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews")
    assert request.timeout == 10.0
    assert kubernetes.bodies() == [
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {},
            "spec": {
                "resourceAttributes": {
                    "namespace": "ns",
                    "verb": "get",
                    "group": "g",
                    "version": "v1",
                    "resource": "pizzas",
                    "subresource": "status",
                    "name": "p",
                },
                "user": "alice",
                "uid": "7",
                "groups": ["devs", "system:authenticated"],
                "extra": {"scopes": ["a", "b"]},
            },
        }
    ]


def test_a_path() -> None:
    assert review_of(User("bob"), Attributes("get", "/metrics"))["spec"] == {
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        "user": "bob",
    }


def _selectors(field: str = "", label: str = "") -> dict[str, Any]:
    attributes = Attributes("list", is_resource=True, version="v1", resource="pods", selectors=Selectors(label, field))
    found: dict[str, Any] = review_of(User("bob"), attributes)["spec"]["resourceAttributes"]
    return {key: found[key]["requirements"] for key in ("fieldSelector", "labelSelector") if key in found}


def test_selectors_become_requirements() -> None:
    found = _selectors("spec.nodeName=n1,status.phase!=Failed", "a=1,b==2,c!=3,d in (x,y),e notin (z),f,!g")
    assert found["fieldSelector"] == [
        {"key": "spec.nodeName", "operator": "In", "values": ["n1"]},
        {"key": "status.phase", "operator": "NotIn", "values": ["Failed"]},
    ]
    assert found["labelSelector"] == [
        {"key": "a", "operator": "In", "values": ["1"]},
        {"key": "b", "operator": "In", "values": ["2"]},
        {"key": "c", "operator": "NotIn", "values": ["3"]},
        {"key": "d", "operator": "In", "values": ["x", "y"]},
        {"key": "e", "operator": "NotIn", "values": ["z"]},
        {"key": "f", "operator": "Exists"},
        {"key": "g", "operator": "DoesNotExist"},
    ]


@pytest.mark.parametrize(
    ("field", "label", "left"), [("a", "", {}), ("", "a in (", {}), ("", "a>1,b<2", {}), ("", "", {})]
)
def test_what_cannot_be_said_is_left_out(field: str, label: str, left: dict[str, Any]) -> None:
    assert _selectors(field, label) == left


@pytest.mark.parametrize(
    ("members", "decision"),
    [
        ({"allowed": True}, Decision(Verdict.ALLOW)),
        ({"allowed": False, "reason": "no role"}, Decision(Verdict.NO_OPINION, "no role")),
        ({"allowed": False, "denied": True, "reason": "never"}, Decision(Verdict.DENY, "never")),
        ({}, Decision(Verdict.NO_OPINION)),
        ({"allowed": None, "reason": None}, Decision(Verdict.NO_OPINION)),
    ],
)
def test_answers(members: dict[str, Any], decision: Decision) -> None:
    assert run(_reviewer(Kubernetes(lambda _: _answer(**members))).authorize(ALICE, GET)) == decision


@pytest.mark.parametrize(
    "members", [{"allowed": "true"}, {"allowed": 1}, {"denied": []}, {"allowed": True, "reason": {}}]
)
def test_an_answer_of_another_shape_is_an_error(members: dict[str, Any]) -> None:
    """Go's decoder refuses it: never an allow."""
    with pytest.raises(AuthorizationError, match="malformed status"):
        run(_reviewer(Kubernetes(lambda _: _answer(**members))).authorize(ALICE, GET))


@pytest.mark.parametrize("status", [None, [], "x", 1, {}])
def test_an_answer_without_a_status_allows_nothing(status: Any) -> None:
    kubernetes = Kubernetes(lambda _: Answer(201, {"status": status}))
    assert run(_reviewer(kubernetes).authorize(ALICE, GET)).verdict is Verdict.NO_OPINION


def test_an_answer_has_a_bound() -> None:
    kubernetes = Kubernetes(lambda _: _answer(allowed=True, reason="x" * (5 << 20)))
    with pytest.raises(AuthorizationError, match="larger than"):
        run(_reviewer(kubernetes).authorize(ALICE, GET))


def test_allowed_and_denied_is_an_error() -> None:
    kubernetes = Kubernetes(lambda _: _answer(allowed=True, denied=True))
    with pytest.raises(AuthorizationError, match="both allow and deny"):
        run(_reviewer(kubernetes).authorize(ALICE, GET))


def test_times_to_live() -> None:
    clock: Any = now()
    kubernetes = Kubernetes(lambda request: _answer(allowed=b"alice" in (request.body or b"")))
    reviewer = _reviewer(kubernetes, clock, authorized_ttl=10, unauthorized_ttl=5)
    bob = User("bob")
    for user in (ALICE, bob, ALICE, bob):
        run(reviewer.authorize(user, GET))
    assert len(kubernetes.requests) == 2
    clock.advance(6)
    run(reviewer.authorize(ALICE, GET))
    assert len(kubernetes.requests) == 2
    run(reviewer.authorize(bob, GET))
    assert len(kubernetes.requests) == 3
    clock.advance(5)
    run(reviewer.authorize(ALICE, GET))
    assert len(kubernetes.requests) == 4


@pytest.mark.parametrize(
    "other",
    [
        User("alice", "8", ALICE.groups, ALICE.extra),
        User("alice", "7", ("devs",), ALICE.extra),
        User("alice", "7", ALICE.groups, {"scopes": ("a",)}),
    ],
)
def test_every_part_of_the_user_counts(other: User) -> None:
    kubernetes = Kubernetes(lambda _: _answer(allowed=True))
    reviewer = _reviewer(kubernetes)
    run(reviewer.authorize(ALICE, GET))
    run(reviewer.authorize(other, GET))
    assert len(kubernetes.requests) == 2


def test_the_order_of_extra_does_not_count() -> None:
    kubernetes = Kubernetes(lambda _: _answer(allowed=True))
    reviewer = _reviewer(kubernetes)
    run(reviewer.authorize(User("a", extra={"x": ("1",), "y": ("2",)}), GET))
    run(reviewer.authorize(User("a", extra={"y": ("2",), "x": ("1",)}), GET))
    assert len(kubernetes.requests) == 1


@pytest.mark.parametrize(("length", "asked"), [(9_993, 1), (9_994, 2)])
def test_large_questions_are_not_kept(length: int, asked: int) -> None:
    kubernetes = Kubernetes(lambda _: _answer(allowed=True))
    reviewer = _reviewer(kubernetes)
    for _ in range(2):
        run(reviewer.authorize(ALICE, Attributes("get", "/é/" + "x" * (length - 1))))
    assert len(kubernetes.requests) == asked


def test_the_cache_is_bounded() -> None:
    kubernetes = Kubernetes(lambda _: _answer(allowed=True))
    clock: Any = now()
    reviewer = _reviewer(kubernetes, clock, queue=FairQueue(clock, rate=1e9, burst=1e9))
    for number in range(CACHED + 1):
        run(reviewer.authorize(ALICE, Attributes("get", f"/{number}")))
        run(reviewer.authorize(ALICE, Attributes("get", "/1")))
    assert len(kubernetes.requests) == CACHED + 1
    run(reviewer.authorize(ALICE, Attributes("get", "/0")))
    assert len(kubernetes.requests) == CACHED + 2


@pytest.mark.parametrize("failure", [TransportError("refused"), status(403, "Forbidden", "you may not ask")])
def test_a_failure_is_an_error_and_is_not_kept(failure: Any) -> None:
    kubernetes = Kubernetes(lambda _: failure)
    reviewer = _reviewer(kubernetes)
    for _ in range(2):
        with pytest.raises(AuthorizationError, match=r"refused|you may not ask"):
            run(reviewer.authorize(ALICE, GET))
    assert len(kubernetes.requests) == 2


def test_a_reset_connection_is_tried_again() -> None:
    clock: Any = now()
    answers: list[Any] = [ConnectionLost("reset"), _answer(allowed=True)]
    found: list[Decision] = []
    reviewer = _reviewer(Kubernetes(lambda _: answers.pop(0)), clock)
    Deferred.fromCoroutine(reviewer.authorize(ALICE, GET)).addCallback(found.append)
    clock.advance(0.5)
    assert found == [Decision(Verdict.ALLOW)]


def test_the_same_question_at_the_same_time_is_asked_once() -> None:
    waiting: Deferred[Answer] = Deferred()
    kubernetes = Kubernetes(lambda _: waiting)
    reviewer = _reviewer(kubernetes)
    found: list[Decision] = []
    for _ in range(3):
        Deferred.fromCoroutine(reviewer.authorize(ALICE, GET)).addCallback(found.append)
    waiting.callback(_answer(allowed=True))
    assert found == [Decision(Verdict.ALLOW)] * 3
    assert len(kubernetes.requests) == 1


def test_a_review_that_never_answers() -> None:
    clock: Any = now()
    failed: list[Any] = []
    reviewer = _reviewer(Kubernetes(lambda _: Deferred()), clock)
    Deferred.fromCoroutine(reviewer.authorize(ALICE, GET)).addErrback(failed.append)
    clock.advance(61)
    assert "no answer within 60 seconds" in str(failed[0].value)


ANONYMOUS = User("system:anonymous", groups=("system:unauthenticated",))


def _asked(reviewer: SubjectAccessReviewer, user: User, path: str) -> Any:
    outcome: list[Any] = []
    asking = Deferred.fromCoroutine(reviewer.authorize(user, Attributes("get", path)))
    asking.addBoth(lambda result: outcome.append(getattr(result, "value", result)))
    return outcome[0]


def test_who_is_refused_too_often_has_to_wait_and_nobody_else() -> None:
    clock: Any = now()
    kubernetes = Kubernetes(lambda request: _answer(allowed=b"alice" in (request.body or b"")))
    reviewer = _reviewer(kubernetes, clock, queue=FairQueue(clock, burst=1e6))
    for number in range(REFUSALS):
        assert _asked(reviewer, ANONYMOUS, f"/{number}") == Decision(Verdict.NO_OPINION)
    error = _asked(reviewer, ANONYMOUS, "/x")
    assert (type(error), error.code, error.retry_after) == (TooManyRequests, 429, 1)
    assert _asked(reviewer, ANONYMOUS, "/1") == Decision(Verdict.NO_OPINION)  # known
    for number in range(2 * REFUSALS):
        assert _asked(reviewer, ALICE, f"/{number}") == Decision(Verdict.ALLOW)
    clock.advance(0.11)
    assert _asked(reviewer, ANONYMOUS, "/x") == Decision(Verdict.NO_OPINION)
    assert isinstance(_asked(reviewer, ANONYMOUS, "/y"), TooManyRequests)


def test_a_review_that_fails_is_no_refusal() -> None:
    clock: Any = now()
    kubernetes = Kubernetes(lambda _: TransportError("refused"))
    reviewer = _reviewer(kubernetes, clock, queue=FairQueue(clock, burst=1e6))
    found = {type(_asked(reviewer, ANONYMOUS, f"/{number}")) for number in range(2 * REFUSALS)}
    assert found == {AuthorizationError}


def test_a_cluster_that_is_too_busy_is_not_a_server_that_fails() -> None:
    clock: Any = now()
    reviewer = _reviewer(
        Kubernetes(lambda _: status(429, "TooManyRequests", "etcd at 10.1.2.3", retryAfterSeconds=7)), clock
    )
    outcome: list[Any] = []
    Deferred.fromCoroutine(reviewer.authorize(ALICE, GET)).addErrback(lambda failure: outcome.append(failure.value))
    for _ in range(10):
        clock.advance(2)
    (error,) = outcome
    assert (type(error), error.retry_after) == (TooManyRequests, 7)
    assert "10.1.2.3" not in str(error)


def test_identities_that_fill_the_memory_push_each_other_out() -> None:
    clock: Any = now()
    kubernetes = Kubernetes(lambda _: _answer(allowed=True))
    reviewer = _reviewer(kubernetes, clock)
    large = [User(f"u{number}", groups=("g" * 1_000_000,)) for number in range(40)]
    for user in large:
        run(reviewer.authorize(user, GET))
    assert sum(weight for _, _, weight in reviewer._cache._answers.values()) <= CACHED_TOTAL
    run(reviewer.authorize(large[-1], GET))
    assert len(kubernetes.requests) == 40
    run(reviewer.authorize(large[0], GET))
    assert len(kubernetes.requests) == 41


def test_selectors_are_parsed_at_their_turn_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(text: str) -> Any:
        parsed.append(text)
        return parse_label_selector(text)

    monkeypatch.setattr("extapi.api.requestselectors.parse_label_selector", parse)
    clock: Any = now()
    queue = FairQueue(clock, burst=1, rate=1)
    reviewer = _reviewer(Kubernetes(lambda _: _answer(allowed=True)), clock, queue=queue)
    run(queue.turn("somebody else"))
    selectors = Selectors("a=b")
    attributes = Attributes("list", is_resource=True, resource="pods", selectors=selectors)
    asking = Deferred.fromCoroutine(reviewer.authorize(ALICE, attributes))
    assert (asking.called, parsed) == (False, [])
    clock.advance(1)
    assert (asking.called, parsed) == (True, ["a=b"])
    assert (selectors.labels.matches({"a": "b"}), parsed) == (True, ["a=b"])
