"""Asking the cluster about tokens (spec A23-A25, A28)."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi.api.user import User
from extapi.authentication.base import AuthenticationError, Undecided
from extapi.authentication.tokenreview import TokenReviewer
from extapi.client.base import ConnectionLost, TransportError
from extapi.client.kube import Client
from tests.unit.client.building import now, run
from tests.unit.client.kubernetes import Answer, Kubernetes, status


def _authenticated(**more: Any) -> Answer:
    user = {"username": "alice", "uid": "1", "groups": ["devs"], "extra": {"scopes": ["a", "b"]}}
    return Answer(201, {"status": {"authenticated": True, "user": user, **more}})


def _reviewer(kubernetes: Kubernetes, clock: Any = None, **options: Any) -> TokenReviewer:
    client = Client(kubernetes)
    return TokenReviewer(client, clock=clock or now(), secret=b"0123456789abcdef", jitter=lambda: 0.0, **options)


def test_the_review_and_its_user() -> None:
    kubernetes = Kubernetes(lambda _: _authenticated())
    user = run(_reviewer(kubernetes).authenticate_token("t0ken"))
    assert user == User("alice", "1", ("devs", "system:authenticated"), {"scopes": ("a", "b")})
    (request,) = kubernetes.requests
    assert (request.method, request.path) == ("POST", "/apis/authentication.k8s.io/v1/tokenreviews")
    assert request.timeout == 10.0
    assert kubernetes.bodies() == [
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "metadata": {},
            "spec": {"token": "t0ken"},
        }
    ]


def test_nobodys_token() -> None:
    assert run(_reviewer(Kubernetes(lambda _: Answer(201, {"status": {}}))).authenticate_token("x")) is None
    assert run(_reviewer(Kubernetes(lambda _: Answer(201, {}))).authenticate_token("x")) is None


ALICE = {"username": "alice"}


@pytest.mark.parametrize(
    "answer",
    [
        {"authenticated": "yes", "user": ALICE},
        {"authenticated": 1, "user": ALICE},
        {"authenticated": True, "user": []},
        {"authenticated": True, "user": "alice"},
        {"authenticated": True, "user": {"username": 1}},
        {"authenticated": True, "user": {"username": ["alice"]}},
        {"authenticated": True, "user": {**ALICE, "uid": 1}},
        {"authenticated": True, "user": {**ALICE, "groups": "system:masters"}},
        {"authenticated": True, "user": {**ALICE, "groups": [1]}},
        {"authenticated": True, "user": {**ALICE, "groups": {"system:masters": 1}}},
        {"authenticated": True, "user": {**ALICE, "extra": []}},
        {"authenticated": True, "user": {**ALICE, "extra": {"a": "b"}}},
        {"authenticated": True, "user": {**ALICE, "extra": {"a": [1]}}},
        {"authenticated": True, "user": ALICE, "audiences": "api"},
        {"authenticated": True, "user": ALICE, "audiences": [{}]},
        {"authenticated": False, "error": {"a": 1}},
    ],
)
def test_an_answer_of_another_shape_is_an_error(answer: Any) -> None:
    """Go's decoder refuses each. What is no user must neither become one nor a traceback."""
    kubernetes = Kubernetes(lambda _: Answer(201, {"status": answer}))
    with pytest.raises(AuthenticationError, match="has another shape"):
        run(_reviewer(kubernetes, audiences=["api"]).authenticate_token("t"))


@pytest.mark.parametrize("user", [None, {}, {"username": ""}, {"username": None}, {"groups": ["system:masters"]}])
def test_a_good_token_of_nobody_is_an_error(user: Any) -> None:
    kubernetes = Kubernetes(lambda _: Answer(201, {"status": {"authenticated": True, "user": user}}))
    with pytest.raises(AuthenticationError, match="names no user"):
        run(_reviewer(kubernetes).authenticate_token("t"))


@pytest.mark.parametrize("status", [None, [], "x", 1])
def test_an_answer_without_a_status_is_nobody(status: Any) -> None:
    kubernetes = Kubernetes(lambda _: Answer(201, {"status": status}))
    assert run(_reviewer(kubernetes).authenticate_token("x")) is None


def test_null_is_nothing() -> None:
    user = {"username": "alice", "uid": None, "groups": None, "extra": {"a": None}}
    kubernetes = Kubernetes(lambda _: Answer(201, {"status": {"authenticated": True, "user": user, "error": None}}))
    assert run(_reviewer(kubernetes).authenticate_token("t")) == User("alice", "", ("system:authenticated",), {"a": ()})


def test_an_answer_has_a_bound() -> None:
    kubernetes = Kubernetes(lambda _: _authenticated(error="x" * (5 << 20)))
    with pytest.raises(AuthenticationError, match="larger than"):
        run(_reviewer(kubernetes).authenticate_token("t"))


