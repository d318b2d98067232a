"""Programs of Go that apply on the server: controller-runtime, Flux, and client-go's typed apply configurations.

The programs are in ``clients/``.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kubernetes import golang
from tests.kubernetes.calling import Caller
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.pizzas import GROUP, PIZZA, pizza
from tests.kubernetes.shop import Shop
from tests.kubernetes.test_apply import SIDE, managers
from tests.kubernetes.test_deletion import config_map, gone
from tests.kubernetes.test_ownership import Things
from tests.waiting import until

pytestmark = [pytest.mark.kubernetes, pytest.mark.usefixtures("menu")]  # programs of Go


class Controller:
    """The program in ``clients/controller``: each pizza of a namespace gets a receipt."""

    def __init__(self, kubeconfig: Path, namespace: str, output: Path) -> None:
        self._output = output
        command = [str(golang.controller()), str(kubeconfig), namespace]
        with output.open("wb") as written, output.with_suffix(".err").open("wb") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=written, stderr=errors, text=True, bufsize=1
            )

    def said(self, *events: str) -> list[dict[str, Any]]:
        """All of some events so far."""
        assert self.process.poll() is None, self._output.with_suffix(".err").read_text()
        lines = [json.loads(text) for text in self._output.read_text().split("\n")[:-1]]
        return [each for each in lines if each["event"] in events]

    def __call__(self, **order: Any) -> dict[str, Any]:
        """What it says to an order."""
        before = len(self.said("pizza", "deleted"))
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        return until(lambda: self.said("pizza", "deleted")[before:], 30)[0]

    def receipt(self, after: int = 0) -> dict[str, Any]:
        """How it went with the last receipt, at least one after so many."""
        return until(lambda: self.said("receipt")[after:], 30)[-1]


@pytest.fixture
def controller(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Controller]:
    """It follows the namespace."""
    started = Controller(control_plane.kubeconfig, namespace, tmp_path / "controller.jsonl")
    until(lambda: started.said("started"), 30)
    yield started
    started.process.communicate(timeout=30)  # it ends when its orders do
    assert started.process.returncode == 0


def test_a_controller_applies_a_pizza_and_owns_its_receipt(
    controller: Controller, shop: Shop, admin: Caller, namespace: str
) -> None:
    assert "reason" not in controller(apply=pizza("mine", tomato=2))
    until(lambda: shop.costs("mine", "3.00"))
    until(lambda: shop.path("mine", ".data.cost", "configmap") == "3.00")
    made = shop.read(PIZZA, "mine")["metadata"]
    (by,) = shop.read("configmap", "mine")["metadata"]["ownerReferences"]
    assert by == {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "Pizza",
        "name": "mine",
        "uid": made["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert managers(shop, PIZZA, "mine") == {"cook": "Apply"}
    assert managers(shop, "configmap", "mine") == {"cashier": "Apply"}

    # Again, without change: nothing is written, of the pizza or of what belongs to it.
    assert controller(apply=pizza("mine", tomato=2))["resourceVersion"] == made["resourceVersion"]
    receipt = shop.path("mine", ".metadata.resourceVersion", "configmap")
    before = len(controller.said("receipt"))
    shop("annotate", PIZZA, "mine", "hot=yes")
    assert controller.receipt(before)["resourceVersion"] == receipt

    # The pizza goes, and takes its receipt along.
    Things(admin, "default").settle(f"known-for-{namespace}")
    assert "reason" not in controller(delete="mine")
    until(lambda: [each for each in controller.said("gone") if each["name"] == "mine"], 30)
    assert not shop("get", f"{PIZZA},configmap", "-o", "name").count("/mine")


def test_a_controller_is_refused_what_others_own_until_it_insists(controller: Controller, shop: Shop) -> None:
    controller(apply=pizza("mine", tomato=2))
    until(lambda: shop.path("mine", ".data.cost", "configmap") == "3.00")
    shop(*SIDE, "--field-manager=chef", "--force-conflicts", stdin=json.dumps(pizza("mine", tomato=4)))
    refused = controller(apply=pizza("mine", tomato=3))
    assert refused["reason"] == "Conflict"
    assert refused["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "chef"',
            "field": '.spec.toppings[name="tomato"].quantity',
        }
    ]
    assert shop.path("mine", ".spec.toppings[0].quantity") == "4"
    assert "reason" not in controller(apply=pizza("mine", tomato=3), force=True)
    assert shop.path("mine", ".spec.toppings[0].quantity") == "3"

    # The same of the receipt, by the controller itself, which is told of each change.
    until(lambda: shop.path("mine", ".data.cost", "configmap") == "4.50")
    auditors = json.dumps({**config_map("mine"), "data": {"cost": "nothing"}})
    shop(*SIDE, "--field-manager=auditor", "--force-conflicts", stdin=auditors)
    refused = until(lambda: [each for each in controller.said("receipt") if "reason" in each], 30)[-1]
    assert refused["reason"] == "Conflict"
    assert refused["message"] == 'Apply failed with 1 conflict: conflict with "auditor": .data.cost'
    assert shop.path("mine", ".data.cost", "configmap") == "nothing"
    shop("annotate", PIZZA, "mine", "restaurant.test/insists=yes")
    until(lambda: shop.path("mine", ".data.cost", "configmap") == "4.50")
    assert managers(shop, "configmap", "mine") == {"cashier": "Apply"}


class Flux:
    """The program in ``clients/flux``."""

    def __init__(self, kubeconfig: Path) -> None:
        self._start = [str(golang.flux()), str(kubeconfig)]

    def run(self, command: str, objects: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
        """Run it to its end, whatever that is."""
        text = yaml.safe_dump_all(objects)
        command_line = [*self._start, command]
        return subprocess.run(command_line, input=text, capture_output=True, text=True, check=False, timeout=90)

    def __call__(self, command: str, objects: list[dict[str, Any]]) -> dict[str, Any]:
        """What it says, by object: of a difference both objects, else what it did."""
        done = self.run(command, objects)
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return {each["subject"]: (each["live"], each["merged"]) if "live" in each else each["action"] for each in lines}


def kitchen(namespace: str) -> list[dict[str, Any]]:
    """A namespace with a pizza, its recipe and a price list that nobody may change."""
    inside: list[dict[str, Any]] = [
        {**config_map("recipe"), "data": {"sauce": "basil"}},
        {**config_map("prices"), "data": {"tomato": "1"}, "immutable": True},
        pizza("mine", tomato=1, olives=2),
    ]
    for each in inside:
        each["metadata"]["namespace"] = namespace
    labelled = {"name": namespace, "labels": {"hot": "yes"}}
    return [*inside, {"apiVersion": "v1", "kind": "Namespace", "metadata": labelled}]


def test_flux_keeps_a_set_as_it_should_be(control_plane: ControlPlane, shop: Shop, admin: Caller) -> None:
    flux = Flux(control_plane.kubeconfig)
    inner = Shop(shop.kubectl, f"{shop.namespace}-flux")
    objects = kitchen(inner.namespace)
    place = f"Namespace/{inner.namespace}"
    recipe, prices = f"ConfigMap/{inner.namespace}/recipe", f"ConfigMap/{inner.namespace}/prices"
    mine = f"Pizza/{inner.namespace}/mine"
    everything = {place, recipe, prices, mine}

    assert flux("diff", objects[-1:]) == {place: "created"}
    assert gone(admin, f"/api/v1/namespaces/{inner.namespace}")
    assert flux("apply-staged", objects) == dict.fromkeys(everything, "created")
    flux("wait", objects)
    kinds = {"mine": PIZZA, "recipe": "configmap", inner.namespace: "namespace"}
    for name, kind in kinds.items():
        assert managers(inner, kind, name) == {"kustomize-controller": "Apply"}

    # Nothing is different, and nothing is written.
    until(lambda: inner.costs("mine", "2.00"))

    def versions() -> list[str]:
        return [inner.path(name, ".metadata.resourceVersion", kind) for name, kind in kinds.items()]

    before = versions()
    for command in ("apply", "apply-staged", "diff"):
        assert flux(command, objects) == dict.fromkeys(everything, "unchanged")
    assert versions() == before

    # Somebody changes, adds and takes away by hand; all of it is undone.
    inner("patch", "configmap", "recipe", "--type=merge", "-p", '{"data":{"sauce":"oregano","salt":"much"}}')
    inner("patch", PIZZA, "mine", "--type=json", "-p", '[{"op":"remove","path":"/spec/toppings/1"}]')
    assert [each["name"] for each in inner.read(PIZZA, "mine")["spec"]["toppings"]] == ["tomato"]
    found = flux("diff", objects)
    live, merged = found[recipe]
    assert (live["data"]["sauce"], merged["data"]["sauce"]) == ("oregano", "basil")
    live, merged = found[mine]
    assert [each["name"] for each in live["spec"]["toppings"]] == ["tomato"]
    assert {each["name"]: each["quantity"] for each in merged["spec"]["toppings"]} == {"tomato": 1, "olives": 2}
    assert {found[place], found[prices]} == {"unchanged"}
    assert inner.path("recipe", ".data.sauce", "configmap") == "oregano"
    assert flux("apply", objects) == {place: "unchanged", prices: "unchanged", recipe: "configured", mine: "configured"}
    assert inner.read("configmap", "recipe")["data"] == {"sauce": "basil"}
    toppings = inner.read(PIZZA, "mine")["spec"]["toppings"]
    assert {each["name"]: each["quantity"] for each in toppings} == {"tomato": 1, "olives": 2}
    assert managers(inner, "configmap", "recipe") == {"kustomize-controller": "Apply"}
    assert managers(inner, PIZZA, "mine") == {"kustomize-controller": "Apply"}
    assert flux("apply", objects) == dict.fromkeys(everything, "unchanged")

    # What cannot be changed is made anew, if that is asked for.
    uid = inner.path("prices", ".metadata.uid", "configmap")
    objects = kitchen(inner.namespace)
    objects[1]["data"] = {"tomato": "2"}
    refused = flux.run("apply", objects)
    assert refused.returncode != 0
    assert "field is immutable when `immutable` is set" in refused.stderr
    assert flux("apply-force", objects)[prices] == "created"
    assert inner.read("configmap", "prices")["data"] == {"tomato": "2"}
    assert inner.path("prices", ".metadata.uid", "configmap") != uid

    assert flux("delete", objects) == dict.fromkeys(everything, "deleted")
    flux("wait-gone", objects)
    assert gone(admin, f"/api/v1/namespaces/{inner.namespace}")


class Typed:
    """The program in ``clients/typed``, which applies an object of each of seven kinds."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._start = [str(golang.typed()), str(kubeconfig), namespace]

    def __call__(self, *arguments: str) -> dict[str, dict[str, Any]]:
        """What it says, by kind."""
        done = subprocess.run([*self._start, *arguments], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return {each["kind"]: each for each in map(json.loads, done.stdout.splitlines())}


VALUES = {
    "Namespace": ".metadata.labels.value",
    "ConfigMap": ".data.value",
    "Service": ".spec.selector",
    "ServiceAccount": ".metadata.annotations.value",
    "Role": ".rules",
    "RoleBinding": ".subjects",
    "Lease": ".spec.holderIdentity",
}
"""The field that has the value, or the atomic one around it."""


def configurations(namespace: str, value: str) -> dict[str, dict[str, Any]]:
    """What is applied of each kind."""
    core, rbac = "v1", f"{RBAC}/v1"
    metadata = {"name": "typed", "namespace": namespace}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": [value]}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "typed"}
    subject = {"kind": "ServiceAccount", "namespace": namespace, "name": value}
    port = {"name": "http", "port": 80}  # without the protocol, which is a part of its key by default
    rest: dict[str, tuple[str, dict[str, Any]]] = {
        "Namespace": (core, {"metadata": {"name": namespace, "labels": {"value": value}}}),
        "ConfigMap": (core, {"data": {"value": value}, "binaryData": {"bytes": "AP8="}}),
        "Service": (core, {"spec": {"ports": [port], "selector": {"value": value}}}),
        "ServiceAccount": (
            core,
            {"metadata": metadata | {"annotations": {"value": value}}, "imagePullSecrets": [{"name": "registry"}]},
        ),
        "Role": (rbac, {"rules": [rule]}),
        "RoleBinding": (rbac, {"roleRef": reference, "subjects": [subject]}),
        "Lease": ("coordination.k8s.io/v1", {"spec": {"leaseDurationSeconds": 30, "holderIdentity": value}}),
    }
    return {
        kind: {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}
        for kind, (version, fields) in rest.items()
    }


def without_values(namespace: str) -> dict[str, dict[str, Any]]:
    """The same for a manager that has lost the value of each."""
    found = configurations(namespace, "")
    for kind, field in VALUES.items():
        *outer, last = field.split(".")[1:]
        holders = [found[kind]]
        for step in outer:
            holders.append(holders[-1][step])
        del holders[-1][last]
        for holder, step in zip(reversed(holders[:-1]), reversed(outer), strict=True):
            if not holder[step]:
                del holder[step]
    return found


def extracted(said: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {kind: each["extracted"] for kind, each in said.items()}


def test_typed_configurations_are_applied_and_extracted(control_plane: ControlPlane, namespace: str) -> None:
    typed = Typed(control_plane.kubeconfig, namespace)
    first = typed("one", "apply", "a")
    assert extracted(first) == configurations(namespace, "a")
    assert typed("one", "apply", "a") == first, "nothing has changed"
    assert typed("one", "change", "a") == first, "what was extracted is what was applied"
    changed = typed("one", "change", "b")
    assert extracted(changed) == configurations(namespace, "b")
    for kind, each in changed.items():
        assert each["resourceVersion"] != first[kind]["resourceVersion"]

    # Another manager may have what it agrees with, and not what it does not.
    assert extracted(typed("two", "apply", "b")) == configurations(namespace, "b")
    refused = typed("three", "apply", "c")
    for kind, field in VALUES.items():
        assert refused[kind]["conflicts"] == [field, field]
        expected = f'Apply failed with 2 conflicts: conflicts with "one":\n- {field}\nconflicts with "two":\n- {field}'
        assert refused[kind]["message"] == expected
    assert extracted(typed("three", "force", "c")) == configurations(namespace, "c")
    assert extracted(typed("one", "extract")) == without_values(namespace)
    assert extracted(typed("two", "extract")) == without_values(namespace)
