"""``extapi webhooks``: the pizza API as CustomResourceDefinitions, converted and admitted by the author's code.

On both control planes, but for what a client certificate is needed for: the built-in one shows none. The walkthrough of chapter 9 of
"Programming Kubernetes" (O'Reilly, 2019) is in ``test_rendered_webhooks.py``.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extapi.dev.kube import KubeError
from extapi.dev.processes import Processes
from tests.certificates import CLIENT, authority
from tests.kubernetes import webhookserver
from tests.kubernetes.control_plane import ControlPlane, Kubectl, running
from tests.kubernetes.fixtures import planes
from tests.kubernetes.hooked import GROUP as HOOKED
from tests.kubernetes.pizzas import GROUP, TOPPINGS_PATH, old_pizza, pizza, pizzas_path, topping
from tests.kubernetes.scraping import families, values
from tests.kubernetes.webhookserver import Webhooks
from tests.waiting import until

PIZZERIA = [
    {"apiGroups": [GROUP], "resources": ["pizzas", "toppings"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [GROUP], "resources": ["pizzas/status"], "verbs": ["patch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]},
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
]
"""Rules of the account's ClusterRole."""
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{GROUP}"
ELECTION = [
    "--leader-elect-resource-namespace=default",
    "--leader-elect-lease-duration=5s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=500ms",
]
METRICS = [{"nonResourceURLs": ["/metrics", "/metrics/slis"], "verbs": ["get"]}]
DEFAULTS = ["tomato", "mozzarella", "salami"]
PIZZAS = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["pizzas"]}
LAMPS = {"apiGroups": [HOOKED], "apiVersions": ["v1"], "operations": ["*"], "resources": ["lamps", "lamps/*"]}
LAMPS_PATH = f"/apis/{HOOKED}/v1/namespaces/default/lamps"

CALLERS = authority("webhook-callers")
CALLER = CALLERS.leaf("kube-apiserver-webhooks", eku=CLIENT)
"""What kube-apiserver shows to admission webhooks."""

kube = pytest.mark.parametrize("plane", [each for each in planes() if each.id == "kube"], indirect=True, scope="module")
"""For admission."""


@pytest.fixture(scope="module", params=planes())
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    directory = tmp_path_factory.mktemp("callers")
    flag = f"--admission-control-config-file={webhookserver.shows_a_certificate(directory, CALLER)}"
    with running(tmp_path_factory.mktemp("plane"), request.param, flags=[flag]) as control_plane:
        yield control_plane


@pytest.fixture(scope="module")
def kubeconfig(plane: ControlPlane) -> Path:
    """That of the pizza API's servers."""
    return webhookserver.account(plane, "pizzeria", PIZZERIA)


@pytest.fixture(scope="module")
def leader(
    plane: ControlPlane, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Processes, Webhooks]]:
    """A replica of the pizza API's server that runs the controllers first, and no webhook needs."""
    processes = Processes(tmp_path_factory.mktemp("leader"))
    server = webhookserver.start(
        plane, "extapi.pizza:api", name="leader", kubeconfig=kubeconfig, flags=ELECTION, processes=processes
    )
    until(lambda: "leading by the Lease" in server.log.read_text(), 30)
    yield processes, server
    processes.stop()


@pytest.fixture(scope="module")
def pizzeria(plane: ControlPlane, kubeconfig: Path, leader: tuple[Processes, Webhooks]) -> Webhooks:
    """The pizza API's server, in front of which the definitions come: its informer needs that of toppings."""
    server = webhookserver.start(
        plane, "extapi.pizza:api", name="pizza-webhooks", kubeconfig=kubeconfig, flags=ELECTION
    )
    server.define("extapi.pizza:api")
    until(lambda: server.client.problem("/readyz") is None, 60)
    for name in DEFAULTS:
        plane.client.apply(f"{TOPPINGS_PATH}/{name}", topping(name, "1.00"))
    server.register("restaurant.programming-kubernetes.info", "pizza", PIZZAS)
    until(lambda: refusal(plane, pizza("no", nothing=1)))
    return server


