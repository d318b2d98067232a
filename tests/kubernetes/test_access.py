"""Who may do what: through kube-apiserver, and at the extension server itself, past kube-apiserver."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.certificates import CLIENT, authority as foreign_authority
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.pizzas import GROUP, pizza, pizzas_path
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")

VERBS = {
    "list": ("GET", "", None),
    "watch": ("GET", "?watch=1", None),
    "create": ("POST", "", {"metadata": {"name": "plain"}}),
    "get": ("GET", "/plain", None),
    "update": ("PUT", "/plain", {"metadata": {"name": "plain"}}),
    "patch": ("PATCH", "/plain", {}),
    "delete": ("DELETE", "/plain", None),
    "deletecollection": ("DELETE", "", None),
    "get status": ("GET", "/plain/status", None),
}


def rbac(namespace: str, subject: dict[str, str], *, verbs: list[str]) -> str:
    """A Role for pizzas and its RoleBinding, as kubectl takes them."""
    api = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [GROUP], "resources": ["pizzas"], "verbs": verbs}]
    metadata = {"name": "waiter", "namespace": namespace}
    role = {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": f"{api}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": api, "kind": "Role", "name": "waiter"},
        "subjects": [subject],
    }
    return json.dumps(role) + "\n---\n" + json.dumps(binding)


@pytest.mark.parametrize(("verb", "everywhere"), [*((verb, False) for verb in VERBS), ("list", True), ("watch", True)])
def test_a_refusal_reads_as_that_of_a_built_in_kind(
    call_as: Callable[..., Caller], namespace: str, verb: str, everywhere: bool
) -> None:
    method, where, body = VERBS[verb]
    jane = call_as("jane", "guests")
    ours_at = f"/apis/{GROUP}/v1beta1/pizzas" if everywhere else pizzas_path(namespace)
    theirs_at = "/api/v1/pods" if everywhere else f"/api/v1/namespaces/{namespace}/pods"
    content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
    ours = jane(method, ours_at + where, body, content_type=content_type)
    theirs = jane(method, theirs_at + where, body, content_type=content_type)
    assert (ours.status, theirs.status) == (403, 403)

    def renamed(value: Any) -> Any:
        text = json.dumps(value)
        text = text.replace('API group \\"\\"', f'API group \\"{GROUP}\\"')
        text = text.replace('"pods \\"plain', f'"pizzas.{GROUP} \\"plain').replace('"pods is', f'"pizzas.{GROUP} is')
        return json.loads(text.replace("pods", "pizzas"))

    expected = renamed(theirs.json)
    expected["details"]["group"] = GROUP
    assert ours.json == expected
    assert ours.headers["X-Content-Type-Options"] == theirs.headers["X-Content-Type-Options"] == "nosniff"


def test_a_role_lets_in_within_seconds(kubectl: Kubectl, user_kubectl: Callable[..., Kubectl], namespace: str) -> None:
    jane = user_kubectl("jane")
    refused = jane.run("-n", namespace, "get", "pz").stderr
    assert refused == (
        f'Error from server (Forbidden): pizzas.{GROUP} is forbidden: User "jane" cannot list resource "pizzas" '
        f'in API group "{GROUP}" in the namespace "{namespace}"\n'
    )
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    kubectl("apply", "-f", "-", stdin=rbac(namespace, subject, verbs=["get", "list", "create"]))
    # The refusal may be remembered for ten seconds (--authorization-webhook-cache-unauthorized-ttl).
    until(lambda: jane.run("-n", namespace, "get", "pz").returncode == 0, 15)
    jane("-n", namespace, "create", "-f", "-", stdin=json.dumps(pizza("mine", tomato=1)))
    assert "mine" in jane("-n", namespace, "get", "pz", "mine")
    assert 'User "jane" cannot delete resource "pizzas"' in jane.run("-n", namespace, "delete", "pz", "mine").stderr
    assert jane("-n", namespace, "auth", "can-i", "create", "pz") == "yes\n"
    assert jane.run("-n", namespace, "auth", "can-i", "delete", "pz").stdout == "no\n"
    assert 'in the namespace "default"' in jane.run("-n", "default", "get", "pz").stderr


def test_groups_count_and_names_of_objects_do(kubectl: Kubectl, call_as: Callable[..., Caller], namespace: str) -> None:
    subject = {"kind": "Group", "name": "waiters", "apiGroup": "rbac.authorization.k8s.io"}
    objects = rbac(namespace, subject, verbs=["get", "list"]).replace('"verbs"', '"resourceNames": ["mine"], "verbs"')
    kubectl("apply", "-f", "-", stdin=objects)
    kubectl("-n", namespace, "create", "-f", "-", stdin=json.dumps(pizza("mine", tomato=1)))
    waiter = call_as("joe", "waiters", "others")
    until(lambda: waiter("GET", pizzas_path(namespace) + "/mine").status == 200)
    assert waiter("GET", pizzas_path(namespace) + "/yours").status == 403
    assert waiter("GET", pizzas_path(namespace)).status == 403
    # A list of that one name is a request on that name.
    named = waiter("GET", pizzas_path(namespace) + "?fieldSelector=metadata.name%3Dmine")
    assert [item["metadata"]["name"] for item in named.json["items"]] == ["mine"]
    assert call_as("joe", "others")("GET", pizzas_path(namespace) + "/mine").status == 403


def test_impersonation_reaches_us(kubectl: Kubectl, namespace: str) -> None:
    for subject in (
        {"kind": "User", "name": "anna", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "Group", "name": "cooks", "apiGroup": "rbac.authorization.k8s.io"},
    ):
        objects = rbac(namespace, subject, verbs=["list"]).replace('"waiter"', f'"{subject["name"]}"')
        kubectl("apply", "-f", "-", stdin=objects)
    get = ("-n", namespace, "get", "pz")
    until(lambda: kubectl.run(*get, "--as=anna").returncode == 0)
    until(lambda: kubectl.run(*get, "--as=bob", "--as-group=cooks", "--as-uid=1234").returncode == 0)
    assert 'User "bob" cannot list' in kubectl.run(*get, "--as=bob").stderr
    assert 'User "bob" cannot list' in kubectl.run(*get, "--as=bob", "--as-group=others", "--as-uid=7").stderr
    # Who may not impersonate is refused before we are asked.
    assert kubectl.run(*get, "--as=bob", "--as-group=system:masters").returncode == 0


def test_a_service_account_with_its_token(
    kubectl: Kubectl, call_as: Callable[..., Caller], extension_server: ExtensionServer, namespace: str, tmp_path: Path,
    control_plane: ControlPlane,
) -> None:  # fmt: skip
    kubectl("-n", namespace, "create", "serviceaccount", "robot")
    token = kubectl("-n", namespace, "create", "token", "robot").strip()
    robot = call_as().with_token(token)
    name = f"system:serviceaccount:{namespace}:robot"
    assert f'User \\"{name}\\" cannot list'.replace("\\", "") in robot("GET", pizzas_path(namespace)).message
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": namespace}
    kubectl("apply", "-f", "-", stdin=rbac(namespace, subject, verbs=["list"]))
    until(lambda: robot("GET", pizzas_path(namespace)).status == 200)
    # The same token at the extension server itself, which asks kube-apiserver whose it is.
    directly = Caller(
        extension_server.port, tls_of(control_plane.certificates.certificate("serving-ca"), None, tmp_path)
    )
    assert directly.with_token(token)("GET", pizzas_path(namespace)).status == 200
    assert directly.with_token(token)("POST", pizzas_path(namespace), {}).status == 403
    wrong = directly.with_token(token[:-6] + "AAAAAA")("GET", pizzas_path(namespace))
    assert (wrong.status, wrong.message) == (401, "Unauthorized")


def test_discovery_and_openapi_are_for_everybody_who_is_known(call_as: Callable[..., Caller]) -> None:
    jane = call_as("jane")
    for path in ("/apis", f"/apis/{GROUP}", f"/apis/{GROUP}/v1beta1", f"/apis/{GROUP}/v1alpha1",
                 "/openapi/v2", "/openapi/v3", f"/openapi/v3/apis/{GROUP}/v1beta1", "/version"):  # fmt: skip
        assert jane("GET", path).status == 200, path
    refused = call_as()("GET", f"/apis/{GROUP}/v1beta1")
    assert refused.status == 403
    assert refused.message == f'forbidden: User "system:anonymous" cannot get path "/apis/{GROUP}/v1beta1"'


FORGED = {"X_Remote_User": "admin", "X_Remote_Group": "system:masters", "X_Remote_Uid": "0", "X_Remote_Extra_A": "b"}


def test_identity_headers_of_a_client_are_not_passed_on(call_as: Callable[..., Caller], namespace: str) -> None:
    refused = call_as("jane").with_headers(**FORGED)("GET", pizzas_path(namespace))
    assert refused.status == 403
    assert 'User "jane" cannot list resource "pizzas"' in refused.message
    assert call_as().with_headers(**FORGED)("GET", pizzas_path(namespace)).status in {401, 403}


class Directly:
    """Requests to the extension server, past kube-apiserver."""

    def __init__(self, control_plane: ControlPlane, server: ExtensionServer, directory: Path) -> None:
        self._control_plane = control_plane
        self._server = server
        self._directory = directory

    def __call__(self, ca: str = "", user: str = "", *groups: str) -> Caller:
        """Somebody with a certificate that the control plane's ``ca`` signed."""
        keys = self._control_plane.certificates
        signed = user_certificate(authority(keys, ca), user, *groups) if ca else None
        return Caller(self._server.port, tls_of(keys.certificate("serving-ca"), signed, self._directory))


