"""Figures about requests: what is counted, as what, and that clients make up no label."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from prometheus_client.metrics_core import Metric
from twisted.internet.defer import Deferred

from extapi import Api, Group, Review
from extapi.api.user import MASTERS, User
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from extapi.client.transport import ClientRequest
from extapi.http.request import NoBody, Peer, Request
from extapi.listener.requestinfo import request_info
from extapi.server.requestmetrics import DURATIONS, RequestMetrics
from extapi.testing import InMemoryServer, serve
from tests.kubernetes.scraping import families, matching, values
from tests.unit.verbs.sample import WIDGETS, Plugin, shop, widget

BOB = User("bob")
BOSS = User("boss", groups=(MASTERS,))
OF = {"group": "shop.example.com", "version": "v1", "resource": "widgets"}


def scraped(server: InMemoryServer) -> dict[str, Metric]:
    return families(server.request("GET", "/metrics", user=BOSS).body.decode())


def series(server: InMemoryServer) -> set[tuple[str, frozenset[tuple[str, str]]]]:
    """The name and labels of every sample about requests."""
    return {
        (sample.name, frozenset(sample.labels.items()))
        for name, family in scraped(server).items()
        if name.startswith(("apiserver_request", "apiserver_response"))
        for sample in family.samples
    }


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    with serve(shop()) as server:
        yield server


def test_durations_sizes_and_codes_are_those_of_the_requests(server: InMemoryServer) -> None:
    """As ``MonitorRequest`` has them; sizes are of reads only, and dry runs are not in the SLI."""
    request = _request("GET", f"{WIDGETS}/a")
    request.series = {}
    count = server.server.requests
    for status, size, seconds in ((200, 1000, 0.005), (200, 1001, 0.0051), (404, 0, 61.0), (0, 0, 1.0)):
        count(request, status, size, seconds)
    write = _request("POST", WIDGETS, {"dryRun": ["All"]})
    write.series = {}
    count(write, 201, 5000, 0.1)
    found = scraped(server)
    totals = found["apiserver_request_total"]
    assert {code: values(totals, verb="GET", code=code, **OF) for code in ("200", "404", "0")} == {
        "200": 2,
        "404": 1,
        "0": 1,
    }
    durations = found["apiserver_request_duration_seconds"]
    buckets = {
        sample.labels["le"]: sample.value
        for sample in matching(durations, {"verb": "GET", **OF})
        if "le" in sample.labels
    }
    assert [buckets[bound] for bound in ("0.005", "0.025", "0.8", "1", "60", "+Inf")] == [1, 2, 2, 3, 3, 4]
    assert len(buckets) == len(DURATIONS) + 1
    sli = found["apiserver_request_sli_duration_seconds"]
    buckets = {sample.labels["le"]: sample.value for sample in matching(sli, {"verb": "GET"}) if "le" in sample.labels}
    assert [buckets[bound] for bound in ("0.05", "0.8", "1", "60", "+Inf")] == [2, 2, 3, 3, 4]
    assert not list(matching(sli, {"verb": "POST"}))
    assert list(matching(durations, {"verb": "POST", "dry_run": "All"}))
    sizes = found["apiserver_response_sizes"]
    buckets = {sample.labels["le"]: sample.value for sample in matching(sizes, OF) if "le" in sample.labels}
    assert (buckets["1000"], buckets["10000"], buckets["+Inf"]) == (3, 4, 4)
    assert {sample.labels["verb"] for sample in matching(sizes, OF)} == {"GET"}


def test_health_has_its_path_and_no_component(server: InMemoryServer) -> None:
    """Source: ``apiserver/pkg/server/healthz`` InstallPathHandler. A check's own path is not counted."""
    for path in ("/readyz", "/livez", "/livez", "/livez/ping", "/version", "/apis", "/nothing"):
        server.request("GET", path)
    totals = scraped(server)["apiserver_request_total"]
    place = {"group": "", "version": "", "resource": "", "scope": "", "component": ""}
    assert {
        path: values(totals, verb="GET", code="200", subresource=path, **place) for path in ("/readyz", "/livez")
    } == {
        "/readyz": 1,
        "/livez": 2,
    }
    assert {sample.labels["subresource"] for sample in totals.samples if not sample.labels["resource"]} == {
        "/readyz",
        "/livez",
    }


def test_aggregated_discovery_is_counted(server: InMemoryServer) -> None:
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    assert server.request("GET", "/apis", headers=accept).status == 200
    server.request("GET", "/apis")
    totals = scraped(server)["apiserver_request_total"]
    assert values(totals, verb="GET", subresource="/apis", component="apiserver", code="200") == 1


class NoWrites:
    """Everybody may read."""

    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        del user
        return Decision(Verdict.ALLOW if attributes.verb in {"get", "list", "watch"} else Verdict.DENY, "")


def test_what_is_not_allowed_is_not_counted() -> None:
    with serve(shop(), authorizer=NoWrites()) as server:
        assert server.request("POST", WIDGETS, body=widget("a"), user=BOB).status == 403
        assert server.request("GET", WIDGETS, user=BOB).status == 200
        totals = scraped(server)["apiserver_request_total"]
        assert {sample.labels["verb"] for sample in totals.samples} == {"LIST"}


