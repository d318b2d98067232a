"""Watches that are open while the right to them goes away: through the control plane, and past it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.certificates import CLIENT, authority as foreign
from tests.kubernetes.calling import MERGE
from tests.kubernetes.control_plane import Kubectl, add_extension_server, running
from tests.kubernetes.doctoring import examine
from tests.kubernetes.fixtures import planes
from tests.kubernetes.pizzas import GROUP as PIZZAS
from tests.kubernetes.plane import CONFIG_MAP, FORGED, Plane, rights
from tests.kubernetes.shop import Running, Shop
from tests.kubernetes.test_access import rbac
from tests.kubernetes.watching import watching
from tests.kubernetes.who import GROUP, NOTES, REVIEWS, note, review
from tests.waiting import until

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
BUILTIN = [pytest.param("builtin", id="builtin")]
"""For what kube-apiserver does not do, or puts right by itself."""


@pytest.fixture(scope="module", params=planes())
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A control plane that a test may do anything to."""
    with running(tmp_path_factory.mktemp("plane"), request.param) as control_plane:
        for path, obj in rights():
            control_plane.client.apply(path, obj)
        server = add_extension_server(control_plane, "tests.kubernetes.who:api")
        yield Plane(control_plane, server.port, tmp_path_factory.mktemp("callers"))


def test_kubectl_watches_until_its_role_binding_is_deleted(
    kubectl: Kubectl, user_kubectl: Callable[..., Kubectl], menu: None, namespace: str
) -> None:
    del menu
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    kubectl("apply", "-f", "-", stdin=rbac(namespace, subject, verbs=["get", "list", "watch"]))
    jane = Shop(user_kubectl("jane"), namespace)
    until(lambda: jane.kubectl.run("-n", namespace, "get", "pz").returncode == 0)
    Shop(kubectl, namespace).make({"apiVersion": f"{PIZZAS}/v1beta1", "kind": "Pizza", "metadata": {"name": "mine"}})
    watch = Running(jane, "get", "pz", "-w", "-o", "name")
    try:
        assert watch.line() == f"pizza.{PIZZAS}/mine"
        kubectl("-n", namespace, "delete", "rolebinding", "waiter")
        # An answer is kept for ten seconds, and asked for every ten.
        assert watch.process.wait(60) == 0, watch.line()
        # Whatever may have come before the end: no error, and nothing that is no pizza.
        assert watch.line() in {"", f"pizza.{PIZZAS}/mine"}
    finally:
        watch.end()
    assert "cannot list resource" in jane.kubectl.run("-n", namespace, "get", "pz").stderr


@pytest.mark.parametrize("plane", BUILTIN, indirect=True)
def test_the_control_plane_judges_watches_of_its_own_kinds_too(plane: Plane) -> None:
    """kube-apiserver does not: there a watch lasts until its time is over."""
    client = plane.control_plane.client
    subject = {"kind": "User", "name": "joe", "apiGroup": "rbac.authorization.k8s.io"}
    for text in rbac("default", subject, verbs=["watch"]).split("---"):
        obj = json.loads(text.replace(PIZZAS, "").replace('"pizzas"', '"configmaps"'))
        plural = f"{obj['kind'].lower()}s"
        path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/default/{plural}/{obj['metadata']['name']}"
        client.apply(path, obj)
    joe = plane.caller(plane.signed_by("cluster-ca").leaf("joe", eku=CLIENT))
    configs = "/api/v1/namespaces/default/configmaps"
    until(lambda: joe("GET", f"{configs}?watch=1&timeoutSeconds=1").status == 200)
    with watching(joe, configs) as watch:
        client.delete("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/waiter")
        watch.over()
    assert joe("GET", f"{configs}?watch=1").status == 403


def test_a_watch_ends_with_the_authority_of_its_certificate(plane: Plane) -> None:
    client, users = plane.control_plane.client, foreign("more-users")
    original = client.get(CONFIG_MAP)["data"]["client-ca-file"]

    def publish(pem: str) -> None:
        client.request("PATCH", CONFIG_MAP, {"data": {"client-ca-file": pem}}, MERGE)

    publish(original + users.pem.decode())
    jane = plane.caller(users.leaf("jane", eku=CLIENT), directly=True)
    until(lambda: jane("GET", NOTES).status == 200)
    with watching(jane, NOTES) as watch:
        assert plane.admin("POST", NOTES, note("before")).status == 201
        watch.until("before")
        publish(original)
        watch.over()
    assert jane("GET", NOTES).status == 401


def until_the_account_is_gone(plane: Plane, *, directly: bool) -> None:
    """Watch with a service account's token while the account is deleted."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    assert plane.admin("POST", ACCOUNTS, account).status == 201
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = plane.admin("POST", f"{ACCOUNTS}/robot/token", request).json["status"]["token"]
    robot = plane.caller(directly=directly).with_token(token)
    with watching(robot, NOTES) as watch:
        assert plane.admin("DELETE", f"{ACCOUNTS}/robot").status == 200
        watch.over()
    until(lambda: robot("GET", NOTES).status == 401)


def test_a_watch_ends_with_the_service_account_of_its_token(plane: Plane) -> None:
    until_the_account_is_gone(plane, directly=True)


@pytest.mark.parametrize("plane", BUILTIN, indirect=True)
def test_so_does_one_through_the_control_plane(plane: Plane) -> None:
    """kube-apiserver judges the token once, and vouches for its user until the watch's time is over."""
    until_the_account_is_gone(plane, directly=False)


@pytest.mark.parametrize("plane", BUILTIN, indirect=True)
def test_allowed_names_that_go_away_are_told_and_stay(plane: Plane) -> None:
    """kube-apiserver writes its names into the ConfigMap again; whoever edits it faster than that meets the same."""
    client = plane.control_plane.client
    anonymous = plane.caller(directly=True)
    somebody = plane.caller(plane.signed_by("front-proxy-ca").leaf("somebody", eku=CLIENT), directly=True)
    kubeconfig = plane.control_plane.kubeconfig

    def readiness() -> str:
        answer = anonymous("GET", "/readyz?verbose")
        assert answer.status == 200
        return answer.body.decode()

    def publish(names: str | None) -> None:
        client.request("PATCH", CONFIG_MAP, {"data": {"requestheader-allowed-names": names}}, MERGE)

    assert "[+]authentication-trust ok\n" in readiness()
    original = client.get(CONFIG_MAP)["data"]["requestheader-allowed-names"]
    for emptied in (None, "", "[]", "null"):
        publish(emptied)
        until(
            lambda: "[+]authentication-trust ok: not followed: requestheader-allowed-names (empty now)" in readiness()
        )
        assert somebody("POST", REVIEWS, review(), headers=FORGED).status == 401
        assert plane.admin("POST", REVIEWS, review()).status == 201
        if emptied is None:
            found = examine(kubeconfig, f"--group={GROUP}")
            (told,) = [each for each in found.wrong() if each["check"] == "authentication.followed"]
            assert "requestheader-allowed-names (empty now)" in told["saw"]
        publish(original)
        until(lambda: "[+]authentication-trust ok\n" in readiness())
