"""The twins: an extension server of ours and the custom resources of the same schemas, both behind kube-apiserver."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from tests.differential.every import all_cases
from tests.differential.playing import Answers, conversing
from tests.differential.side import Side
from tests.differential.twin import KINDS, OURS, THEIRS, definitions
from tests.kubernetes import second
from tests.kubernetes.calling import authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.waiting import until


@dataclass(frozen=True)
class Plane:
    """Where both sides are reached."""

    port: int
    """Of kube-apiserver."""
    tls: ssl.SSLContext
    extension_port: int
    """Of our server, which is otherwise reached through the former."""

    def pair(self) -> tuple[Side, Side]:
        """Ours and theirs, each with a connection of its own."""
        return Side(OURS, self.port, self.tls), Side(THEIRS, self.port, self.tls)


@pytest.fixture(scope="session")
def plane(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Plane]:
    """Both sides, serving."""
    directory = tmp_path_factory.mktemp("twins")
    client, keys = control_plane.client, control_plane.certificates
    for definition in definitions():
        name = definition["metadata"]["name"]
        client.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", definition)
    signed = user_certificate(authority(keys, "cluster-ca"), "e2e-admin", "system:masters")
    tls = tls_of(keys.certificate("cluster-ca"), signed, directory)
    with second.running(control_plane, "tests.differential.twin:api", directory) as server:
        for kind in KINDS:
            for version in kind.served_versions():
                path = f"/apis/{THEIRS}/{version}/{kind.plural}"
                until(partial(_served, control_plane, path))
        yield Plane(control_plane.cluster.port, tls, server.port)


@pytest.fixture(scope="session")
def converse(plane: Plane) -> Iterator[Callable[[str], Answers]]:
    """Play the case of a name on both sides."""
    with conversing(all_cases(), plane.pair) as play:
        yield play


def _served(control_plane: ControlPlane, path: str) -> bool:
    return control_plane.client.problem(path) is None
