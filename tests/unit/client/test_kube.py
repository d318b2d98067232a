"""The verbs of the client: what goes on the wire, and what a refusal becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from extapi import errors
from extapi.client.kube import JSON_PATCH, Client, ResourceName
from extapi.client.status import error_from_status, error_from_text
from extapi.client.transport import TransportError
from extapi.errors import ApiError, StatusCause
from tests.unit.client.building import run
from tests.unit.client.kubernetes import Answer, Kubernetes, status

PODS = ResourceName("", "v1", "pods")
PIZZAS = ResourceName("restaurant.io", "v1beta1", "pizzas")
OBJ = {"metadata": {"name": "a"}}
POD = {"apiVersion": "v1", "kind": "Pod", **OBJ}
LIMIT = (("limit", "1"),)
METADATA_KIND = "PartialObjectMetadataList"
STATUS = {"apiVersion": "v1", "kind": "Status", "status": "Success", "message": "please log in"}


def _client(answer: Any = None) -> tuple[Client, Kubernetes]:
    kubernetes = Kubernetes(lambda request: answer or Answer(200, {"items": []} if request.query == LIMIT else OBJ))
    return Client(kubernetes, user_agent="test/1"), kubernetes


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (PODS, (), "/api/v1/pods"),
        (PODS, ("ns", "p", "log"), "/api/v1/namespaces/ns/pods/p/log"),
        (PIZZAS, ("", "m"), "/apis/restaurant.io/v1beta1/pizzas/m"),
        (PIZZAS, ("a/b", "ü %?"), "/apis/restaurant.io/v1beta1/namespaces/a%2Fb/pizzas/%C3%BC%20%25%3F"),
    ],
)
def test_paths(resource: ResourceName, arguments: tuple[str, ...], path: str) -> None:
    assert resource.path(*arguments) == path


@pytest.mark.parametrize("name", [".", ".."])
def test_dots_are_no_names(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be part of a path"):
        PODS.path("ns", name)


def test_every_verb() -> None:
    client, kubernetes = _client()
    query = {"fieldManager": "me"}
    assert run(client.get(PODS, "a", namespace="n", subresource="log", query=query))["metadata"] == OBJ["metadata"]
    run(client.list(PODS, query={"limit": "1"}))
    run(client.create(PIZZAS, OBJ, namespace="n", query=query, timeout=3))
    run(client.create(PIZZAS, OBJ, namespace="n", name="a", subresource="bind"))
    run(client.update(PIZZAS, "a", OBJ, namespace="n", subresource="status", query=query))
    run(client.patch(PIZZAS, "a", {"x": 1}, namespace="n", query=query))
    run(client.patch(PIZZAS, "a", [], content_type=JSON_PATCH, subresource="status"))
    run(client.delete(PIZZAS, "a", namespace="n", options={"gracePeriodSeconds": 0}, query=query))
    run(client.delete(PIZZAS))
    base = "/apis/restaurant.io/v1beta1"
    manager = (("fieldManager", "me"),)
    assert [
        (each.method, each.path, each.query, each.body, each.headers.get("Content-Type"))
        for each in kubernetes.requests
    ] == [
        ("GET", "/api/v1/namespaces/n/pods/a/log", manager, None, None),
        ("GET", "/api/v1/pods", LIMIT, None, None),
        ("POST", f"{base}/namespaces/n/pizzas", manager, b'{"metadata":{"name":"a"}}', "application/json"),
        ("POST", f"{base}/namespaces/n/pizzas/a/bind", (), b'{"metadata":{"name":"a"}}', "application/json"),
        ("PUT", f"{base}/namespaces/n/pizzas/a/status", manager, b'{"metadata":{"name":"a"}}', "application/json"),
        ("PATCH", f"{base}/namespaces/n/pizzas/a", manager, b'{"x":1}', "application/merge-patch+json"),
        ("PATCH", f"{base}/pizzas/a/status", (), b"[]", "application/json-patch+json"),
        ("DELETE", f"{base}/namespaces/n/pizzas/a", manager, b'{"gracePeriodSeconds":0}', "application/json"),
        ("DELETE", f"{base}/pizzas", (), None, None),
    ]
    assert [each.timeout for each in kubernetes.requests[:3]] == [30.0, 30.0, 3]
    assert kubernetes.requests[0].headers["Accept"] == "application/json"
    assert kubernetes.requests[0].headers["User-Agent"] == "test/1"


def test_a_watch() -> None:
    stream = Answer(200, stream=True)
    client, kubernetes = _client(stream)
    watch = run(client.watch(PODS, namespace="n", query={"resourceVersion": "5"}))
    assert dict(kubernetes.requests[0].query) == {"resourceVersion": "5", "watch": "true"}
    stream.send("ADDED", OBJ)
    stream._lines.append(b" ")
    stream.send("BOOKMARK", {})
    stream.end()

    async def events() -> list[Any]:
        return [tuple(event) async for event in watch]

    assert run(events()) == [("ADDED", OBJ), ("BOOKMARK", {})]
    watch.close()
    assert stream.closed


def test_a_watch_that_is_refused_or_breaks() -> None:
    client, _ = _client(status(403, "Forbidden", "no"))
    with pytest.raises(errors.Forbidden, match=r"^no$"):
        run(client.watch(PODS))

    async def events(stream: Answer) -> None:
        async for _ in await _client(stream)[0].watch(PODS):
            pass

    gone = Answer(200, stream=True)
    gone.send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
    with pytest.raises(errors.Expired, match="too old"):
        run(events(gone))
    for line in (b'{"type": 1, "object": {}}', b'{"type": "ADDED"}', b"{", b"[]"):
        broken = Answer(200, stream=True)
        broken._lines.append(line)
        with pytest.raises(TransportError, match="the server"):
            run(events(broken))


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"", b"[" * 100_000])
def test_a_success_that_is_no_object(body: bytes) -> None:
    client, _ = _client(Answer(200, body))
    with pytest.raises(
        TransportError, match=r"^/api/v1/pods/a: the server's answer is not (JSON, but begins|a JSON obj)"
    ):
        run(client.get(PODS, "a"))


LIST = {"apiVersion": "v1", "kind": "PodList", "items": []}


@pytest.mark.parametrize(
    "wrong",
    [
        STATUS,
        POD,
        {"items": []},
        {"login": "please"},
        {**LIST, "items": {}},
        {**LIST, "items": ["a"]},
        {**LIST, "apiVersion": "apps/v1"},
        {key: value for key, value in LIST.items() if key != "items"},
    ],
)
def test_a_success_that_is_no_list(wrong: Any) -> None:
    """It would be an empty list: an informer would take all objects for deleted."""
    with pytest.raises(TransportError, match=r"^/api/v1/pods: the answer is .*, not a list of pods in v1; look at"):
        run(_client(Answer(200, json.dumps(wrong).encode()))[0].list(PODS))


@pytest.mark.parametrize("items", [None, [], [OBJ]])
def test_a_success_that_is_a_list(items: Any) -> None:
    """Go writes null for none; definitions may name their lists as they like; metadata have a version of their own."""
    for members in ({}, {"kind": "Pods"}, {"apiVersion": "meta.k8s.io/v1", "kind": METADATA_KIND}):
        found = {**LIST, **members, "items": items}
        assert run(_client(Answer(200, found))[0].list(PODS)) == found


@pytest.mark.parametrize("wrong", [STATUS, OBJ, {**POD, "apiVersion": "apps/v1"}, {"login": "please"}])
def test_a_success_that_is_no_object_of_the_resource(wrong: Any) -> None:
    client, _ = _client(Answer(200, json.dumps(wrong).encode()))
    for asking in (
        client.get(PODS, "a"),
        client.create(PODS, OBJ),
        client.update(PODS, "a", OBJ),
        client.patch(PODS, "a", {}),
    ):
        with pytest.raises(TransportError, match=r": the answer is .*, not an object of pods in v1; look at"):
            run(asking)
    with pytest.raises(
        TransportError, match=r"^/api/v1/pods: the answer is .*, not (a Pod|an object of pods) in v1; look"
    ):
        run(client.create(PODS, POD))


def test_a_subresource_may_be_of_any_kind() -> None:
    """An Eviction is answered with a Status, a deployment's scale with one of autoscaling/v1."""
    client, _ = _client(Answer(201, STATUS))
    assert run(client.create(PODS, OBJ, name="a", subresource="eviction")) == STATUS
    assert run(client.delete(PODS, "a")) == STATUS


