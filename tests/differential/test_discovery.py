"""Which form of ``/apis`` is chosen by an Accept header: asked of kube-apiserver, and of our server directly (behaviour C13).

Through kube-apiserver nobody sees our ``/apis`` but the aggregator itself, so these requests go past it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.conftest import Plane
from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane

pytestmark = pytest.mark.needs("crd")

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
ACCEPTS = [
    "",
    "*/*",
    "application/*",
    "application/json",
    "application/yaml",
    "text/plain",
    V2,
    f"{V2},application/json",
    f"application/json,{V2}",
    f"{V2};q=0.1,application/json",
    f"application/yaml,{V2}",
    f"text/plain,{V2}",
    V2.replace("v=v2", "v=v3"),
    f"{V2.replace('v=v2', 'v=v3')},application/json",
    V2.replace("apidiscovery", "other"),
    V2.replace("DiscoveryList", "List"),
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
    V2.replace("application/json", "application/*"),
]


@pytest.fixture(scope="module")
def callers(
    control_plane: ControlPlane, plane: Plane, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Caller, Caller]:
    """The administrator at our server, and at kube-apiserver."""
    keys, directory = control_plane.certificates, Path(tmp_path_factory.mktemp("discovery"))
    signed = user_certificate(authority(keys, "cluster-ca"), "e2e-admin", "system:masters")
    return (
        Caller(plane.extension_port, tls_of(keys.certificate("serving-ca"), signed, directory)),
        Caller(plane.port, plane.tls),
    )


@pytest.mark.parametrize("accept", ACCEPTS)
def test_the_form_of_discovery_is_chosen_alike(callers: tuple[Caller, Caller], accept: str) -> None:
    ours, theirs = (caller("GET", "/apis", headers=[("Accept", accept)] if accept else []) for caller in callers)
    compared = ("Content-Type", "Vary", "Cache-Control")
    assert (ours.status, *map(ours.headers.get, compared)) == (theirs.status, *map(theirs.headers.get, compared))
    if ours.status == 200 and "json" in ours.headers["Content-Type"]:
        assert ours.json["kind"] == theirs.json["kind"]
        assert ours.json.get("apiVersion") == theirs.json.get("apiVersion") or ours.json["kind"] == "APIGroupList"
        assert set(ours.json) == set(theirs.json) - {"apiVersion"} | set(ours.json) & {"apiVersion"}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_is_known_is_not_sent_again(callers: tuple[Caller, Caller], method: str) -> None:
    for caller in callers:
        first = caller("GET", "/apis", headers=[("Accept", V2)])
        known = next(value for name, value in first.headers.items() if name.lower() == "etag")
        for tag, code in ((known, 304), (f"W/{known}", 200), ("*", 200), ("x", 200)):
            again = caller(method, "/apis", headers=[("Accept", V2), ("If-None-Match", tag)])
            assert again.status == code, (tag, caller.port)
