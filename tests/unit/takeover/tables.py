"""A cluster that answers GETs from a table, and everything else as it is told."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.client.kube import Client
from extapi.client.transport import ClientRequest
from extapi.takeover.cluster import Cluster
from tests.unit.client.kubernetes import Answer, Kubernetes

T = TypeVar("T")


def status(code: int, reason: str, message: str = "") -> Answer:
    """A refusal."""
    obj = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    return Answer(code, obj)


def table(objects: Mapping[str, Any]) -> Kubernetes:
    """Objects, answers, or lists of answers to one request after the other, by ``PATH`` or ``METHOD PATH``."""

    def react(request: ClientRequest) -> Answer:
        found = objects.get(f"{request.method} {request.path}")
        if found is None and request.method == "GET":
            found = objects.get(request.path)
        if isinstance(found, list):
            found = found.pop(0)
        if found is None:
            return status(404, "NotFound", f"no {request.method} {request.path}")
        return found if isinstance(found, Answer) else Answer(200, found)

    return Kubernetes(react)


def cluster(objects: Mapping[str, Any] | Kubernetes, clock: Clock | None = None) -> Cluster:
    """The cluster with these objects."""
    transport = objects if isinstance(objects, Kubernetes) else table(objects)
    return Cluster(Client(transport), clock or Clock())


def now(coroutine: Coroutine[Any, Any, T], clock: Clock | None = None) -> T:
    """The result of a coroutine; with a clock, time passes until there is one."""
    results: list[Any] = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    while not results and clock is not None:
        clock.advance(0.05)
    (result,) = results
    if hasattr(result, "raiseException"):
        result.raiseException()
    found: T = result
    return found
