"""The image of ``deploy/Dockerfile``: that it builds, what is in it, and that it serves as the Deployment says.

In a cluster it is in ``test_deploy.py``, whose node starts it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from extapi.dev import extension, ports, registration
from extapi.dev.kube import KubeClient
from extapi.dev.processes import Processes
from extapi.dev.registration import GroupVersions
from extapi.loading.module import load_api
from tests.kubernetes import imagebuild
from tests.kubernetes.container import Container, Mount, Order, runtime, runtimes
from tests.kubernetes.control_plane import ControlPlane, Kubectl, running
from tests.kubernetes.imagebuild import Built
from tests.waiting import until

pytestmark = pytest.mark.kubernetes

TARGET = "extapi.pizza:api"
LARGEST = 120
"""Megabytes that all Python packages may have."""


@pytest.fixture(scope="module")
def image() -> Built:
    """It is built once, as long as what it is made of stays."""
    return imagebuild.built()


in_every_runtime = pytest.mark.parametrize("started", runtimes(), indirect=True)


@pytest.fixture
def started(request: pytest.FixtureRequest, image: Built, tmp_path: Path) -> Iterator[Any]:
    """Start a container, by the best runtime that there is: ``started(order)``. All are ended."""
    containers: list[Container] = []

    def start(order: Order) -> Container:
        name = f"extapi-{os.getpid()}-{len(containers)}"
        containers.append(
            runtime(getattr(request, "param", runtimes()[0])).start(
                name, image, order, Processes(tmp_path), tmp_path / f"container-{name}"
            )
        )
        return containers[-1]

    yield start
    for each in containers:
        each.kill()


def said(container: Container) -> tuple[int, str]:
    """Its exit status and all of its output."""
    return container.child.process.wait(60), container.child.log.read_text()


@in_every_runtime
def test_it_says_its_version(started: Any) -> None:
    version = metadata.version("extapi")
    assert said(started(Order(["--version"]))) == (0, f"extapi, version {version}\n")


def test_it_is_the_user_of_the_deployment_and_can_write_nowhere(started: Any) -> None:
    script = (
        "import os; print(os.getuid(), os.getgid(), os.getgroups());"
        "print([root for root, *_ in os.walk('/') if not root.startswith(('/proc', '/sys', '/dev')) and os.access(root, os.W_OK)])"
    )
    python = "/opt/extapi/bin/python"
    status, output = said(started(Order([], command=[python, "-c", script], groups=[65532])))
    assert status == 0, output
    ids, writable = output.splitlines()
    assert ids == "65532 65532 [65532]"
    # A chroot has what everybody may write in Debian.
    everybody = [] if runtimes()[0] == "runc" else ["/run/lock", "/tmp", "/var/tmp"]
    assert sorted(yaml.safe_load(writable)) == everybody


def test_its_packages_are_few_and_small(image: Built) -> None:
    """What the server does not import stays out, as far as whole packages go; what a package says it needs is there."""
    there = {each.name.lower(): each for each in metadata.distributions(path=[str(image.packages)])}
    assert there.keys().isdisjoint(
        {"pip", "setuptools", "hatchling", "kubernetes", "aiohttp", "pydantic", "requests", "pytest"}
    )
    for found in there.values():
        for requirement in (Requirement(text) for text in found.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                wanted = re.sub(r"[-_.]+", "-", requirement.name).lower()
                names = {re.sub(r"[-_.]+", "-", name) for name in there}
                assert wanted in names, f"{found.name} needs {requirement}"
    tests = [path for path in image.packages.rglob("*") if path.is_dir() and path.name in {"test", "tests"}]
    assert tests == []
    size = sum(path.stat().st_size for path in image.packages.rglob("*") if path.is_file()) / 1_000_000
    assert size < LARGEST


def test_nothing_of_the_checkout_but_the_package_is_in_it(image: Built) -> None:
    """No key, no history, no test, and not the sources twice."""
    assert not (image.root / "src").exists()
    assert not (image.root / "wheels").exists()
    ours = {path.relative_to(image.packages / "extapi") for path in (image.packages / "extapi").rglob("*.py")}
    checkout = imagebuild.ROOT / "extapi"
    assert ours == {path.relative_to(checkout) for path in checkout.rglob("*.py")}


def test_what_is_left_out_is_named(started: Any) -> None:
    """An operator's commands, in a server's image."""
    status, output = said(started(Order(["doctor"])))
    assert status == 2
    assert output.startswith("Error: extapi doctor needs the Python package 'kubernetes', which is not installed")


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A built-in control plane of our own: the pizza API of others stays as it is."""
    with running(tmp_path_factory.mktemp("plane"), "builtin") as made:
        registration.authorize(made.client)
        yield made