@pytest.fixture(scope="module")
def lamps(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Webhooks:
    """A server that needs no cluster, and answers kube-apiserver alone."""
    trusted = tmp_path_factory.mktemp("trusted") / "ca.pem"
    trusted.write_bytes(CALLERS.pem)
    flags = [f"--client-ca-file={trusted}", "--client-allowed-names=kube-apiserver-webhooks"]
    server = webhookserver.start(plane, "tests.kubernetes.hooked:api", name="lamp-webhooks", flags=flags)
    server.define("tests.kubernetes.hooked:api")
    server.register("lamps.hooked.example.com", "lamp", LAMPS, version="v1beta1")
    until(lambda: created(plane, lamp("probe"), dry_run=True)["metadata"].get("labels"))
    return server


@pytest.fixture
def kubectl(plane: ControlPlane, tmp_path: Path) -> Kubectl:
    return Kubectl(plane.kubeconfig, tmp_path)


def create(plane: ControlPlane, path: str, obj: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(plane.client.request("POST", path, obj))
    return made


def refusal(plane: ControlPlane, obj: dict[str, Any]) -> str:
    """Why a pizza is refused; empty if it is not. Nothing is stored."""
    try:
        create(plane, f"{pizzas_path('default', obj['apiVersion'].rpartition('/')[2])}?dryRun=All", obj)
    except KubeError as error:
        return str(error)
    return ""


def lamp(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{HOOKED}/v1", "kind": "Lamp", "metadata": {"name": name}, "spec": spec}


def created(plane: ControlPlane, obj: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
    return create(plane, LAMPS_PATH + ("?dryRun=All" if dry_run else ""), obj)


def test_each_version_is_converted_to_the_other(plane: ControlPlane, pizzeria: Webhooks) -> None:
    create(plane, pizzas_path("default", "v1alpha1"), old_pizza("old", "tomato", "salami", "tomato"))
    create(plane, pizzas_path("default"), pizza("new", mozzarella=2))
    old = plane.client.get(f"{pizzas_path('default')}/old")
    assert old["apiVersion"] == f"{GROUP}/v1beta1"
    assert old["spec"] == {"toppings": [{"name": "tomato", "quantity": 2}, {"name": "salami", "quantity": 1}]}
    new = plane.client.get(f"{pizzas_path('default', 'v1alpha1')}/new")
    assert new["spec"] == {"toppings": ["mozzarella", "mozzarella"]}
    listed = plane.client.get(pizzas_path("default", "v1alpha1"))["items"]
    assert {
        each["metadata"]["name"]: each["spec"]["toppings"]
        for each in listed
        if each["metadata"]["name"] in ("old", "new")
    } == {
        "old": ["tomato", "tomato", "salami"],
        "new": ["mozzarella", "mozzarella"],
    }
    assert "POST" in pizzeria.log.read_text()
    assert "/convert/v1/pizza?timeout=30s" in pizzeria.log.read_text()


def test_the_strategy_refuses_in_each_version(plane: ControlPlane, pizzeria: Webhooks) -> None:
    text = refusal(plane, old_pizza("much", *["tomato"] * 101))
    assert text == (
        '422: admission webhook "restaurant.programming-kubernetes.info" denied the request: Pizza.restaurant.'
        'programming-kubernetes.info "much" is invalid: spec.toppings[0].quantity: Invalid value: 101: must not be more '
        "than 100 of one topping"
    )


def test_what_breaks_the_schema_gets_the_text_of_kube_apiserver(plane: ControlPlane, pizzeria: Webhooks) -> None:
    text = refusal(plane, pizza("wrong", tomato=0))
    assert text == (
        '422: Pizza.restaurant.programming-kubernetes.info "wrong" is invalid: spec.toppings[0].quantity: Invalid value: 0: '
        "spec.toppings[0].quantity in body should be greater than or equal to 1"
    )


@kube
def test_plugins_and_prepare_change_an_object(plane: ControlPlane, lamps: Webhooks) -> None:
    made = created(plane, lamp("desk", tags=["A", "b", "C~/D"]))
    assert made["spec"] == {"owner": "kubernetes-admin", "replicas": 1, "tags": ["a", "b", "c~/d"], "watts": 40}
    assert made["metadata"]["labels"] == {"made-by": "hooks"}
    made["spec"]["tags"] = ["A", "X", "b", "c~/d", "Y"]
    changed = json.loads(plane.client.request("PUT", f"{LAMPS_PATH}/desk", made))
    assert changed["spec"]["tags"] == ["a", "x", "b", "c~/d", "y"]
    assert changed["metadata"]["generation"] == 2


@kube
def test_warnings_reach_the_user(lamps: Webhooks, kubectl: Kubectl) -> None:
    said = kubectl.run("create", "-f", "-", stdin=json.dumps(lamp("hot", watts=150)))
    assert (said.returncode, said.stderr) == (0, "Warning: lamps of more than 100 watts get hot\n")


@kube
def test_what_has_lasting_effects_is_not_asked_in_a_dry_run(plane: ControlPlane, lamps: Webhooks) -> None:
    with pytest.raises(KubeError) as raised:
        created(plane, lamp("dry", tags=["counted"]), dry_run=True)
    assert str(raised.value) == (
        '400: admission webhook "lamps.hooked.example.com" denied the request: admission webhook "counted" does not support '
        "dry run"
    )
    created(plane, lamp("wet", tags=["counted"]))


@kube
def test_updates_deletions_and_subresources_are_asked_about(plane: ControlPlane, lamps: Webhooks) -> None:
    denied = '"lamps.hooked.example.com" denied the request: '
    made = created(plane, lamp("keep", watts=60, tags=["broken"]))
    path = f"{LAMPS_PATH}/keep"
    with pytest.raises(KubeError, match="may not become less"):
        plane.client.request("PATCH", path, {"spec": {"watts": 50}}, "application/merge-patch+json")
    with pytest.raises(KubeError) as raised:
        plane.client.request("PUT", f"{path}/status", {**made, "status": {"lit": True}})
    assert str(raised.value) == f"403: admission webhook {denied}a broken lamp cannot be lit"
    plane.client.request("PUT", f"{path}/status", {**made, "status": {"replicas": 3}})
    with pytest.raises(KubeError) as raised:
        plane.client.request("PATCH", f"{path}/scale", {"spec": {"replicas": 6}}, "application/merge-patch+json")
    assert str(raised.value) == f"403: admission webhook {denied}at most 5 lamps"
    plane.client.request("PATCH", f"{path}/scale", {"spec": {"replicas": 5}}, "application/merge-patch+json")
    plane.client.request("PATCH", path, {"metadata": {"labels": {"keep": "yes"}}}, "application/merge-patch+json")
    with pytest.raises(KubeError) as raised:
        plane.client.request("DELETE", path)
    assert str(raised.value) == f"403: admission webhook {denied}it is to be kept"
    with pytest.raises(KubeError, match="it is to be kept"):
        plane.client.request("DELETE", LAMPS_PATH)
    plane.client.request("PATCH", path, {"metadata": {"labels": {"keep": None}}}, "application/merge-patch+json")
    plane.client.request("DELETE", path)


@kube
def test_only_kube_apiserver_is_answered(lamps: Webhooks) -> None:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    with pytest.raises(KubeError) as raised:
        lamps.client.request("POST", "/validate/v1/lamp", review)
    assert str(raised.value) == "401: Unauthorized: a client certificate with a common name is required"
    assert '"user":"kube-apiserver-webhooks"' in lamps.log.read_text()


@kube
def test_a_server_that_has_no_definitions_to_read_is_not_ready(plane: ControlPlane) -> None:
    kubeconfig = webhookserver.account(plane, "nobody", [])
    server = webhookserver.start(plane, "extapi.pizza:api", name="no-rights", kubeconfig=kubeconfig, flags=ELECTION)
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    for path in ("/readyz", "/validate/v1/pizza"):
        problem = server.client.problem(path)
        assert problem, path
    with pytest.raises(KubeError) as raised:
        server.client.request("POST", "/validate/v1/pizza", review)
    assert str(raised.value) == "503: not ready: the informers of toppings have not listed yet"
    log = until(lambda: text if "PolicyRule" in (text := server.log.read_text()) else None)
    assert "a right is missing" in log
    assert "--resource=leases.coordination.k8s.io" in until(
        lambda: text if "leader-election" in (text := server.log.read_text()) else None
    )


def cost(plane: ControlPlane, name: str) -> str:
    """What the controller has made of a pizza; empty: nothing yet."""
    found = plane.client.get(f"{pizzas_path('default')}/{name}")
    return str(found.get("status", {}).get("cost") or "")


def test_the_controller_runs_in_one_process_and_in_another_one_after_its_end(
    plane: ControlPlane, leader: tuple[Processes, Webhooks], pizzeria: Webhooks
) -> None:
    """It changes custom resources through the control plane, where their status is a subresource."""
    create(plane, pizzas_path("default"), pizza("priced", tomato=2))
    assert until(lambda: cost(plane, "priced"), 30) == "2.00"
    before = plane.client.get(LEASE)["spec"]
    assert before["leaseDurationSeconds"] == 5
    assert before["holderIdentity"] in leader[1].log.read_text()
    assert "leading by the Lease" not in pizzeria.log.read_text()
    os.kill(leader[0].pid("leader"), signal.SIGKILL)
    create(plane, pizzas_path("default"), pizza("later", tomato=3))
    assert until(lambda: cost(plane, "later"), 30) == "3.00"
    after = plane.client.get(LEASE)["spec"]
    assert after["leaseTransitions"] == before["leaseTransitions"] + 1
    assert f"leading by the Lease default/{GROUP} as {after['holderIdentity']}" in pizzeria.log.read_text()


def test_one_that_is_asked_to_end_gives_its_lease_back_while_it_still_answers(
    plane: ControlPlane, kubeconfig: Path, tmp_path: Path
) -> None:
    """client-go's ``ReleaseOnCancel``: the next leader need not wait until the Lease has expired, nor until this one has ended."""
    processes = Processes(tmp_path)
    flags = [*ELECTION, "--leader-elect-resource-name=departing", "--shutdown-delay-duration=10m"]
    server = webhookserver.start(
        plane, "extapi.pizza:api", name="departing", kubeconfig=kubeconfig, flags=flags, processes=processes
    )
    lease = LEASE.replace(GROUP, "departing")
    try:
        until(lambda: "leading by the Lease" in server.log.read_text(), 30)
        assert plane.client.get(lease)["spec"]["holderIdentity"]
        os.kill(processes.pid("departing"), signal.SIGTERM)
        until(lambda: not plane.client.get(lease)["spec"].get("holderIdentity"), 30)
        assert server.read("/livez")[0] == 200
    finally:
        processes.stop()


def test_whoever_may_read_metrics_gets_them(plane: ControlPlane, pizzeria: Webhooks) -> None:
    create(plane, pizzas_path("default", "v1alpha1"), old_pizza("counted", "tomato"))
    text = 'forbidden: User "{}" cannot get path "/metrics"'
    status, body = pizzeria.read("/metrics")
    assert (status, json.loads(body)["message"]) == (403, text.format("system:anonymous"))
    status, body = pizzeria.read("/metrics", webhookserver.token(plane, "curious", []))
    assert json.loads(body)["message"].startswith(text.format("system:serviceaccount:default:curious"))
    assert status == 403
    assert pizzeria.read("/metrics", "made-up")[0] == 401
    token = webhookserver.token(plane, "prometheus", METRICS)
    # The cluster's RBAC learns of the new right a moment later, and its refusal is cached for ten seconds at most.
    found = families(
        until(
            lambda: body if (answer := pizzeria.read("/metrics", token))[0] == 200 and (body := answer[1]) else "", 30
        )
    )
    of = {"group": GROUP, "resource": "pizzas"}
    assert values(found["extapi_webhook_reviews_total"], webhook="convert", verdict="converted", **of) >= 1
    assert values(found["extapi_webhook_requests_total"], webhook="/convert/v1/pizza", code="200") >= 1
    assert values(found["extapi_informer_synced"], group=GROUP, resource="toppings") == 1
    assert found["leader_election_master_status"].samples[0].labels == {"name": GROUP}
    assert (
        values(found["extapi_webhook_reviews_total"], webhook="admit", operation="CREATE", verdict="allowed", **of) >= 1
    )
    health = families(pizzeria.read("/metrics/slis", token)[1])
    assert "kubernetes_healthcheck" in health


@kube
def test_without_a_cluster_nobody_reads_metrics_unless_flags_say_so(lamps: Webhooks) -> None:
    assert lamps.read("/metrics")[0] == 403
    assert lamps.read("/readyz") == (200, "ok")
