"""Events in two groups: one storage, two forms, two sets of rules. Expected are the answers of kube-apiserver 1.36.3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extapi.controlplane.builtin.protobuf import unwrap
from extapi.controlplane.kinds.messages import EVENTS
from extapi.testing import InMemoryServer, serve
from tests.unit.controlplane.kinds.served import stored_kinds

CORE = "/api/v1/namespaces/default/events"
V1 = "/apis/events.k8s.io/v1/namespaces/default/events"
POD = {"kind": "Pod", "name": "p", "namespace": "default"}
NEW = {
    "metadata": {"name": "e1"},
    "eventTime": "2026-11-22T17:36:08.025066Z",
    "reportingController": "a.b/c",
    "reportingInstance": "i",
    "action": "Do",
    "reason": "R",
    "regarding": POD,
    "note": "hi",
    "type": "Normal",
}
OLD = {
    "metadata": {"name": "e2"},
    "involvedObject": POD,
    "reason": "R",
    "message": "m",
    "count": 3,
    "type": "Normal",
    "source": {"component": "c", "host": "h"},
    "firstTimestamp": "2026-11-22T17:36:08Z",
}


@pytest.fixture
def server() -> Iterator[InMemoryServer]:
    with serve(stored_kinds(), lifecycle=False) as server:
        yield server


def content(obj: dict[str, Any]) -> dict[str, Any]:
    """Without metadata, and without what is empty."""
    return {name: value for name, value in obj.items() if name != "metadata" and value not in ({}, "", None)}


def test_each_group_shows_the_events_of_the_other(server: InMemoryServer) -> None:
    made = [server.request("POST", path, body=obj) for path, obj in ((V1, NEW), (CORE, OLD))]
    assert [answer.status for answer in made] == [201, 201]
    new, old = (answer.json() for answer in made)
    shown = server.request("GET", f"{CORE}/e1").json()
    assert shown["metadata"] == new["metadata"]
    assert content(shown) == {
        "apiVersion": "v1",
        "kind": "Event",
        "action": "Do",
        "eventTime": NEW["eventTime"],
        "involvedObject": POD,
        "message": "hi",
        "reason": "R",
        "reportingComponent": "a.b/c",
        "reportingInstance": "i",
        "type": "Normal",
    }
    shown = server.request("GET", f"{V1}/e2").json()
    assert shown["metadata"] == old["metadata"]
    assert content(shown) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "deprecatedCount": 3,
        "note": "m",
        "reason": "R",
        "deprecatedFirstTimestamp": OLD["firstTimestamp"],
        "deprecatedSource": OLD["source"],
        "regarding": POD,
        "type": "Normal",
    }
    for path in (CORE, V1):
        assert [item["metadata"]["name"] for item in server.request("GET", path).json()["items"]] == ["e1", "e2"]


def test_a_watch_of_one_group_tells_of_writes_to_the_other(server: InMemoryServer) -> None:
    stream = server.watch(V1, {"resourceVersion": "0"})
    server.request("POST", CORE, body=OLD)
    server.request("PATCH", f"{CORE}/e2", headers={"Content-Type": "application/merge-patch+json"}, body={"count": 4})
    server.request("DELETE", f"{V1}/e2")
    server.advance()
    told = [(kind, obj["apiVersion"], obj["deprecatedCount"]) for kind, obj in stream.events]
    assert told == [
        (kind, "events.k8s.io/v1", count) for kind, count in (("ADDED", 3), ("MODIFIED", 4), ("DELETED", 4))
    ]
    assert server.request("GET", f"{CORE}/e2").status == 404


def test_a_write_through_one_group_forgets_the_managers_of_the_other(server: InMemoryServer) -> None:
    """As kube-apiserver does: each API prefix has types of its own (observed on 1.36.3)."""
    server.request("POST", CORE, {"fieldManager": "c"}, body=OLD)
    merge = {"Content-Type": "application/merge-patch+json"}
    changed = {"metadata": {"labels": {"a": "b"}}}
    made = server.request("PATCH", f"{V1}/e2", {"fieldManager": "u"}, headers=merge, body=changed).json()
    (entry,) = made["metadata"]["managedFields"]
    assert (entry["manager"], entry["apiVersion"]) == ("u", "events.k8s.io/v1")
    assert entry["fieldsV1"] == {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
    assert server.request("GET", f"{CORE}/e2").json()["metadata"] == made["metadata"]


@pytest.mark.parametrize(
    ("path", "selector", "names"),
    [
        (V1, "regarding.name=p", ["e1", "e2"]),
        (V1, "reportingController=a.b/c", ["e1"]),
        (CORE, "reportingComponent=a.b/c", ["e1"]),
        (CORE, "source=c", ["e2"]),
        (CORE, "source=a.b/c", ["e1"]),
    ],
)
def test_each_group_selects_by_its_own_fields(
    server: InMemoryServer, path: str, selector: str, names: list[str]
) -> None:
    server.request("POST", V1, body=NEW)
    server.request("POST", CORE, body=OLD)
    found = server.request("GET", path, {"fieldSelector": selector}).json()
    assert [item["metadata"]["name"] for item in found["items"]] == names


def test_fields_of_the_other_group_are_not_supported(server: InMemoryServer) -> None:
    for path, selector in ((V1, "involvedObject.name=p"), (V1, "source=c"), (CORE, "regarding.name=p")):
        answer = server.request("GET", path, {"fieldSelector": selector})
        assert (answer.status, answer.json()["message"]) == (
            400,
            f"field label not supported: {selector.partition('=')[0]}",
        )


def test_both_print_the_same_row(server: InMemoryServer) -> None:
    server.request("POST", V1, body=NEW)
    server.request("POST", CORE, body=OLD)
    table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    ours, theirs = (server.request("GET", path, headers=table).json() for path in (V1, CORE))
    assert [row["cells"] for row in ours["rows"]] == [row["cells"] for row in theirs["rows"]]


def test_an_event_that_is_not_complete_is_refused(server: InMemoryServer) -> None:
    answer = server.request("POST", V1, body={"metadata": {"name": "e3"}})
    assert answer.status == 422
    assert answer.json()["message"] == (
        'Event "e3" is invalid: [eventTime: Required value, type: Invalid value: "": has invalid value: ]'
    )
    # Kubernetes forgets which group it was.
    assert "group" not in answer.json()["details"]
    deprecated = {"deprecatedCount": 1, "deprecatedSource": {"host": "h"}, "series": {"count": 1}}
    text = server.request("POST", V1, body={**NEW, **deprecated, "reportingController": "a b"}).json()["message"]
    for part in (
        "reportingController: Invalid value",
        'series.count: Invalid value: "": should be at least 2',
        "series.lastObservedTime: Required value",
        'count: Invalid value: "": needs to be unset',
        'source: Invalid value: "": needs to be unset',
    ):
        assert part in text


@pytest.mark.parametrize(
    ("namespace", "about", "code"),
    [
        ("default", None, 201),
        ("kube-system", None, 201),
        ("kitchen", None, 422),
        ("kitchen", "kitchen", 201),
    ],
)
def test_an_event_about_what_has_no_namespace_is_in_one_of_the_clusters(
    server: InMemoryServer, namespace: str, about: str | None, code: int
) -> None:
    """``legacyValidateEvent`` of ``kubernetes/pkg/apis/core/validation``, where eventTime is set."""
    event = {**NEW, "regarding": {"kind": "Node", "name": "n", **({"namespace": about} if about else {})}}
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    answer = server.request("POST", path, body=event)
    assert answer.status == code
    if code == 422:
        assert "does not match event.namespace" in answer.json()["message"]


def test_what_has_happened_does_not_change(server: InMemoryServer) -> None:
    server.request("POST", V1, body=NEW)
    answer = server.request(
        "PUT", f"{V1}/e1", body={**NEW, "reason": "R2", "type": "Foo", "reportingController": "d/e"}
    )
    assert answer.json()["message"] == (
        'Event "e1" is invalid: [reason: Invalid value: "R2": field is immutable, '
        'type: Invalid value: "Foo": field is immutable, '
        'reportingController: Invalid value: "d/e": field is immutable]'
    )
    series = {"count": 2, "lastObservedTime": "2026-11-22T17:37:08.000000Z"}
    # A client may cut its time to microseconds.
    answer = server.request(
        "PUT", f"{V1}/e1", body={**NEW, "eventTime": "2026-11-22T17:36:08.0250661Z", "series": series}
    )
    assert (answer.status, answer.json()["series"]) == (200, series)
    assert server.request("GET", f"{CORE}/e1").json()["series"] == series


def test_errors_and_discovery_name_the_group(server: InMemoryServer) -> None:
    assert server.request("GET", f"{V1}/no").json()["message"] == 'events.events.k8s.io "no" not found'
    (resource,) = server.request("GET", "/apis/events.k8s.io/v1").json()["resources"]
    assert (resource["kind"], resource["storageVersionHash"]) == ("Event", "r2yiGXH7wu8=")


def test_protobuf_has_the_form_of_the_group(server: InMemoryServer) -> None:
    server.request("POST", V1, body=NEW)
    answer = server.request("GET", f"{V1}/e1", headers={"Accept": "application/vnd.kubernetes.protobuf"})
    assert answer.headers["content-type"] == "application/vnd.kubernetes.protobuf"
    api_version, kind, raw = unwrap(answer.body)
    assert (api_version, kind) == ("events.k8s.io/v1", "Event")
    found = EVENTS.decode(kind, raw)
    assert content(found) == content({name: value for name, value in NEW.items() if name != "metadata"})
