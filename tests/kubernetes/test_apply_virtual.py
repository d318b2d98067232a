"""``kubectl apply --server-side`` of kinds that their author stores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes import second
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.parlour import GROUP, VERSION
from tests.kubernetes.second import SecondServer
from tests.kubernetes.shop import Shop

TARGET = "tests.kubernetes.parlour:api"
SIDE = ("apply", "--server-side", "-f", "-")
KEPT = ["Cone", "Cup"]
"""Kinds whose author keeps managed fields: without and with a feed."""


@pytest.fixture(scope="module")
def server(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecondServer]:
    """What serves the kinds."""
    directory: Path = tmp_path_factory.mktemp("parlour")
    with second.running(control_plane, TARGET, directory) as running:
        yield running


@pytest.fixture
def shop(server: SecondServer, kubectl: Kubectl, namespace: str) -> Shop:
    """What calls kubectl in a namespace of the test's own."""
    return Shop(kubectl, namespace)


def config(kind: str, **spec: object) -> str:
    obj = {"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": {"name": "mine"}, "spec": spec}
    return json.dumps(obj)


def managers(shop: Shop, kind: str) -> dict[str, str]:
    found = json.loads(shop("get", f"{kind.lower()}s", "mine", "-o", "json", "--show-managed-fields"))
    return {entry["manager"]: entry["operation"] for entry in found["metadata"].get("managedFields", ())}


def spec(shop: Shop, kind: str) -> object:
    return shop.read(f"{kind.lower()}s", "mine")["spec"]


@pytest.mark.parametrize("kind", KEPT)
def test_it_is_applied_again_and_again(shop: Shop, kind: str) -> None:
    told = f"{kind.lower()}.{GROUP}/mine serverside-applied\n"
    assert shop(*SIDE, stdin=config(kind, scoops=1, flavour="lemon")) == told
    assert managers(shop, kind) == {"kubectl": "Apply"}
    assert shop(*SIDE, stdin=config(kind, scoops=1, flavour="lemon")) == told
    assert shop(*SIDE, stdin=config(kind, scoops=2)) == told
    assert spec(shop, kind) == {"scoops": 2}


@pytest.mark.parametrize("kind", KEPT)
def test_a_conflict_is_explained_and_forced(shop: Shop, kind: str) -> None:
    shop(*SIDE, "--field-manager=baker", stdin=config(kind, scoops=1))
    refused = shop.refused(*SIDE, "--field-manager=waiter", stdin=config(kind, scoops=2))
    assert 'Apply failed with 1 conflict: conflict with "baker": .spec.scoops' in refused
    shop(*SIDE, "--field-manager=waiter", "--force-conflicts", stdin=config(kind, scoops=2))
    assert managers(shop, kind) == {"waiter": "Apply"}


@pytest.mark.parametrize("kind", KEPT)
def test_it_migrates_from_client_side_apply(shop: Shop, kind: str) -> None:
    shop("apply", "-f", "-", stdin=config(kind, scoops=1))
    assert managers(shop, kind) == {"kubectl-client-side-apply": "Update"}
    shop(*SIDE, stdin=config(kind, scoops=2))
    assert spec(shop, kind) == {"scoops": 2}
    assert managers(shop, kind) == {"kubectl": "Apply", "kubectl-last-applied": "Apply"}


def test_a_difference_is_shown_before(shop: Shop) -> None:
    shop(*SIDE, stdin=config("Cup", scoops=1))
    result = shop.kubectl.run("-n", shop.namespace, "diff", "--server-side", "-f", "-", stdin=config("Cup", scoops=2))
    assert result.returncode == 1, result.stderr
    assert {"-  scoops: 1", "+  scoops: 2"} <= set(result.stdout.splitlines())
    assert spec(shop, "Cup") == {"scoops": 1}


def test_what_keeps_no_managers_is_everybodys_and_nobodys(shop: Shop) -> None:
    """Whoever changes a value has to say so: it had one before anybody was tracked."""
    shop(*SIDE, stdin=config("Lick", scoops=1))
    assert managers(shop, "Lick") == {}
    shop(*SIDE, "--field-manager=other", stdin=config("Lick", scoops=1, flavour="mint"))
    refused = shop.refused(*SIDE, stdin=config("Lick", scoops=2))
    assert 'conflict with "before-first-apply"' in refused
    shop(*SIDE, "--force-conflicts", stdin=config("Lick", scoops=2))
    assert spec(shop, "Lick") == {"scoops": 2, "flavour": "mint"}
