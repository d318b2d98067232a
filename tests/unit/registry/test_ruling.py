"""Rules run on each write, in kube-apiserver's place among its checks, and in a thread if they cost much.

Source: ``apiextensions-apiserver/pkg/registry/customresource`` strategy.go and status_strategy.go; texts of kube-apiserver 1.36.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool
from zope.interface import implementer

from extapi import Api, FieldError, Group, Kind, NotFound, Review, Scale, Strategy, Version
from extapi.admission.chain import AdmissionChain
from extapi.codec.options import WriteOptions
from extapi.http.request import Peer, Request
from extapi.listener.requestinfo import request_info
from extapi.registry.base import RequestScope
from extapi.registry.ruling import AT_ONCE, INLINE, INLINE_TIME, RuleRunner
from extapi.schema.cel.validator import OBJECT_BUDGET, RuleValidator, Validation, rule_validator
from extapi.schema.structural import from_openapi
from extapi.server.loopback import BodyBytes
from extapi.testing import InMemoryServer, ServerResponse, serve
from extapi.verbs.request import ResourceRequest

GROUP = "oven.example.com"
OVENS = f"/apis/{GROUP}/v1/namespaces/default/ovens"
MERGE = {"Content-Type": "application/merge-patch+json"}
APPLY = {"Content-Type": "application/apply-patch+yaml"}


def rule(text: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {"rule": text, **({"message": message} if message else {}), **more}


SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["degrees"],
            "properties": {
                "degrees": {"type": "integer", "x-kubernetes-validations": [rule("self % 10 == 0", "must be round")]},
                "color": {
                    "type": "string",
                    "maxLength": 10,
                    "x-kubernetes-validations": [rule("self == oldSelf", "is immutable")],
                },
                "code": {"type": "string", "pattern": "^[a-z]+$"},
                "racks": {"type": "integer"},
            },
            "x-kubernetes-validations": [
                rule("!has(self.racks) || self.racks <= 5", "at most 5 racks", fieldPath=".racks")
            ],
        },
        "status": {
            "type": "object",
            "properties": {"hot": {"type": "boolean"}, "racks": {"type": "integer"}},
            "x-kubernetes-validations": [rule("!has(self.racks) || self.racks >= 0", "cannot be negative")],
        },
    },
    "x-kubernetes-validations": [
        rule(
            "self.metadata.name != 'hell' || self.spec.degrees > 500",
            messageExpression="self.metadata.name + ' is hotter'",
        ),
        rule("!has(self.status) || !has(self.status.hot) || !self.status.hot || self.spec.degrees > 100", "not hot"),
    ],
}


class Author(Strategy):
    def __init__(self) -> None:
        self.validated: list[int] = []

    def validate(self, obj: Any, old: Any) -> Iterable[FieldError]:
        del old
        self.validated.append(obj["spec"]["degrees"])
        if obj["spec"]["degrees"] == 30:
            yield FieldError.invalid("spec.degrees", 30, "is too cold")


class Served:
    def __init__(self, server: InMemoryServer, author: Author) -> None:
        self.server = server
        self.author = author

    def post(self, name: str = "o", **spec: Any) -> ServerResponse:
        return self.server.request("POST", OVENS, body=oven(name, **spec))

    def merge(self, patch: Any, at: str = "") -> ServerResponse:
        return self.server.request("PATCH", f"{OVENS}/o{at}", headers=MERGE, body=patch)


def oven(name: str = "o", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Oven", "metadata": {"name": name}, "spec": spec}


@contextmanager
def serving(schema: Any = SCHEMA, admission: Iterable[Any] = (), **more: Any) -> Iterator[Served]:
    author = Author()
    kind = Kind("Oven", storage="v1", versions={"v1": Version(schema)}, strategy=author, **more)
    with serve(Api(Group(GROUP, kind), admission=list(admission))) as server:
        yield Served(server, author)


def causes(answer: ServerResponse) -> list[str]:
    assert answer.status == 422, answer
    return [f"{cause['field']}: {cause['message']}" for cause in answer.json()["details"]["causes"]]


def warned(answer: ServerResponse) -> list[str]:
    return [value for name, value in answer.headers.items() if name.lower() == "warning"]


ROUND = "spec.degrees: Invalid value: 5: must be round"
UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


def test_a_create_keeps_all_rules() -> None:
    with serving() as served:
        assert causes(served.post(degrees=5, racks=9)) == [
            "spec.racks: Invalid value: at most 5 racks",
            ROUND,
        ]
        assert causes(served.post("hell", degrees=10)) == ["<nil>: Invalid value: hell is hotter"]
        assert served.author.validated == []  # an author's code sees no object that breaks its rules
        assert served.post(degrees=10, color="red").status == 201


def test_the_whole_answer() -> None:
    with serving() as served:
        answer = served.post(degrees=5)
        assert answer.json()["message"] == f'Oven.{GROUP} "o" is invalid: {ROUND}'
        assert answer.json()["details"]["causes"] == [
            {"reason": "FieldValueInvalid", "message": "Invalid value: 5: must be round", "field": "spec.degrees"}
        ]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({}, ["spec.degrees: Required value", UNCHECKED]),
        (
            {"degrees": "5"},
            [
                'spec.degrees: Invalid value: "string": spec.degrees in body must be of type integer: "string"',
                UNCHECKED,
            ],
        ),
        (
            {"degrees": 5, "color": "c" * 11},
            ["spec.color: Too long: may not be more than 10 bytes", UNCHECKED],
        ),
        (
            {"degrees": 5, "code": "1"},
            ["spec.code: Invalid value: \"1\": spec.code in body should match '^[a-z]+$'", ROUND],
        ),
    ],
)
def test_rules_run_if_the_object_has_the_right_form(body: dict[str, Any], wanted: list[str]) -> None:
    """Behaviour J36."""
    with serving() as served:
        assert causes(served.post(**body)) == wanted
        assert causes(served.server.request("POST", OVENS, {"dryRun": "All"}, body=oven(**body))) == wanted


def test_errors_of_metadata_come_first() -> None:
    with serving() as served:
        bad = oven(degrees=5)
        bad["metadata"]["labels"] = {"a": "_"}
        first, second = causes(served.server.request("POST", OVENS, body=bad))
        assert first.startswith('metadata.labels: Invalid value: "_": ')
        assert second == ROUND
        assert causes(served.server.request("POST", OVENS, body=oven("", degrees=5))) == [
            "metadata.name: Required value: name or generateName is required",
            UNCHECKED,
        ]


def test_the_strategy_comes_last() -> None:
    with serving() as served:
        assert causes(served.post(degrees=30)) == ["spec.degrees: Invalid value: 30: is too cold"]


def test_a_plugin_that_looks_at_the_object_changes_nothing() -> None:
    class Looking:
        async def mutate(self, review: Review) -> None:
            assert review.object is not None

    with serving(admission=[Looking()]) as served:
        assert causes(served.post(degrees=5, code="1")) == [
            "spec.code: Invalid value: \"1\": spec.code in body should match '^[a-z]+$'",
            ROUND,
        ]
        assert causes(served.post()) == ["spec.degrees: Required value", UNCHECKED]
        assert causes(served.post(degrees=5)) == [ROUND]
        assert served.post(degrees=10).status == 201


def test_a_plugin_can_repair_what_breaks_a_rule() -> None:
    class Rounding:
        async def mutate(self, review: Review) -> None:
            review.object["spec"]["degrees"] = 10

    with serving(admission=[Rounding()]) as served:
        assert served.post(degrees=5).status == 201


def test_every_way_to_update_keeps_rules() -> None:
    with serving() as served:
        assert served.post(degrees=10, color="red").status == 201
        stored = served.server.request("GET", f"{OVENS}/o").json()
        wanted = ['spec.color: Invalid value: "blue": is immutable']
        changed = {**stored, "spec": {"degrees": 10, "color": "blue"}}
        assert causes(served.server.request("PUT", f"{OVENS}/o", body=changed)) == wanted
        assert causes(served.merge({"spec": {"color": "blue"}})) == wanted
        applied = oven(degrees=10, color="blue")
        query = {"fieldManager": "m", "force": "true"}
        assert causes(served.server.request("PATCH", f"{OVENS}/o", query, APPLY, applied)) == wanted
        assert served.merge({"spec": {"color": None}}).status == 200  # a rule below it does not see that it is gone
        assert served.merge({"spec": {"color": "blue"}}).status == 200
        created = served.server.request("PATCH", f"{OVENS}/p", query, APPLY, oven("p", degrees=5))
        assert causes(created) == [ROUND]


def test_a_status_is_judged_with_the_whole_object() -> None:
    with serving() as served:
        assert served.post(degrees=10).status == 201
        assert causes(served.merge({"status": {"hot": True, "racks": -1}}, "/status")) == [
            "<nil>: Invalid value: not hot",
            "status: Invalid value: cannot be negative",
        ]
        assert served.merge({"status": {"hot": False}}, "/status").status == 200


def test_a_scale_is_a_write_of_the_object() -> None:
    scale = Scale(spec_replicas_path=".spec.racks", status_replicas_path=".status.racks")
    with serving(scale=scale) as served:
        assert served.post(degrees=10, racks=1).status == 201
        assert causes(served.merge({"spec": {"replicas": 6}}, "/scale")) == [
            "spec.racks: Invalid value: at most 5 racks"
        ]
        assert served.merge({"spec": {"replicas": 5}}, "/scale").status == 200


def test_what_an_update_leaves_alone_gives_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behaviour J37."""
    with serving() as served:
        with monkeypatch.context() as lenient:
            lenient.setattr(RuleValidator, "validate", lambda *_, **__: Validation([], [], 0))
            assert served.post(degrees=5, racks=9).status == 201
        answer = served.merge({"metadata": {"labels": {"a": "b"}}})
        assert answer.status == 200
        assert warned(answer) == [
            '299 - "spec.racks: Invalid value: at most 5 racks", 299 - "spec.degrees: Invalid value: 5: must be round"'
        ]
        answer = served.merge({"spec": {"racks": 8}})
        assert causes(answer) == ["spec.racks: Invalid value: at most 5 racks"]
        assert warned(answer) == ['299 - "spec.degrees: Invalid value: 5: must be round"']


