"""Who may read health and metrics: what the cluster is asked, and what is answered without one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.client.kube import Client
from extapi.client.transport import ClientRequest
from extapi.server.loopback import LoopbackTransport
from extapi.webhooks.access import delegated
from tests.unit.client.kubernetes import Answer, Kubernetes
from tests.unit.webhooks.asking import Asked, _answer as exchanged, lamps, result

PATHS = ("/healthz", "/readyz", "/livez")


class Cluster:
    """Knows two tokens: one whose user may read metrics, one whose user may not."""

    def __init__(self) -> None:
        self.kubernetes = Kubernetes(self._react)

    def _react(self, request: ClientRequest) -> Answer:
        body = json.loads(request.body or b"{}")
        if request.path.endswith("tokenreviews"):
            name = {"good": "prometheus", "other": "bob"}.get(body["spec"]["token"])
            status: Any = {"authenticated": True, "user": {"username": name}} if name else {"authenticated": False}
            return Answer(201, {"status": status})
        assert body["spec"]["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}
        return Answer(201, {"status": {"allowed": body["spec"]["user"] == "prometheus"}})


def served(client: Client | None, paths: tuple[str, ...] = PATHS) -> Asked:
    return lamps(access=delegated(client, paths, Clock(), lambda: 0.0))


def read(asked: Asked, path: str, token: str = "") -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = ClientRequest("GET", path, [], headers, None, timeout=30)
    found = result(Deferred.fromCoroutine(exchanged(LoopbackTransport(asked.server.handler, asked.clock, ""), request)))
    return found.status, found.text


@pytest.mark.parametrize(
    ("token", "status", "text"),
    [
        ("good", 200, "# TYPE python_info gauge"),
        ("other", 403, 'forbidden: User \\"bob\\" cannot get path \\"/metrics\\"'),
        ("", 403, 'forbidden: User \\"system:anonymous\\" cannot get path \\"/metrics\\"'),
        ("made-up", 401, "Unauthorized"),
    ],
)
def test_the_cluster_decides_about_metrics(token: str, status: int, text: str) -> None:
    code, body = read(served(Client(Cluster().kubernetes)), "/metrics", token)
    assert (code, text in body) == (status, True), body


def test_health_needs_no_question() -> None:
    cluster = Cluster()
    asked = served(Client(cluster.kubernetes))
    assert read(asked, "/readyz") == (200, "ok")
    assert cluster.kubernetes.requests == []


def test_without_a_cluster_flags_alone_decide() -> None:
    assert read(served(None), "/metrics", "good")[0] == 403
    assert read(served(None), "/livez") == (200, "ok")
    assert read(served(None, ("/metrics",)), "/metrics")[0] == 200
    assert read(served(None, ("/metrics",)), "/livez")[0] == 403


def test_reviews_are_not_judged_by_it() -> None:
    answer = served(None).send("/validate/v1/lamp", b"{}")
    assert answer.status == 400
