"""How the cluster is reached, asked and waited for."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.internet.task import Clock

from extapi.client.transport import ClientRequest, TransportError
from extapi.console.failure import told
from extapi.errors import NotFound
from extapi.takeover.cluster import DEFINITIONS, connect, kubeconfig_path
from extapi.takeover.failure import TakeoverFailure
from tests.unit.client.kubernetes import Answer, Kubernetes
from tests.unit.takeover.tables import cluster, now, status, table


def test_definitions_are_read_page_by_page() -> None:
    pages = [{"metadata": {"continue": "t"}, "items": [{"a": 1}]}, {"metadata": {}, "items": [{"b": 2}]}]
    kube = table({DEFINITIONS.path(): pages})
    assert now(cluster(kube).definitions()) == [{"a": 1}, {"b": 2}]
    assert [dict(each.query)["continue"] for each in kube.requests] == ["", "t"]


def test_pages_become_smaller_where_objects_are_large() -> None:
    def react(request: ClientRequest) -> Answer:
        query = dict(request.query)
        if int(query["limit"]) > 62:
            raise TransportError("the answer is larger than 67108864 bytes")
        return Answer(200, {"metadata": {} if "continue" in query else {"continue": "t"}, "items": []})

    kube = Kubernetes(react)

    async def read() -> int:
        return len([page async for page in cluster(kube).pages(DEFINITIONS)])

    assert now(read()) == 2
    assert [dict(each.query)["limit"] for each in kube.requests] == ["500", "250", "125", "62", "62"]

    def refuse(_: ClientRequest) -> Answer:
        raise TransportError("refused")

    kube = Kubernetes(refuse)
    with pytest.raises(TransportError):
        now(read())


def test_an_object_may_be_missing() -> None:
    assert now(cluster({}).get(DEFINITIONS, "a")) is None
    found = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "x": 1}
    assert now(cluster({DEFINITIONS.path(name="a"): found}).get(DEFINITIONS, "a")) == found


def test_something_is_waited_for() -> None:
    clock = Clock()
    where = cluster({}, clock)
    answers: list[Exception | str | None] = [TransportError("refused"), "not yet", None]

    async def missing() -> str | None:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    now(where.until(missing, "it", seconds=5, otherwise="Do that"), clock)
    assert answers == []

    async def never() -> str | None:
        raise TransportError("refused")

    with pytest.raises(TakeoverFailure, match=r"waited 5 s for it: refused. Do that"):
        now(where.until(never, "it", seconds=5, otherwise="Do that"), clock)


def test_the_user_is_asked_for() -> None:
    review = {"status": {"userInfo": {"username": "jane"}}}
    assert now(cluster({"POST /apis/authentication.k8s.io/v1/selfsubjectreviews": review}).user()) == "jane"


def test_the_kubeconfig_is_found_as_kubectl_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kubeconfig_path(Path("x")) == Path("x")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(TakeoverFailure, match="no kubeconfig: there is no"):
        kubeconfig_path(None)
    with monkeypatch.context() as pod:
        pod.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
        assert kubeconfig_path(None) is None
        with pytest.raises(TakeoverFailure, match="unable to load in-cluster configuration"):
            connect(Clock(), None, "")  # what a pod has mounted is missing
    file = tmp_path / ".kube" / "config"
    file.parent.mkdir()
    file.touch()
    assert kubeconfig_path(None) == file
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "other"))
    with pytest.raises(TakeoverFailure, match="other; give --kubeconfig"):
        kubeconfig_path(None)
    monkeypatch.setenv("KUBECONFIG", "a:b")
    with pytest.raises(TakeoverFailure, match="names several files"):
        kubeconfig_path(None)


def test_an_unusable_kubeconfig_is_told(tmp_path: Path) -> None:
    with pytest.raises(TakeoverFailure, match="cannot load the kubeconfig"):
        connect(Clock(), tmp_path / "none", "")


def test_refusals_are_told_with_their_code() -> None:
    assert told(NotFound("gone")) == "404 gone"
    assert told(ValueError("x")) == "x"
    with pytest.raises(NotFound):
        now(cluster({"/x": status(404, "NotFound")}).client.call("GET", "/x"))
