"""The deletion of namespaces; conditions and texts are those of kubernetes/pkg/controller/namespace/deletion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from extapi.controlplane.controllers.namespaces import NamespaceController
from extapi.errors import ServiceUnavailable
from extapi.http.request import Request
from extapi.http.response import Handler, Response
from extapi.testing import InMemoryServer
from tests.unit.controlplane.controllers.cluster import MERGE, ROOT, cluster, create


def conditions(server: InMemoryServer, name: str) -> dict[str, tuple[str, str, str]]:
    found = server.request("GET", f"{ROOT}/{name}").json()["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


def test_all_that_is_in_it_goes_and_then_the_namespace() -> None:
    with cluster(NamespaceController()) as server:
        create(server, ROOT, "full")
        create(server, ROOT, "other")
        for namespace in ("full", "other"):
            create(server, f"{ROOT}/{namespace}/configmaps", "one")
            create(server, f"/apis/example.com/v1/namespaces/{namespace}/widgets", "two")
        assert server.request("DELETE", f"{ROOT}/full").json()["status"]["phase"] == "Terminating"
        server.advance(3)
        assert server.request("GET", f"{ROOT}/full").status == 404
        assert server.request("GET", f"{ROOT}/full/configmaps/one").status == 404
        assert server.request("GET", "/apis/example.com/v1/namespaces/full/widgets/two").status == 404
        assert server.request("GET", f"{ROOT}/other/configmaps/one").status == 200
        assert server.request("GET", "/apis/example.com/v1/namespaces/other/widgets/two").status == 200
        assert server.request("GET", f"{ROOT}/other").json()["status"]["phase"] == "Active"


def test_what_has_finalizers_holds_the_namespace_and_is_named() -> None:
    with cluster(NamespaceController()) as server:
        create(server, ROOT, "held")
        path = "/apis/example.com/v1/namespaces/held/widgets"
        create(server, path, "stuck", metadata={"finalizers": ["example.com/mine"]})
        server.request("DELETE", f"{ROOT}/held")
        server.advance(3)
        found = conditions(server, "held")
        assert found["NamespaceContentRemaining"] == (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: widgets.example.com has 1 resource instances",
        )
        assert found["NamespaceFinalizersRemaining"] == (
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/mine in 1 resource instances",
        )
        assert found["NamespaceDeletionContentFailure"][:2] == ("False", "ContentDeleted")
        server.request("PATCH", f"{path}/stuck", headers=MERGE, body={"metadata": {"finalizers": []}})
        server.advance(3)
        assert server.request("GET", f"{ROOT}/held").status == 404


def test_a_condition_keeps_its_time_as_long_as_it_keeps_its_status() -> None:
    with cluster(NamespaceController()) as server:
        create(server, ROOT, "held")
        path = "/apis/example.com/v1/namespaces/held/widgets"
        create(server, path, "one", metadata={"finalizers": ["example.com/mine"]})
        create(server, path, "two", metadata={"finalizers": ["example.com/mine"]})
        server.request("DELETE", f"{ROOT}/held")
        server.advance(3)
        before = server.request("GET", f"{ROOT}/held").json()["status"]["conditions"]
        server.request("PATCH", f"{path}/one", headers=MERGE, body={"metadata": {"finalizers": []}})
        server.advance(5)
        after = server.request("GET", f"{ROOT}/held").json()["status"]["conditions"]
        times = [{each["type"]: each["lastTransitionTime"] for each in found} for found in (before, after)]
        assert times[0] == times[1]
        assert "widgets.example.com has 1 resource" in conditions(server, "held")["NamespaceContentRemaining"][2]


def test_a_finalizer_of_somebody_else_keeps_the_namespace_when_ours_is_gone() -> None:
    with cluster(NamespaceController()) as server:
        create(server, ROOT, "shared", metadata={"finalizers": ["example.com/theirs"]})
        server.request("DELETE", f"{ROOT}/shared")
        server.advance(3)
        left = server.request("GET", f"{ROOT}/shared").json()
        assert not left["spec"].get("finalizers")
        server.request("PATCH", f"{ROOT}/shared", headers=MERGE, body={"metadata": {"finalizers": None}})
        assert server.request("GET", f"{ROOT}/shared").status == 404


def test_a_finalizer_in_the_spec_is_for_its_owner_to_remove() -> None:
    with cluster(NamespaceController()) as server:
        made = create(server, ROOT, "shared")
        made["spec"]["finalizers"].append("example.com/theirs")
        assert server.request("PUT", f"{ROOT}/shared/finalize", body=made).status == 200
        server.request("DELETE", f"{ROOT}/shared")
        server.advance(3)
        left = server.request("GET", f"{ROOT}/shared").json()
        assert left["spec"]["finalizers"] == ["example.com/theirs"]
        left["spec"]["finalizers"] = []
        server.request("PUT", f"{ROOT}/shared/finalize", body=left)
        server.advance(3)
        assert server.request("GET", f"{ROOT}/shared").status == 404


class Stale:
    """Between discovery and its readers: says of a group that its server is away, as the aggregator does."""

    def __init__(self) -> None:
        self.stale = True

    def front(self, handler: Handler) -> Handler:
        async def answer(call: Request) -> Response:
            response = await handler(call)
            if call.info.path != "/apis" or not self.stale or not isinstance(response.body, bytes):
                return response
            document: dict[str, Any] = msgspec.json.decode(response.body)
            away = {"version": "v9", "freshness": "Stale", "resources": []}
            document["items"].append({"metadata": {"name": "away.example.com"}, "versions": [away]})
            response.body = msgspec.json.encode(document)
            return response

        return answer


def test_a_group_whose_server_is_away_holds_the_namespace() -> None:
    """Nobody knows what it still has in there."""
    stale = Stale()
    with cluster(NamespaceController(), front=stale.front) as server:
        create(server, ROOT, "held")
        create(server, f"{ROOT}/held/configmaps", "one")
        server.request("DELETE", f"{ROOT}/held")
        server.advance(3)
        assert server.request("GET", f"{ROOT}/held/configmaps/one").status == 404
        assert conditions(server, "held")["NamespaceDeletionDiscoveryFailure"] == (
            "True",
            "DiscoveryFailed",
            (
                "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
                "away.example.com/v9: stale GroupVersion discovery: away.example.com/v9"
            ),
        )
        stale.stale = False
        server.advance(5)
        assert server.request("GET", f"{ROOT}/held").status == 404


def test_what_cannot_be_deleted_together_is_deleted_one_by_one() -> None:
    with cluster(NamespaceController()) as server:
        create(server, ROOT, "full")
        path = "/apis/example.com/v1/namespaces/full/gadgets"
        for name in ("one", "two"):
            create(server, path, name)
        create(server, path, "held", metadata={"finalizers": ["example.com/mine"]})
        server.request("DELETE", f"{ROOT}/full")
        server.advance(3)
        left = server.request("GET", path).json()["items"]
        assert [each["metadata"]["name"] for each in left] == ["held"]
        assert "gadgets.example.com has 1 resource" in conditions(server, "full")["NamespaceContentRemaining"][2]
        server.request("PATCH", f"{path}/held", headers=MERGE, body={"metadata": {"finalizers": []}})
        server.advance(3)
        assert server.request("GET", f"{ROOT}/full").status == 404


def test_a_namespace_that_somebody_else_let_go_is_no_more_work() -> None:
    with cluster(NamespaceController()) as server:
        create(server, ROOT, "held")
        create(server, "/apis/example.com/v1/namespaces/held/widgets", "one", metadata={"finalizers": ["a.example/b"]})
        server.request("DELETE", f"{ROOT}/held")
        server.advance(1)
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "held"}, "spec": {"finalizers": []}}
        assert server.request("PUT", f"{ROOT}/held/finalize", body=body).status == 200
        server.advance(1)
        waiting = len(server.clock.getDelayedCalls())
        server.advance(3)
        assert server.request("GET", f"{ROOT}/held").status == 404
        assert len(server.clock.getDelayedCalls()) < waiting


class Odd:
    """In front of everything: an extension server that answers ``path`` with something else than it should."""

    def __init__(self, path: str, change: Callable[[dict[str, Any]], None]) -> None:
        self.path = path
        self.change = change
        self.odd = True

    def front(self, handler: Handler) -> Handler:
        async def answer(call: Request) -> Response:
            response = await handler(call)
            if call.info.path == self.path and call.method == "GET" and self.odd:
                assert isinstance(response.body, bytes | list)
                body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
                document: dict[str, Any] = msgspec.json.decode(body)
                self.change(document)
                response.body = msgspec.json.encode(document)
            return response

        return answer


@pytest.mark.parametrize("resources", ["many", [1], [{"resource": "things"}], [{"resource": 1, "scope": "Cluster"}]])
def test_discovery_that_cannot_be_understood_holds_the_namespace_and_no_controller(resources: Any) -> None:
    version = {"version": "v9", "freshness": "Current", "resources": resources}
    group = {"metadata": {"name": "odd.example.com"}, "versions": [version]}
    odd = Odd("/apis", lambda document: document["items"].append(group))
    with cluster(NamespaceController(), front=odd.front) as server:
        create(server, ROOT, "held")
        create(server, f"{ROOT}/held/configmaps", "one")
        server.request("DELETE", f"{ROOT}/held")
        server.advance(3)
        assert server.request("GET", f"{ROOT}/held/configmaps/one").status == 404
        assert conditions(server, "held")["NamespaceDeletionDiscoveryFailure"][:2] == ("True", "DiscoveryFailed")
        odd.odd = False
        server.advance(5)
        assert server.request("GET", f"{ROOT}/held").status == 404


@pytest.mark.parametrize("items", [None, {}, [1], [{"metadata": {}}], [{"metadata": {"name": "a", "finalizers": "b"}}]])
def test_a_list_that_is_none_holds_its_namespace_and_no_other(items: Any) -> None:
    odd = Odd("/apis/example.com/v1/namespaces/held/widgets", lambda document: document.update(items=items))
    with cluster(NamespaceController(), front=odd.front) as server:
        for name in ("held", "other"):
            create(server, ROOT, name)
        for name in ("held", "other"):
            server.request("DELETE", f"{ROOT}/{name}")
        server.advance(3)
        assert server.request("GET", f"{ROOT}/other").status == 404
        status, reason, text = conditions(server, "held")["NamespaceDeletionContentFailure"]
        assert (status, reason) == ("True", "ContentDeletionFailed")
        # The client sees that items are no objects, the controller what is wrong with the objects.
        assert "widgets.example.com: the answer is no list" in text or "/widgets: the answer is a " in text
        odd.odd = False
        server.advance(5)
        assert server.request("GET", f"{ROOT}/held").status == 404


def test_somebody_elses_change_in_between_is_not_overwritten() -> None:
    """The controller starts anew from what there is then."""
    odd = Odd(f"{ROOT}/held", lambda document: document["metadata"].update(resourceVersion="1"))
    with cluster(NamespaceController(), front=odd.front) as server:
        create(server, ROOT, "held")
        server.request("DELETE", f"{ROOT}/held")
        server.advance(3)
        left = server.request("GET", f"{ROOT}/held").json()
        assert "conditions" not in left["status"]
        assert left["spec"]["finalizers"] == ["kubernetes"]
        odd.odd = False
        server.advance(3)
        assert server.request("GET", f"{ROOT}/held").status == 404


def test_a_namespace_waits_for_discovery_that_does_not_answer() -> None:
    away = [True]

    def front(handler: Handler) -> Handler:
        async def answer(call: Request) -> Response:
            if call.info.path == "/apis" and away:
                raise ServiceUnavailable("away")
            return await handler(call)

        return answer

    with cluster(NamespaceController(), front=front) as server:
        create(server, ROOT, "held")
        server.request("DELETE", f"{ROOT}/held")
        server.advance(3)
        assert conditions(server, "held")["NamespaceDeletionDiscoveryFailure"] == ("True", "DiscoveryFailed", "away")
        away.clear()
        server.advance(5)
        assert server.request("GET", f"{ROOT}/held").status == 404
