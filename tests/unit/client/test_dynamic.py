"""Every kind by group, version and resource: what is asked, and what is made of the answers."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from extapi import AlreadyExists, Conflict, DynamicClient, Expired, Forbidden, NotFound
from extapi.client.kube import Client
from extapi.client.transport import ClientRequest, TransportError
from extapi.client.watching import WATCH_GRACE, WATCH_SECONDS
from extapi.testing import InMemoryServer, serve
from tests.unit.client.building import now
from tests.unit.client.kubernetes import Answer, Kubernetes, status
from tests.unit.verbs.sample import GROUP, shop, widget

WIDGET = (GROUP, "v1", "widgets")
PODS = ("", "v1", "pods")


def client(server: InMemoryServer) -> DynamicClient:
    return server.server.context


def test_an_object_is_made_read_changed_and_deleted() -> None:
    with serve(shop()) as server:
        dynamic = client(server)
        made = server.run(dynamic.create(*WIDGET, widget("a"), namespace="default"))
        assert server.run(dynamic.get(*WIDGET, "a", namespace="default")) == made
        made["spec"]["size"] = 7
        updated = server.run(dynamic.update(*WIDGET, made))
        assert updated["spec"]["size"] == 7
        with pytest.raises(Conflict):
            server.run(dynamic.update(*WIDGET, made | {"spec": {"size": 8}}))
        operations = [{"op": "replace", "path": "/spec/size", "value": 9}]
        patched = server.run(dynamic.patch(*WIDGET, "a", operations, namespace="default", patch_type="json"))
        assert patched["spec"]["size"] == 9
        patched = server.run(dynamic.patch(*WIDGET, "a", {"metadata": {"labels": {"b": "c"}}}, namespace="default"))
        assert patched["metadata"]["labels"] == {"b": "c"}
        told = server.run(dynamic.patch_status(*WIDGET, "a", {"ready": True}, namespace="default"))
        assert told["status"] == {"ready": True}
        told["status"] = {"ready": False}
        server.run(dynamic.update(*WIDGET, told, subresource="status"))
        assert not server.run(dynamic.get(*WIDGET, "a", namespace="default"))["status"]["ready"]
        assert server.run(dynamic.delete(*WIDGET, "a", namespace="default"))["status"] == "Success"
        with pytest.raises(NotFound):
            server.run(dynamic.get(*WIDGET, "a", namespace="default"))


def test_the_namespace_of_a_new_object_is_that_of_its_metadata() -> None:
    with serve(shop()) as server:
        obj = widget("a")
        obj["metadata"]["namespace"] = "elsewhere"
        server.run(client(server).create(*WIDGET, obj))
        with pytest.raises(AlreadyExists):
            server.run(client(server).create(*WIDGET, obj, namespace="elsewhere"))


def test_a_dry_run_leaves_nothing() -> None:
    with serve(shop()) as server:
        server.run(client(server).create(*WIDGET, widget("a"), namespace="default", dry_run=True))
        assert server.run(client(server).list(*WIDGET)) == []


def test_a_delete_has_preconditions() -> None:
    with serve(shop()) as server:
        dynamic = client(server)
        made = server.run(dynamic.create(*WIDGET, widget("a"), namespace="default"))
        for wrong in ({"uid": "another"}, {"resource_version": "1"}):
            with pytest.raises(Conflict):
                server.run(dynamic.delete(*WIDGET, "a", namespace="default", **wrong))  # type: ignore[arg-type]  # texts
        metadata = made["metadata"]
        right = {"uid": metadata["uid"], "resource_version": metadata["resourceVersion"]}
        server.run(dynamic.delete(*WIDGET, "a", namespace="default", propagation="Background", **right))
        assert server.run(dynamic.list(*WIDGET)) == []


def test_a_collection_is_deleted_by_its_selectors() -> None:
    with serve(shop()) as server:
        dynamic = client(server)
        for name in ("a", "b"):
            obj = widget(name)
            obj["metadata"]["labels"] = {"is": name}
            server.run(dynamic.create(*WIDGET, obj, namespace="default"))
        server.run(dynamic.delete_collection(*WIDGET, namespace="default", label_selector="is=a"))
        assert [each["metadata"]["name"] for each in server.run(dynamic.list(*WIDGET))] == ["b"]


@pytest.mark.parametrize("name", ["get", "delete", "patch"])
def test_without_a_name_it_is_not_the_whole_collection(name: str) -> None:
    kubernetes = Kubernetes(lambda _: Answer(200, {}))
    dynamic = DynamicClient(Client(kubernetes), now(), lambda: 0.0)
    arguments: tuple[Any, ...] = ({},) if name == "patch" else ()
    with pytest.raises(ValueError, match="pods: a name is required"):
        getattr(dynamic, name)(*PODS, "", *arguments, namespace="default").send(None)
    with pytest.raises(ValueError, match="pods: a name is required"):
        dynamic.update(*PODS, {"metadata": {}}).send(None)
    assert kubernetes.requests == []


def test_a_list_is_read_page_by_page() -> None:
    with serve(shop()) as server:
        dynamic = client(server)
        for number in range(502):
            server.run(dynamic.create(*WIDGET, widget(f"a{number}"), namespace="default"))
        assert len(server.run(dynamic.list(*WIDGET))) == 502
        assert len(server.run(dynamic.list(*WIDGET, limit=501))) == 501
        (one,) = server.run(dynamic.list(*WIDGET, field_selector="metadata.name=a7"))
        assert one["metadata"]["name"] == "a7"
        assert server.run(dynamic.list(*WIDGET, namespace="elsewhere")) == []


class Cluster:
    """Answers in the order that a test says."""

    def __init__(self) -> None:
        self.clock: Any = now()
        self.answers: list[Any] = []
        self.kubernetes = Kubernetes(lambda _: self.answers.pop(0))
        self.client = DynamicClient(Client(self.kubernetes), self.clock, lambda: 0.0)
        self.seen: list[str] = []
        self.errors: list[Any] = []

    def lists(self, version: int, *names: str, token: str = "", kind: str = "PodList") -> None:
        metadata = {"resourceVersion": str(version), "continue": token}
        items = [{"metadata": {"name": name}} for name in names]
        self.answers.append(Answer(200, {"apiVersion": "v1", "kind": kind, "metadata": metadata, "items": items}))

    def watch(self, version: str = "") -> Deferred[None]:
        async def follow() -> None:
            async for kind, obj in self.client.watch(*PODS, resource_version=version):
                self.seen.append(f"{kind} {obj['metadata']['name']}")

        running = Deferred.fromCoroutine(follow())
        running.addErrback(lambda failure: self.errors.append(failure.value))
        return running

    def stream(self) -> Answer:
        answer = Answer(200, stream=True)
        self.answers.append(answer)
        return answer

    def queries(self) -> list[dict[str, str]]:
        return [dict(each.query) for each in self.kubernetes.requests]

    def get(self, coroutine: Any) -> Any:
        found: list[Any] = []
        Deferred.fromCoroutine(coroutine).addBoth(found.append)
        return found[0]


def pod(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


def test_objects_of_a_list_have_their_kind_though_kubernetes_leaves_it_out() -> None:
    cluster = Cluster()
    cluster.lists(1, "a")
    (found,) = cluster.get(cluster.client.list(*PODS))
    assert (found["apiVersion"], found["kind"]) == ("v1", "Pod")


def test_a_list_that_expires_between_its_pages_is_read_in_one() -> None:
    cluster = Cluster()
    cluster.lists(1, "a", token="next")
    cluster.answers.append(status(410, "Expired"))
    cluster.lists(2, "b", "c")
    found = cluster.get(cluster.client.list(*PODS))
    assert [each["metadata"]["name"] for each in found] == ["b", "c"]
    assert [("limit" in query, "continue" in query) for query in cluster.queries()] == [
        (True, False),
        (True, True),
        (False, False),
    ]


def test_a_watch_begins_with_what_there_is() -> None:
    cluster = Cluster()
    cluster.lists(5, "a")
    stream = cluster.stream()
    cluster.watch()
    stream.send("ADDED", pod("b", 6))
    assert cluster.seen == ["ADDED a", "ADDED b"]
    assert cluster.queries()[1]["resourceVersion"] == "5"


def test_a_watch_goes_on_where_it_was() -> None:
    cluster = Cluster()
    first = cluster.stream()
    cluster.watch("5")
    first.send("ADDED", pod("a", 6))
    first.send("BOOKMARK", pod("", 9))
    second = cluster.stream()
    first.end()
    second.send("DELETED", pod("a", 10))
    assert cluster.seen == ["ADDED a", "DELETED a"]
    assert [query["resourceVersion"] for query in cluster.queries()] == ["5", "9"]


@pytest.mark.parametrize("answer", [status(503, "ServiceUnavailable"), TransportError("reset"), status(429, "")])
def test_a_watch_outlives_failures_that_pass(answer: Any) -> None:
    cluster = Cluster()
    cluster.answers += [answer, answer]
    stream = cluster.stream()
    cluster.watch("5")
    cluster.clock.advance(0.8)
    assert len(cluster.kubernetes.requests) == 2
    cluster.clock.advance(0.8)
    assert len(cluster.kubernetes.requests) == 2  # later each time
    cluster.clock.advance(0.8)
    stream.send("ADDED", pod("a", 6))
    assert cluster.seen == ["ADDED a"]


@pytest.mark.parametrize(
    ("answer", "error"), [(status(410, "Expired"), Expired), (status(403, "Forbidden"), Forbidden)]
)
def test_a_watch_raises_what_does_not_pass(answer: Any, error: type[Exception]) -> None:
    cluster = Cluster()
    cluster.answers.append(answer)
    cluster.watch("5")
    assert [type(each) for each in cluster.errors] == [error]


def test_a_server_that_ends_each_watch_at_once_is_not_asked_in_a_tight_loop() -> None:
    cluster = Cluster()
    for _ in range(3):
        cluster.stream().end()
    cluster.watch("5")
    assert len(cluster.kubernetes.requests) == 1
    cluster.clock.advance(0.8)
    assert len(cluster.kubernetes.requests) == 2


def test_a_watch_whose_server_is_gone_without_a_word_is_ended() -> None:
    cluster = Cluster()
    stream = cluster.stream()
    cluster.watch("5")
    cluster.stream()
    cluster.clock.advance(WATCH_SECONDS + WATCH_GRACE)
    assert stream.closed
    cluster.clock.advance(1)
    assert len(cluster.kubernetes.requests) == 2


def test_a_watch_that_nobody_reads_is_closed() -> None:
    cluster = Cluster()
    stream = cluster.stream()
    cluster.watch("5").cancel()
    assert stream.closed


def test_patches_have_their_types() -> None:
    types: list[tuple[str, dict[str, str]]] = []

    def react(request: ClientRequest) -> Answer:
        types.append((request.headers["Content-Type"], dict(request.query)))
        return Answer(200, {})

    dynamic = DynamicClient(Client(Kubernetes(react)), now(), lambda: 0.0)
    for patch_type in ("merge", "json", "strategic"):
        dynamic_patch = dynamic.patch(*PODS, "a", {}, patch_type=patch_type)
        with pytest.raises(StopIteration):
            dynamic_patch.send(None)
    with pytest.raises(StopIteration):
        dynamic.patch(*PODS, "a", {}, patch_type="apply", field_manager="me", force=True).send(None)
    assert types == [
        ("application/merge-patch+json", {}),
        ("application/json-patch+json", {}),
        ("application/strategic-merge-patch+json", {}),
        ("application/apply-patch+yaml", {"fieldManager": "me", "force": "true"}),
    ]


def test_metadata_only() -> None:
    """Objects as ``k8s.io/client-go/metadata`` reads them; what is written is whole."""
    with serve(shop()) as server:
        whole = client(server).own()
        metadata = whole.metadata_only()
        server.run(metadata.create(*WIDGET, widget("a", spec={"size": 7}), namespace="default"))
        partial = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}
        found = server.run(metadata.get(*WIDGET, "a", namespace="default"))
        assert found == partial | {"metadata": server.run(whole.get(*WIDGET, "a", namespace="default"))["metadata"]}
        assert server.run(metadata.list(*WIDGET)) == [found]
        informer = metadata.informer(*WIDGET)
        server.run(informer.wait_synced())
        changed = server.run(metadata.patch(*WIDGET, "a", {"metadata": {"labels": {"b": "c"}}}, namespace="default"))
        assert (changed["kind"], changed["metadata"]["labels"]) == ("PartialObjectMetadata", {"b": "c"})
        server.advance(1)
        assert informer.get("default", "a") == changed
        assert server.run(whole.get(*WIDGET, "a", namespace="default"))["spec"]["size"] == 7
        whole.stop()
        server.run(metadata.patch(*WIDGET, "a", {"metadata": {"labels": {"b": "d"}}}, namespace="default"))
        server.advance(1)
        assert informer.get("default", "a") == changed, "it ends with those of the client it was made of"


def test_a_server_without_partial_metadata_sends_whole_objects() -> None:
    kubernetes = Kubernetes(lambda _: Answer(200, {"items": [{"metadata": {"name": "a"}}], "metadata": {}}))
    dynamic = DynamicClient(Client(kubernetes), now(), lambda: 0.5).metadata_only()
    found: Any = []
    Deferred.fromCoroutine(dynamic.list(*PODS)).addCallback(found.append)
    assert found == [[{"metadata": {"name": "a"}}]]
    (request,) = kubernetes.requests
    assert request.headers["Accept"] == (
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    )
