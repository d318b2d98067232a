"""What there is at the first start, and what becomes of it at the next: as recorded from kube-apiserver 1.36.3."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from twisted.logger import capturedLogs

from extapi import DynamicClient
from extapi.client.kube import ResourceName
from extapi.controlplane.bootstrap import AUTHENTICATION, Bootstrap
from extapi.testing import serve
from extapi.testing.memory import InMemoryServer
from tests.unit.controlplane.kinds.served import stored_kinds

RECORDED = json.loads((Path(__file__).parent / "bootstrap.json").read_text(encoding="utf-8"))
RBAC = "rbac.authorization.k8s.io"
SERVED = {
    "": {
        *("configmaps", "events", "namespaces", "namespaces/status", "secrets"),
        *("serviceaccounts", "serviceaccounts/token", "services", "services/status"),
    },
    "events.k8s.io": {"events"},
    "coordination.k8s.io": {"leases"},
    RBAC: {"roles", "rolebindings", "clusterroles", "clusterrolebindings"},
    "authentication.k8s.io": {"tokenreviews", "selfsubjectreviews"},
    "authorization.k8s.io": {
        *("subjectaccessreviews", "localsubjectaccessreviews"),
        *("selfsubjectaccessreviews", "selfsubjectrulesreviews"),
    },
}
BOOTSTRAP = Bootstrap(client_ca="CLIENTS", proxy_ca="PROXIES", proxy_names=["front-proxy-client"], port=6443)


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    with serve(stored_kinds(), lifecycle=False) as server:
        start(server, BOOTSTRAP)
        yield server


def start(server: InMemoryServer, bootstrap: Bootstrap) -> None:
    context: Any = DynamicClient(server.client, server.clock, lambda: 0.0)  # all that it asks of a context
    server.run(bootstrap.start(context))


def objects(server: InMemoryServer, path: str) -> list[dict[str, Any]]:
    """As they are alone: in a list they do not say what they are."""
    found = json.loads(server.request("GET", path).body)
    kind = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
    return [{**kind, **item} for item in found["items"]]


def bare(obj: dict[str, Any]) -> dict[str, Any]:
    kept = ("name", "namespace", "labels", "annotations")
    return {**obj, "metadata": {key: obj["metadata"][key] for key in kept if key in obj["metadata"]}}


def served(rule: dict[str, Any]) -> dict[str, Any] | None:
    """A rule without what is not served here; None: nothing is left of it."""
    if "nonResourceURLs" in rule or "*" in rule["resources"]:
        return rule
    groups = [group for group in rule["apiGroups"] if group in SERVED]
    resources = [resource for resource in rule["resources"] if any(resource in SERVED[group] for group in groups)]
    return {**rule, "apiGroups": groups, "resources": resources} if resources else None


def test_roles_and_bindings_are_those_of_kube_apiserver(server: InMemoryServer) -> None:
    wanted = [
        {**obj, "rules": [kept for rule in obj["rules"] if (kept := served(rule))]} if "rules" in obj else obj
        for obj in RECORDED
    ]
    paths = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
    found = [bare(obj) for path in paths for obj in objects(server, f"/apis/{RBAC}/v1/{path}")]

    def place(obj: dict[str, Any]) -> tuple[str, str]:
        return obj["kind"], obj["metadata"]["name"]

    assert sorted(found, key=place) == sorted(wanted, key=place)


def test_namespaces_are_there(server: InMemoryServer) -> None:
    names = [obj["metadata"]["name"] for obj in objects(server, "/api/v1/namespaces")]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


def test_extension_servers_learn_whom_to_trust(server: InMemoryServer) -> None:
    (found,) = objects(server, "/api/v1/namespaces/kube-system/configmaps")
    assert found["metadata"]["name"] == "extension-apiserver-authentication"
    assert found["data"] == {
        "client-ca-file": "CLIENTS",
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-client-ca-file": "PROXIES",
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        # kube-apiserver has it with --requestheader-uid-headers=X-Remote-Uid.
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-username-headers": '["X-Remote-User"]',
    }


def test_the_api_is_a_service(server: InMemoryServer) -> None:
    (found,) = objects(server, "/api/v1/namespaces/default/services")
    assert found["metadata"]["name"] == "kubernetes"
    assert found["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    assert found["spec"]["ports"] == [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]


def test_a_second_start_changes_nothing(server: InMemoryServer) -> None:
    paths = [f"/apis/{RBAC}/v1/clusterroles", "/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/services"]
    before = [objects(server, path) for path in paths]
    start(server, BOOTSTRAP)
    assert [objects(server, path) for path in paths] == before


def test_new_authorities_and_another_port_are_told(server: InMemoryServer) -> None:
    start(server, Bootstrap(client_ca="NEW", proxy_ca="PROXIES", proxy_names=[], port=7443))
    (found,) = objects(server, "/api/v1/namespaces/kube-system/configmaps")
    assert (found["data"]["client-ca-file"], found["data"]["requestheader-allowed-names"]) == ("NEW", "[]")
    (service,) = objects(server, "/api/v1/namespaces/default/services")
    assert [port["targetPort"] for port in service["spec"]["ports"]] == [7443]


def test_what_a_role_lacks_comes_back_and_what_was_added_stays(server: InMemoryServer) -> None:
    roles, bindings = (ResourceName(RBAC, "v1", f"clusterrole{what}s") for what in ("", "binding"))
    added = {"verbs": ["get"], "nonResourceURLs": ["/mine"]}
    eve = {"apiGroup": RBAC, "kind": "User", "name": "eve"}
    labels = {"kubernetes.io/bootstrapping": None, "mine": "yes"}
    name = "system:public-info-viewer"
    before = server.run(server.client.get(bindings, name))["subjects"]
    server.run(server.client.patch(roles, name, {"metadata": {"labels": labels}, "rules": [added]}))
    server.run(server.client.patch(bindings, name, {"subjects": [eve, before[1]]}))
    start(server, BOOTSTRAP)
    role = server.run(server.client.get(roles, name))
    paths = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
    assert role["rules"] == [added, {"verbs": ["get"], "nonResourceURLs": paths}]
    assert role["metadata"]["labels"] == {"kubernetes.io/bootstrapping": "rbac-defaults", "mine": "yes"}
    assert server.run(server.client.get(bindings, name))["subjects"] == [eve, before[1], before[0]]


def test_a_role_that_is_not_to_be_updated_is_let_be(server: InMemoryServer) -> None:
    roles = ResourceName(RBAC, "v1", "clusterroles")
    protected = {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}
    server.run(server.client.patch(roles, "cluster-admin", {"metadata": protected, "rules": []}))
    start(server, BOOTSTRAP)
    assert not server.run(server.client.get(roles, "cluster-admin")).get("rules")


def test_what_cannot_be_put_right_keeps_nothing_from_starting(server: InMemoryServer) -> None:
    """Somebody made the ConfigMap immutable: all else is put right, and the server starts."""
    config = f"/api/v1/namespaces/kube-system/configmaps/{AUTHENTICATION}"
    assert server.request("PUT", config, body={**server.request("GET", config).json(), "immutable": True}).status == 200
    with capturedLogs() as logs:
        start(server, replace(BOOTSTRAP, client_ca="OTHERS", port=7443))
    (event,) = (each for each in logs if each["log_format"] == "{name} could not be repaired: {error}")
    assert "field is immutable" in event["error"]
    service = server.request("GET", "/api/v1/namespaces/default/services/kubernetes").json()
    assert service["spec"]["ports"][0]["targetPort"] == 7443
