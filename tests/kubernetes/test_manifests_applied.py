"""What ``extapi manifests`` renders, on every control plane: all of it that the plane has kinds for, and ``caBundle``."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from extapi.cli import main
from tests.kubernetes.control_plane import ControlPlane, Kubectl
from tests.waiting import until

TARGET = "tests.unit.manifests.apis:library"
NAME = "rendered"
SERVICES = [
    "v1.library.example.com",
    "v2beta1.library.example.com",
    "v1alpha1.library.example.com",
    "v1.archive.example.com",
]
RUN_BY_NODES = {"Deployment", "PersistentVolumeClaim"}
"""What the built-in control plane has no kinds for."""


def extapi(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def applied(control_plane: ControlPlane, kubectl: Kubectl, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The objects, by kind and name. Their APIServices lead to nothing: they are there for a moment only."""
    for arguments in (
        ["certs", "--service", NAME, "--namespace", NAME, "--dir", str(tmp_path / "deploy" / "certs")],
        ["manifests", TARGET, "--name", NAME, "--dir", str(tmp_path / "deploy")],
    ):
        assert extapi(*arguments).exit_code == 0
    objects = list(yaml.safe_load_all(kubectl("kustomize", str(tmp_path / "deploy"))))
    kinds = {each["kind"] for each in objects}
    served = {line.split()[-1] for line in kubectl("api-resources", "--no-headers").splitlines()}
    assert kinds - served == (RUN_BY_NODES if control_plane.name == "builtin" else set())
    some = [each for each in objects if each["kind"] in served]
    try:
        kubectl("apply", "--validate=strict", "-f", "-", stdin=yaml.safe_dump_all(some))
        yield {f"{each['kind']}/{each['metadata']['name']}": each for each in some}
    finally:
        # An APIService that is not available would hold up the deletion of every namespace.
        kubectl("delete", "apiservice", "--ignore-not-found", *SERVICES)
        kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=yaml.safe_dump_all(some))


def test_they_are_taken_and_know_the_authority_afterwards(
    applied: dict[str, Any], kubectl: Kubectl, user_kubectl: Callable[..., Kubectl], tmp_path: Path
) -> None:
    def spec(name: str) -> Any:
        return json.loads(kubectl("get", "apiservice", name, "-o", "json"))["spec"]

    def patch(name: str, kubeconfig: Path = kubectl.kubeconfig, target: str = TARGET) -> Result:
        bundle = ("--patch-ca-bundle", "--dir", str(tmp_path / "deploy"))
        return extapi("manifests", target, *bundle, "--name", name, "--kubeconfig", str(kubeconfig))

    assert {name.partition("/")[2] for name in applied if name.startswith("APIService/")} == set(SERVICES)
    secret = json.loads(kubectl("-n", NAME, "get", "secret", f"{NAME}-tls", "-o", "json"))
    assert (secret["type"], set(secret["data"])) == ("kubernetes.io/tls", {"tls.crt", "tls.key"})
    # Whoever is somebody else's Service is left alone, and nobody may patch without rights.
    wrong = patch("another")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert f"leads to the Service {NAME}/{NAME}, not to another/another" in wrong.stderr
    refused = patch(NAME, user_kubectl("manifests-nobody").kubeconfig)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "Error: cannot get the APIService v1.library.example.com at https://" in refused.stderr
    assert 'User "manifests-nobody" cannot get resource "apiservices"' in refused.stderr
    reader = user_kubectl("manifests-reader").kubeconfig
    kubectl("create", "clusterrole", "manifests-reader", "--verb=get", "--resource=apiservices")
    kubectl(
        "create", "clusterrolebinding", "manifests-reader", "--clusterrole=manifests-reader", "--user=manifests-reader"
    )
    refused = until(lambda: found if "cannot patch" in (found := patch(NAME, reader)).stderr else None)
    kubectl("delete", "clusterrole,clusterrolebinding", "manifests-reader")
    assert 'User "manifests-reader" cannot patch resource "apiservices"' in refused.stderr
    assert all("caBundle" not in spec(name) for name in SERVICES)
    missing = patch(NAME, target="tests.unit.manifests.apis:reviews")
    assert missing.stderr.startswith("Error: there is no APIService v1.desk.example.com: apply the manifests first")
    done = patch(NAME)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines() == [f"apiservice.apiregistration.k8s.io/{name} patched" for name in SERVICES]
    bundle = (tmp_path / "deploy" / "certs" / "ca.crt").read_bytes()
    assert all(base64.b64decode(spec(name)["caBundle"]) == bundle for name in SERVICES)
    again = patch(NAME)
    assert again.stdout == done.stdout.replace(" patched", " unchanged")