def test_what_there_is_no_room_for_is_counted_as_dropped_and_terminated() -> None:
    """RecordDroppedRequest and RecordRequestTermination, with labels that no client chooses."""
    plugin, gate = Plugin(), Deferred[None]()

    async def wait(review: Review) -> None:
        del review
        await gate

    plugin.on_validate = wait
    with serve(shop(plugin), reads=1, writes=1) as server:
        hanging = Deferred.fromCoroutine(
            server.server.transport(BOB).send(
                ClientRequest(
                    "POST",
                    WIDGETS,
                    body=b'{"apiVersion":"shop.example.com/v1","kind":"Widget","metadata":{"name":"a"}}',
                )
            )
        )
        busy = values(scraped(server)["apiserver_current_inflight_requests"], request_kind="mutating")
        assert busy == 1
        for path in (WIDGETS, "/apis/made.up/v1/things", "/made/up"):
            assert server.request("POST", path, body=widget("b"), user=BOB).status == 429
        found = scraped(server)
        for name in ("apiserver_request_total", "apiserver_request_terminations_total"):
            assert values(found[name], verb="POST", scope="resource", code="429", **OF) == 1
            assert values(found[name], verb="POST", group="", resource="", subresource="", code="429") == 2
        assert "apiserver_request_duration_seconds" not in found
        gate.callback(None)
        server.advance(1)
        assert hanging.called
        assert values(scraped(server)["apiserver_current_inflight_requests"]) == 0


def test_a_request_whose_time_is_up_is_terminated(server: InMemoryServer) -> None:
    request = _request("GET", WIDGETS)
    request.series = {}
    count = server.server.requests
    count(request, 504, 0, 59.0)  # what an author's code says
    assert "apiserver_request_terminations_total" not in scraped(server)
    count(request, 504, 0, 60.0)
    found = scraped(server)["apiserver_request_terminations_total"]
    assert values(found, verb="LIST", scope="namespace", code="504", **OF) == 1


def test_clients_make_up_no_label(server: InMemoryServer) -> None:
    """10,000 requests of any shape: all series are there after the first thousand, or follow from what is served."""
    random = Random(20)  # noqa: S311 - the same requests in every run
    served = {"shop.example.com", "v1", "v1alpha1", "v1beta1", "widgets", "shelves", "status", "scale", ""}
    for number in range(10_000):
        made_up = f"x{number}"
        group, version, resource, name, subresource = (
            random.choice([made_up, *fixed])
            for fixed in (["shop.example.com"], ["v1", "v1alpha1"], ["widgets", "shelves"], ["a"], ["status", "exec"])
        )
        path = random.choice(
            [
                f"/apis/{group}/{version}/{resource}",
                f"/apis/{group}/{version}/namespaces/{made_up}/{resource}/{name}",
                f"/apis/{group}/{version}/namespaces/default/{resource}/{name}/{subresource}",
                f"/apis/{group}/{version}/{random.choice(['watch', 'proxy'])}/{resource}/{name}",
                f"/api/{version}/{resource}",
                f"/{made_up}",
                f"/healthz/{made_up}",
                "/livez",
            ]
        )
        method = random.choice(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", f"X{number}"])
        query = random.choice([{}, {"dryRun": made_up}, {"fieldManager": made_up}, {"labelSelector": made_up}])
        query = {"timeoutSeconds": "1", **query}
        headers = {"Content-Type": random.choice([f"application/{made_up}", "application/apply-patch+yaml"])}
        server.request(method, path, query, headers, {})
    labels = {
        value
        for _, labels in series(server)
        for name, value in labels
        if name in ("group", "version", "resource", "subresource")
    }
    assert labels <= served | {"/livez"}
    verbs = {dict(labels).get("verb") for _, labels in series(server)}
    assert verbs <= {"GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "APPLY", "DELETE", "CONNECT", "other"}
    kept = [len(endpoint.series) for endpoint in server.server._served.catalogue.endpoints.values()]
    assert 0 < sum(kept) < 500
    dry_runs = {dict(labels).get("dry_run", "") for _, labels in series(server)}
    assert dry_runs <= {"", "All", "invalid"}


def test_the_series_of_a_kind_go_with_it(server: InMemoryServer) -> None:
    server.request("POST", WIDGETS, body=widget("a"))
    server.request("GET", "/livez")
    [group] = [group for group in server.server.groups if group.name == "shop.example.com"]
    others = Api(Group("shop.example.com", *(kind for kind in group.kinds if kind.plural != "widgets")))
    server.run(server.server.replace(others.groups))
    totals = scraped(server)["apiserver_request_total"]
    assert not list(matching(totals, OF))
    assert values(totals, subresource="/livez") == 1
    server.run(server.server.replace([group]))
    server.request("GET", WIDGETS)
    assert values(scraped(server)["apiserver_request_total"], verb="LIST", **OF) == 1


def test_a_request_that_ends_after_its_kind_has_gone_is_not_counted() -> None:
    metrics = RequestMetrics(dict)
    request = _request("GET", WIDGETS)
    request.series = {}
    metrics(request, 200, 0, 0.0)
    assert [list(family.samples) for family in metrics.families([])] == [[]] * 6


def test_open_watches_are_counted_at_the_listener_only(server: InMemoryServer) -> None:
    """In-process watches, such as those of informers, are not among the long-running requests."""
    watch = server.watch(WIDGETS)
    assert "apiserver_longrunning_requests" not in scraped(server)
    watch.close()
    server.advance(1)
    assert values(scraped(server)["apiserver_request_total"], verb="WATCH", code="200", **OF) == 1


def _request(method: str, path: str, query: dict[str, list[str]] | None = None) -> Request:
    return Request(
        method=method,
        target=path,
        info=request_info(method, path, query or {}),
        query=query or {},
        headers={},
        body=NoBody(),
        peer=Peer(),
        audit_id="",
        received=0.0,
        deadline=60.0,
    )
