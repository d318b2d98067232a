"""A definition with a conversion webhook: the same webhook, asked by kube-apiserver and by us, about objects of both.

The name of each object says what the webhook answers. The texts of :mod:`tests.webhooks.texts` are checked on the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.kubernetes.calling import Caller, authority, tls_of, user_certificate
from tests.kubernetes.control_plane import ControlPlane
from tests.unit.client.conftest import Turning
from tests.waiting import until
from tests.webhooks.answers import ANSWERS, REVIEWS, by_name
from tests.webhooks.definitions import GROUP, KIND, definition, hook
from tests.webhooks.served import Served
from tests.webhooks.server import Webhook, certified, serving
from tests.webhooks.texts import DIFFERENT, TEXTS

pytestmark = pytest.mark.needs("crd")

V1 = f"/apis/{GROUP}/v1/namespaces/default/hooks"
V2 = V1.replace("v1", "v2")
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
UID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Both:
    """kube-apiserver and us, with the same definition and the same webhook."""

    webhook: Webhook
    served: Served
    admin: Caller

    def ours(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> tuple[int, Any]:
        return self.served.request(method, path, body, content_type=content_type)

    def theirs(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        answer = self.admin(method, path, body, content_type=content_type)
        return answer.status, answer.json


@pytest.fixture(scope="module")
def both(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    directory = tmp_path_factory.mktemp("webhook")
    certificates = certified()
    keys = control_plane.certificates
    signed = user_certificate(authority(keys, "cluster-ca"), "e2e-admin", "system:masters")
    admin = Caller(control_plane.cluster.port, tls_of(keys.certificate("cluster-ca"), signed, directory))
    turning = Turning()
    with serving({"by-name": by_name}, certificates.context(directory)) as webhook:
        made = definition(webhook.url("by-name"), certificates.ca.pem)
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{made['metadata']['name']}"
        control_plane.client.apply(path, made)
        for version in (V1, V2):
            until(partial(_served, control_plane, version))
        served = Served(turning, made)
        try:
            yield Both(webhook, served, admin)
        finally:
            served.stop()
            turning.close()
            control_plane.client.delete(path)


def _served(control_plane: ControlPlane, path: str) -> bool:
    return control_plane.client.problem(path) is None


@pytest.mark.parametrize("name", [*REVIEWS, *ANSWERS])
def test_each_answer(name: str, both: Both) -> None:
    for ask in (both.theirs, both.ours):
        assert ask("POST", V1, hook(name))[0] == 201
    (status, theirs), (own, ours) = both.theirs("GET", f"{V2}/{name}"), both.ours("GET", f"{V2}/{name}")
    assert own == status
    expected = TEXTS[name]
    if expected is None:
        assert neutral(ours) == neutral(theirs)
        return
    assert text(theirs, name, both) == expected
    assert text(ours, name, both) == DIFFERENT.get(name, expected)
    assert {**theirs, "message": ""} == {**ours, "message": ""}


def test_only_kube_apiserver_asks_again(both: Both) -> None:
    for ask in (both.theirs, both.ours):
        assert ask("POST", V1, hook("busy"))[0] == 201
    assert both.theirs("GET", f"{V2}/busy")[0] == 200
    status, error = both.ours("GET", f"{V2}/busy")
    assert status == 500
    assert text(error, "busy", both) == "WEBHOOK failed: the server is currently unable to handle the request"


def test_lists(both: Both) -> None:
    """kube-apiserver asks for each object by itself; what clients see is the same."""
    path = V2.replace("default", "lists")
    both.theirs("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lists"}})
    for ask in (both.theirs, both.ours):
        for name in ("one", "two", "three"):
            status, made = ask("POST", path.replace("v2", "v1"), hook(name))
            assert status == 201, made
    before = len(both.webhook.calls)
    theirs, ours = both.theirs("GET", path), both.ours("GET", path)
    assert [neutral(item) for item in ours[1]["items"]] == [neutral(item) for item in theirs[1]["items"]]
    asked: dict[bool, list[int]] = {False: [], True: []}
    for call in both.webhook.calls[before:]:
        asked[call.headers["user-agent"] == "extapi"].append(len(call.review["request"]["objects"]))
    assert asked[True] == [3]
    assert set(asked[False]) <= {1}


def text(status: Any, name: str, both: Both) -> str:
    """The message of a Status, without what differs from one request to another."""
    found = status["message"].replace(f"conversion webhook for {GROUP}/v1, Kind={KIND}", "WEBHOOK")
    found = found.replace(f"{both.webhook.url('by-name')}?timeout=30s", "URL").replace("x" * 2048, "X")
    found = re.sub(r"(Object 'Kind' is missing in ')\{.+\}'", r"\1OBJECT'", found, flags=re.DOTALL)
    found = found.replace(GROUP, "GROUP").replace(f"(expected {KIND},", "(expected KIND,")
    return UID.sub("UID", found).replace(f"must have the same name: {name} !=", "must have the same name: a !=")


def neutral(obj: Any) -> Any:
    """An object without what differs from one server to another."""
    kept = {key: value for key, value in obj["metadata"].items() if key not in {"resourceVersion", "uid"}}
    kept["creationTimestamp"] = "now"
    managed = sorted(kept.get("managedFields", ()), key=lambda each: str(each["manager"]))  # by time, which differs
    kept["managedFields"] = [{**each, "time": "now", "manager": "any"} for each in managed]
    return {**obj, "metadata": kept}


STEPS: dict[str, list[tuple[str, str, Any, str]]] = {
    "written-in-v2": [
        ("POST", V2, hook("NAME", "v2", hostPort="h:1", unknown=1), "application/json"),
        ("GET", f"{V1}/NAME", None, ""),
        ("GET", f"{V2}/NAME", None, ""),
    ],
    "merged": [
        ("POST", V1, hook("NAME"), "application/json"),
        ("PATCH", f"{V2}/NAME", {"spec": {"hostPort": "i:2", "color": "red"}}, MERGE),
        ("PATCH", f"{V2}/NAME", {"spec": {"hostPort": "i:2"}}, MERGE),
        ("PATCH", f"{V1}/NAME", {"spec": {"note": None}}, MERGE),
        ("GET", f"{V1}/NAME", None, ""),
        ("GET", f"{V2}/NAME", None, ""),
        ("DELETE", f"{V2}/NAME", None, ""),
    ],
    "applied": [
        ("PATCH", f"{V1}/NAME?fieldManager=one", hook("NAME"), APPLY),
        ("PATCH", f"{V2}/NAME?fieldManager=two", hook("NAME", "v2", note="mine"), APPLY),
        ("PATCH", f"{V2}/NAME?fieldManager=one", hook("NAME", "v2", hostPort="j:3"), APPLY),
        ("GET", f"{V1}/NAME", None, ""),
        ("GET", f"{V2}/NAME", None, ""),
    ],
}


@pytest.mark.parametrize("name", STEPS)
def test_writes(name: str, both: Both) -> None:
    for method, path, body, content_type in STEPS[name]:
        if body is not None and "metadata" in body:
            body = {**body, "metadata": {"name": name}}  # noqa: PLW2901 -- the step's own
        path = path.replace("NAME", name)  # noqa: PLW2901 -- the step's own
        asks: tuple[Callable[..., tuple[int, Any]], ...] = (both.theirs, both.ours)
        (status, theirs), (own, ours) = (ask(method, path, body, content_type) for ask in asks)
        assert own == status, (ours, theirs)
        if "metadata" in theirs and theirs["kind"] == KIND:
            assert neutral(ours) == neutral(theirs)
        else:
            assert ours.get("message") == theirs.get("message")
