"""kube-apiserver that reaches extension servers as where Konnectivity runs: each connection asked of a proxy, by endpoint.

Its flags ``--egress-selector-config-file`` (HTTPConnect over TCP with TLS both ways) and ``--enable-aggregator-routing``.
The endpoints have addresses of TEST-NET-1 (RFC 5737), where nobody is: what reaches our server, the proxy has connected.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from extapi.dev import registration
from extapi.dev.registration import NAMESPACE, SERVICE
from tests.certificates import CLIENT, SERVER, authority as new_authority
from tests.kubernetes import control_plane as planes, proxies
from tests.kubernetes.calling import MERGE, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.letters import GROUP, letter, letters_path
from tests.kubernetes.proxies import LOOPBACK, Proxy
from tests.kubernetes.second import APISERVICES, SecondServer
from tests.waiting import until

pytestmark = pytest.mark.kubernetes

PORT = 8443
FIRST, SECOND, NOT_READY = "192.0.2.10", "192.0.2.11", "192.0.2.12"
KUBE_APISERVER = "egress-of-kube-apiserver"
"""Whose certificate kube-apiserver shows to the proxy."""
LETTERS = letters_path("default")


@dataclass
class Egress:
    """A control plane, the proxy on its way out, and an extension server behind that."""

    plane: ControlPlane
    proxy: Proxy
    server: SecondServer
    admin: Caller

    def condition(self) -> dict[str, Any]:
        """Whether kube-apiserver finds the server."""
        status = self.admin("GET", f"{APISERVICES}/v1.{GROUP}").json["status"]
        found: dict[str, Any] = next(each for each in status["conditions"] if each["type"] == "Available")
        return found


@pytest.fixture(scope="module")
def egress(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Egress]:
    directory = tmp_path_factory.mktemp("egress")
    ca = new_authority("egress-ca")
    paths = ca.leaf(KUBE_APISERVER, eku=CLIENT).save(directory, "client")
    listening = ca.leaf("egress-proxy", eku=SERVER, san=[LOOPBACK]).save(directory, "proxy")
    bundle = directory / "ca.crt"
    bundle.write_bytes(ca.pem)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(bundle))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(*listening)
    ports: dict[str, int] = {}
    with proxies.running("http", lambda _: ports["server"], tls=context) as proxy:
        config = directory / "egress.yaml"
        config.write_text(yaml.safe_dump(_selection(proxy, bundle, *paths)))
        flags = [f"--egress-selector-config-file={config}", "--enable-aggregator-routing=true"]
        with planes.running(directory / "state", "kube", flags=flags) as plane:
            server = SecondServer(plane, "tests.kubernetes.letters:api", directory, "memory:")
            ports["server"] = server.port
            registration.authorize(plane.client)
            _add_endpoints(plane, server.port)
            try:
                server.start()
                server.register()
                server.wait_available()
                signed = user_certificate(authority(plane.certificates, "cluster-ca"), "e2e-admin", "system:masters")
                tls = tls_of(plane.certificates.certificate("cluster-ca"), signed, directory)
                yield Egress(plane, proxy, server, Caller(plane.cluster.port, tls))
            finally:
                server.stop()


def _selection(proxy: Proxy, ca: Path, certificate: Path, key: Path) -> dict[str, Any]:
    tls = {"caBundle": str(ca), "clientCert": str(certificate), "clientKey": str(key)}
    transport = {"tcp": {"url": proxy.url, "tlsConfig": tls}}
    connection = {"proxyProtocol": "HTTPConnect", "transport": transport}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    }


def _add_endpoints(plane: ControlPlane, port: int) -> None:
    """A Service without a selector, and where it leads: kube-apiserver takes neither loopback nor an ExternalName here."""
    path = f"/api/v1/namespaces/{NAMESPACE}/services/{SERVICE}"
    ports = [{"name": "https", "port": port, "protocol": "TCP", "targetPort": PORT}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE}, "spec": {"ports": ports}}
    plane.client.apply(path, service)
    name = f"{SERVICE}-1"
    endpoints = [
        {"addresses": [address], "conditions": {"ready": address != NOT_READY}}
        for address in (FIRST, NOT_READY, SECOND)
    ]
    endpoint_slice = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": SERVICE}},
        "addressType": "IPv4",
        "ports": [{"name": "https", "port": PORT, "protocol": "TCP"}],
        "endpoints": endpoints,
    }
    plane.client.apply(f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/{name}", endpoint_slice)


def test_probes_and_requests_are_asked_of_the_proxy_by_endpoint(egress: Egress) -> None:
    until(lambda: egress.condition()["reason"] == "Passed", 60)
    assert egress.admin("POST", LETTERS, letter("asked")).status == 201

    def both() -> bool:
        """Each request goes to any of the endpoints that are ready."""
        assert egress.admin("GET", f"{LETTERS}/asked").json["metadata"]["name"] == "asked"
        return len(egress.proxy.targets) > 1

    until(both)
    assert egress.proxy.targets == {f"{FIRST}:{PORT}", f"{SECOND}:{PORT}"}
    assert {each.peer for each in egress.proxy.asked} == {KUBE_APISERVER}
    assert {each.begun[:2] for each in egress.proxy.asked} == {b"\x16\x03"}
    # And kube-apiserver, not the proxy, is who speaks for a user there.
    log = egress.server.log.read_text()
    assert "e2e-admin" in log
    assert "Traceback" not in log


def test_watches_end_with_the_proxy_and_go_on_after_it(egress: Egress) -> None:
    admin = egress.admin
    made = admin("POST", LETTERS, letter("watched")).json
    connection, stream = _watch(admin, made["metadata"]["resourceVersion"])
    try:
        seen = _labelled(admin, stream, "1")
        egress.proxy.stop()
        with pytest.raises(http.client.IncompleteRead):
            stream.read()
    finally:
        connection.close()
    asked = len(egress.proxy.asked)
    away = admin("GET", LETTERS)
    assert away.status == 503
    assert len(egress.proxy.asked) == asked
    egress.proxy.start()
    # It may have been found missing meanwhile: then it has to be found again first.
    until(lambda: admin("GET", LETTERS).status == 200, 60)
    connection, stream = _watch(admin, seen)
    try:
        assert _labelled(admin, stream, "2") != seen
    finally:
        connection.close()


def _watch(admin: Caller, revision: str) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
    connection = admin.connect()
    connection.request("GET", f"{LETTERS}?watch=1&resourceVersion={revision}&timeoutSeconds=60")
    return connection, connection.getresponse()


def _labelled(admin: Caller, stream: http.client.HTTPResponse, value: str) -> str:
    """Change the object, and see the event; its revision."""
    patch = {"metadata": {"labels": {"read": value}}}
    assert admin("PATCH", f"{LETTERS}/watched", patch, content_type=MERGE).status == 200
    event = json.loads(stream.readline())
    assert (event["type"], event["object"]["metadata"]["labels"]) == ("MODIFIED", {"read": value})
    return str(event["object"]["metadata"]["resourceVersion"])


def test_a_service_of_type_externalname_has_no_endpoints(egress: Egress) -> None:
    """Such as that of ``extapi dev``: without routing by endpoints it is followed, with it kube-apiserver refuses it."""
    name = "elsewhere"
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    client = egress.plane.client
    client.apply(f"/api/v1/namespaces/{NAMESPACE}/services/{name}", service)
    spec = client.get(f"{APISERVICES}/v1.{GROUP}")["spec"]
    spec |= {"group": f"{name}.example.com", "service": {**spec["service"], "name": name}}
    apiservice = f"v1.{name}.example.com"
    body = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": apiservice},
        "spec": spec,
    }
    client.apply(f"{APISERVICES}/{apiservice}", body)
    try:

        def refused() -> dict[str, Any] | None:
            status = client.get(f"{APISERVICES}/{apiservice}").get("status", {})
            return next((each for each in status.get("conditions", ()) if each["status"] == "False"), None)

        condition = until(refused, 60)
        assert condition["reason"] == "FailedDiscoveryCheck"
        assert 'unsupported service type "ExternalName"' in condition["message"]
    finally:
        client.delete(f"{APISERVICES}/{apiservice}")
