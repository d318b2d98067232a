"""``/metrics`` and ``/metrics/slis`` in memory: who may read them, and what is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from extapi.api.user import User
from extapi.authorization.authorizer import Attributes, Decision, Verdict
from extapi.server.exposition import Family
from extapi.server.health import NamedCheck
from extapi.testing import InMemoryServer, serve
from tests.kubernetes.scraping import families, values
from tests.unit.verbs.sample import WIDGETS, shop, widget


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    with serve(shop()) as server:
        yield server


class Nobody:
    async def authorize(self, user: User, attributes: Attributes) -> Decision:
        del user, attributes
        return Decision(Verdict.DENY, "")


@pytest.mark.parametrize("path", ["/metrics", "/metrics/slis"])
def test_the_paths_need_a_right(path: str) -> None:
    with serve(shop(), authorizer=Nobody()) as server:
        answer = server.request("GET", path, user=User("bob"))
        assert (answer.status, answer.json()["message"]) == (403, f'forbidden: User "bob" cannot get path "{path}"')


def test_the_paths_are_listed_and_served_during_shutdown(server: InMemoryServer) -> None:
    assert {"/metrics", "/metrics/slis"} <= set(server.request("GET", "/").json()["paths"])
    server.server.shutdown.refusing = True
    assert server.request("GET", "/metrics").status == 200


def test_methods_and_types(server: InMemoryServer) -> None:
    answer = server.request("GET", "/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    asked = {"Accept": "application/openmetrics-text; version=1.0.0,*/*;q=0.1"}
    answer = server.request("GET", "/metrics", headers=asked)
    assert answer.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert answer.body.endswith(b"\n# EOF\n")
    assert server.request("HEAD", "/metrics").status == 200
    assert server.request("POST", "/metrics").status == 405
    assert server.request("GET", "/metrics/other").status == 404


def test_objects_and_events_are_counted(server: InMemoryServer) -> None:
    """An event counts once per watcher, bookmarks and initial events included (``WatchServer`` in kube-apiserver)."""
    of = {"group": "shop.example.com", "resource": "widgets"}
    server.request("POST", WIDGETS, body=widget("a"))
    watches = [
        server.watch(WIDGETS, query)
        for query in (
            {},
            {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"},
            {"labelSelector": "no=one"},
        )
    ]
    server.request("POST", WIDGETS, body=widget("b"))
    server.request("DELETE", f"{WIDGETS}/a")
    server.advance(1)
    found = families(server.request("GET", "/metrics").body.decode())
    sent = sum(len(watch.events) for watch in watches)
    assert [len(watch.events) for watch in watches] == [3, 4, 0]
    assert values(found["apiserver_watch_events_total"], version="v1", **of) == sent
    assert values(found["apiserver_watch_events_total"], version="v1alpha1", **of) == 0
    assert values(found["apiserver_resource_objects"], **of) == 1
    assert values(found["apiserver_storage_objects"], resource="widgets.shop.example.com") == 1
    revision = int(server.request("GET", WIDGETS).json()["metadata"]["resourceVersion"])
    assert values(found["apiserver_watch_cache_resource_version"], **of) == revision % 10**15
    for watch in watches:
        watch.close()


def test_the_process_and_the_build(server: InMemoryServer) -> None:
    found = families(server.request("GET", "/metrics").body.decode())
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    resident = values(found["process_resident_memory_bytes"])
    assert resident == pytest.approx(pages * os.sysconf("SC_PAGE_SIZE"), rel=0.2)
    assert 0 < values(found["process_cpu_seconds_total"]) <= sum(os.times()[:2]) + 1
    assert 3 <= values(found["process_open_fds"]) <= values(found["process_max_fds"])
    assert values(found["kubernetes_build_info"], major="1", minor="36") == 1
    assert values(found["python_info"], implementation="CPython") == 1


def test_slis_are_what_health_checks_came_to() -> None:
    """Of all checks of an endpoint that was asked; a check's own path does not count (``handleRootHealth``)."""
    reasons: list[str | None] = [None]
    with serve(shop(), checks=[NamedCheck("fever", lambda: reasons[0])]) as server:
        server.request("GET", "/livez")
        reasons[0] = "hot"
        server.request("GET", "/livez")
        server.request("GET", "/livez/fever")
        server.request("GET", "/livez", {"exclude": "fever"})
        found = families(server.request("GET", "/metrics/slis").body.decode())
    counts = found["kubernetes_healthchecks_total"]
    assert values(counts, name="fever", type="livez", status="success") == 1
    assert values(counts, name="fever", type="livez", status="error") == 1
    assert values(counts, name="ping", type="livez", status="success") == 3
    last = found["kubernetes_healthcheck"]
    assert (values(last, name="fever", type="livez"), values(last, name="ping", type="livez")) == (0, 1)


def test_two_servers_share_nothing(server: InMemoryServer) -> None:
    server.request("POST", WIDGETS, body=widget("a"))
    server.server.metrics.add(lambda: [Family("extra", "gauge", "More.", (), [((), 1)])])
    with serve(shop()) as other:
        text = other.request("GET", "/metrics").body.decode()
    found = families(text)
    assert "extra" not in found
    assert "apiserver_request_total" not in found
    assert "extra" in families(server.request("GET", "/metrics").body.decode())