def test_another_kind_than_before_is_believed_when_it_comes_again() -> None:
    """Answers that were mixed up are refused; a definition that was made anew, with another kind, is read."""
    kinds = iter(["PodList", "NodeList", "PodList", "Pods", "Pods"])
    client = Client(Kubernetes(lambda _: Answer(200, {**LIST, "kind": next(kinds)})))
    found: list[str] = []
    for _ in range(5):
        try:
            found.append(run(client.list(PODS))["kind"])
        except TransportError as error:
            found.append(str(error).partition(";")[0])
    was = "/api/v1/pods: the answer is a {} in v1, not a list of pods in v1, which has been a {} so far"
    assert found == [
        "PodList",
        was.format("NodeList", "PodList"),
        was.format("PodList", "NodeList"),
        was.format("Pods", "PodList"),
        "Pods",
    ]


@pytest.mark.parametrize(
    "error",
    [
        errors.BadRequest("x"),
        errors.Unauthorized(),
        errors.NotFound.named("pods", "", "a"),
        errors.NotFound.path(),
        errors.Conflict.on("pods", "", "a", "changed"),
        errors.AlreadyExists.named("pods", "", "a"),
        errors.RequestTooLarge("limit is 3"),
        errors.Invalid.of("Pod", "", "a", [errors.FieldError.required("spec.x", "y")]),
        errors.TooManyRequests("slow down", retry_after=3),
        errors.Expired("old", metadata={"continue": "abc"}),
        errors.ServerTimeout.on("pods", "", "get"),
        errors.Timeout.too_large_resource_version(5, 3),
    ],
)
def test_what_a_server_raised_is_what_the_client_catches(error: ApiError) -> None:
    client, _ = _client(Answer(error.code, error.status()))
    with pytest.raises(ApiError) as caught:
        run(client.get(PODS, "a"))
    assert type(caught.value) is type(error)
    assert caught.value.status() == error.status()
    assert str(caught.value) == error.message


