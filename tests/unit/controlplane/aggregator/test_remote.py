"""Whether a server is there: conditions, their texts, and how soon they change (spec D1-D4)."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from extapi.client.kube import ResourceName
from extapi.controlplane.aggregator.aggregator import Aggregator
from extapi.controlplane.aggregator.remote import PASSED
from extapi.controlplane.aggregator.services import APIService, Backend as Backend_, read
from tests.certificates import CLIENT, authority
from tests.unit.controlplane.aggregator.cluster import (
    API_SERVICES,
    GROUP_VERSION,
    NAME,
    SERVICES,
    Backend,
    Cluster,
    answer,
)


def patch_service(cluster: Cluster, **spec: object) -> None:
    cluster.run(cluster.client.patch(SERVICES, "api", {"spec": spec}, namespace="shop"))


def test_an_answering_server_has_passed(cluster: Cluster) -> None:
    backend = cluster.backend()
    cluster.register(backend.number)
    cluster.available()
    condition = cluster.condition()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", condition.pop("lastTransitionTime"))
    assert condition == {"type": "Available", "status": "True", "reason": "Passed", "message": "all checks passed"}
    probe = backend.seen[0]
    assert probe.line == f"GET {GROUP_VERSION} HTTP/1.1"
    assert probe.values("x-remote-user") == ["system:kube-aggregator"]
    assert probe.values("x-remote-group") == ["system:masters"]
    assert not probe.values("accept")
    assert probe.connection.client() == "front-proxy-client"


def test_without_a_service(cluster: Cluster, backend: Backend) -> None:
    cluster.run(cluster.client.delete(SERVICES, "api", namespace="shop"))
    cluster.until(lambda: cluster.condition()["status"] == "False", seconds=4)
    condition = cluster.condition()
    assert (condition["reason"], condition["message"]) == ("ServiceNotFound", 'service/api in "shop" is not present')
    assert cluster.get(GROUP_VERSION).body == b"service unavailable\n"


def test_a_service_inside_the_cluster_has_nothing_behind_it(cluster: Cluster, backend: Backend) -> None:
    patch_service(cluster, type="ClusterIP", externalName=None, ports=[{"port": 443}])
    cluster.until(lambda: cluster.condition()["reason"] == "ServicePortError", seconds=4)
    assert cluster.condition()["message"] == f'service/api in "shop" is not listening on port {backend.number}'
    patch_service(cluster, ports=[{"port": backend.number}])
    cluster.until(lambda: cluster.condition()["reason"] == "EndpointsNotFound", seconds=4)
    assert cluster.condition()["message"] == 'cannot find endpointslices for service/api in "shop"'


def test_what_fails_a_probe(cluster: Cluster, backend: Backend) -> None:
    url = f"https://localhost:{backend.number}{GROUP_VERSION}"
    for status in ("403 Forbidden", "302 Found", "500 Internal Server Error"):
        backend.answers[GROUP_VERSION] = answer(b"", status)
        cluster.aggregator._remotes[NAME].poke()
        code = status[:3]
        text = f"failing or missing response from {url}: bad status from {url}: {code}"
        cluster.until(lambda text=text: cluster.condition()["message"] == text, seconds=4)  # type: ignore[misc]  # mypy infers no type for a default
        assert cluster.condition()["reason"] == "FailedDiscoveryCheck"
    number = backend.number
    cluster.close(backend)
    dial = f'Get "{url}": dial tcp 127.0.0.1:{number}: connect: connection refused'
    text = f"failing or missing response from {url}: {dial}"
    cluster.until(lambda: cluster.condition()["message"] == text, seconds=4)


def test_a_server_that_comes_is_noticed_before_the_next_round_would_be_due(cluster: Cluster, backend: Backend) -> None:
    number = backend.number
    cluster.close(backend)
    cluster.get(GROUP_VERSION)
    cluster.until(lambda: cluster.condition()["status"] == "False", seconds=4)
    again = cluster.backend(number)
    cluster.until(lambda: again.seen, seconds=4)
    cluster.until(lambda: cluster.condition()["status"] == "True", seconds=4)


def test_the_transition_time_stays_while_the_status_does(cluster: Cluster, backend: Backend) -> None:
    stale = {"conditions": [{"type": "Available", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"}]}
    backend.answers[GROUP_VERSION] = answer(b"", "500 Internal Server Error")
    cluster.aggregator._remotes[NAME].poke()
    cluster.until(lambda: cluster.condition()["status"] == "False")
    cluster.run(cluster.client.patch(API_SERVICES, NAME, {"status": stale}, subresource="status"))
    cluster.turn()
    backend.answers[GROUP_VERSION] = answer(b"", "501 Not Implemented")
    cluster.until(lambda: "501" in cluster.condition().get("message", ""))
    assert cluster.condition()["lastTransitionTime"] == "2020-01-01T00:00:00Z"


def test_the_status_is_written_only_when_it_changes(cluster: Cluster, backend: Backend) -> None:
    version = cluster.run(cluster.client.get(API_SERVICES, NAME))["metadata"]["resourceVersion"]
    for _ in range(3):
        cluster.aggregator._remotes[NAME].poke()
        cluster.turn()
    assert cluster.run(cluster.client.get(API_SERVICES, NAME))["metadata"]["resourceVersion"] == version


def test_a_certificate_of_another_authority_is_refused(cluster: Cluster) -> None:
    backend = cluster.backend(issuer=authority("another"))
    cluster.register(backend.number)
    cluster.until(lambda: cluster.condition().get("status") == "False")
    assert "x509: certificate signed by unknown authority" in cluster.condition()["message"]
    assert not backend.seen


def test_a_certificate_for_another_name_is_refused(cluster: Cluster) -> None:
    backend = cluster.backend(name="localhost")
    cluster.register(backend.number)
    cluster.until(lambda: cluster.condition().get("status") == "False")
    url = f"https://localhost:{backend.number}{GROUP_VERSION}"
    why = "tls: failed to verify certificate: x509: certificate is valid for localhost, not api.shop.svc"
    assert cluster.condition()["message"] == f'failing or missing response from {url}: Get "{url}": {why}'
    assert not backend.seen


@pytest.mark.parametrize(("limit", "where"), [("expired", "after"), ("not_yet_valid", "before")])
def test_a_certificate_out_of_its_time_is_refused(cluster: Cluster, limit: str, where: str) -> None:
    """In the words of Go's ``x509.CertificateInvalidError``."""
    backend = cluster.backend(**{limit: True})  # type: ignore[arg-type]  # mypy takes them for the other parameters
    cluster.register(backend.number)
    cluster.until(lambda: cluster.condition().get("status") == "False")
    found = re.search(
        r"tls: failed to verify certificate: x509: certificate has expired or is not yet valid: "
        r"current time (\S+Z) is (after|before) (\S+Z)$",
        cluster.condition()["message"],
    )
    assert found is not None
    now, relation, end = found.groups()
    assert relation == where
    assert (now > end) == (where == "after")
    assert not backend.seen


