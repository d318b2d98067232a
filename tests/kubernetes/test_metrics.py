"""``/metrics`` of both servers beside that of kube-apiserver: the same names, types, labels and buckets; real figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane, ExtensionServer, Kubectl
from tests.kubernetes.pizzas import GROUP, pizza, pizzas_path
from tests.kubernetes.scraping import OWN, describe, described, families, known, matching, section, values
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("menu")


@pytest.fixture
def direct(control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path) -> Caller:
    """The administrator at the extension server itself: kube-apiserver serves its own ``/metrics`` at that path."""
    return someone(control_plane, extension_server, tmp_path, "metrics-admin", "system:masters")


def someone(plane: ControlPlane, server: ExtensionServer, directory: Path, name: str, *groups: str) -> Caller:
    """A user at the extension server."""
    keys = plane.certificates
    return Caller(
        server.port,
        tls_of(
            keys.certificate("serving-ca"), user_certificate(authority(keys, "cluster-ca"), name, *groups), directory
        ),
    )


def scrape(caller: Caller, path: str = "/metrics", *, only: str = "") -> dict[str, Metric]:
    """The families, or one alone: what a kube-apiserver has to say of all takes seconds to parse when it has served for long."""
    answer = caller("GET", path)
    assert answer.status == 200
    assert {key.lower(): value for key, value in answer.headers.items()}["content-type"].startswith(
        "text/plain; version=0.0.4"
    )
    text = answer.body.decode()
    return families(section(text, only) if only else text)


def everything(caller: Caller) -> dict[str, Metric]:
    """Both paths, after requests that give each family something to say."""
    for path in ("/readyz", "/livez"):
        assert caller("GET", path).status == 200
    return {**scrape(caller), **scrape(caller, "/metrics/slis")}


def assert_as_kubernetes(found: Mapping[str, Metric]) -> None:
    """Nothing is there but what kube-apiserver has, alike, and names of our own."""
    expected = {name: described(entry) for name, entry in known().items()}
    theirs = {name: describe(family) for name, family in found.items() if not name.startswith(OWN)}
    assert theirs == {name: expected.get(name) for name in theirs}
    assert expected.keys() - theirs.keys() <= {name for name, entry in known().items() if entry.get("rare")}


def test_the_extension_servers_metrics_are_kube_apiservers(direct: Caller, namespace: str) -> None:
    assert direct("POST", pizzas_path(namespace), pizza("margherita")).status == 201
    with_watch = direct.connect()
    with_watch.request("GET", f"{pizzas_path(namespace)}?watch=true")
    with_watch.getresponse()
    found = everything(direct)
    with_watch.close()
    assert_as_kubernetes(found)
    version = pizzas_path(namespace).split("/")[3]
    of = {"group": GROUP, "version": version, "resource": "pizzas"}
    assert values(found["apiserver_request_total"], verb="POST", scope="resource", code="201", **of) >= 1
    assert values(found["apiserver_longrunning_requests"], verb="WATCH", scope="namespace", **of) >= 1
    assert values(found["apiserver_resource_objects"], group=GROUP, resource="pizzas") >= 1
    assert values(found["apiserver_watch_events_total"], **of) >= 1
    assert values(found["extapi_kinds"], source="api") >= 1


def test_the_control_planes_metrics_are_kube_apiservers(
    control_plane: ControlPlane, kubectl: Kubectl, namespace: str
) -> None:
    kubectl("get", "configmaps", "--namespace", namespace)
    found = {}
    for path in ("/readyz", "/livez", "/metrics", "/metrics/slis"):
        text = kubectl("get", "--raw", path)
        if path.startswith("/metrics"):
            found.update(families(text))
    if control_plane.name == "kube":  # it has many more
        found = {name: family for name, family in found.items() if name in known()}
    assert_as_kubernetes(found)
    of = {"group": "", "version": "v1", "resource": "configmaps", "subresource": ""}
    assert values(found["apiserver_request_total"], verb="LIST", scope="namespace", code="200", **of) >= 1
    # kube-apiserver counts once a minute.
    assert list(matching(found["apiserver_storage_objects"], {"resource": "configmaps"}))


APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
ASKED: list[tuple[str, str, str, str, set[tuple[str, ...]]]] = [
    # method, path below the collection, query, media type, then the new series: verb, dry run, scope, code
    ("POST", "", "", "application/json", {("POST", "", "resource", "201")}),
    ("POST", "", "", "application/json", {("POST", "", "resource", "409")}),
    ("POST", "", "dryRun=All", "application/json", {("POST", "All", "resource", "409")}),
    ("POST", "", "dryRun=All&dryRun=All", "application/json", {("POST", "All", "resource", "409")}),
    ("POST", "", "dryRun=Some", "application/json", {("POST", "invalid", "resource", "422")}),
    ("GET", "/NAME", "", "", {("GET", "", "resource", "200")}),
    ("GET", "/missing", "", "", {("GET", "", "resource", "404")}),
    ("GET", "", "", "", {("LIST", "", "namespace", "200")}),
    ("GET", "", "limit=1", "", {("LIST", "", "namespace", "200")}),
    ("GET", "", "fieldSelector=nonsense%3Dx", "", {("LIST", "", "namespace", "400")}),
    ("GET", "", "watch=1&timeoutSeconds=1", "", {("WATCH", "", "namespace", "200")}),
    ("PUT", "/NAME", "", "application/json", {("PUT", "", "resource", "200")}),
    ("PATCH", "/NAME", "", MERGE, {("PATCH", "", "resource", "200")}),
    ("PATCH", "/NAME", "fieldManager=me&force=true", APPLY, {("APPLY", "", "resource", "200")}),
    ("DELETE", "/NAME", "dryRun=All", "", {("DELETE", "All", "resource", "200")}),
    ("DELETE", "/NAME", "", "", {("DELETE", "", "resource", "200")}),
    ("DELETE", "", "", "", {("DELETE", "", "namespace", "200")}),
    # Nothing counts these: no such verb, no such subresource, no such resource.
    ("PUT", "", "", "application/json", set()),
    ("POST", "/NAME", "", "application/json", set()),
    ("GET", "/NAME/nonsense", "", "", set()),
    ("GET", "s", "", "", set()),
    ("OPTIONS", "", "", "", set()),
]


def series(caller: Caller, resource: str) -> Counter[tuple[str, ...]]:
    """The counts of a resource's requests, and of those in a place of no resource that the requests above might have made."""
    names = ("verb", "dry_run", "scope", "code")
    counts: Counter[tuple[str, ...]] = Counter()
    for sample in scrape(caller, only="apiserver_request_total")["apiserver_request_total"].samples:
        labels = sample.labels
        if labels["resource"].startswith(resource) and labels["version"] and not labels["subresource"]:
            counts[labels["resource"], *(labels[name] for name in names)] += int(sample.value)  # of all versions
    return counts


