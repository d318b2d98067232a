"""Discovery and OpenAPI as clients meet them in a cluster: fresh, whole, and not sent again to who has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.calling import Answer, Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.pizzas import GROUP
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
VERSIONS = ["v1beta1", "v1alpha1"]


@pytest.fixture
def direct(control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path) -> Caller:
    """The administrator at the extension server itself."""
    keys = control_plane.certificates
    signed = user_certificate(authority(keys, "cluster-ca"), "documents-admin", "system:masters")
    return Caller(extension_server.port, tls_of(keys.certificate("serving-ca"), signed, tmp_path))


@pytest.fixture
def caller(way: str, admin: Caller, direct: Caller) -> Caller:
    """The administrator, on one of both ways that a client can take."""
    return {"proxied": admin, "direct": direct}[way]


both_ways = pytest.mark.parametrize("way", ["proxied", "direct"])


def header(answer: Answer, name: str) -> str:
    """A header whatever its case: servers write ETag in two ways."""
    found = {key.lower(): value for key, value in answer.headers.items()}
    return found.get(name.lower(), "")


@both_ways
def test_aggregated_discovery_is_fresh_and_not_sent_twice(caller: Caller) -> None:
    accept = ("Accept", AGGREGATED)
    first = caller("GET", "/apis", headers=[accept])
    assert (first.status, header(first, "Vary"), header(first, "Cache-Control")) == (200, "Accept", "public")
    group = next(item for item in first.json["items"] if item["metadata"]["name"] == GROUP)
    assert [(each["version"], each["freshness"]) for each in group["versions"]] == [
        (version, "Current") for version in VERSIONS
    ]
    etag = header(first, "ETag")
    assert etag.strip('"')
    again = caller("GET", "/apis", headers=[accept, ("If-None-Match", etag)])
    assert (again.status, again.body, header(again, "ETag")) == (304, b"", etag)
    other = caller("GET", "/apis", headers=[accept, ("If-None-Match", '"ABC"')])
    assert (other.status, other.body) == (200, first.body)


@both_ways
@pytest.mark.parametrize("version", VERSIONS)
def test_a_schema_is_kept_by_its_hash(caller: Caller, direct: Caller, version: str) -> None:
    """``client-go`` and kubectl ask for the address in the index, and keep the answer on disk as long as they may."""
    known = caller("GET", "/openapi/v3").json["paths"][f"apis/{GROUP}/{version}"]["serverRelativeURL"]
    path, _, wanted = known.partition("?hash=")
    assert path == f"/openapi/v3/apis/{GROUP}/{version}"
    by_hash = caller("GET", known)
    assert by_hash.status == 200
    assert header(by_hash, "Cache-Control") == "public, immutable"
    assert header(by_hash, "Expires")
    assert header(by_hash, "Vary") == "Accept"
    etag = header(by_hash, "ETag")
    assert etag == f'"{wanted}"'
    # One that has become old, or none: the present document, which nobody may keep for good. Never a redirect, which
    # kube-apiserver would not pass on.
    for address in (f"{path}?hash={wanted[::-1]}", path):
        now = caller("GET", address)
        assert (now.status, now.body, header(now, "ETag")) == (200, by_hash.body, etag)
        assert "immutable" not in header(now, "Cache-Control")
        assert not header(now, "Expires")
    for address in (known, path):
        again = caller("GET", address, headers=[("If-None-Match", etag)])
        assert (again.status, again.body) == (304, b"")
    # It is the same document both ways.
    assert direct("GET", known).body == by_hash.body


@both_ways
@pytest.mark.parametrize("accept", ["application/json", PROTOBUF])
def test_openapi_v2_is_not_sent_twice(caller: Caller, accept: str) -> None:
    first = caller("GET", "/openapi/v2", headers=[("Accept", accept)])
    assert (first.status, header(first, "Vary")) == (200, "Accept")

    def known() -> bool:
        """Tried again, since a cluster's document changes with every server that comes or goes."""
        kept = caller("GET", "/openapi/v2", headers=[("Accept", accept)])
        again = caller("GET", "/openapi/v2", headers=[("Accept", accept), ("If-None-Match", header(kept, "ETag"))])
        return (again.status, again.body) == (304, b"")

    until(known)
    other = caller("GET", "/openapi/v2", headers=[("Accept", accept), ("If-None-Match", '"ABC"')])
    assert (other.status, other.headers["Content-Type"]) == (200, accept)


