"""Helm 3 and 4, compiled from their modules, with a chart that has a pizza, a ConfigMap and a role.

Helm 3 creates and patches as a client; Helm 4 applies on the server.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes import golang
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.core_objects import RBAC
from tests.kubernetes.pizzas import PIZZA, pizza
from tests.kubernetes.shop import Shop
from tests.kubernetes.test_apply import SIDE, managers

pytestmark = [pytest.mark.kubernetes, pytest.mark.usefixtures("menu")]  # programs of Go

CHART = Path(__file__).parent / "chart"
MANAGED = {3: {"helm": "Update"}, 4: {"helm": "Apply"}}
"""The manager of what each major version writes."""


@dataclass(frozen=True)
class Helm:
    """One helm in the namespace of a test."""

    program: Path
    control_plane: ControlPlane
    namespace: str
    home: Path
    """Holds its caches and settings."""

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end, whatever that is."""
        environment = {"KUBECONFIG": str(self.control_plane.kubeconfig), "HOME": str(self.home), "PATH": os.defpath}
        command = [str(self.program), "--namespace", self.namespace, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)

    def __call__(self, *arguments: str) -> str:
        """What it prints."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def read(self, *arguments: str) -> Any:
        """What it prints in JSON."""
        return json.loads(self(*arguments, "-o", "json"))

    def refused(self, *arguments: str) -> str:
        """What it says on stderr when it fails."""
        done = self.run(*arguments)
        assert done.returncode != 0, done.stdout
        return done.stderr


@pytest.fixture(scope="session")
def programs() -> dict[int, Path]:
    """The helms by major version, compiled if they have not been."""
    return {major: golang.helm(major) for major in MANAGED}


@pytest.fixture
def helms(
    programs: dict[int, Path], control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> Callable[[int], Helm]:
    """The helm of a major version."""
    return lambda major: Helm(programs[major], control_plane, namespace, tmp_path)


def quantities(shop: Shop) -> dict[str, int]:
    """The toppings of the pizza."""
    return {each["name"]: each["quantity"] for each in shop.read(PIZZA, "dinner")["spec"]["toppings"]}


def names(shop: Shop, *kinds: str) -> set[str]:
    """What there is of some kinds, but for what is in each namespace."""
    found = shop("get", ",".join(kinds), "-o", "name", "--ignore-not-found").split()
    return set(found) - {"configmap/kube-root-ca.crt"}


@pytest.mark.parametrize("major", MANAGED)
def test_a_release_lives(helms: Callable[[int], Helm], shop: Shop, major: int) -> None:
    helm = helms(major)
    kinds = (PIZZA, "configmap", "role")
    dinner = {f"{PIZZA.replace('pizzas', 'pizza', 1)}/dinner", "configmap/dinner", f"role.{RBAC}/dinner"}

    said = helm.read("install", "dinner", str(CHART), "--wait", "--timeout=30s")
    assert (said["version"], said["info"]["status"]) == (1, "deployed")
    assert names(shop, *kinds) == dinner
    assert quantities(shop) == {"tomato": 1, "mozzarella": 1}
    assert shop.read("configmap", "dinner")["data"] == {"sauce": "basil", "heat": "250"}
    for kind in kinds:
        assert managers(shop, kind, "dinner") == MANAGED[major]
        metadata = shop.read(kind, "dinner")["metadata"]
        assert metadata["labels"] == {"app.kubernetes.io/managed-by": "Helm"}
        assert metadata["annotations"] == {
            "meta.helm.sh/release-name": "dinner",
            "meta.helm.sh/release-namespace": shop.namespace,
        }

    changes = ("--set=quantity=3", "--set=sauce=oregano", "--set=cook=false")
    said = helm.read("upgrade", "dinner", str(CHART), *changes, "--wait", "--timeout=30s")
    assert (said["version"], said["info"]["status"]) == (2, "deployed")
    assert quantities(shop) == {"tomato": 3, "mozzarella": 1}
    assert shop.read("configmap", "dinner")["data"] == {"sauce": "oregano", "heat": "250"}
    assert names(shop, "role") == set()
    (listed,) = helm.read("list")
    assert (listed["name"], listed["revision"], listed["status"]) == ("dinner", "2", "deployed")
    assert listed["chart"] == "dinner-1.0.0"

    assert helm("rollback", "dinner", "1", "--wait", "--timeout=30s") == "Rollback was a success! Happy Helming!\n"
    assert quantities(shop) == {"tomato": 1, "mozzarella": 1}
    assert shop.read("configmap", "dinner")["data"] == {"sauce": "basil", "heat": "250"}
    assert names(shop, "role") == {f"role.{RBAC}/dinner"}
    for kind in kinds:
        assert managers(shop, kind, "dinner") == MANAGED[major]
    status = helm.read("status", "dinner")
    assert (status["version"], status["info"]["status"]) == (3, "deployed")
    assert [(each["revision"], each["status"], each["description"]) for each in helm.read("history", "dinner")] == [
        (1, "superseded", "Install complete"),
        (2, "superseded", "Upgrade complete"),
        (3, "deployed", "Rollback to 1"),
    ]

    assert helm("uninstall", "dinner", "--wait", "--timeout=30s") == 'release "dinner" uninstalled\n'
    assert names(shop, *kinds, "secret") == set()
    assert helm.read("list") == []
    assert "release: not found" in helm.refused("status", "dinner")


def test_helm_4_leaves_fields_to_others_until_it_is_told_to_take_them(helms: Callable[[int], Helm], shop: Shop) -> None:
    helm = helms(4)
    helm("install", "dinner", str(CHART))
    chefs = json.dumps(pizza("dinner", tomato=5))
    recipe = json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dinner"}, "data": {"heat": "9"}}
    )
    for theirs in (chefs, recipe):
        shop(*SIDE, "--field-manager=chef", "--force-conflicts", stdin=theirs)

    upgrade = ("upgrade", "dinner", str(CHART), "--set=quantity=3", "--set=sauce=oregano")
    told = helm.refused(*upgrade)
    assert 'conflict with "chef": .data.heat' in told
    assert helm.read("status", "dinner")["info"]["status"] == "failed"
    assert shop.path("dinner", ".data.heat", "configmap") == "9"
    assert quantities(shop)["tomato"] == 5

    said = helm.read(*upgrade, "--force-conflicts")
    assert (said["version"], said["info"]["status"]) == (3, "deployed")
    assert shop.read("configmap", "dinner")["data"] == {"sauce": "oregano", "heat": "250"}
    assert quantities(shop) == {"tomato": 3, "mozzarella": 1}
    # All that the chef has left is the name of the topping, which both gave.
    assert managers(shop, "configmap", "dinner") == MANAGED[4]
    assert managers(shop, PIZZA, "dinner") == {**MANAGED[4], "chef": "Apply"}


def test_helm_4_names_the_topping_in_conflict(helms: Callable[[int], Helm], shop: Shop) -> None:
    helm = helms(4)
    helm("install", "dinner", str(CHART))
    shop(*SIDE, "--field-manager=chef", "--force-conflicts", stdin=json.dumps(pizza("dinner", tomato=5)))
    told = helm.refused("upgrade", "dinner", str(CHART), "--set=quantity=3")
    assert 'conflict with "chef": .spec.toppings[name="tomato"].quantity' in told
    helm("upgrade", "dinner", str(CHART), "--set=quantity=5")  # who agrees is in no conflict
    assert quantities(shop) == {"tomato": 5, "mozzarella": 1}
    assert managers(shop, PIZZA, "dinner") == {**MANAGED[4], "chef": "Apply"}


def test_helm_4_takes_over_what_helm_3_installed(helms: Callable[[int], Helm], shop: Shop) -> None:
    """It moves the fields of the client to those that it applies, and so can take them away."""
    helms(3)("install", "dinner", str(CHART), "--set=salt=much")
    assert managers(shop, PIZZA, "dinner") == MANAGED[3]
    helm = helms(4)
    said = helm.read("upgrade", "dinner", str(CHART), "--server-side=true", "--set=quantity=2")
    assert (said["version"], said["info"]["status"]) == (2, "deployed")
    for kind in (PIZZA, "configmap", "role"):
        assert managers(shop, kind, "dinner") == MANAGED[4]
    assert quantities(shop) == {"tomato": 2, "mozzarella": 1}
    assert shop.read("configmap", "dinner")["data"] == {"sauce": "basil", "heat": "250"}
    helm("uninstall", "dinner")
    assert names(shop, PIZZA, "configmap", "role", "secret") == set()


@pytest.mark.parametrize(("major", "flag"), {3: "--atomic", 4: "--rollback-on-failure"}.items(), ids=MANAGED)
def test_a_refused_upgrade_is_rolled_back(helms: Callable[[int], Helm], shop: Shop, major: int, flag: str) -> None:
    helm = helms(major)
    helm("install", "dinner", str(CHART))
    upgrade = ("upgrade", "dinner", str(CHART), "--set=quantity=0", "--set=sauce=oregano", "--timeout=30s")
    assert "quantity: 0" in helm(*upgrade, "--dry-run=server")  # it renders, and asks nothing but discovery
    assert len(helm.read("history", "dinner")) == 1
    told = helm.refused(*upgrade, flag)
    assert "spec.toppings[0].quantity in body should be greater than or equal to 1" in told
    assert quantities(shop) == {"tomato": 1, "mozzarella": 1}
    assert shop.read("configmap", "dinner")["data"] == {"sauce": "basil", "heat": "250"}
    assert [(each["revision"], each["status"]) for each in helm.read("history", "dinner")] == [
        (1, "superseded"),
        (2, "failed"),
        (3, "deployed"),
    ]
