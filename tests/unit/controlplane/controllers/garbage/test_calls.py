"""The calls: their pace, their preconditions, and what an answer means."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import Any

import msgspec
import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi import Conflict, NotFound, TransportError
from extapi.controlplane.controllers.garbage.calls import TRIES, Calls, Pace
from extapi.controlplane.controllers.garbage.objects import Observed, Owner
from extapi.controlplane.controllers.resources import ServedResource
from extapi.testing import InMemoryServer
from tests.unit.controlplane.controllers.cluster import MERGE, cluster, create

MAPS = "/api/v1/namespaces/one/configmaps"
RESOURCE = ServedResource("", "v1", "configmaps", "ConfigMap", True, frozenset())
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}


def test_calls_keep_their_pace() -> None:
    clock: Any = Clock()
    pace = Pace(clock, rate=8, burst=3)
    began: list[float] = []

    async def call() -> None:
        await pace.turn()
        began.append(clock.seconds())

    for _ in range(6):
        Deferred.fromCoroutine(call())
    assert began == [0, 0, 0]
    clock.pump([0.0625] * 10)
    assert began == [0, 0, 0, 0.125, 0.25, 0.375]
    clock.advance(10)
    for _ in range(4):
        Deferred.fromCoroutine(call())
    assert len(began) == 9, "what was not used is not saved up beyond the burst"


class Site:
    """A server, and the calls to it."""

    def __init__(self, server: InMemoryServer) -> None:
        self.server = server
        self.calls = Calls(server.server.context, server.clock)

    def run(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self.server.run(call)

    def make(self, name: str, **metadata: Any) -> Observed:
        create(self.server, MAPS, name, metadata=metadata)
        found: Observed = self.run(self.calls.get(RESOURCE, "one", name))
        return found

    def touch(self, name: str, **metadata: Any) -> None:
        body = {"metadata": metadata or {"labels": {"changed": "yes"}}}
        assert self.server.request("PATCH", f"{MAPS}/{name}", headers=MERGE, body=body).status == 200

    def metadata(self, name: str) -> Any:
        return self.server.request("GET", f"{MAPS}/{name}").json()["metadata"]


@pytest.fixture
def site() -> Iterator[Site]:
    with cluster() as server:
        yield Site(server)


def test_an_object_is_deleted_as_it_was_seen(site: Site) -> None:
    obj = site.make("a", ownerReferences=[OWNER])
    site.touch("a")
    assert site.run(site.calls.delete(obj, "Background")) is True, "nothing has changed that matters"
    assert site.run(site.calls.delete(obj, "Background")) is False
    assert site.run(site.calls.get(RESOURCE, "one", "a")) is None


@pytest.mark.parametrize(
    "change", [{"ownerReferences": []}, {"finalizers": ["orphan"]}, {"finalizers": ["foregroundDeletion"]}]
)
def test_an_object_that_changed_in_what_matters_is_left(site: Site, change: Any) -> None:
    obj = site.make("a", ownerReferences=[OWNER])
    site.touch("a", **change)
    with pytest.raises(Conflict):
        site.run(site.calls.delete(obj, "Background"))
    assert "deletionTimestamp" not in site.metadata("a")


def test_an_object_of_the_same_name_is_another_one(site: Site) -> None:
    obj = site.make("a", ownerReferences=[OWNER])
    site.server.request("DELETE", f"{MAPS}/a")
    site.make("a", ownerReferences=[OWNER], finalizers=["orphan"])
    assert site.run(site.calls.delete(obj, "Background")) is False
    assert site.run(site.calls.keep_owners(obj, [])) is None
    site.run(site.calls.remove_finalizer(obj, "orphan"))
    assert site.metadata("a")["ownerReferences"] == [OWNER]
    assert site.metadata("a")["finalizers"] == ["orphan"]


def test_references_are_replaced_as_they_were_seen(site: Site) -> None:
    second = {**OWNER, "uid": "v", "controller": True}
    obj = site.make("a", ownerReferences=[OWNER, second])
    site.touch("a")
    found = site.run(site.calls.keep_owners(obj, [each for each in obj.owners if each.uid == "v"]))
    assert site.metadata("a")["ownerReferences"] == [second]
    assert found.resource_version == site.metadata("a")["resourceVersion"]
    with pytest.raises(Conflict):
        site.run(site.calls.keep_owners(obj, []))
    assert site.metadata("a")["ownerReferences"] == [second], "others have changed them"
    site.run(site.calls.keep_owners(found, []))
    assert "ownerReferences" not in site.metadata("a")


def test_one_finalizer_is_removed(site: Site) -> None:
    obj = site.make("a", finalizers=["orphan", "example.com/mine"])
    site.touch("a")
    site.run(site.calls.remove_finalizer(obj, "orphan"))
    assert site.metadata("a")["finalizers"] == ["example.com/mine"]
    site.run(site.calls.remove_finalizer(obj, "orphan"))
    site.server.request("DELETE", f"{MAPS}/a")
    site.touch("a", finalizers=[])
    site.run(site.calls.remove_finalizer(obj, "orphan"))


class Answers:
    """A client that answers what it is told to, and remembers what it was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def metadata_only(self) -> Answers:
        """It knows nothing else."""
        return self

    def __getattr__(self, verb: str) -> Any:
        async def call(*_: Any, **__: Any) -> Any:
            self.asked.append(verb)
            answer = self.answers[verb]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def result(call: Coroutine[Any, Any, Any]) -> Any:
    results: list[Any] = []
    Deferred.fromCoroutine(call).addBoth(results.append)
    (found,) = results
    if hasattr(found, "raiseException"):
        found.raiseException()
    return found


SEEN = Observed(RESOURCE, "one", "a", "u", "7", (Owner("v1", "ConfigMap", "o", "o"),))
SENT = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "8", "finalizers": ["orphan"],
                     "ownerReferences": [msgspec.to_builtins(SEEN.owners[0])]}}  # fmt: skip


def test_tries_are_bounded() -> None:
    client: Any = Answers(get=SENT, patch=Conflict("busy"))
    clock: Any = Clock()
    with pytest.raises(Conflict):
        result(Calls(client, clock).keep_owners(SEEN, []))
    assert client.asked.count("patch") == TRIES
    client.asked.clear()
    with pytest.raises(Conflict):
        result(Calls(client, clock).remove_finalizer(SEEN, "orphan"))
    assert client.asked.count("patch") == TRIES


@pytest.mark.parametrize("error", [NotFound.path(), NotFound("page not found")])
def test_a_kind_that_is_not_served_is_not_an_object_that_is_gone(error: Exception) -> None:
    client: Any = Answers(get=error, patch=error, delete=error)
    clock: Any = Clock()
    calls = Calls(client, clock)
    for call in (calls.get(RESOURCE, "one", "a"), calls.delete(SEEN, "Background"), calls.keep_owners(SEEN, [])):
        with pytest.raises(NotFound):
            result(call)


@pytest.mark.parametrize("answer", [{}, {"metadata": []}, {"metadata": {"name": "a"}}])
def test_an_answer_that_is_no_object_says_nothing(answer: Any) -> None:
    client: Any = Answers(get=answer)
    clock: Any = Clock()
    with pytest.raises(TransportError):
        result(Calls(client, clock).get(RESOURCE, "one", "a"))
