"""What webhooks answer: as they should, or wrong in one way each. The names are the paths that choose them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.webhooks.server import Answer, Call

JSON = "application/json"


def http(body: bytes | str, status: str = "200 OK", content_type: str | None = JSON, *headers: str) -> bytes:
    """A whole response."""
    content = body.encode() if isinstance(body, str) else body
    if status.startswith(("204", "304")):  # RFC 9110: they have none
        content = b""
    kind = () if content_type is None else (f"Content-Type: {content_type}",)
    lines = (f"HTTP/1.1 {status}", *kind, f"Content-Length: {len(content)}", *headers, "", "")
    return "\r\n".join(lines).encode() + content


def converted(obj: Any, api_version: str) -> Any:
    """The object in another version: v1 has a host and a port, v2 one text of both, and a color."""
    spec = dict(obj.get("spec") or {})
    if api_version.endswith("/v1") and "hostPort" in spec:
        host, _, port = str(spec.pop("hostPort")).partition(":")
        spec |= {"host": host, "port": port}
        spec.pop("color", None)
    elif not api_version.endswith("/v1") and "host" in spec:
        host, port = spec.pop("host"), spec.pop("port", "")
        spec["hostPort"] = f"{host}:{port}"
    return {**obj, "apiVersion": api_version, "spec": spec}


def review(call: Call) -> Any:
    """The right answer."""
    asked = call.review
    request = asked["request"]
    return {
        "apiVersion": asked["apiVersion"],
        "kind": "ConversionReview",
        "response": {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": [converted(obj, request["desiredAPIVersion"]) for obj in request["objects"]],
        },
    }


def good(call: Call) -> bytes:
    return http(json.dumps(review(call)))


def _changed(change: Callable[[Any], Any]) -> Answer:
    """The right answer, but for one thing. ``change`` changes it in place, or returns another."""

    def answer(call: Call) -> bytes:
        made = review(call)
        other = change(made)
        return http(json.dumps(made if other is None else other))

    return answer


def _response(**fields: Any) -> Answer:
    return _changed(lambda made: made["response"].update(fields))


def _result(**fields: Any) -> Answer:
    return _response(result=fields)


def _objects(change: Callable[[Any], Any]) -> Answer:
    """Each object, but for one thing."""

    def spoilt(made: Any) -> None:
        objects = made["response"]["convertedObjects"]
        changed = [change(each) for each in objects]
        made["response"]["convertedObjects"] = [
            old if new is None else new for old, new in zip(objects, changed, strict=True)
        ]

    return _changed(spoilt)


def _metadata(**fields: Any) -> Answer:
    return _objects(lambda obj: obj["metadata"].update(fields))


def _without(*path: str) -> Answer:
    def drop(made: Any) -> None:
        for each in path[:-1]:
            made = made[each]
        del made[path[-1]]

    return _changed(drop)


def _said(body: bytes | str, status: str = "200 OK", content_type: str | None = JSON, *headers: str) -> Answer:
    return lambda _call: http(body, status, content_type, *headers)


def _as_review(content_type: str | None, *headers: str) -> Answer:
    return lambda call: http(json.dumps(review(call)), "200 OK", content_type, *headers)


def _status(**fields: Any) -> str:
    return json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, **fields})


def _raw(sent: bytes) -> Answer:
    """Some bytes, then the connection ends."""

    def answer(call: Call) -> None:
        call.send(sent)

    return answer


def busy(call: Call) -> bytes:
    """Ask to be asked again in a second, and then answer."""
    if call.number % 2:
        return good(call)
    return http("", "503 Service Unavailable", "text/plain", "Retry-After: 1")


def hang(call: Call) -> None:
    """Never answer."""
    call.ended()


def half(call: Call) -> None:
    """Begin an answer, and never end it."""
    call.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
    call.ended()


REVIEWS: Mapping[str, Answer] = {
    "no-kind": _without("kind"),
    "no-api-version": _without("apiVersion"),
    "no-type": _changed(lambda made: {"response": made["response"]}),
    "other-kind": _changed(lambda made: made.update(kind="AdmissionReview")),
    "other-group": _changed(lambda made: made.update(apiVersion="example.com/v1")),
    "other-version": _changed(lambda made: made.update(apiVersion="apiextensions.k8s.io/v1beta1")),
    "unknown-version": _changed(lambda made: made.update(apiVersion="apiextensions.k8s.io/v7")),
    "bad-version": _changed(lambda made: made.update(apiVersion="a/b/c")),
    "number-version": _changed(lambda made: made.update(apiVersion=1)),
    "crd": _changed(lambda _: {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}),
    "options": _changed(lambda _: {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ListOptions"}),
    "no-response": _without("response"),
    "null-response": _changed(lambda made: made.update(response=None)),
    "text-response": _changed(lambda made: made.update(response="yes")),
    "list-response": _changed(lambda made: made.update(response=[])),
    "echo": lambda call: http(call.body),
    "other-uid": _response(uid="another"),
    "no-uid": _without("response", "uid"),
    "number-uid": _response(uid=7),
    "no-result": _without("response", "result"),
    "empty-result": _result(),
    "text-result": _response(result="Success"),
    "failure": _result(status="Failure", message="no such host"),
    "failure-without-message": _result(status="Failure"),
    "odd-status": _result(status="Maybe"),
    "message-without-status": _result(message="I do not know"),
    "success-with-message": _result(status="Success", message="well done"),
    "number-status": _result(status=1),
    "number-message": _result(status="Failure", message=5),
    "no-objects": _without("response", "convertedObjects"),
    "null-objects": _response(convertedObjects=None),
    "empty-objects": _response(convertedObjects=[]),
    "text-objects": _response(convertedObjects="none"),
    "more-objects": _changed(lambda made: made["response"]["convertedObjects"].append({})),
    "unknown-fields": _changed(lambda made: made.update(extra={"a": 1})),
    "null-object": _response(convertedObjects=[None]),
    "text-object": _response(convertedObjects=["x"]),
    "number-object": _response(convertedObjects=[1]),
    "list-object": _response(convertedObjects=[[]]),
    "empty-object": _response(convertedObjects=[{}]),
    "object-without-kind": _objects(lambda obj: obj.pop("kind") and None),
    "object-with-empty-kind": _objects(lambda obj: obj.update(kind="")),
    "object-with-number-kind": _objects(lambda obj: obj.update(kind=1)),
    "object-without-version": _objects(lambda obj: obj.pop("apiVersion") and None),
    "object-with-number-version": _objects(lambda obj: obj.update(apiVersion=2)),
    "object-of-other-kind": _objects(lambda obj: obj.update(kind="Other")),
    "object-of-other-version": _objects(lambda obj: obj.update(apiVersion="example.com/v9")),
    "object-of-bad-version": _objects(lambda obj: obj.update(apiVersion="a/b/c")),
    "object-unconverted": _objects(lambda obj: obj.update(apiVersion=obj["apiVersion"].rpartition("/")[0] + "/v1")),
    "other-name": _metadata(name="other"),
    "number-name": _metadata(name=1),
    "other-namespace": _metadata(namespace="other"),
    "other-object-uid": _metadata(uid="another"),
    "no-metadata": _objects(lambda obj: obj.pop("metadata") and None),
    "null-metadata": _objects(lambda obj: obj.update(metadata=None)),
    "text-metadata": _objects(lambda obj: obj.update(metadata="x")),
    "labels": _metadata(labels={"color": "red"}),
    "bad-label": _metadata(labels={"color": "not a label!"}),
    "bad-label-key": _metadata(labels={"a b": "c"}),
    "number-label": _metadata(labels={"color": 1}),
    "float-label": _metadata(labels={"color": 1.5}),
    "bool-label": _metadata(labels={"color": True}),
    "null-label": _metadata(labels={"color": None}),
    "list-label": _metadata(labels={"color": []}),
    "map-label": _metadata(labels={"color": {}}),
    "text-labels": _metadata(labels="x"),
    "list-labels": _metadata(labels=[]),
    "null-labels": _metadata(labels=None),
    "number-annotations": _metadata(annotations=3),
    "bad-annotation-key": _metadata(annotations={"a b": "c"}),
    "number-annotation": _metadata(annotations={"a": 1}),
    "other-metadata": _metadata(generation=9, finalizers=["a/b"], resourceVersion="1", creationTimestamp=None),
    "duplicate-keys": lambda call: http(json.dumps(review(call))[:-1] + ',"kind":"ConversionReview"}'),
}
"""ConversionReviews that are well-formed."""

ANSWERS: Mapping[str, Answer] = {
    "no-content": _said("", "204 No Content"),
    "empty": _said(""),
    "empty-text": _said("", "200 OK", "text/plain"),
    "empty-untyped": _said("", "200 OK", None),
    "text": _said("hello", "200 OK", "text/plain"),
    "html": _said("<html>hello</html>", "200 OK", "text/html"),
    "json-text": _said('"hello"'),
    "json-number": _said("12"),
    "json-list": _said("[]"),
    "json-null": _said("null"),
    "json-object": _said("{}"),
    "broken-json": _said('{"apiVersion":'),
    "broken-json-later": _said(
        '{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid" 1}}'
    ),
    "trailing-text": lambda call: http(json.dumps(review(call)) + "x"),
    "deep": _said('{"response":' + "[" * 100_000 + "]" * 100_000 + "}"),
    "status-failure": _said(_status(status="Failure", message="not today", reason="Forbidden", code=403)),
    "status-success": _said(_status(status="Success")),
    "yaml": lambda _: http(
        "kind: ConversionReview\napiVersion: apiextensions.k8s.io/v1\n", "200 OK", "application/yaml"
    ),
    "typed-text": _as_review("text/plain"),
    "typed-html": _as_review("text/html; charset=utf-8"),
    "typed-yaml": _as_review("application/yaml"),
    "typed-protobuf": _as_review("application/vnd.kubernetes.protobuf"),
    "typed-json-utf8": _as_review("application/json; charset=utf-8"),
    "typed-nothing": _as_review(None),
    "typed-badly": _as_review("application/"),
    "typed-badly-too": _as_review("a b c"),
    "typed-without-media": _as_review("; charset=utf-8"),
    "created": lambda call: http(json.dumps(review(call)), "201 Created"),
    "partial": lambda call: http(json.dumps(review(call)), "206 Partial Content"),
    "multi-status": lambda call: http(json.dumps(review(call)), "207 Multi-Status"),
    **{
        f"code-{code}{'-text' if kind.startswith('text') else ''}": _said("<why> it\nfails", f"{code} Whatever", kind)
        for code in (
            300,
            304,
            400,
            401,
            402,
            403,
            404,
            405,
            406,
            409,
            410,
            415,
            418,
            422,
            429,
            500,
            501,
            502,
            503,
            504,
            599,
        )
        for kind in ("text/plain", "application/octet-stream")
    },
    "code-500-json": _said('{"error":"x"}', "500 Internal Server Error"),
    "code-500-untyped": _said("why", "500 Internal Server Error", None),
    "code-500-status": _said(_status(status="Failure", message="not today", code=500), "500 Internal Server Error"),
    "code-403-status": _said(_status(status="Failure", message="not you", code=403), "403 Forbidden"),
    "code-500-success": _said(_status(status="Success"), "500 Internal Server Error"),
    "code-500-message": _said('{"status":"Failure","message":"untyped"}', "500 Internal Server Error"),
    "code-500-review": lambda call: http(json.dumps(review(call)), "500 Internal Server Error"),
    "code-500-empty": _said("", "500 Internal Server Error"),
    "code-500-long": _said("x" * 5000, "500 Internal Server Error", "text/plain"),
    "code-500-bad-type": _said("why", "500 Internal Server Error", "application/"),
    "redirect": _said("", "302 Found", "text/plain", "Location: https://127.0.0.1:9/elsewhere"),
    "redirect-without-location": _said("", "302 Found", "text/plain"),
    "closed": _raw(b""),
    "closed-in-head": _raw(b"HTTP/1.1 200 OK\r\nContent-"),
    "closed-in-body": _raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{}"),
    "closed-in-chunk": _raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"),
    "garbage": _raw(b"hello\r\n\r\n"),
    "other-protocol": _raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "bad-status-code": _raw(b"HTTP/1.1 abc OK\r\n\r\n"),
    "bad-length": _raw(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"),
    "bad-chunk": _raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    "upgrade": _raw(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"),
}
"""Answers that are no ConversionReview, or come in an odd way."""

EVERY: Mapping[str, Answer] = {"good": good, **REVIEWS, **ANSWERS, "busy": busy, "hang": hang, "half": half}


def by_name(call: Call) -> bytes | None:
    """Answers as the object's name says: kube-apiserver asks for each by itself. As it should, if it asks for several."""
    names = [each["metadata"]["name"] for each in call.review["request"]["objects"]]
    return EVERY.get(names[0], good)(call) if len(names) == 1 else good(call)
