"""One read of a server for all its APIServices, however many there are (behaviour D12-D15)."""

from __future__ import annotations

import json

import pytest

from extapi.controlplane.aggregator.remote import Remote
from tests.unit.controlplane.aggregator.cluster import API_SERVICES, NAME, Backend, Cluster, Seen, answer
from tests.unit.controlplane.aggregator.test_discovery import V2

GROUPS = [f"g{number}.example.com" for number in range(8)]
NAMES = [f"v1.{group}" for group in GROUPS]
DOCUMENTS = ("/apis", "/openapi/v2", "/openapi/v3")


def documents(groups: list[str]) -> dict[str, bytes]:
    """What a server of some groups publishes."""
    versions = [{"version": "v1", "freshness": "Current", "resources": [{"resource": "things", "verbs": ["get"]}]}]
    items = [{"metadata": {"name": group}, "versions": versions} for group in groups]
    keys = [f"apis/{group}/v1" for group in groups]
    return {
        "/apis": json.dumps({"kind": "APIGroupDiscoveryList", "items": items}).encode(),
        "/openapi/v3": json.dumps(
            {"paths": {key: {"serverRelativeURL": f"/openapi/v3/{key}"} for key in keys}}
        ).encode(),
        "/openapi/v2": json.dumps({"paths": {f"/{key}/things": {} for key in keys}}).encode(),
    }


def serve(backend: Backend, groups: list[str], etag: str) -> None:
    """Let a backend publish some groups, with an ETag."""

    def answered(seen: Seen) -> bytes:
        if etag and seen.values("if-none-match") == [etag]:
            return b"HTTP/1.1 304 Not Modified\r\n\r\n"
        tag = [f"ETag: {etag}"] if etag else []
        return answer(documents(groups)[seen.path], "200 OK", f"Content-Type: {V2}", *tag)

    for path in DOCUMENTS:
        backend.answers[path] = answered


def bodies(backend: Backend, path: str) -> int:
    """How often a document was sent."""
    return len([seen for seen in backend.asked(path) if not seen.values("if-none-match")])


def remotes(cluster: Cluster) -> list[Remote]:
    return [cluster.aggregator._remotes[name] for name in NAMES]


def settle(cluster: Cluster) -> None:
    """Wait until all have been read and wait for their next probes."""
    cluster.until(lambda: all(remote.due and remote._waiting for remote in remotes(cluster)))


def merged(cluster: Cluster) -> list[str]:
    """The paths of version two that are the backend's."""
    return [path for path in json.loads(cluster.read("/openapi/v2")[2])["paths"] if path.endswith("/things")]


@pytest.fixture
def many(cluster: Cluster) -> Backend:
    """A server whose groups all have an APIService; its OpenAPI v2 is asked for and does not come yet."""
    backend = cluster.backend()
    serve(backend, GROUPS, '"one"')
    backend.answers["/openapi/v2"] = None
    for name in NAMES:
        cluster.register(backend.number, name=name)
    for name in NAMES:
        cluster.available(name)
    return backend


def test_a_document_is_read_once_for_all_apiservices_of_a_server(cluster: Cluster, many: Backend) -> None:
    cluster.until(lambda: all(remote.fresh and remote.schemas for remote in remotes(cluster)))
    (first,) = many.asked("/openapi/v2")  # one at a time: the others wait
    serve(many, GROUPS, '"one"')
    first.connection.write(answer(documents(GROUPS)["/openapi/v2"], "200 OK", 'ETag: "one"'))
    settle(cluster)
    assert (bodies(many, "/apis"), bodies(many, "/openapi/v2")) == (1, 1)
    assert len(many.asked("/openapi/v2")) == 2
    assert len({remote.swagger for remote in remotes(cluster)}) == 1
    assert merged(cluster) == [f"/apis/{group}/v1/things" for group in GROUPS]


def test_a_refresh_is_one_for_all(cluster: Cluster, many: Backend) -> None:
    serve(many, GROUPS, '"one"')
    many.asked("/openapi/v2")[0].connection.write(answer(documents(GROUPS)["/openapi/v2"], "200 OK", 'ETag: "one"'))
    settle(cluster)
    many.seen.clear()
    for remote in remotes(cluster):
        remote.due = 0.0
    remotes(cluster)[3].poke()
    settle(cluster)
    assert [len(many.asked(path)) for path in DOCUMENTS] == [1, 1, 1]


