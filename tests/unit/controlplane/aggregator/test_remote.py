"""Whether a server is there: conditions, their texts, and how soon they change (behaviour D1-D4)."""

from __future__ import annotations

import re

import pytest
from twisted.internet.defer import CancelledError

from tests.certificates import authority
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


@pytest.mark.parametrize("error", [RuntimeError("on purpose"), CancelledError()])
def test_a_defect_does_not_end_the_probing(
    cluster: Cluster,
    backend: Backend,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
) -> None:
    async def broken(*_: object) -> None:
        raise error

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


def test_a_change_during_a_probe_is_looked_at_after_it(cluster: Cluster, backend: Backend) -> None:
    remote = cluster.aggregator._remotes[NAME]
    backend.answers[GROUP_VERSION] = None
    remote.poke()
    probes = len(backend.asked(GROUP_VERSION))
    cluster.until(lambda: len(backend.asked(GROUP_VERSION)) > probes)
    remote.poke()
    backend.answers[GROUP_VERSION] = answer(b"", "500 Internal Server Error")
    backend.asked(GROUP_VERSION)[-1].connection.write(answer())
    cluster.until(lambda: cluster.condition()["status"] == "False", seconds=4)  # the next round is due after 5


def test_what_a_service_led_to_before_is_no_answer_of_what_it_leads_to_now(cluster: Cluster, backend: Backend) -> None:
    """An ETag is a server's own word: another server's documents may have the same one."""
    for path in ("/apis", "/openapi/v2"):
        backend.answers[path] = answer(b"{}", "200 OK", 'ETag: "one"')
    remote = cluster.aggregator._remotes[NAME]
    remote.reset()
    cluster.until(lambda: remote.swagger and remote.due)
    remote.due = 0.0
    remote.poke()
    cluster.until(lambda: any(seen.values("if-none-match") for seen in backend.seen))
    cluster.until(lambda: remote.due)
    before = len(backend.seen)
    patch_service(cluster, externalName="127.0.0.1")
    cluster.until(lambda: remote.due and {"/apis", "/openapi/v2"} <= {seen.path for seen in backend.seen[before:]})
    assert not [seen for seen in backend.seen[before:] if seen.values("if-none-match")]


def test_a_probe_has_its_time(cluster: Cluster, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.controlplane.aggregator.remote.SECONDS", 0.1)
    for silent in (None, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"):
        backend.answers[GROUP_VERSION] = silent
        cluster.aggregator._remotes[NAME].poke()
        cluster.until(lambda: "context deadline exceeded (" in cluster.condition()["message"], seconds=4)
        cluster.until(lambda: backend.seen[-1].connection.closed)
        backend.answers[GROUP_VERSION] = answer()
        cluster.available()
