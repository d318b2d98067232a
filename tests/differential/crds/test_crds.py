"""Manifests of custom resource definitions on kube-apiserver and here: every conversation has the same answers."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from tests.differential.crds.every import OURS, THEIRS, all_cases, definitions
from tests.differential.playing import Answers, conversing
from tests.differential.side import Side
from tests.kubernetes import second
from tests.kubernetes.calling import authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer
from tests.waiting import until

pytestmark = pytest.mark.needs("crd")


@dataclass(frozen=True)
class Plane:
    port: int
    tls: ssl.SSLContext
    extension_port: int

    def sides(self) -> tuple[Side, ...]:
        return Side(OURS, self.port, self.tls, base=""), Side(THEIRS, self.port, self.tls, base="")


@pytest.fixture(scope="module")
def plane(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Plane]:
    directory = tmp_path_factory.mktemp("crds")
    client, keys = control_plane.client, control_plane.certificates
    for definition in definitions():
        name = definition["metadata"]["name"]
        client.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    signed = user_certificate(authority(keys, "cluster-ca"), "e2e-admin", "system:masters")
    tls = tls_of(keys.certificate("cluster-ca"), signed, directory)
    with second.running(control_plane, "tests.differential.crds.kinds:api", directory) as server:
        for d in definitions():
            spec = d["spec"]
            for version in spec["versions"]:
                if version["served"]:
                    until(
                        partial(_served, control_plane, f"/apis/{THEIRS}/{version['name']}/{spec['names']['plural']}")
                    )
        yield Plane(control_plane.cluster.port, tls, server.port)


def _served(control_plane: ControlPlane, path: str) -> bool:
    return control_plane.client.problem(path) is None


@pytest.fixture(scope="module")
def converse(plane: Plane) -> Iterator[Callable[[str], Answers]]:
    with conversing(all_cases(), plane.sides) as play:
        yield play


@pytest.mark.parametrize("name", all_cases())
def test_both_sides_answer_alike(converse: Callable[[str], Answers], name: str) -> None:
    ours, theirs = converse(name)
    assert ours == theirs