@in_every_runtime
def test_it_serves_behind_a_control_plane_as_the_deployment_says(
    started: Any, plane: ControlPlane, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its arguments, its volumes and its user; only where the cluster and its own port are has to be said."""
    pod = yaml.safe_load((imagebuild.ROOT / "deploy" / "deployment.yaml").read_text())["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    targets = {mount["name"]: mount for mount in container["volumeMounts"]}
    context = pod["securityContext"]
    directories = {name: _volume(tmp_path / f"volume-{name}", context["fsGroup"]) for name in [*targets, "cluster"]}
    keys = plane.certificates
    _file(keys.certificate("extension-server"), directories["tls"] / "tls.crt", context["fsGroup"])
    _file(keys.key("extension-server"), directories["tls"] / "tls.key", context["fsGroup"])
    kubeconfig = plane.cluster.write_kubeconfig("extension-client")
    _file(kubeconfig, directories["cluster"] / "kubeconfig", context["fsGroup"])
    mounts = [
        Mount(directories[name], mount["mountPath"], mount.get("readOnly", False)) for name, mount in targets.items()
    ]
    port = ports.choose(0, "--serve-port")
    order = Order(
        [*container["args"], f"--secure-port={port}", "--kubeconfig=/etc/extapi/cluster/kubeconfig"],
        user=(context["runAsUser"], context["runAsGroup"]),
        groups=[context["fsGroup"]],
        read_only=container["securityContext"]["readOnlyRootFilesystem"],
        mounts=[*mounts, Mount(directories["cluster"], "/etc/extapi/cluster")],
    )
    server = started(order)
    ca = keys.certificate("serving-ca")

    def ready() -> bool:
        assert server.child.process.poll() is None, server.child.log.read_text()
        return KubeClient(port, ca=ca).problem("/readyz") is None

    until(ready, 60)
    groups = [GroupVersions(group.name, group.versions_by_priority()) for group in load_api(TARGET).groups]
    registration.register(plane.client, groups, port=port, ca=ca)
    extension.wait_available(plane.client, groups, plane.processes)
    kubectl = Kubectl(plane.kubeconfig, tmp_path_factory.mktemp("kubectl"))
    manifests = imagebuild.ROOT / "docs" / "tutorial" / "pizza"
    kubectl("apply", "-f", str(manifests / "toppings.yaml"), "-f", str(manifests / "margherita.yaml"))
    assert kubectl("get", "pizzas", "-o", "name") == "pizza.restaurant.programming-kubernetes.info/margherita\n"
    kubectl("delete", "pizzas,toppings", "--all")
    assert Path(f"/proc/{server.pid}/status").read_text().count("\t65532\t65532\t65532\t65532\n") == 2
    subprocess.run(["kill", str(server.pid)], check=True)
    assert server.child.process.wait(pod["terminationGracePeriodSeconds"]) == 0


def _volume(path: Path, group: int) -> Path:
    """As a kubelet makes them: for the group of the pod."""
    path.mkdir()
    os.chown(path, 0, group)
    path.chmod(0o2775)
    return path


def _file(source: Path, target: Path, group: int) -> None:
    shutil.copy(source, target)
    os.chown(target, 0, group)
    target.chmod(0o440)
