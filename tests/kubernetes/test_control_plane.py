"""Each control plane is what the other tests take it for."""

from __future__ import annotations

import re
import time

import pytest

from extapi.dev import registration
from extapi.dev.kube import KubeClient, KubeError
from tests.kubernetes.control_plane import ControlPlane, Kubectl


def as_extension_server(control_plane: ControlPlane) -> KubeClient:
    keys = control_plane.certificates
    return KubeClient(
        control_plane.cluster.port,
        ca=keys.certificate("cluster-ca"),
        certificate=keys.certificate("extension-client"),
        key=keys.key("extension-client"),
    )


def test_it_is_ready_and_of_the_release_we_build_against(control_plane: ControlPlane, kubectl: Kubectl) -> None:
    assert control_plane.client.request("GET", "/readyz") == b"ok"
    version = control_plane.client.get("/version")
    assert (version["major"], version["minor"]) == ("1", "36")
    if control_plane.name == "kube":
        assert version["gitVersion"] == "v1.36.3"
    assert re.search(rf"Server Version: {re.escape(version['gitVersion'])}", kubectl("version"))


def test_who_has_no_certificate_is_anonymous_and_may_nothing(control_plane: ControlPlane) -> None:
    nobody = KubeClient(control_plane.cluster.port, ca=control_plane.certificates.certificate("cluster-ca"))
    with pytest.raises(KubeError, match='User "system:anonymous" cannot list resource "secrets"') as refused:
        nobody.get("/api/v1/secrets")
    assert refused.value.code == 403


def test_the_extension_server_has_the_rights_of_one_and_no_more(control_plane: ControlPlane) -> None:
    registration.authorize(control_plane.client)
    server = as_extension_server(control_plane)

    who = server.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"kind": "SelfSubjectReview"})
    assert b'"username":"system:serviceaccount:extapi-dev:extension-server"' in who
    server.get("/api/v1/namespaces")
    server.get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
    review = {"spec": {"user": "jane", "resourceAttributes": {"verb": "get", "resource": "pods"}}}
    answer = server.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert b'"allowed":false' in answer
    for method, path in (
        ("GET", "/api/v1/secrets"),
        ("GET", "/api/v1/namespaces/kube-system/configmaps"),
        ("DELETE", "/api/v1/namespaces/default"),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
    ):
        with pytest.raises(KubeError) as refused:
            server.request(method, path)
        assert refused.value.code == 403


def test_it_publishes_how_it_proxies(control_plane: ControlPlane) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    data = control_plane.client.get(path)["data"]

    keys = control_plane.certificates
    assert data["client-ca-file"].strip() == keys.certificate("cluster-ca").read_text().strip()
    assert data["requestheader-client-ca-file"].strip() == keys.certificate("front-proxy-ca").read_text().strip()
    assert data["requestheader-allowed-names"] == '["front-proxy-client"]'
    assert data["requestheader-username-headers"] == '["X-Remote-User"]'
    assert data["requestheader-group-headers"] == '["X-Remote-Group"]'
    assert data["requestheader-extra-headers-prefix"] == '["X-Remote-Extra-"]'


def test_the_controllers_work(control_plane: ControlPlane, namespace: str) -> None:
    def account_exists() -> str | None:
        return control_plane.client.problem(f"/api/v1/namespaces/{namespace}/serviceaccounts/default")

    control_plane.processes.wait_until(account_exists, "the default service account", seconds=30)


def test_a_deleted_namespace_goes_away(control_plane: ControlPlane, kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "doomed")
    kubectl("-n", "doomed", "create", "configmap", "c", "--from-literal=a=b")
    begun = time.monotonic()
    kubectl("delete", "namespace", "doomed", "--timeout=30s")
    assert time.monotonic() - begun < 30
    assert 'namespaces "doomed" not found' in kubectl.run("get", "namespace", "doomed").stderr


def test_kubectl_is_the_one_of_the_package_and_reads_no_settings_of_the_user(kubectl: Kubectl) -> None:
    assert kubectl.command()[0].endswith("/bin/kubectl")
    assert "/usr/" not in kubectl.environment()["HOME"]
    assert kubectl("config", "current-context").strip() == "extapi-dev"
