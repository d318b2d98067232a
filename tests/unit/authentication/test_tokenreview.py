"""Asking the cluster about tokens (behaviour A23-A25, A28)."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi.api.user import User
from extapi.authentication.authenticator import AuthenticationError, Undecided
from extapi.authentication.tokenreview import FAILURES, TOKEN_LIMIT, TokenReviewer
from extapi.client.fairqueue import RUNNING, FairQueue
from extapi.client.kube import Client
from extapi.client.transport import ConnectionLost, ProxyBusy, TransportError
from extapi.errors import TooManyRequests
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
    with pytest.raises(AuthenticationError, match="malformed status"):
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
    both = Kubernetes(lambda _: _authenticated(audiences=["other", "api"]))
    assert run(_reviewer(both, audiences=["api"]).authenticate_token("t")) is not None  # one is enough
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
        ProxyBusy("503"),
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


def _asked(reviewer: TokenReviewer, token: str, address: str = "10.0.0.1") -> list[Any]:
    """What comes of a token: a user, None, or an error; nothing while it is not known."""
    outcome: list[Any] = []
    asking = Deferred.fromCoroutine(reviewer.authenticate_token(token, address))
    asking.addBoth(lambda result: outcome.append(getattr(result, "value", result)))
    return outcome


def _nobodys(_: Any) -> Answer:
    return Answer(201, {"status": {}})


def test_an_address_without_credit_is_told_to_come_back() -> None:
    clock: Any = now()
    kubernetes = Kubernetes(_nobodys)
    reviewer = _reviewer(kubernetes, clock)
    answers = [_asked(reviewer, f"{number}")[0] for number in range(FAILURES + 5)]
    assert answers[:FAILURES] == [None] * FAILURES
    assert {(type(error), error.retry_after) for error in answers[FAILURES:]} == {(TooManyRequests, 1)}
    assert len(kubernetes.requests) == FAILURES
    assert _asked(reviewer, "other", "10.0.0.2") == [None]
    clock.advance(1)
    assert [type(_asked(reviewer, f"later{n}")[0]) for n in range(2)] == [type(None), TooManyRequests]


def test_good_tokens_cost_no_credit_and_go_on_without_it() -> None:
    clock: Any = now()
    kubernetes = Kubernetes(lambda request: _authenticated() if b"good" in (request.body or b"") else Answer(201, {}))
    reviewer = _reviewer(kubernetes, clock, queue=FairQueue(clock, burst=1e6))
    for number in range(3 * FAILURES):
        assert isinstance(_asked(reviewer, f"good{number}")[0], User)
    for number in range(FAILURES):
        _asked(reviewer, f"bad{number}")
    assert isinstance(_asked(reviewer, "bad")[0], TooManyRequests)
    assert isinstance(_asked(reviewer, "good7")[0], User)


def test_an_error_of_the_cluster_costs_no_credit() -> None:
    clock: Any = now()
    reviewer = _reviewer(
        Kubernetes(lambda _: TransportError("refused")), clock, queue=FairQueue(clock, burst=1e6, rate=1e6)
    )
    errors = {type(_asked(reviewer, f"{number}")[0]) for number in range(2 * FAILURES)}
    assert errors == {Undecided}


def test_an_error_in_the_status_costs_credit() -> None:
    """That is how kube-apiserver answers what it cannot parse."""
    kubernetes = Kubernetes(lambda _: Answer(201, {"status": {"error": "invalid bearer token"}}))
    reviewer = _reviewer(kubernetes)
    answers = [_asked(reviewer, "x")[0] for _ in range(FAILURES + 1)]
    assert [type(answer) for answer in answers[-2:]] == [AuthenticationError, TooManyRequests]


def test_one_address_cannot_keep_the_others_waiting() -> None:
    clock: Any = now()
    pending: list[Deferred[Answer]] = []

    def hold(_: Any) -> Deferred[Answer]:
        pending.append(Deferred())
        return pending[-1]

    kubernetes = Kubernetes(hold)
    reviewer = _reviewer(kubernetes, clock)
    greedy = [_asked(reviewer, f"{number}") for number in range(400)]
    assert len(kubernetes.requests) == RUNNING // 2
    refused = [outcome[0] for outcome in greedy if outcome]
    assert {(type(error), error.code) for error in refused} == {(TooManyRequests, 429)}
    assert len(greedy) - len(refused) == FAILURES
    modest = _asked(reviewer, "modest", "10.0.0.2")
    pending[-1].callback(_authenticated())
    assert isinstance(modest[0], User)


def test_the_tries_of_one_look_up_count_as_calls() -> None:
    clock: Any = now()
    kubernetes = Kubernetes(lambda _: status(429, "TooManyRequests"))
    reviewer = _reviewer(kubernetes, clock, queue=FairQueue(clock, rate=0.01, burst=3))
    outcome = _asked(reviewer, "t")
    for _ in range(5):
        clock.advance(1)
    assert len(kubernetes.requests) == 3
    for _ in range(14):
        clock.advance(1)
    # 15 s in the queue: that is not the token's fault.
    assert (len(kubernetes.requests), type(outcome[0])) == (3, TooManyRequests)


def test_a_cluster_that_is_too_busy_does_not_make_a_token_wrong() -> None:
    clock: Any = now()
    kubernetes = Kubernetes(lambda _: status(429, "TooManyRequests", "etcd at 10.1.2.3", retryAfterSeconds=7))
    outcome = _asked(_reviewer(kubernetes, clock), "t")
    for _ in range(10):
        clock.advance(2)
    (error,) = outcome
    assert (len(kubernetes.requests), type(error), error.retry_after) == (5, TooManyRequests, 7)
    assert "10.1.2.3" not in str(error)


def test_a_caller_who_goes_away_leaves_the_queue() -> None:
    clock: Any = now()
    pending: list[Deferred[Answer]] = []

    def hold(_: Any) -> Deferred[Answer]:
        pending.append(Deferred())
        return pending[-1]

    kubernetes = Kubernetes(hold)
    queue = FairQueue(clock, running=1)
    reviewer = _reviewer(kubernetes, clock, queue=queue)
    asking = [Deferred.fromCoroutine(reviewer.authenticate_token(name, "a")) for name in ("running", "waiting")]
    for each in asking:
        each.addErrback(lambda _: None)
        each.cancel()
    assert (len(pending), queue.running, queue.waiting("a")) == (1, 1, 0)
    # What was under way ends as it would have, and its answer is of use.
    pending[0].callback(_authenticated())
    assert (queue.running, clock.getDelayedCalls()) == (0, [])
    assert isinstance(_asked(reviewer, "running")[0], User)
    assert len(kubernetes.requests) == 1


def test_ipv6_neighbours_are_one() -> None:
    reviewer = _reviewer(Kubernetes(_nobodys))
    for number in range(FAILURES):
        _asked(reviewer, f"{number}", f"2001:db8::{number:x}")
    assert isinstance(_asked(reviewer, "x", "2001:db8::ffff:1:2:3")[0], TooManyRequests)
    assert _asked(reviewer, "x", "2001:db8:0:1::1") == [None]


def test_an_endless_token_is_nobodys() -> None:
    kubernetes = Kubernetes(lambda _: _authenticated())
    reviewer = _reviewer(kubernetes)
    assert isinstance(_asked(reviewer, "x" * TOKEN_LIMIT)[0], User)
    assert isinstance(_asked(reviewer, "x" * (TOKEN_LIMIT + 1))[0], AuthenticationError)
    assert len(kubernetes.requests) == 1
