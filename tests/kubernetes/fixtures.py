"""pytest fixtures around the real control plane: one a test run, a namespace a test.

Whatever uses one of them is marked ``kubernetes``, so that ``scripts/test --fast`` leaves it out.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator

import pytest

from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl, add_extension_server, running

_LOGS = pytest.StashKey[str]()
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """etcd, kube-apiserver and kube-controller-manager on loopback."""
    with running(tmp_path_factory.mktemp("control-plane")) as started:
        request.config.stash[_LOGS] = str(started.state.logs)
        yield started


@pytest.fixture(scope="session")
def extension_server(control_plane: ControlPlane) -> ExtensionServer:
    """The pizza API, served beside the control plane and available through it."""
    return add_extension_server(control_plane, "extapi.pizza:api")


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """The name of a namespace for this test alone. Its deletion is begun afterwards, not waited for."""
    name = f"test-{next(_numbers)}"
    control_plane.client.apply(
        f"/api/v1/namespaces/{name}", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    yield name
    control_plane.client.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="session")
def kubectl(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Call it with arguments: the real kubectl, as administrator."""
    return Kubectl(control_plane.kubeconfig, tmp_path_factory.mktemp("kubectl"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the control plane; before pytest looks at the marks (``-m``)."""
    for item in items:
        if "control_plane" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.kubernetes)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say where the logs are when a test with the control plane failed; pytest keeps the files of its last runs."""
    report = yield
    if report.failed and "control_plane" in getattr(item, "fixturenames", ()) and _LOGS in item.config.stash:
        report.sections.append(("control plane", f"logs are in {item.config.stash[_LOGS]}"))
    return report