def test_a_kind_without_storage_keeps_rules() -> None:
    class Desk:
        async def create(self, request: Any, obj: Any) -> Any:
            del request
            return obj

        async def get(self, request: Any) -> Any:
            raise NotFound.named("ovens", GROUP, request.name)

    with serving(rest=Desk()) as served:
        assert causes(served.post(degrees=5)) == [ROUND]
        assert served.post(degrees=10).status == 201


# -- threads


@implementer(IReactorFromThreads)
class Reactor(Clock):
    """Takes results out of threads, here in the same one.

    Args:
        slowness: Seconds that pass whenever somebody asks for the time.
    """

    def __init__(self, slowness: float = 0) -> None:
        super().__init__()
        self._slowness = slowness

    def seconds(self) -> float:
        self.advance(self._slowness)
        return float(self.rightNow)

    def callFromThread(self, callable: Any, *args: Any, **kwargs: Any) -> None:  # noqa: A002, N802 - Twisted's
        callable(*args, **kwargs)


class Pool(ThreadPool):
    """Keeps what is handed to it until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.handed: list[Callable[[], None]] = []
        self.results: list[Any] = []

    def callInThreadWithCallback(self, onResult: Any, func: Any, *args: Any, **kw: Any) -> None:  # noqa: N802, N803
        def run() -> None:
            try:
                result, good = func(*args, **kw), True
            except BaseException:  # noqa: BLE001 - as ThreadPool
                result, good = Failure(), False  # type: ignore[no-untyped-call]
            self.results.append(result)
            onResult(good, result)

        self.handed.append(run)


LIST = {"type": "array", "items": {"type": "integer"}}
SUM = rule("self.l.all(x, x > 0)", "all must be positive")
COSTLY = rule_validator(from_openapi({"type": "object", "properties": {"l": LIST}, "x-kubernetes-validations": [SUM]}))
assert COSTLY is not None
INTERRUPTED = '<nil>: Invalid value: "object": operation interrupted evaluating rule: all must be positive'
SHORT, LONG = {"l": [1] * 10}, {"l": [1] * 50_000 + [0]}


def running(runner: RuleRunner, obj: Any, expired: Callable[[], bool] = lambda: False) -> list[Any]:
    """What validation has come to: nothing as long as it waits."""
    assert COSTLY is not None
    results: list[Any] = []
    Deferred.fromCoroutine(runner.validate(COSTLY, obj, None, expired)).addBoth(results.append)
    return results


def test_what_costs_little_runs_at_once() -> None:
    pool = Pool()
    (found,) = running(RuleRunner(Reactor(), pool), SHORT)
    assert found.errors == []
    assert pool.handed == []


def test_what_costs_much_runs_in_a_thread_and_has_the_same_result() -> None:
    assert COSTLY is not None
    pool = Pool()
    results = running(RuleRunner(Reactor(), pool), LONG)
    assert results == []
    (run,) = pool.handed
    run()
    (found,) = results
    whole = COSTLY.validate(LONG)
    assert found == whole
    assert [error.text() for error in found.errors] == ["<nil>: Invalid value: all must be positive"]
    assert OBJECT_BUDGET - found.remaining > INLINE


def test_what_takes_long_runs_in_a_thread_whatever_it_costs() -> None:
    """``isSorted`` costs a few units for thousands of comparisons."""
    rules = rule_validator(
        from_openapi(
            {
                "type": "object",
                "properties": {"l": LIST},
                "x-kubernetes-validations": [rule("self.l.exists(x, self.l.isSorted() && x < 0)", "no")],
            }
        )
    )
    assert rules is not None
    pool = Pool()
    results: list[Any] = []
    runner = RuleRunner(Reactor(INLINE_TIME / 4), pool)
    Deferred.fromCoroutine(runner.validate(rules, SHORT, None)).addBoth(results.append)
    assert results == []
    (run,) = pool.handed
    run()
    (found,) = results
    assert found == rules.validate(SHORT)
    assert OBJECT_BUDGET - found.remaining < INLINE


def test_without_a_pool_all_runs_at_once() -> None:
    (found,) = running(RuleRunner(), LONG)
    assert len(found.errors) == 1


def test_few_run_at_a_time() -> None:
    pool = Pool()
    runner = RuleRunner(Reactor(), pool)
    several = [running(runner, LONG) for _ in range(AT_ONCE + 1)]
    assert len(pool.handed) == AT_ONCE
    pool.handed[0]()
    assert len(pool.handed) == AT_ONCE + 1
    for run in pool.handed[1:]:
        run()
    assert all(len(results) == 1 for results in several)


def test_a_thread_stops_at_the_deadline() -> None:
    pool = Pool()
    late = [False]
    results = running(RuleRunner(Reactor(), pool), LONG, lambda: late[0])
    late[0] = True
    pool.handed[0]()
    assert [error.text() for error in results[0].errors] == [INTERRUPTED]


def test_the_deadline_is_that_of_the_request() -> None:
    clock = Clock()
    http = Request(
        method="PUT",
        target="/",
        info=request_info("PUT", "/", {}),
        query={},
        headers={},
        body=BodyBytes(b""),
        peer=Peer(),
        audit_id="id-1",
        received=0.0,
        deadline=60.0,
    )
    with serving() as served:
        resource = served.server.server._served.catalogue.endpoints[GROUP, "v1", "ovens", ""].resource
    request = ResourceRequest(http, resource, RequestScope("v1"), "", AdmissionChain([]), clock)
    expired = request.admission("UpdateOptions", WriteOptions()).expired
    assert not expired()
    clock.advance(60)
    assert expired()


def test_a_thread_stops_if_its_request_is_gone() -> None:
    assert COSTLY is not None
    pool = Pool()
    results: list[Any] = []
    waiting = Deferred.fromCoroutine(RuleRunner(Reactor(), pool).validate(COSTLY, LONG, None))
    waiting.addBoth(results.append)
    waiting.cancel()
    assert results[0].check(CancelledError)
    (run,) = pool.handed
    run()
    assert [error.text() for found in pool.results for error in found.errors] == [INTERRUPTED]


def test_compiling_many_rules_is_done_in_a_thread() -> None:
    """Rules are compiled when they are first run, which costs nothing and takes longer than most evaluations."""
    many = [rule(f"self.n < {1000 + number}") for number in range(100)]
    rules = rule_validator(
        from_openapi({"type": "object", "properties": {"n": {"type": "integer"}}, "x-kubernetes-validations": many})
    )
    assert rules is not None
    pool = Pool()
    reactor = Reactor(INLINE_TIME / 10)
    results: list[Any] = []
    Deferred.fromCoroutine(RuleRunner(reactor, pool).validate(rules, {"n": 1000}, None)).addBoth(results.append)
    # It noticed at once that the time was up: a tenth of it passes whenever somebody asks.
    assert reactor.rightNow < 2 * INLINE_TIME
    assert results == []
    pool.handed[0]()
    assert [error.text() for error in results[0].errors] == ["<nil>: Invalid value: failed rule: self.n < 1000"]


def test_rules_that_were_not_compiled_in_time_are_an_error() -> None:
    """Also those that an object would not be judged by: no object passes because its time is up."""
    change = {"type": "integer", "x-kubernetes-validations": [rule("self >= oldSelf"), rule("self > 0", "positive")]}
    rules = rule_validator(from_openapi({"type": "object", "properties": {"n": change}}))
    assert rules is not None
    found = rules.validate({"n": -1}, expired=lambda: True)
    assert [error.text() for error in found.errors] == [
        'n: Invalid value: "integer": operation interrupted evaluating rule: self >= oldSelf'
    ]
    assert found.remaining < 0
    assert [error.detail for error in rules.validate({"n": -1}).errors] == ["positive"]


def test_other_work_is_done_apart() -> None:
    pool = Pool()
    results: list[Any] = []
    Deferred.fromCoroutine(RuleRunner(Reactor(), pool).apart(lambda: 7)).addBoth(results.append)
    assert results == []
    pool.handed[0]()
    assert results == [7]
    Deferred.fromCoroutine(RuleRunner().apart(lambda: 8)).addBoth(results.append)
    assert results == [7, 8]
