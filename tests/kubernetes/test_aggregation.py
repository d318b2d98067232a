"""What kube-apiserver makes of us: availability, discovery, OpenAPI; and what it does while we are away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes import second
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.pizzas import GROUP
from tests.kubernetes.second import APISERVICES, SecondServer
from tests.waiting import until

AWAY = "away.example.com"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def available(admin: Caller, name: str) -> dict[str, Any]:
    conditions = admin("GET", f"{APISERVICES}/{name}").json["status"]["conditions"]
    found: dict[str, Any] = next(each for each in conditions if each["type"] == "Available")
    return found


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
def test_each_version_is_available(admin: Caller, extension_server: ExtensionServer, version: str) -> None:
    condition = available(admin, f"{version}.{GROUP}")
    assert (condition["status"], condition["reason"], condition["message"]) == ("True", "Passed", "all checks passed")


def test_discovery_as_kubectl_asks_it(admin: Caller, extension_server: ExtensionServer) -> None:
    def group() -> dict[str, Any]:
        answer = admin("GET", "/apis", headers=[("Accept", DISCOVERY)])
        assert answer.headers["Content-Type"] == DISCOVERY
        found = [item for item in answer.json["items"] if item["metadata"]["name"] == GROUP]
        assert len(found) == 1
        assert [version.get("freshness") for version in found[0]["versions"]] == ["Current", "Current"]
        first: dict[str, Any] = found[0]
        return first

    versions = until(group)["versions"]
    assert [version["version"] for version in versions] == ["v1beta1", "v1alpha1"]
    pizzas = versions[0]["resources"][0]
    assert pizzas["resource"] == "pizzas"
    assert pizzas["responseKind"] == {"group": GROUP, "version": "v1beta1", "kind": "Pizza"}
    assert (pizzas["scope"], pizzas["singularResource"], pizzas["shortNames"]) == ("Namespaced", "pizza", ["pz"])
    assert [each["subresource"] for each in pizzas["subresources"]] == ["status"]
    assert [each["resource"] for each in versions[1]["resources"]] == ["pizzas", "toppings"]
    # And as older clients do.
    old = admin("GET", f"/apis/{GROUP}").json
    assert old["preferredVersion"]["version"] == "v1beta1"
    names = {each["name"] for each in admin("GET", f"/apis/{GROUP}/v1alpha1").json["resources"]}
    assert names == {"pizzas", "pizzas/status", "toppings"}


def test_openapi_v3_is_found_and_kept(admin: Caller, extension_server: ExtensionServer) -> None:
    paths = until(lambda: _with_group(admin("GET", "/openapi/v3").json["paths"]))
    for version in ("v1beta1", "v1alpha1"):
        url = paths[f"apis/{GROUP}/{version}"]["serverRelativeURL"]
        answer = admin("GET", url)
        assert answer.status == 200
        document = answer.json
        schemas = document["components"]["schemas"]
        kinds = {
            each["kind"] for schema in schemas.values() for each in schema.get("x-kubernetes-group-version-kind", ())
        }
        assert {"Pizza", "PizzaList"} <= kinds
        post = document["paths"][f"/apis/{GROUP}/{version}/namespaces/{{namespace}}/pizzas"]["post"]
        assert post["x-kubernetes-group-version-kind"] == {"group": GROUP, "version": version, "kind": "Pizza"}
        assert post["x-kubernetes-action"] == "post"
        assert {"dryRun", "fieldManager", "fieldValidation"} <= {each["name"] for each in post["parameters"]}
        again = admin("GET", url, headers=[("If-None-Match", answer.headers["Etag"])])
        assert (again.status, again.body) == (304, b"")


def _with_group(paths: dict[str, Any]) -> dict[str, Any] | None:
    return paths if f"apis/{GROUP}/v1alpha1" in paths and f"apis/{GROUP}/v1beta1" in paths else None


def test_openapi_v2_is_merged_into_that_of_kube_apiserver(admin: Caller, extension_server: ExtensionServer) -> None:
    def merged() -> dict[str, Any] | None:
        document: dict[str, Any] = admin("GET", "/openapi/v2").json
        return (
            document if f"/apis/{GROUP}/v1beta1/namespaces/{{namespace}}/pizzas/{{name}}" in document["paths"] else None
        )

    document = until(merged, 60)
    assert "/api/v1/namespaces/{namespace}/configmaps" in document["paths"]
    path = document["paths"][f"/apis/{GROUP}/v1beta1/namespaces/{{namespace}}/pizzas/{{name}}"]
    assert {"get", "put", "patch", "delete"} <= set(path)
    name = path["get"]["responses"]["200"]["schema"]["$ref"].removeprefix("#/definitions/")
    definition = document["definitions"][name]
    assert definition["x-kubernetes-group-version-kind"] == [{"group": GROUP, "version": "v1beta1", "kind": "Pizza"}]
    assert definition["properties"]["spec"]["description"] == "What is on the pizza."
    for reference in _references(definition):
        assert reference in document["definitions"]


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix("#/definitions/")
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


@pytest.fixture
def away(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecondServer]:
    with second.running(control_plane, "tests.kubernetes.apis:away", tmp_path_factory.mktemp("away")) as server:
        yield server


def test_while_the_server_is_away_its_group_is_unavailable_and_nothing_else(
    admin: Caller, kubectl: Kubectl, away: SecondServer
) -> None:
    path, name = f"/apis/{AWAY}/v1/namespaces/default/traces", f"v1.{AWAY}"
    trace = {"apiVersion": f"{AWAY}/v1", "kind": "Trace", "metadata": {"name": "left"}}
    assert admin("POST", path, trace).status == 201
    away.stop()
    missing = until(lambda: _if(admin("GET", path), 503))
    assert missing.status == 503
    condition = until(lambda: _if_false(available(admin, name)), 60)
    assert condition["reason"] == "FailedDiscoveryCheck"
    url = f"https://localhost:{away.port}/apis/{AWAY}/v1"
    assert condition["message"].startswith(f'failing or missing response from {url}: Get "{url}": dial tcp ')
    assert condition["message"].endswith("connect: connection refused")
    row = next(line.split() for line in kubectl("get", "apiservices").splitlines() if line.startswith(name))
    assert row[1:4] == ["extapi-dev/extension-server", "False", "(FailedDiscoveryCheck)"]
    refused = admin("GET", path)
    assert (refused.status, refused.body) == (503, b"service unavailable\n")
    # It stays in discovery, marked as stale, so that nobody takes what it serves for gone.
    assert until(lambda: _freshness(admin, "Stale")) == "Stale"
    assert admin("GET", f"/apis/{GROUP}/v1beta1/pizzas").status == 200
    away.start()
    found = until(lambda: _if(admin("GET", f"{path}/left"), 200), 60)
    assert found.json["metadata"]["name"] == "left"
    until(lambda: available(admin, name)["status"] == "True", 60)
    back = available(admin, name)
    assert (back["reason"], back["message"]) == ("Passed", "all checks passed")
    assert until(lambda: _freshness(admin, "Current")) == "Current"


def _freshness(admin: Caller, wanted: str) -> str | None:
    groups = admin("GET", "/apis", headers=[("Accept", DISCOVERY)]).json["items"]
    found = [
        version["freshness"] for group in groups if group["metadata"]["name"] == AWAY for version in group["versions"]
    ]
    return wanted if found == [wanted] else None


def test_a_namespace_waits_for_a_server_that_is_away(admin: Caller, kubectl: Kubectl, away: SecondServer) -> None:
    """What it holds there can't be deleted, so that it can't be gone."""
    kubectl("create", "namespace", "patient")
    path = f"/apis/{AWAY}/v1/namespaces/patient/traces"
    trace = {"apiVersion": f"{AWAY}/v1", "kind": "Trace", "metadata": {"name": "left"}}
    assert until(lambda: _if(admin("POST", path, trace), 201)).status == 201
    away.stop()
    until(lambda: _if_false(available(admin, f"v1.{AWAY}")), 60)
    kubectl("delete", "namespace", "patient", "--wait=false")

    def told() -> bool:
        status = admin("GET", "/api/v1/namespaces/patient").json["status"]
        assert status["phase"] == "Terminating"
        found = {each["type"]: each["status"] for each in status.get("conditions", ())}
        return found.get("NamespaceDeletionDiscoveryFailure") == "True"

    until(told, 30)
    away.start()
    kubectl("wait", "--for=delete", "namespace/patient", "--timeout=90s")
    assert until(lambda: _if(admin("GET", path), 200)).json["items"] == []


def _if(answer: Any, status: int) -> Any:
    return answer if answer.status == status else None


def _if_false(condition: dict[str, Any]) -> dict[str, Any] | None:
    return condition if condition["status"] == "False" else None


def test_the_front_proxys_settings_are_those_of_the_config_map(
    admin: Caller, control_plane: ControlPlane, extension_server: ExtensionServer
) -> None:
    """No flag of ours names an authority, so that kube-apiserver is believed because of the ConfigMap alone."""
    log = extension_server.log.read_text()
    children = {child.name: child.process.pid for child in control_plane.processes._children}
    words = Path(f"/proc/{children['extension-server']}/cmdline").read_text()
    assert "--kubeconfig" in words
    assert "requestheader" not in words
    assert "client-ca" not in words
    assert admin("GET", f"/apis/{GROUP}/v1beta1/pizzas").status == 200
    assert "Traceback" not in log


def test_a_request_is_one_line_of_the_log_without_secrets(
    admin: Caller, extension_server: ExtensionServer, control_plane: ControlPlane
) -> None:
    answer = admin("GET", f"/apis/{GROUP}/v1beta1/pizzas?limit=7", headers=[("X-Extra-Secret", "s3cr3t")])
    audit = answer.headers["Audit-Id"]
    lines = until(lambda: [line for line in extension_server.log.read_text().splitlines() if audit in line])
    assert len(lines) == 1
    assert "s3cr3t" not in extension_server.log.read_text()
    assert "e2e-admin" in lines[0]


def test_paths_arrive_as_they_were_sent(admin: Caller, extension_server: ExtensionServer) -> None:
    """kube-apiserver forwards ``..`` and ``//``, and turns a redirect into 502: there must be none."""
    for path in (f"/apis/{GROUP}/v1beta1/", f"/apis/{GROUP}//v1beta1", f"/apis/{GROUP}/v1beta1/../v1beta1",
                 f"/apis/{GROUP}/v1beta1/namespaces//pizzas", f"/apis/{GROUP}/v1beta1/pizzas/"):  # fmt: skip
        answer = admin("GET", path)
        assert answer.status in {200, 404}, (path, answer.status)
