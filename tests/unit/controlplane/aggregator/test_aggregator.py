"""What the aggregator keeps of APIServices: registration, status, connections (behaviour D)."""

from __future__ import annotations

import base64
from pathlib import Path

from extapi.client.kube import ResourceName
from extapi.controlplane.aggregator.aggregator import Aggregator
from extapi.controlplane.aggregator.remote import PASSED
from tests.certificates import CLIENT, authority
from tests.unit.controlplane.aggregator.cluster import (
    API_SERVICES,
    GROUP_VERSION,
    NAME,
    Backend,
    Cluster,
    answer,
)


def test_a_deleted_apiservice_is_served_no_more(cluster: Cluster, backend: Backend) -> None:
    cluster.run(cluster.client.delete(API_SERVICES, NAME))
    cluster.turn()
    assert cluster.get(GROUP_VERSION).head.startswith("HTTP/1.1 404")
    cluster.until(lambda: all(connection.closed for connection in backend.connections))


def test_local_apiservices_are_made_at_start(cluster: Cluster) -> None:
    obj = cluster.run(cluster.client.get(API_SERVICES, "v1."))
    assert obj["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
    assert obj["spec"] == {"version": "v1", "groupPriorityMinimum": 18000, "versionPriority": 1}
    cluster.until(lambda: cluster.condition("v1.").get("status") == "True")
    condition = cluster.condition("v1.")
    assert (condition["reason"], condition["message"]) == ("Local", "Local APIServices are always available")
    listed = cluster.run(cluster.client.list(ResourceName("apiregistration.k8s.io", "v1", "apiservices")))
    assert [item["metadata"]["name"] for item in listed["items"]] == ["v1."]


def test_the_check_of_readiness(cluster: Cluster) -> None:
    assert cluster.aggregator.synced() is None


def test_what_is_registered_already_stays_as_it_is(cluster: Cluster) -> None:
    before = cluster.run(cluster.client.patch(API_SERVICES, "v1.", {"metadata": {"labels": {"mine": "yes"}}}))
    again = Aggregator(certificate=Path("unused"), key=Path("unused"), reactor=cluster.reactor)
    again.front(cluster.aggregator._local)
    assert again.synced() == "APIServices are not known yet"
    cluster.run(again.start(cluster.server.context))
    assert cluster.run(cluster.client.get(API_SERVICES, "v1.")) == before
    again.stop()


def test_a_status_that_cannot_be_written_is_no_harm(cluster: Cluster, backend: Backend) -> None:
    cluster.aggregator._objects["gone"] = {"metadata": {"name": "gone"}}
    cluster.run(cluster.aggregator.publish("gone", PASSED))
    cluster.run(cluster.aggregator.publish("never seen", PASSED))


def test_a_condition_that_somebody_else_wrote_is_set_right(cluster: Cluster, backend: Backend) -> None:
    wrong = {"conditions": [{"type": "Available", "status": "False"}, {"type": "Other", "status": "True"}]}
    cluster.run(cluster.client.patch(API_SERVICES, NAME, {"status": wrong}, subresource="status"))
    cluster.aggregator._remotes[NAME].poke()

    def right() -> bool:
        conditions = cluster.run(cluster.client.get(API_SERVICES, NAME))["status"]["conditions"]
        return {each["type"]: each["status"] for each in conditions} == {"Available": "True", "Other": "True"}

    cluster.until(right, seconds=4)


def test_a_new_certificate_of_the_front_proxy_is_shown_to_every_server(
    cluster: Cluster, backend: Backend, tmp_path: Path
) -> None:
    """With the next probe of one of them; what is under way on the old connections comes to its end."""
    other = cluster.backend()
    cluster.register(other.number, name="v2.shop.example.com")
    cluster.available("v2.shop.example.com")
    backend.answers[f"{GROUP_VERSION}/things"] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc"
    client = cluster.connect()
    client.write(f"GET {GROUP_VERSION}/things HTTP/1.1\r\nHost: front\r\n\r\n".encode())
    cluster.until(lambda: client.got.endswith(b"abc"))
    leaf = cluster.proxies.leaf("another-name", eku=CLIENT)
    leaf.save(tmp_path, "proxy")
    cluster.aggregator._remotes[NAME].poke()
    for each in (backend, other):
        cluster.until(lambda each=each: each.seen[-1].connection.client() == "another-name", seconds=4)  # type: ignore[misc]  # mypy infers no type for a default
    backend.asked(f"{GROUP_VERSION}/things")[0].connection.write(b"def")
    cluster.until(lambda: client.got.endswith(b"abcdef"))
    cluster.until(lambda: all(each.closed or each.client() == "another-name" for each in backend.connections))


def test_what_is_under_way_outlives_a_change_of_the_bundle(cluster: Cluster, backend: Backend) -> None:
    """A new bundle means new connections; the old ones end when they have nothing to do any more."""
    backend.answers[f"{GROUP_VERSION}/things"] = None
    client = cluster.connect()
    client.write(f"GET {GROUP_VERSION}/things HTTP/1.1\r\nHost: front\r\n\r\n".encode())
    cluster.until(lambda: backend.asked(f"{GROUP_VERSION}/things"))
    asked = backend.asked(f"{GROUP_VERSION}/things")[0].connection
    both = base64.b64encode(cluster.serving.pem + authority("new-serving-ca").pem).decode()
    probes = len(backend.seen)
    cluster.run(cluster.client.patch(API_SERVICES, NAME, {"spec": {"caBundle": both}}))
    cluster.until(lambda: len(backend.seen) > probes)
    assert not asked.closed
    asked.write(answer(b"late"))
    cluster.until(lambda: client.got.endswith(b"late"))
    cluster.until(lambda: asked.closed)