def test_an_apiservice_that_comes_gets_its_part_of_what_is_known(cluster: Cluster) -> None:
    backend = cluster.backend()
    serve(backend, GROUPS, '"one"')
    for name in NAMES[:2]:
        cluster.register(backend.number, name=name)
        cluster.available(name)
        cluster.until(lambda name=name: cluster.aggregator._remotes[name].due)  # type: ignore[misc]  # mypy infers no type for a default
    assert bodies(backend, "/openapi/v2") == 1
    assert merged(cluster) == [f"/apis/{group}/v1/things" for group in GROUPS[:2]]
    cluster.run(cluster.client.delete(API_SERVICES, NAMES[0]))
    cluster.until(lambda: NAMES[0] not in cluster.aggregator._remotes)
    assert merged(cluster) == [f"/apis/{GROUPS[1]}/v1/things"]


def test_what_has_changed_is_read_once_and_counts_for_all(cluster: Cluster, many: Backend) -> None:
    serve(many, GROUPS[:5], '"two"')
    many.asked("/openapi/v2")[0].connection.write(answer(documents(GROUPS)["/openapi/v2"], "200 OK", 'ETag: "one"'))
    cluster.until(lambda: len(merged(cluster)) == 5)
    settle(cluster)
    assert bodies(many, "/openapi/v2") == 1
    assert len([seen for seen in many.asked("/openapi/v2") if seen.values("if-none-match") == ['"one"']]) == 1


def test_a_reset_during_a_read_leads_to_another_without_etags(cluster: Cluster, many: Backend) -> None:
    """What arrives then may still be of the server before."""
    serve(many, GROUPS, '"one"')
    many.asked("/openapi/v2")[0].connection.write(answer(documents(GROUPS)["/openapi/v2"], "200 OK", 'ETag: "one"'))
    settle(cluster)
    many.answers["/openapi/v2"] = None
    many.seen.clear()
    remote = remotes(cluster)[0]
    remote.due = 0.0
    remote.poke()
    cluster.until(lambda: many.asked("/openapi/v2"))
    (late,) = many.asked("/openapi/v2")
    serve(many, GROUPS, '"one"')
    remotes(cluster)[1].reset()
    cluster.until(lambda: len(many.asked("/apis")) == 2)
    late.connection.write(b"HTTP/1.1 304 Not Modified\r\n\r\n")
    cluster.until(lambda: remotes(cluster)[1].due)
    assert [seen.values("if-none-match") for seen in many.asked("/openapi/v2")[:2]] == [['"one"'], []]
    assert many.asked("/apis")[1].values("if-none-match") == []


def test_servers_are_read_beside_each_other(cluster: Cluster, many: Backend) -> None:
    other = cluster.backend()
    serve(other, ["shop.example.com"], '"one"')
    cluster.register(other.number, name=NAME)
    cluster.available(NAME)
    cluster.until(lambda: cluster.aggregator._remotes[NAME].due)
    assert len(many.asked("/openapi/v2")) == 1


def test_an_apiservice_whose_read_never_ends_can_go(cluster: Cluster, many: Backend) -> None:
    """The one that others wait with is not ended with it, and neither are probes when a server is given up."""
    cluster.until(lambda: many.asked("/openapi/v2"))
    cluster.run(cluster.client.delete(API_SERVICES, NAMES[0]))
    serve(many, GROUPS, '"one"')
    many.asked("/openapi/v2")[0].connection.write(answer(documents(GROUPS)["/openapi/v2"], "200 OK", 'ETag: "one"'))
    cluster.until(lambda: all(cluster.aggregator._remotes[name].due for name in NAMES[1:]))
    assert len(merged(cluster)) == 7


def test_probes_go_on_when_a_server_is_given_up_during_a_read(cluster: Cluster, many: Backend) -> None:
    other = cluster.backend()
    serve(other, GROUPS, '"one"')
    cluster.until(lambda: many.asked("/openapi/v2"))
    service = {"spec": {"service": {"port": other.number}}}
    for name in NAMES:
        cluster.run(cluster.client.patch(API_SERVICES, name, service))
    settle(cluster)
    assert bodies(other, "/openapi/v2") == 1
