"""Whole documents: what kube-apiserver publishes of the custom resources, and what we publish of the twins.

Every difference that is allowed stands in ``DELIBERATE``, and has to be there: one that has gone fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.differential.conftest import Plane
from tests.differential.twin import KINDS, OURS, THEIRS
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane
from tests.waiting import until

pytestmark = pytest.mark.needs("crd")

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
GROUPS = "the groups of Kubernetes are not ours: DeleteOptions names none of them"
LOGIN = "how to log in is said in the documents of the built-in groups alone"
DELIBERATE = {
    "kube-apiserver calls its documents `Kubernetes CRD Swagger`, which ours are not": ("info",),
    GROUPS: (
        f"components.schemas.{META}DeleteOptions.x-kubernetes-group-version-kind",
        f"definitions.{META}DeleteOptions.x-kubernetes-group-version-kind",
    ),
    LOGIN: ("components.securitySchemes",),
}
"""Reasons, and paths in documents; where only one of both has something, or both say different things."""

VERSIONS = sorted({version for kind in KINDS for version in kind.served_versions()})

Callers = tuple[Caller, Caller]


@pytest.fixture(scope="module")
def callers(control_plane: ControlPlane, plane: Plane, tmp_path_factory: pytest.TempPathFactory) -> Callers:
    """The administrator at our server, and at kube-apiserver."""
    keys, directory = control_plane.certificates, Path(tmp_path_factory.mktemp("documents"))
    signed = user_certificate(authority(keys, "cluster-ca"), "e2e-admin", "system:masters")
    return (
        Caller(plane.extension_port, tls_of(keys.certificate("serving-ca"), signed, directory)),
        Caller(plane.port, plane.tls),
    )


def neutral(document: Any, group: str) -> Any:
    """The document with one name for the group, wherever and however it is written."""
    words = [word.capitalize() for word in group.split(".")]
    names = {
        group: "GROUP",
        ".".join(reversed(group.split("."))): "PUORG",
        "".join(words): "Group",
        words[0].lower() + "".join(words[1:]): "group",
    }
    text = json.dumps(document)
    for name, instead in names.items():
        text = text.replace(name, instead)
    return json.loads(text)


def differences(ours: Any, theirs: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, Any]]:
    """Where two documents differ: the path, and what stands there on either side."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in ours.keys() | theirs.keys():
            yield from differences(ours.get(name), theirs.get(name), (*path, name))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, (*path, str(at)))
    elif ours != theirs:
        yield ".".join(path), ours, theirs


def allowed(path: str) -> str:
    """The reason for which documents may differ there."""
    for reason, paths in DELIBERATE.items():
        if any(path == each or path.startswith(each + ".") for each in paths):
            return reason
    return ""


def judged(ours: Any, theirs: Any) -> set[str]:
    """The reasons of all differences; each has to have one."""
    found = list(differences(ours, theirs))
    assert [each for each in found if not allowed(each[0])] == []
    return {allowed(path) for path, _, _ in found}


@pytest.mark.parametrize("version", VERSIONS)
def test_openapi_v3_is_that_of_a_custom_resource(callers: Callers, version: str) -> None:
    ours, theirs = (
        neutral(caller("GET", f"/openapi/v3/apis/{group}/{version}").json, group)
        for caller, group in zip(callers, (OURS, THEIRS), strict=True)
    )
    assert judged(ours, theirs) == set(DELIBERATE)


def test_openapi_v2_is_that_of_custom_resources(callers: Callers) -> None:
    """kube-apiserver publishes it in the document of all servers alone, in which ours are, too."""
    own = neutral(callers[0]("GET", "/openapi/v2").json, OURS)
    roots = {f"/apis/{group}/v1/probes" for group in (OURS, THEIRS)}

    def merged() -> Any:
        found = callers[1]("GET", "/openapi/v2").json
        return found if roots <= found["paths"].keys() else None

    both = until(merged, 60)
    theirs = neutral(both, THEIRS)
    assert judged(own, part(theirs, own)) == set(DELIBERATE) - {LOGIN}
    # Ours arrived as they were sent: nothing had to give way to what kube-apiserver says under the same name.
    arrived = part(neutral(both, OURS), own)
    for kind in ("paths", "definitions", "parameters"):
        assert judged({kind: own[kind]}, {kind: arrived[kind]}) <= {GROUPS}


def part(document: Any, like: Any) -> Any:
    """Of a merged document, the paths and schemas of the group, and what ``like`` has beside them."""

    def mine(name: str) -> bool:
        return name.startswith(("/apis/GROUP/", "PUORG."))

    found = {key: document.get(key) for key in like}
    for kind in ("paths", "definitions", "parameters"):
        found[kind] = {name: one for name, one in document[kind].items() if name in like[kind] or mine(name)}
    return found


@pytest.mark.parametrize("version", ["", *(f"/{version}" for version in VERSIONS)])
def test_discovery_is_that_of_custom_resources(callers: Callers, version: str) -> None:
    """The order of verbs included; custom resources stand in no order."""
    ours, theirs = (callers[1]("GET", f"/apis/{group}{version}").json for group in (OURS, THEIRS))
    for document in (ours, theirs):
        document.get("resources", []).sort(key=lambda resource: resource["name"])
        for resource in document.get("resources", ()):
            resource.pop("storageVersionHash", None)  # a hash of the group's name, among others
    assert neutral(ours, OURS) == neutral(theirs, THEIRS)


def test_aggregated_discovery_is_that_of_custom_resources(callers: Callers) -> None:
    document = callers[1]("GET", "/apis", headers=[("Accept", AGGREGATED)]).json
    found = {item["metadata"]["name"]: item for item in document["items"]}
    for version in (*found[OURS]["versions"], *found[THEIRS]["versions"]):
        version["resources"].sort(key=lambda resource: resource["resource"])
    assert neutral(found[OURS], OURS) == neutral(found[THEIRS], THEIRS)


@pytest.mark.parametrize("unknown", ["apis/nothing.example.com/v1", f"apis/{OURS}", f"apis/{OURS}/v9", "x"])
def test_an_unknown_document_is_not_there(callers: Callers, unknown: str) -> None:
    ours, theirs = (caller("GET", f"/openapi/v3/{unknown}") for caller in callers)
    assert (ours.status, ours.body) == (theirs.status, theirs.body) == (404, b"")


@pytest.mark.parametrize("accept", ["", "*/*", "application/*", "application/json", "application/yaml", "text/plain"])
@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3", "/openapi/v3/apis/{group}/v1"])
def test_documents_are_there_in_the_same_media_types(callers: Callers, path: str, accept: str) -> None:
    ours, theirs = (
        caller("GET", path.format(group=group), headers=[("Accept", accept)] if accept else [])
        for caller, group in zip(callers, (OURS, THEIRS), strict=True)
    )
    assert ours.status == theirs.status
    if ours.status == 200:
        assert ours.headers["Content-Type"] == "application/json"
        # kube-apiserver lets Go's net/http guess the type of its index.
        assert theirs.headers["Content-Type"] in {"application/json", "text/plain; charset=utf-8"}
