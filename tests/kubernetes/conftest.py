"""Fixtures of the end-to-end tests beyond the control plane itself: toppings, callers, and the twins."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.kubernetes import kubectls, second
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.pizzas import GROUP, TOPPINGS_PATH, topping
from tests.kubernetes.second import SecondServer
from tests.kubernetes.shop import Running, Shop
from tests.kubernetes.twin_schema import CRD, OURS, PLURAL, THEIRS, VERSION
from tests.waiting import until

PRICES = {"tomato": "1.50", "mozzarella": "2", "salami": "0.75", "olives": "0.25"}


@pytest.fixture(scope="session")
def menu(extension_server: ExtensionServer, control_plane: ControlPlane) -> dict[str, str]:
    """The toppings that the restaurant offers, and their prices; tests that change one make one of their own."""
    until(lambda: _in_openapi(control_plane, f"apis/{GROUP}/v1beta1", f"apis/{GROUP}/v1alpha1"), 30)
    for name, cost in PRICES.items():
        control_plane.client.request("POST", TOPPINGS_PATH, topping(name, cost))
    return PRICES


@pytest.fixture
def shop(kubectl: Kubectl, namespace: str, request: pytest.FixtureRequest) -> Shop:
    """A namespace of the test's own, and kubectl in it: the newest, if the test is not marked with other releases."""
    return Shop(kubectls.of_release(kubectl, getattr(request, "param", kubectls.NEWEST)), namespace)


@pytest.fixture
def watching(shop: Shop) -> Iterator[list[Running]]:
    """What runs in the background during the test; put it here."""
    started: list[Running] = []
    yield started
    for each in started:
        each.end()


@pytest.fixture(scope="session")
def call_as(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Caller]:
    """Make a caller of the control plane: ``call_as("jane", "group", ...)``; without a name one without a certificate."""
    keys = control_plane.certificates
    directory = tmp_path_factory.mktemp("callers")

    def make(user: str = "", *groups: str) -> Caller:
        signed = user_certificate(authority(keys, "cluster-ca"), user, *groups) if user else None
        return Caller(control_plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, directory))

    return make


@pytest.fixture(scope="session")
def admin(call_as: Callable[..., Caller]) -> Caller:
    """Somebody who may everything, at the control plane."""
    return call_as("e2e-admin", "system:masters")


@pytest.fixture(scope="session")
def gadgets(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecondServer]:
    """The twins: the same kind as an aggregated API of ours and, where there are any, as a custom resource."""
    twins = control_plane.has("crd")
    if twins:
        control_plane.client.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{PLURAL}.{THEIRS}", CRD)
    target = "tests.kubernetes.apis:gadgets"
    with second.running(control_plane, target, tmp_path_factory.mktemp("gadgets"), "memory:") as server:
        until(lambda: not twins or control_plane.client.problem(f"/apis/{THEIRS}/{VERSION}/{PLURAL}") is None)
        groups = (OURS, THEIRS) if twins else (OURS,)
        until(lambda: _in_openapi(control_plane, *(f"apis/{group}/{VERSION}" for group in groups)))
        yield server


def _in_openapi(control_plane: ControlPlane, *paths: str) -> bool:
    """Whether schemas are there for kubectl: kube-apiserver publishes them a moment after the resources."""
    known = json.loads(control_plane.client.request("GET", "/openapi/v3"))["paths"]
    return all(path in known for path in paths)


@pytest.fixture
def user_kubectl(control_plane: ControlPlane, tmp_path: Path) -> Callable[..., Kubectl]:
    """A kubectl as somebody with a certificate: ``user_kubectl("jane", "group", ...)``."""

    def make(user: str, *groups: str) -> Kubectl:
        signed = user_certificate(authority(control_plane.certificates, "cluster-ca"), user, *groups)
        config = yaml.safe_load(control_plane.kubeconfig.read_text())
        config["users"][0]["user"] = {
            "client-certificate-data": base64.b64encode(signed.certificate_pem()).decode(),
            "client-key-data": base64.b64encode(signed.key_pem()).decode(),
        }
        path = tmp_path / f"{user}.kubeconfig"
        path.touch(0o600)
        path.write_text(yaml.safe_dump(config))
        return Kubectl(path, tmp_path)

    return make