def test_insecure_skips_both(cluster: Cluster) -> None:
    backend = cluster.backend(name="localhost", issuer=authority("another"))
    cluster.register(backend.number, insecureSkipTLSVerify=True, caBundle=None)
    cluster.available()


def test_without_a_bundle_the_systems_roots_decide(cluster: Cluster) -> None:
    backend = cluster.backend()
    cluster.register(backend.number, caBundle=None)
    cluster.until(lambda: cluster.condition().get("status") == "False")
    assert "x509: certificate signed by unknown authority" in cluster.condition()["message"]


def test_a_bundle_that_is_none(cluster: Cluster) -> None:
    cluster.register(1, caBundle="aGVsbG8=")
    cluster.until(lambda: cluster.condition().get("status") == "False")
    assert cluster.condition()["message"] == "unable to load root certificates: unable to parse bytes as PEM block"


def test_a_server_that_does_not_take_our_certificate(cluster: Cluster) -> None:
    backend = cluster.backend(clients=authority("another-proxy-ca"))
    cluster.register(backend.number)
    cluster.until(lambda: cluster.condition().get("status") == "False")
    assert "failing or missing response" in cluster.condition()["message"]
    assert not backend.seen


def test_a_changed_bundle_is_used_at_once(cluster: Cluster, backend: Backend) -> None:
    cluster.run(cluster.client.patch(API_SERVICES, NAME, {"spec": {"caBundle": "aGVsbG8="}}))
    cluster.until(lambda: cluster.condition()["status"] == "False", seconds=4)
    assert cluster.get(GROUP_VERSION).body == b"service unavailable\n"


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


def test_a_defect_does_not_end_the_probing(
    cluster: Cluster, backend: Backend, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("on purpose")

    remote = cluster.aggregator._remotes[NAME]
    with monkeypatch.context() as patch:
        patch.setattr(cluster.aggregator, "publish", broken)
        remote.poke()
        cluster.turn()
    backend.answers[GROUP_VERSION] = answer(b"", "500 Internal Server Error")
    remote.poke()
    cluster.until(lambda: cluster.condition()["status"] == "False", seconds=4)


def test_an_address_will_do_for_a_name(cluster: Cluster, backend: Backend) -> None:
    patch_service(cluster, externalName="127.0.0.1")
    cluster.turn()
    assert cluster.condition()["status"] == "True"


def test_what_an_object_says() -> None:
    spec = {"group": "g", "version": "v1", "service": {"namespace": "a", "name": "b"}, "caBundle": "a"}
    assert read({"metadata": {"name": "v1.g"}, "spec": spec}) == APIService(
        "v1.g", "g", "v1", 0, 0, Backend_("a", "b", 443, b"", False)
    )
    assert read({"metadata": {"name": "v1."}}).backend is None


def test_a_probe_has_its_time(cluster: Cluster, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.controlplane.aggregator.remote.SECONDS", 0.1)
    for silent in (None, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"):
        backend.answers[GROUP_VERSION] = silent
        cluster.aggregator._remotes[NAME].poke()
        cluster.until(lambda: "context deadline exceeded (" in cluster.condition()["message"], seconds=4)
        cluster.until(lambda: backend.seen[-1].connection.closed)
        backend.answers[GROUP_VERSION] = answer()
        cluster.available()


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
