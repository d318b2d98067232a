"""What the page on missing features says of the built-in control plane, happens there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs import tables
from tests.docs.samples import ROOT
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import LACKS, running

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Somebody who may everything, at a control plane of these tests' own."""
    path = tmp_path_factory.mktemp("unsupported")
    with running(path / "dev", "builtin") as plane:
        keys = plane.certificates
        signed = user_certificate(authority(keys, "cluster-ca"), "docs-admin", "system:masters")
        yield Caller(plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, path))


def made(kind: str, name: str, **members: Any) -> dict[str, Any]:
    metadata = {"name": name, **members.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **members}


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nodes",
        "/api/v1/pods",
        "/apis/apps/v1/deployments",
        "/api/v1/resourcequotas",
        "/api/v1/limitranges",
        "/api/v1/endpoints",
        "/apis/discovery.k8s.io/v1/endpointslices",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        "/.well-known/openid-configuration",
        "/openid/v1/jwks",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
    ],
)
def test_what_is_not_there(admin: Caller, path: str) -> None:
    assert admin("GET", path).status == 404


def test_services_are_kept_as_they_are(admin: Caller) -> None:
    path = "/api/v1/namespaces/default/services"
    for name, kind in (("inside", "ClusterIP"), ("outside", "NodePort")):
        service = admin("POST", path, made("Service", name, spec={"type": kind, "ports": [{"port": 80}]})).json
        assert "clusterIP" not in service["spec"]
        assert "nodePort" not in service["spec"]["ports"][0]


def test_no_token_is_made_for_a_secret(admin: Caller) -> None:
    kind = "kubernetes.io/service-account-token"
    for_default = {"annotations": {"kubernetes.io/service-account.name": "default"}}
    admin("POST", SECRETS, made("Secret", "token", type=kind, metadata=for_default))
    assert "data" not in admin("GET", f"{SECRETS}/token").json


def test_tokens_are_bound_to_no_pod(admin: Caller) -> None:
    admin("POST", "/api/v1/namespaces/default/serviceaccounts", made("ServiceAccount", "robot"))
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    pod = {"apiVersion": "v1", "kind": "Pod", "name": "x"}
    assert admin("POST", path, {**request, "spec": {"boundObjectRef": pod}}).status == 404
    assert admin("POST", path, {**request, "spec": {}}).status == 201


def test_a_namespace_that_nothing_keeps_goes_at_once(admin: Caller) -> None:
    path = "/api/v1/namespaces/empty"
    namespace = admin("POST", "/api/v1/namespaces", made("Namespace", "empty")).json
    admin("PUT", f"{path}/finalize", {**namespace, "spec": {"finalizers": []}})
    answer = admin("DELETE", path)
    assert (answer.status, answer.json["kind"], answer.json["status"]) == (200, "Status", "Success")
    assert admin("GET", path).status == 404


def test_health_checks_are_those_of_what_is_served(admin: Caller) -> None:
    checks = admin("GET", "/healthz?verbose").body.decode()
    assert "[+]etcd ok\n" in checks
    assert not any(name in checks for name in ("apiextensions", "service-ip", "scheduling", "[+]log"))
    assert "[+]storage-writes ok" in admin("GET", "/readyz?verbose").body.decode()


def test_the_version_tells_the_difference(admin: Caller) -> None:
    version = admin("GET", "/version").json
    assert "+extapi-" in version["gitVersion"]
    assert version["goVersion"].startswith("python")


def test_what_tests_may_need_is_listed() -> None:
    """A test that declares a need is left out here; the page says why. ``crd`` stands for custom resources to compare with."""
    rows = "\n".join(tables.rows_of(ROOT / "docs/reference/unsupported.md", "The built-in control plane"))
    told = {"quota": "ResourceQuota"}
    assert {*told, "crd"} == LACKS["builtin"]
    assert all(word in rows for word in told.values())