@pytest.fixture
def directly(control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path) -> Directly:
    return Directly(control_plane, extension_server, tmp_path)


def test_nobody_is_anonymous_and_may_only_ask_for_health(directly: Directly, namespace: str) -> None:
    refused = directly()("GET", pizzas_path(namespace))
    assert refused.status == 403
    assert refused.message == (
        f'pizzas.{GROUP} is forbidden: User "system:anonymous" cannot list resource "pizzas" '
        f'in API group "{GROUP}" in the namespace "{namespace}"'
    )
    assert directly()("GET", "/healthz").body == b"ok"
    assert directly()("GET", "/openapi/v2").status == 403


def test_forged_headers_are_not_believed_without_the_front_proxys_certificate(
    directly: Directly, namespace: str
) -> None:
    forged = directly().with_headers(**FORGED)("GET", pizzas_path(namespace))
    assert forged.status == 403
    assert 'User "system:anonymous" cannot list' in forged.message
    # A certificate of the cluster is somebody, whatever the headers say.
    jane = directly("cluster-ca", "jane").with_headers(**FORGED)("GET", pizzas_path(namespace))
    assert jane.status == 403
    assert 'User "jane" cannot list' in jane.message
    # The front proxy's authority, but a name that is not allowed.
    other = directly("front-proxy-ca", "somebody-else").with_headers(**FORGED)("GET", pizzas_path(namespace))
    assert (other.status, other.message) == (401, "Unauthorized")
    # An authority that nobody trusts.
    assert (
        directly("serving-ca", "front-proxy-client").with_headers(**FORGED)("GET", pizzas_path(namespace)).status == 401
    )
    # The real front proxy is believed.
    proxy = directly("front-proxy-ca", "front-proxy-client")
    assert proxy.with_headers(**FORGED)("GET", pizzas_path(namespace)).status == 200