@pytest.mark.parametrize("way", ["control plane", "extension server"])
def test_what_is_counted_and_as_what(admin: Caller, direct: Caller, namespace: str, way: str) -> None:
    """On the real control plane, its own kinds are the judge of the table by which the extension server is judged."""
    caller, collection = {
        "control plane": (admin, f"/api/v1/namespaces/{namespace}/configmaps"),
        "extension server": (direct, pizzas_path(namespace)),
    }[way]
    resource = collection.rpartition("/")[2]
    obj: dict[str, Any] = pizza("metered") if way == "extension server" else {"apiVersion": "v1", "kind": "ConfigMap"}
    name = "metered"
    obj["metadata"] = {"name": name, "namespace": namespace}

    def counted(before: Counter[tuple[str, ...]], expected: set[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
        after = series(caller, resource)
        missing = {key for key in expected if after[resource, *key] <= before[resource, *key]}
        assert not missing, missing
        return after

    before, wrong = series(caller, resource), []
    for method, path, query, media_type, expected in ASKED:
        target = f"{collection}{path.replace('NAME', name)}" + (f"?{query}" if query else "")
        body = None if not media_type else {"metadata": {"labels": {"a": "b"}}} if media_type == MERGE else obj
        if (method, path) == ("PUT", "/NAME"):
            body = caller("GET", target).json
        status = caller(method, target, body, content_type=media_type).status
        # A request is counted once its response is on its way, and others may be at work: what they do is not among these.
        after = until(partial(counted, before, expected))
        grown = {key[1:] for key, count in after.items() if key[0] == resource and count > before[key]}
        strange = {key for key in after.keys() - before.keys() if key[0] != resource}
        if strange or (not expected and {"404", "405"} & {code for *_, code in grown}):
            wrong.append((method, target, media_type, status, grown, strange))
        before = after
    assert not wrong, wrong


def test_a_scraper_needs_the_right_to_the_path(
    control_plane: ControlPlane, extension_server: ExtensionServer, tmp_path: Path
) -> None:
    scraper = someone(control_plane, extension_server, tmp_path, "scraper")
    refused = scraper("GET", "/metrics")
    assert (refused.status, refused.json["message"]) == (
        403,
        'forbidden: User "scraper" cannot get path "/metrics"',
    )
    rights = "/apis/rbac.authorization.k8s.io/v1"
    role = {
        "metadata": {"name": "scraper"},
        "rules": [{"nonResourceURLs": ["/metrics", "/metrics/slis"], "verbs": ["get"]}],
    }
    binding = {
        "metadata": {"name": "scraper"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "scraper"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "other-scraper"}],
    }
    client = control_plane.client
    client.request("POST", f"{rights}/clusterroles", role)
    client.request("POST", f"{rights}/clusterrolebindings", binding)
    try:
        allowed = someone(control_plane, extension_server, tmp_path, "other-scraper")
        answer = allowed("GET", "/metrics", headers=[("Accept", "application/openmetrics-text; version=1.0.0")])
        assert answer.status == 200
        parse: Any = text_string_to_metric_families  # it has no types
        names = {family.name for family in parse(answer.body.decode())}
        assert {"apiserver_request", "apiserver_request_duration_seconds", "extapi_kinds"} <= names
    finally:
        client.delete(f"{rights}/clusterrolebindings/scraper")
        client.delete(f"{rights}/clusterroles/scraper")
