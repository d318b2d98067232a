"""The sides of a comparison: what serves the manifests here, and kube-apiserver with the same manifests applied.

One of ours is ``extapi serve --crd``, which reads the texts with the name of another group; it is reached through
kube-apiserver, too. The other is the built-in control plane, to which the very same objects are applied.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from extapi.api.versions import by_priority
from extapi.dev.registration import GroupVersions
from tests.differential.crds.every import OURS, THEIRS, all_cases, definitions, served_versions, texts
from tests.differential.playing import Answers, conversing
from tests.differential.side import Side
from tests.kubernetes import second
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, running
from tests.waiting import until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True)
class Planes:
    """Where all sides are reached, as administrator."""

    kube: int
    """The port of kube-apiserver."""
    kube_tls: ssl.SSLContext
    builtin: int
    """The port of the built-in control plane."""
    builtin_tls: ssl.SSLContext
    extension: int
    """The port of the extension server."""
    extension_tls: ssl.SSLContext

    def sides(self) -> tuple[Side, ...]:
        """The extension server, the built-in control plane, and kube-apiserver."""
        return (
            Side(OURS, self.kube, self.kube_tls, base=""),
            Side(THEIRS, self.builtin, self.builtin_tls, base=""),
            Side(THEIRS, self.kube, self.kube_tls, base=""),
        )


@pytest.fixture(scope="session")
def planes(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Planes]:
    """All sides, serving."""
    directory = tmp_path_factory.mktemp("manifests")
    tls = _tls(control_plane, "cluster-ca", directory)
    manifests = directory / "crds"
    manifests.mkdir()
    for name, text in texts(OURS):
        (manifests / name).write_text(text)
    groups = [GroupVersions(OURS, by_priority(served_versions()))]
    with (
        running(directory / "builtin", "builtin") as builtin,
        second.running(control_plane, "", directory, flags=[f"--crd={manifests}"], groups=groups) as server,
    ):
        for plane in (control_plane, builtin):
            apply_definitions(plane)
        yield Planes(
            control_plane.cluster.port,
            tls,
            builtin.cluster.port,
            _tls(builtin, "cluster-ca", directory),
            server.port,
            _tls(control_plane, "serving-ca", directory),
        )


@pytest.fixture(scope="session")
def converse(planes: Planes) -> Iterator[Callable[[str], Answers]]:
    """Play the case of a name on all sides."""
    with conversing(all_cases(), planes.sides) as play:
        yield play


@pytest.fixture(scope="session")
def callers(planes: Planes) -> dict[str, Caller]:
    """The administrator at each side, by its name; ``direct`` goes to the extension server past kube-apiserver."""
    return {
        "extension": Caller(planes.kube, planes.kube_tls),
        "builtin": Caller(planes.builtin, planes.builtin_tls),
        "kube": Caller(planes.kube, planes.kube_tls),
        "direct": Caller(planes.extension, planes.extension_tls),
    }


def _tls(plane: ControlPlane, ca: str, directory: Path) -> ssl.SSLContext:
    signed = user_certificate(authority(plane.certificates, "cluster-ca"), "e2e-admin", "system:masters")
    return tls_of(plane.certificates.certificate(ca), signed, directory)


def apply_definitions(plane: ControlPlane) -> None:
    """Create the definitions of all manifests, and wait until what they define is served."""
    for definition in definitions():
        plane.client.request("POST", DEFINITIONS, definition)
    for definition in definitions():
        spec = definition["spec"]
        for version in spec["versions"]:
            if version["served"]:
                until(partial(_served, plane, f"/apis/{THEIRS}/{version['name']}/{spec['names']['plural']}"), 30)


def _served(plane: ControlPlane, path: str) -> bool:
    return plane.client.problem(path) is None