def test_openapi_v2_stays_whole_when_ours_is_merged_in(admin: Caller, direct: Caller) -> None:
    ours = direct("GET", "/openapi/v2").json
    paths = {path for path in ours["paths"] if path.startswith(f"/apis/{GROUP}/")}
    merged = until(lambda: with_paths(admin("GET", "/openapi/v2").json, paths), 60)
    for reference in set(references(merged)):
        part, _, name = reference.removeprefix("#/").partition("/")
        assert name in merged[part], reference
    # Every type of ours is there once.
    assert kinds(merged, GROUP) == kinds(ours, GROUP) == Counter(
        [("v1beta1", "Pizza"), ("v1beta1", "PizzaList"), ("v1alpha1", "Pizza"), ("v1alpha1", "PizzaList"),
         ("v1alpha1", "Topping"), ("v1alpha1", "ToppingList")]
    )  # fmt: skip
    # What others describe has kept its name: ours have to give way where both describe the same.
    config_map = merged["definitions"]["io.k8s.api.core.v1.ConfigMap"]
    meta = config_map["properties"]["metadata"]
    name = next(references(meta)).removeprefix("#/definitions/")
    assert name == "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    operations = [
        each["operationId"] for path in merged["paths"].values() for each in path.values() if "operationId" in each
    ]
    assert [each for each, times in Counter(operations).items() if times > 1] == []


def with_paths(document: dict[str, Any], paths: set[str]) -> dict[str, Any] | None:
    """It, once it has them: kube-apiserver merges a moment after it begins to serve a group."""
    return document if paths <= set(document["paths"]) else None


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def kinds(document: dict[str, Any], group: str) -> Counter[tuple[str, str]]:
    """The versions and kinds of a group for which there are definitions, and how many."""
    return Counter(
        (each["version"], each["kind"])
        for definition in document["definitions"].values()
        for each in definition.get("x-kubernetes-group-version-kind", ())
        if each["group"] == group
    )


SPEC = {
    "v1beta1": ["spec <Object>", "toppings <[]Object>", "name <string> -required-", "quantity <integer>"],
    "v1alpha1": ["spec <Object>", "toppings <[]string>"],
}
STATUS = ["status <Object>", "cost <string>"]


@pytest.mark.parametrize("output", ["plaintext", "plaintext-openapiv2"])
@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_is_explained_to_the_last_field(kubectl: Kubectl, version: str, output: str) -> None:
    explain = ("explain", "pizzas", "--recursive", f"--api-version={GROUP}/{version}", f"--output={output}")
    until(lambda: kubectl.run(*explain).returncode == 0, 60)
    text = kubectl(*explain)
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    spec = [line.removesuffix(" -required-") if output.endswith("v2") else line for line in SPEC[version]]
    assert lines[lines.index("spec <Object>") :] == spec + STATUS
    # The metadata is that of every object, wherever its definition was found.
    config_map = kubectl("explain", "configmap", "--recursive", f"--output={output}").splitlines()
    theirs = metadata(config_map)
    assert theirs
    assert metadata(text.splitlines()) == theirs


def metadata(lines: list[str]) -> list[str]:
    """The fields below metadata."""
    start = next(at for at, line in enumerate(lines) if line.split()[:1] == ["metadata"])
    indent = len(lines[start]) - len(lines[start].lstrip())
    below = []
    for line in lines[start + 1 :]:
        if len(line) - len(line.lstrip()) <= indent:
            break
        below.append(line.strip())
    return below
