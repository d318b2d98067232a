"""The built-in control plane says what kube-apiserver says: every conversation, but for what ``deliberate`` allows."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.differential.planes import documents
from tests.differential.planes.deliberate import DELIBERATE, allowed, needed, remaining
from tests.differential.planes.every import all_cases
from tests.differential.playing import Answers, conversing
from tests.differential.side import Side
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, running

pytestmark = pytest.mark.needs("crd")  # the one that is there is kube-apiserver, the other is started here

GROUP = "none.differential.test"
CASES = all_cases()


@pytest.fixture(scope="module")
def planes(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ControlPlane, ControlPlane]]:
    """The built-in control plane and kube-apiserver, both running."""
    with running(tmp_path_factory.mktemp("builtin"), "builtin") as builtin:
        yield builtin, control_plane


@pytest.fixture(scope="module")
def converse(
    planes: tuple[ControlPlane, ControlPlane], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Answers]]:
    """Play the conversation of a name with both, as administrator and as a stranger."""
    directory = tmp_path_factory.mktemp("conversations")

    def side(plane: ControlPlane) -> Side:
        ca = plane.certificates.certificate("cluster-ca")
        signed = user_certificate(authority(plane.certificates, "cluster-ca"), "e2e-admin", "system:masters")
        tls, strangers = tls_of(ca, signed, directory), tls_of(ca, None, directory)
        return Side(GROUP, plane.cluster.port, tls, strangers=strangers, base="")

    with conversing(CASES, lambda: (side(planes[0]), side(planes[1]))) as play:
        yield play


@pytest.fixture(scope="module")
def read(
    planes: tuple[ControlPlane, ControlPlane], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Any, Any]]:
    """Read the JSON at a path from both."""
    directory = tmp_path_factory.mktemp("documents")
    callers = []
    for plane in planes:
        signed = user_certificate(authority(plane.certificates, "cluster-ca"), "e2e-admin", "system:masters")
        tls = tls_of(plane.certificates.certificate("cluster-ca"), signed, directory)
        callers.append(Caller(plane.cluster.port, tls))

    def both(path: str, accept: str = "application/json") -> tuple[Any, Any]:
        ours, theirs = (caller("GET", path, headers=[("Accept", accept)]) for caller in callers)
        assert (ours.status, theirs.status) == (200, 200)
        # Schemas of APIServices stand in a package of their own there.
        body = theirs.body.replace(b"io.k8s.kube-aggregator.pkg.apis.", b"io.k8s.api.")
        return json.loads(ours.body), json.loads(body)

    return both


@pytest.mark.parametrize("name", CASES)
def test_both_control_planes_answer_alike(converse: Callable[[str], Answers], name: str) -> None:
    ours, theirs = converse(name)
    left = [remaining(*answers, allowed(name)) for answers in zip(ours, theirs, strict=True)]
    assert [answer for answer, _ in left] == [answer for _, answer in left]


def test_every_difference_that_is_allowed_is_there(converse: Callable[[str], Answers]) -> None:
    unused = [
        (pattern, entry.reason)
        for entry in DELIBERATE
        for pattern in entry.cases
        if not any(needed(entry, name, *converse(name)) for name in fnmatch.filter(CASES, pattern))
    ]
    assert not unused


@pytest.mark.parametrize("path", documents.GROUP_VERSIONS)
def test_resources_are_described_alike(read: Callable[..., tuple[Any, Any]], path: str) -> None:
    ours, theirs = (documents.resources(document) for document in read(f"/{path}"))
    assert ours == {name: theirs.get(name) for name in ours}


@pytest.mark.parametrize("path", [path.rpartition("/")[0] for path in documents.GROUP_VERSIONS[1:]])
def test_groups_are_described_alike(read: Callable[..., tuple[Any, Any]], path: str) -> None:
    ours, theirs = read(f"/{path}")
    assert ours == theirs
    ours, theirs = ({group["name"]: group for group in found["groups"]} for found in read("/apis"))
    assert ours == {name: theirs.get(name) for name in ours}


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_all_resources_are_described_alike(read: Callable[..., tuple[Any, Any]], path: str) -> None:
    ours, theirs = (documents.aggregated(document) for document in read(path, documents.AGGREGATED))
    if path == "/apis":
        # Custom resources are not served: there are no definitions, and none can be written.
        assert ours[documents.DEFINITIONS].pop("verbs") == ["get", "list", "watch"]
    for name, told in ours.items():
        known = theirs.get(name)
        assert told == ({key: known.get(key) for key in told} if isinstance(told, dict) and known else known), name


@pytest.mark.parametrize("path", documents.GROUP_VERSIONS)
def test_operations_are_published_alike(read: Callable[..., tuple[Any, Any]], path: str) -> None:
    ours, theirs = (documents.operations(document) for document in read(f"/openapi/v3/{path}"))
    assert ours == {name: theirs.get(name) for name in ours}


@pytest.mark.parametrize("path", documents.GROUP_VERSIONS)
def test_schemas_are_published_alike(read: Callable[..., tuple[Any, Any]], path: str) -> None:
    ours, theirs = (documents.schemas(document) for document in read(f"/openapi/v3/{path}"))
    assert ours == {name: theirs.get(name) for name in ours}