def test_a_foreign_certificate_is_nobodys(
    directly: Directly, control_plane: ControlPlane, extension_server: ExtensionServer, namespace: str, tmp_path: Path
) -> None:
    foreign = foreign_authority("front-proxy-ca").leaf("front-proxy-client", orgs=["system:masters"], eku=CLIENT)
    paths = foreign.save(tmp_path, "foreign")
    tls = tls_of(control_plane.certificates.certificate("serving-ca"), None, tmp_path)
    tls.load_cert_chain(paths.certificate, paths.key)
    refused = Caller(extension_server.port, tls).with_headers(**FORGED)("GET", pizzas_path(namespace))
    assert (refused.status, refused.message) == (401, "Unauthorized")


def test_certificates_of_the_cluster_work_without_kube_apiserver(directly: Directly, namespace: str) -> None:
    admin = directly("cluster-ca", "root", "system:masters")
    assert admin("POST", pizzas_path(namespace), pizza("mine", tomato=1)).status == 201
    assert admin("GET", pizzas_path(namespace) + "/mine").json["metadata"]["name"] == "mine"
    jane = directly("cluster-ca", "jane", "guests")
    assert 'User "jane" cannot get resource "pizzas"' in jane("GET", pizzas_path(namespace) + "/mine").message
    # Impersonation is kube-apiserver's to offer; we answer as its libraries do, and only to who may.
    assert jane.with_headers(Impersonate_User="root")("GET", pizzas_path(namespace)).status == 403
    assert 'User "joe" cannot list' in admin.with_headers(Impersonate_User="joe")("GET", pizzas_path(namespace)).message
