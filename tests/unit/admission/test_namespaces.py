from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from extapi.admission.base import Operation, Review
from extapi.admission.namespaces import NamespaceLifecycle
from extapi.api.definition import CLUSTER, Kind, Version
from extapi.api.types import Obj
from extapi.api.user import User
from extapi.errors import ApiError, Forbidden, InternalError, NotFound, ServiceUnavailable

KIND = Kind("Box", plural="boxes", storage="v1", versions={"v1": Version({"type": "object"})})
ACTIVE: Obj = {"metadata": {"name": "x"}, "status": {"phase": "Active"}}
TERMINATING: Obj = {"metadata": {"name": "x"}, "status": {"phase": "Terminating"}}


class Cluster:
    """A cache of namespaces and the place that it follows."""

    def __init__(self, *, cached: Obj | None = None, live: Obj | Exception | None = None, synced: bool = True) -> None:
        self.clock = Clock()
        self.cached = cached
        self.live = live
        self.synced = synced
        self.syncing: Deferred[None] = Deferred()
        self.reads: list[str] = []
        self.plugin = NamespaceLifecycle(cache=self, live=self.read, clock=self.clock)

    async def wait_synced(self) -> None:
        await self.syncing

    def get(self, namespace: str, name: str) -> Obj | None:
        assert (namespace, name) == ("", "x")
        return self.cached

    async def read(self, name: str) -> Obj | None:
        self.reads.append(name)
        if isinstance(self.live, Exception):
            raise self.live
        return self.live

    def ask(self, operation: Operation = Operation.CREATE, **more: Any) -> Deferred[None]:
        given: dict[str, Any] = {
            "kind": KIND,
            "group": "example.com",
            "namespace": "x",
            "obj": {"metadata": {"name": "a"}},
            **more,
        }
        return Deferred.fromCoroutine(
            self.plugin.mutate(Review(operation=operation, version="v1", user=User("jane"), **given))
        )


def error_of(asked: Deferred[None]) -> BaseException:
    caught: list[BaseException] = []

    def keep(failure: Failure) -> None:
        assert failure.value is not None
        caught.append(failure.value)

    asked.addErrback(keep)
    (error,) = caught
    return error


def passes(asked: Deferred[None]) -> bool:
    done: list[None] = []
    asked.addCallback(done.append)
    return done == [None]


def test_an_active_namespace_in_the_cache_passes_at_once() -> None:
    cluster = Cluster(cached=ACTIVE)
    assert passes(cluster.ask())
    assert passes(cluster.ask(Operation.UPDATE))
    assert cluster.reads == []
    assert passes(Cluster(cached={"metadata": {}}).ask())


def test_a_missing_namespace_is_waited_for_50_ms_then_read_live() -> None:
    cluster = Cluster(live=ACTIVE)
    asked = cluster.ask()
    cluster.clock.advance(0.049)
    assert not asked.called
    assert cluster.reads == []
    cluster.clock.advance(0.002)
    assert passes(asked)
    assert cluster.reads == ["x"]


def test_the_cache_may_hear_of_the_namespace_meanwhile() -> None:
    cluster = Cluster()
    asked = cluster.ask()
    cluster.cached = ACTIVE
    cluster.clock.advance(0.06)
    assert passes(asked)
    assert cluster.reads == []


@pytest.mark.parametrize("live", [None, NotFound.named("namespaces", "", "x")])
def test_a_namespace_that_is_nowhere_is_not_found(live: Exception | None) -> None:
    cluster = Cluster(live=live)
    asked = cluster.ask()
    cluster.clock.advance(0.06)
    error = error_of(asked)
    assert isinstance(error, NotFound)
    assert error.status()["message"] == 'namespaces "x" not found'
    assert error.status()["details"] == {"name": "x", "kind": "namespaces"}


def test_an_update_does_not_wait_for_the_cache() -> None:
    cluster = Cluster(live=None)
    assert isinstance(error_of(cluster.ask(Operation.UPDATE)), NotFound)
    assert passes(Cluster(live=TERMINATING).ask(Operation.UPDATE))


@pytest.mark.parametrize("cluster", [Cluster(cached=TERMINATING), Cluster(live=TERMINATING)])
def test_nothing_is_created_in_a_terminating_namespace(cluster: Cluster) -> None:
    asked = cluster.ask()
    cluster.clock.advance(0.06)
    error = error_of(asked)
    assert isinstance(error, Forbidden)
    status = error.status()
    assert status["message"] == (
        'boxes.example.com "a" is forbidden: unable to create new content in namespace x because it is being terminated'
    )
    assert status["details"]["causes"] == [
        {"reason": "NamespaceTerminating", "message": "namespace x is being terminated", "field": "metadata.namespace"}
    ]


def test_what_does_not_need_the_namespace_passes() -> None:
    for more in (
        {"operation": Operation.DELETE},
        {"operation": Operation.CONNECT},
        {"namespace": ""},
        {"group": "authorization.k8s.io", "resource": "localsubjectaccessreviews"},
        {"group": "", "resource": "namespaces"},
    ):
        cluster = Cluster(synced=False)
        assert passes(cluster.ask(**more))
        assert cluster.reads == []


def test_some_namespaces_cannot_be_deleted() -> None:
    kind = Kind("Namespace", scope=CLUSTER, storage="v1", versions={"v1": Version({"type": "object"})})
    given: dict[str, Any] = {"kind": kind, "group": "", "namespace": "", "obj": None}
    for name in ("default", "kube-system", "kube-public"):
        error = error_of(Cluster().ask(Operation.DELETE, name=name, **given))
        assert str(error) == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    assert passes(Cluster().ask(Operation.DELETE, name="mine", **given))


def test_an_empty_cache_is_waited_for() -> None:
    cluster = Cluster(cached=ACTIVE, synced=False)
    asked = cluster.ask()
    cluster.clock.advance(9.9)
    assert not asked.called
    cluster.syncing.callback(None)
    assert passes(asked)
    assert cluster.clock.getDelayedCalls() == []


def test_after_ten_seconds_without_a_cache_the_answer_is_no() -> None:
    cluster = Cluster(cached=ACTIVE, synced=False)
    asked = cluster.ask()
    cluster.clock.advance(10)
    assert str(error_of(asked)) == 'boxes.example.com "a" is forbidden: not yet ready to handle request'


@pytest.mark.parametrize("synced", [True, False])
def test_a_cancelled_request_waits_no_longer(synced: bool) -> None:
    cluster = Cluster(synced=synced)
    asked = cluster.ask()
    asked.cancel()
    assert isinstance(error_of(asked), CancelledError)
    assert cluster.clock.getDelayedCalls() == []


@pytest.mark.parametrize(
    ("live", "text"),
    [
        (ServiceUnavailable("secret"), "Internal error occurred: the namespace x could not be read"),
        (OSError("secret"), "Internal error occurred: the namespace x could not be read"),
    ],
)
def test_a_live_read_that_fails_refuses(live: Exception, text: str) -> None:
    error = error_of(Cluster(live=live).ask(Operation.UPDATE))
    assert isinstance(error, InternalError)
    assert isinstance(error, ApiError)
    assert str(error) == text
    assert error.__cause__ is live


def test_a_live_read_that_is_cancelled_stays_cancelled() -> None:
    assert isinstance(error_of(Cluster(live=CancelledError()).ask(Operation.UPDATE)), CancelledError)