def test_an_error_in_the_status_is_one_and_is_not_kept() -> None:
    kubernetes = Kubernetes(lambda _: Answer(201, {"status": {"authenticated": False, "error": "expired"}}))
    reviewer = _reviewer(kubernetes)
    for _ in range(2):
        with pytest.raises(AuthenticationError, match="expired") as caught:
            run(reviewer.authenticate_token("x"))
        assert not isinstance(caught.value, Undecided)  # how kube-apiserver answers for a revoked token
    assert len(kubernetes.requests) == 2


def test_audiences_are_asked_for_and_checked() -> None:
    kubernetes = Kubernetes(lambda _: _authenticated(audiences=["api"]))
    assert run(_reviewer(kubernetes, audiences=["api", "x"]).authenticate_token("t")) is not None
    assert kubernetes.bodies()[0]["spec"] == {"token": "t", "audiences": ["api", "x"]}
    with pytest.raises(AuthenticationError, match="audiences"):
        run(
            _reviewer(Kubernetes(lambda _: _authenticated(audiences=["other"])), audiences=["api"]).authenticate_token(
                "t"
            )
        )


@pytest.mark.parametrize("answer", [_authenticated, lambda: Answer(201, {"status": {}})])
def test_answers_are_kept_for_ten_seconds(answer: Any) -> None:
    clock: Any = now()
    kubernetes = Kubernetes(lambda _: answer())
    reviewer = _reviewer(kubernetes, clock)
    first = run(reviewer.authenticate_token("t"))
    clock.advance(9.9)
    assert run(reviewer.authenticate_token("t")) == first
    assert len(kubernetes.requests) == 1
    run(reviewer.authenticate_token("u"))
    assert len(kubernetes.requests) == 2
    clock.advance(0.2)
    run(reviewer.authenticate_token("t"))
    assert len(kubernetes.requests) == 3


def test_no_time_to_live_no_cache_and_no_token_in_memory() -> None:
    kubernetes = Kubernetes(lambda _: _authenticated())
    reviewer = _reviewer(kubernetes, ttl=0)
    for _ in range(2):
        run(reviewer.authenticate_token("t"))
    assert len(kubernetes.requests) == 2
    kept = _reviewer(kubernetes)
    run(kept.authenticate_token("secret-token"))
    assert "secret-token" not in repr(kept._cache._answers)


def test_the_same_question_at_the_same_time_is_asked_once() -> None:
    waiting: Deferred[Answer] = Deferred()
    kubernetes = Kubernetes(lambda _: waiting)
    reviewer = _reviewer(kubernetes)
    both = [Deferred.fromCoroutine(reviewer.authenticate_token("t")) for _ in range(2)]
    both[0].addErrback(lambda _: None)
    both[0].cancel()
    waiting.callback(_authenticated())
    found: list[User | None] = []
    both[1].addCallback(found.append)
    assert found[0] is not None
    assert len(kubernetes.requests) == 1


@pytest.mark.parametrize(
    "failure",
    [
        ConnectionLost("reset"),
        status(500, "InternalError"),
        status(504, "Timeout"),
        status(429, "TooManyRequests"),
        status(503, "ServiceUnavailable", retryAfterSeconds=1),
    ],
)
def test_what_may_pass_is_tried_again(failure: Any) -> None:
    clock: Any = now()
    answers = [failure, failure, _authenticated()]
    kubernetes = Kubernetes(lambda _: answers.pop(0))
    found: list[User | None] = []
    Deferred.fromCoroutine(_reviewer(kubernetes, clock).authenticate_token("t")).addCallback(found.append)
    assert len(kubernetes.requests) == 1
    clock.advance(0.49)
    assert len(kubernetes.requests) == 1
    clock.advance(0.02)
    assert len(kubernetes.requests) == 2
    clock.advance(0.74)
    assert found == []
    clock.advance(0.02)
    assert found[0] is not None


def test_the_fifth_failure_is_the_last() -> None:
    clock: Any = now()
    kubernetes = Kubernetes(lambda _: ConnectionLost("reset"))
    failed: list[Any] = []
    Deferred.fromCoroutine(_reviewer(kubernetes, clock).authenticate_token("t")).addErrback(failed.append)
    for _ in range(10):
        clock.advance(2)
    assert len(kubernetes.requests) == 5
    assert failed[0].check(Undecided)


@pytest.mark.parametrize("failure", [TransportError("refused"), status(403, "Forbidden"), status(500, "")])
def test_other_failures_are_final_and_not_kept(failure: Any) -> None:
    kubernetes = Kubernetes(lambda _: failure)
    reviewer = _reviewer(kubernetes)
    for _ in range(2):
        with pytest.raises(Undecided, match="token review: "):
            run(reviewer.authenticate_token("t"))
    assert len(kubernetes.requests) == 2


def test_a_lookup_ends_after_thirty_seconds() -> None:
    clock: Any = now()
    kubernetes = Kubernetes(lambda _: Deferred())
    failed: list[Any] = []
    Deferred.fromCoroutine(_reviewer(kubernetes, clock).authenticate_token("t")).addErrback(failed.append)
    clock.advance(29)
    assert failed == []
    clock.advance(2)
    assert "no answer within 30 seconds" in str(failed[0].value)
    assert failed[0].check(Undecided)
