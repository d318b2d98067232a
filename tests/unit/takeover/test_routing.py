"""APIServices lead to the server, and back to kube-apiserver."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.task import Clock

from extapi.takeover.failure import TakeoverFailure
from extapi.takeover.routing import OWN, Route, api_service, of_flags, read_file
from tests.unit.client.kubernetes import Answer
from tests.unit.takeover.tables import cluster, now, status, table

V1 = Route("moving.example.com", "v1")
V2 = Route("moving.example.com", "v2")
AT = "/apis/apiregistration.k8s.io/v1/apiservices"
OURS = f"{AT}/v1.moving.example.com"
LOCAL: dict[str, Any] = {
    "apiVersion": "apiregistration.k8s.io/v1",
    "kind": "APIService",
    "metadata": {"name": "v1.moving.example.com", "resourceVersion": "5", "uid": "u", "labels": {OWN: "true"}},
    "spec": {"group": "moving.example.com", "version": "v1", "groupPriorityMinimum": 900, "versionPriority": 77},
}
SERVICE = {"namespace": "ns", "name": "server", "port": 443}
WANTED: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"service": {"namespace": "ns", "name": "server"}},
}
MOVED = {**LOCAL, "spec": {**LOCAL["spec"], "service": SERVICE}}


def test_the_present_one_is_replaced_and_no_longer_kube_apiservers_own() -> None:
    made = api_service(
        V1, {**WANTED, "metadata": {"labels": {"a": "b", OWN: "true"}, "annotations": {"c": "d"}}}, LOCAL
    )
    assert made["metadata"] == {
        "name": "v1.moving.example.com",
        "labels": {"a": "b", "app.kubernetes.io/managed-by": "extapi-takeover"},
        "annotations": {"c": "d"},
        "resourceVersion": "5",
    }
    assert made["spec"] == {**LOCAL["spec"], "service": WANTED["spec"]["service"]}


def test_priorities_that_are_given_count() -> None:
    made = api_service(V1, {"spec": {**WANTED["spec"], "versionPriority": 3}}, LOCAL)
    assert (made["spec"]["groupPriorityMinimum"], made["spec"]["versionPriority"]) == (900, 3)
    assert api_service(V1, WANTED, None)["spec"]["groupPriorityMinimum"] == 1000


def test_it_is_updated() -> None:
    kube = table({OURS: LOCAL, f"PUT {OURS}": [status(409, "Conflict"), MOVED]})
    now(V1.move(cluster(kube), WANTED))
    sent = [each for each in kube.requests if each.method == "PUT"]
    assert len(sent) == 2
    assert json.loads(sent[-1].body or b"")["spec"]["service"] == WANTED["spec"]["service"]


def test_it_is_created_where_there_is_none() -> None:
    kube = table({f"POST {AT}": MOVED})
    now(V1.move(cluster(kube), WANTED))
    assert [each.method for each in kube.requests] == ["GET", "POST"]


def test_what_is_done_is_not_done_again() -> None:
    kube = table({OURS: MOVED})
    now(V1.move(cluster(kube), WANTED))
    assert [each.method for each in kube.requests] == ["GET"]
    assert now(V1.is_moved(cluster(kube)))
    assert not now(V2.is_moved(cluster(kube)))


def test_a_refusal_is_told() -> None:
    kube = table({OURS: LOCAL, f"PUT {OURS}": status(403, "Forbidden", "no")})
    with pytest.raises(TakeoverFailure, match=r"the APIService v1.moving.example.com cannot be written: 403 no"):
        now(V1.move(cluster(kube), WANTED))


def test_the_way_back_ends_when_kube_apiserver_has_its_own_again() -> None:
    clock = Clock()
    kube = table({OURS: [MOVED, status(404, "NotFound"), LOCAL], f"DELETE {OURS}": Answer(200, {})})
    now(V1.move_back(cluster(kube, clock)), clock)
    assert [each.method for each in kube.requests] == ["GET", "DELETE", "GET", "GET"]


def test_a_way_back_without_end_is_told() -> None:
    clock = Clock()
    kube = table({OURS: MOVED, f"DELETE {OURS}": Answer(200, {})})
    with pytest.raises(TakeoverFailure, match=r"waited 60 s for kube-apiserver's own APIService v1.moving.example.com"):
        now(V1.move_back(cluster(kube, clock)), clock)


def write(path: Path, *documents: dict[str, Any]) -> Path:
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return path


def test_a_file_has_one_per_version(tmp_path: Path) -> None:
    service = {"kind": "Service", "metadata": {"name": "s"}}
    other = {**MOVED, "spec": {**MOVED["spec"], "version": "v3"}}
    path = write(tmp_path / "all.yaml", service, MOVED, other)
    assert read_file(path, [V1]) == {V1: MOVED}
    with pytest.raises(TakeoverFailure, match=r"has no APIService v2.moving.example.com; these versions move, too"):
        read_file(path, [V1, V2])


@pytest.mark.parametrize(
    ("text", "message"), [("a: [", "while parsing"), ("kind: APIService\nspec: {}\n", "leads to no extension server")]
)
def test_a_wrong_file_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(TakeoverFailure, match=message):
        read_file(path, [V1])
    with pytest.raises(TakeoverFailure, match="No such file"):
        read_file(tmp_path / "none.yaml", [V1])


def test_flags_make_them(tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    ca.write_bytes(b"PEM")
    spec = {
        "service": {"namespace": "ns", "name": "server", "port": 8443},
        "caBundle": base64.b64encode(b"PEM").decode(),
    }
    assert of_flags("ns/server:8443", ca, [V1, V2]) == {
        V1: {"metadata": {}, "spec": spec},
        V2: {"metadata": {}, "spec": spec},
    }
    assert of_flags("ns/server", None, [V1])[V1]["spec"] == {"service": SERVICE}
    with pytest.raises(TakeoverFailure, match="--ca"):
        of_flags("ns/server", tmp_path / "none", [V1])


@pytest.mark.parametrize("text", ["server", "/server", "ns/", "ns/server:x", "ns/server:0", "ns/server:65536"])
def test_a_wrong_service_is_told(text: str) -> None:
    with pytest.raises(TakeoverFailure, match="not of the form NAMESPACE/NAME"):
        of_flags(text, None, [V1])