def test_an_unknown_reason_keeps_code_and_text() -> None:
    error = error_from_status({"reason": "Teapot", "message": "short and stout"}, 418)
    assert (error.code, error.reason, error.message) == (418, "Teapot", "short and stout")


def test_a_status_of_wrong_types_is_no_crash() -> None:
    error = error_from_status(
        {
            "reason": 1,
            "message": [],
            "code": "x",
            "details": {"name": 1, "causes": [1, {"reason": "r", "message": 2}], "retryAfterSeconds": "x"},
            "metadata": [],
        },
        503,
        retry_after=7,
    )
    assert (error.code, error.message, error.name, error.retry_after) == (503, "", "", 7)
    assert list(error.causes) == [StatusCause("r")]
    assert error_from_status({"details": {"causes": 1}}, 500).causes == []


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (404, errors.NotFound),
        (503, errors.ServiceUnavailable),
        (429, errors.TooManyRequests),
        (401, errors.Unauthorized),
    ],
)
def test_a_refusal_that_is_no_status(code: int, kind: type[ApiError]) -> None:
    client, _ = _client(Answer(code, b" plain text\n", headers={"retry-after": "5"}))
    with pytest.raises(kind) as caught:
        run(client.get(PODS, "a"))
    assert (caught.value.message, caught.value.retry_after) == ("plain text", 5)


def test_an_empty_refusal_and_one_too_long() -> None:
    client, _ = _client(Answer(502, b"", headers={"retry-after": "soon"}))
    with pytest.raises(ApiError) as caught:
        run(client.get(PODS, "a"))
    assert (caught.value.code, caught.value.message) == (502, "the server answered 502")
    client, _ = _client(Answer(500, json.dumps({"kind": "Other", "x": "y" * 2000}).encode()))
    with pytest.raises(errors.InternalError) as caught:
        run(client.get(PODS, "a"))
    assert len(caught.value.message) == 500
    assert error_from_text("x", 302).code == 302
