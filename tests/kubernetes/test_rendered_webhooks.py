"""The pizza API as CustomResourceDefinitions, from what ``extapi manifests --as crd`` renders.

The walkthrough of chapter 9 of "Programming Kubernetes" (O'Reilly, 2019), sections "Seeing conversion in action" and "Admission
webhooks in action", with our commands for the server; on both control planes.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kubernetes import doctoring
from tests.kubernetes.control_plane import ControlPlane, Kubectl, running
from tests.kubernetes.fixtures import planes
from tests.kubernetes.pizzas import GROUP, PIZZA, topping
from tests.kubernetes.renderedhooks import CONFIGURATIONS, RenderedHooks, render
from tests.waiting import until

MARGHERITA = f"""
apiVersion: {GROUP}/v1alpha1
kind: Pizza
metadata:
  name: margherita
spec:
  toppings:
  - mozzarella
  - tomato
"""
SALAMI = f"""
apiVersion: {GROUP}/v1alpha1
kind: Pizza
metadata:
  name: salami
spec:
"""
NAMESPACE = "restaurant"


@pytest.fixture(scope="module", params=planes())
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with running(tmp_path_factory.mktemp("plane"), request.param) as control_plane:
        yield control_plane


@pytest.fixture(scope="module")
def kubectl(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(plane.kubeconfig, tmp_path_factory.mktemp("kubectl"))


@pytest.fixture(scope="module")
def hooks(plane: ControlPlane, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> RenderedHooks:
    return render(plane, kubectl, tmp_path_factory.mktemp("crd"), "extapi.pizza:api")


def test_the_walkthrough_of_the_book(plane: ControlPlane, kubectl: Kubectl, hooks: RenderedHooks) -> None:
    """One test: each step needs the one before it."""

    def create(text: str) -> str:
        done = kubectl.run("-n", NAMESPACE, "create", "-f", "-", stdin=text)
        return done.stdout or done.stderr

    def get(version: str, name: str) -> Any:
        found = yaml.safe_load(kubectl("-n", NAMESPACE, "get", f"pizzas.{version}.{GROUP}", name, "-o", "yaml"))
        assert found["apiVersion"] == f"{GROUP}/{version}"
        return found["spec"]["toppings"]

    served = {line.split()[-1] for line in kubectl("api-resources", "--no-headers").splitlines()}
    missing = {each["kind"] for each in hooks.rendered()} - served
    assert missing == ({"Deployment"} if plane.name == "builtin" else set())
    hooks.apply(leave_out=(*missing, *CONFIGURATIONS))
    log = hooks.start()
    # The command wants all that leads to the server to be there; the book registers admission later.
    bundle = base64.b64encode((hooks.directory / "certs" / "ca.crt").read_bytes()).decode()
    config = {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}
    kubectl("patch", "crd", PIZZA, "--type=merge", "-p", json.dumps({"spec": config}))
    # Seeing conversion in action.
    assert create(MARGHERITA) == f"pizza.{GROUP}/margherita created\n"
    assert get("v1alpha1", "margherita") == ["mozzarella", "tomato"]
    assert get("v1beta1", "margherita") == [
        {"name": "mozzarella", "quantity": 1},
        {"name": "tomato", "quantity": 1},
    ]
    assert "/convert/v1/pizza?timeout=30s" in log.read_text()
    _admission(kubectl, hooks, create, get, missing)
    _doctor(kubectl)
    _migration(kubectl, log)


def _admission(kubectl: Kubectl, hooks: RenderedHooks, create: Any, get: Any, missing: set[str]) -> None:
    """Admission webhooks in action."""
    kubectl("-n", NAMESPACE, "delete", "pizza", "margherita")
    hooks.apply(*CONFIGURATIONS)
    assert hooks.trust() == [
        f"customresourcedefinition.apiextensions.k8s.io/{PIZZA} unchanged",
        "mutatingwebhookconfiguration.admissionregistration.k8s.io/restaurant patched",
        "validatingwebhookconfiguration.admissionregistration.k8s.io/restaurant patched",
    ]
    # What was set stays when the manifests are applied again.
    hooks.apply(*CONFIGURATIONS)
    assert all(each.endswith(" unchanged") for each in hooks.trust())
    dry = ("apply", "--dry-run=server", "--validate=strict", "-f", "-")
    some = [each for each in hooks.rendered() if each["kind"] not in missing]
    assert kubectl(*dry, stdin=yaml.safe_dump_all(some)).count("(server dry run)\n") == len(some)
    refused = until(lambda: said if "created" not in (said := create(MARGHERITA)) else _again(kubectl))
    assert refused == (
        'Error from server (Forbidden): error when creating "STDIN": admission webhook '
        f'"{PIZZA}" denied the request: topping "mozzarella" not known\n'
    )
    for name in ("tomato", "salami", "mozzarella"):
        made = create(json.dumps(topping(name, "1.00")))
        assert made == f"topping.{GROUP}/{name} created\n"
    assert create(MARGHERITA) == f"pizza.{GROUP}/margherita created\n"
    assert create(SALAMI) == f"pizza.{GROUP}/salami created\n"
    assert get("v1beta1", "salami") == [{"name": name, "quantity": 1} for name in ("tomato", "mozzarella", "salami")]
    # The controller prices it, with the rights that the manifests give.
    cost = ("-n", NAMESPACE, "get", "pizza", "salami", "-o", "jsonpath={.status.cost}")
    until(lambda: kubectl(*cost) == "3.00")


def _doctor(kubectl: Kubectl) -> None:
    """It finds nothing wrong, and has called each webhook."""
    examined = doctoring.examine(kubectl.kubeconfig, "--app=extapi.pizza:api")
    # How long a call takes is the machine's affair.
    assert [each for each in examined.wrong() if each["check"] != "webhook.call"] == []
    called = [each for each in examined.report["findings"] if each["check"] == "webhook.call"]
    assert {each["severity"] for each in called} <= {"ok", "warning"}
    assert {subject.partition(" in ")[0] for each in called for subject in each["subjects"]} == {
        f"list {PIZZA}",
        f"patch {PIZZA}",
        f"patch toppings.{GROUP}",
    }
    hooks = {f"webhook {name}.{GROUP} of ValidatingWebhookConfiguration restaurant" for name in ("pizzas", "toppings")}
    for each in (*hooks, f"conversion of CustomResourceDefinition {PIZZA}"):
        for check in ("certificate.chain", "certificate.names", "certificate.dates"):
            assert examined.finding(check, each)["severity"] == "ok"


def _again(kubectl: Kubectl) -> None:
    """kube-apiserver reads configurations a moment after they are written."""
    kubectl("-n", NAMESPACE, "delete", "pizza", "margherita")


def _migration(kubectl: Kubectl, log: Path) -> None:
    """The storage version is changed; every object is then stored in the new one, and kube-apiserver may forget the old one."""

    def stored() -> list[str]:
        found: list[str] = json.loads(kubectl("get", "crd", PIZZA, "-o", "json"))["status"]["storedVersions"]
        return found

    versions = json.loads(kubectl("get", "crd", PIZZA, "-o", "json"))["spec"]["versions"]
    assert [(each["name"], each["storage"]) for each in versions] == [("v1beta1", True), ("v1alpha1", False)]
    flipped = [{"op": "replace", "path": f"/spec/versions/{n}/storage", "value": bool(n)} for n in (0, 1)]
    kubectl("patch", "crd", PIZZA, "--type=json", "-p", json.dumps(flipped))
    until(lambda: set(stored()) == {"v1beta1", "v1alpha1"})
    remove = json.dumps([{"op": "remove", "path": "/spec/versions/0"}])
    dropped = ("patch", "crd", PIZZA, "--type=json", "--dry-run=server", "-p", remove)
    assert 'status.storedVersions[0]: Invalid value: "v1beta1"' in kubectl.run(*dropped).stderr
    command = [sys.executable, "-m", "extapi", "migrate", "--kubeconfig", str(kubectl.kubeconfig), PIZZA]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert f"{PIZZA}: status.storedVersions is v1alpha1, without v1beta1\n" in done.stderr
    assert stored() == ["v1alpha1"]
    assert kubectl(*dropped).endswith(f"/{PIZZA} patched\n")
    # What is stored in a version is read in it without the webhook.
    asked = log.read_text().count("/convert/")
    found = kubectl("-n", NAMESPACE, "get", f"pizzas.v1alpha1.{GROUP}", "margherita", "-o", "jsonpath={.spec.toppings}")
    assert json.loads(found) == ["mozzarella", "tomato"]
    assert log.read_text().count("/convert/") == asked
