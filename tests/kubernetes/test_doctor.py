"""The doctor finds nothing wrong with a healthy API, on either control plane, and says what it cannot see."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.kubernetes import doctoring
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl, running
from tests.kubernetes.doctoring import Examination
from tests.kubernetes.pizzas import GROUP, pizza, pizzas_path
from tests.waiting import until

CONFIG_MAP = "ConfigMap kube-system/extension-apiserver-authentication"
CONFIG_MAP_PATH = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
APP = "--app=extapi.pizza:api"
ACCOUNT = "--service-account=extapi-dev:extension-server"


def test_a_healthy_api(
    control_plane: ControlPlane, extension_server: ExtensionServer, menu: dict[str, str], namespace: str
) -> None:
    control_plane.client.request("POST", pizzas_path(namespace), pizza("margherita", tomato=1))
    storage = f"--storage=sqlite:///{control_plane.state.storage}"

    def healthy() -> Examination:
        examination = doctoring.examine(control_plane.kubeconfig, APP, ACCOUNT, storage)
        # kube-apiserver reads a new server's discovery and OpenAPI within a minute.
        assert examination.wrong() == []
        return examination

    examination = until(healthy, 90)
    assert examination.status == 0
    assert {each["severity"] for each in examination.report["findings"]} == {"ok"}
    for version in ("v1beta1", "v1alpha1"):
        subject = f"APIService {version}.{GROUP}"
        assert examination.finding("discovery.aggregated", subject)["saw"] == "Current"
        assert "extension-server.extapi-dev.svc" in examination.finding("certificate.names", subject)["saw"]
    stored = [each["saw"] for each in examination.report["findings"] if each["check"] == "storage.versions"]
    assert any("in v1beta1; on record: v1beta1" in each for each in stored)
    status, text = doctoring.finished(doctoring.start(control_plane.kubeconfig, f"--group={GROUP}", "--timeout=30"))
    assert status == 0
    assert "do:    give it: --service-account NAMESPACE:NAME" in text
    assert text.splitlines()[-1].startswith("0 errors, 0 warnings, 2 unknown, ")


def test_a_store_with_objects_of_a_version_that_is_not_served(
    control_plane: ControlPlane,
    extension_server: ExtensionServer,
    menu: dict[str, str],
    namespace: str,
    tmp_path: Path,
) -> None:
    """A copy of the server's own, as a server of the past would have left it."""
    control_plane.client.request("POST", pizzas_path(namespace), pizza("marinara", tomato=1))
    path = tmp_path / "storage.sqlite"
    with (
        closing(sqlite3.connect(control_plane.state.storage)) as running_store,
        closing(sqlite3.connect(path)) as past,
    ):
        running_store.backup(past)
        past.execute(
            "UPDATE log SET value = CAST(replace(CAST(value AS TEXT), 'v1beta1\"', 'v1alpha0\"') AS BLOB) WHERE dead = 0"
        )
        past.commit()
    examination = doctoring.examine(control_plane.kubeconfig, f"--group={GROUP}", f"--storage=sqlite:///{path}")
    assert examination.status == 1
    finding = examination.finding("storage.versions", f"pizzas.{GROUP}")
    assert finding["severity"] == "error"
    assert finding["saw"].endswith("in v1alpha0; on record: v1alpha0")
    assert "v1alpha0 is not served any more: extapi serve refuses to start on this store" in finding["wrong"]


def test_somebody_who_may_not_look(
    control_plane: ControlPlane, extension_server: ExtensionServer, user_kubectl: Callable[..., Kubectl]
) -> None:
    """What the operator may not read is unknown, and says which right it takes; without the APIServices there is nothing."""
    somebody = user_kubectl("doctor-nobody").kubeconfig
    process = doctoring.start(somebody, APP)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (2, "")
    assert "needs get on apiservices.apiregistration.k8s.io" in errors or "needs list on apiservices" in errors
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrole"
    rule = {"apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"], "verbs": ["get"]}
    role = {"metadata": {"name": "doctor-looks"}, "rules": [rule]}
    binding = {
        "metadata": {"name": "doctor-looks"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "doctor-looks"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "doctor-nobody"}],
    }
    client = control_plane.client
    client.request("POST", f"{path}s", role)
    client.request("POST", f"{path}bindings", binding)
    try:
        examination = until(lambda: _looked(somebody), 30)
    finally:
        client.delete(f"{path}bindings/doctor-looks")
        client.delete(f"{path}s/doctor-looks")
    assert examination.wrong() == []
    assert examination.finding("apiservice.available", f"APIService v1beta1.{GROUP}")["severity"] == "ok"
    for check, subject, right in (
        ("authentication.configmap", CONFIG_MAP, "get on configmaps extension-apiserver-authentication in kube-system"),
        ("namespaces.terminating", "namespaces", "list on namespaces"),
        ("service.exists", "Service extapi-dev/extension-server", "get on services in extapi-dev"),
        ("rights.tokenreviews", "account extapi-dev:extension-server", "create on subjectaccessreviews"),
    ):
        finding = examination.finding(check, subject)
        assert finding["severity"] == "unknown"
        assert f"needs {right}" in finding["wrong"]


def _looked(kubeconfig: Path) -> Examination | None:
    process = doctoring.start(kubeconfig, APP, ACCOUNT, "--output=json", "--timeout=30")
    output, _ = process.communicate(timeout=60)
    return None if process.returncode == 2 else Examination(process.returncode, doctoring.parsed(output))


@pytest.fixture(scope="module")
def unconfigured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of its own, whose ConfigMap may be broken."""
    with running(tmp_path_factory.mktemp("unconfigured"), "builtin") as plane:
        yield plane


def test_an_aggregation_layer_that_is_not_configured(unconfigured: ControlPlane) -> None:
    whole = unconfigured.client.get(CONFIG_MAP_PATH)["data"]
    lacking = {"data": {key: None for key in whole if key.startswith("requestheader-")}}
    unconfigured.client.request("PATCH", CONFIG_MAP_PATH, lacking, "application/merge-patch+json")
    examination = doctoring.examine(unconfigured.kubeconfig)
    assert examination.status == 1
    finding = examination.finding("authentication.proxies", CONFIG_MAP)
    assert finding["severity"] == "error"
    assert "the aggregation layer is not configured" in finding["wrong"]
    assert "--requestheader-client-ca-file" in finding["do"]
    anybody = {
        "data": {**whole, "requestheader-client-ca-file": whole["client-ca-file"], "requestheader-allowed-names": "[]"}
    }
    unconfigured.client.request("PATCH", CONFIG_MAP_PATH, anybody, "application/merge-patch+json")
    finding = doctoring.examine(unconfigured.kubeconfig).finding("authentication.same-ca", CONFIG_MAP)
    assert finding["severity"] == "error"
    assert "every user with a certificate may claim to be anybody" in finding["wrong"]
    unconfigured.client.delete(CONFIG_MAP_PATH)
    finding = doctoring.examine(unconfigured.kubeconfig).finding("authentication.configmap", CONFIG_MAP)
    assert finding["severity"] == "error"
    assert "it then writes the ConfigMap itself" in finding["do"]
