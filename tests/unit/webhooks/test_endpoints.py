"""Paths, methods, types and texts of HTTP around reviews."""

from __future__ import annotations

import json

import pytest

from extapi import Api, Group, Kind, Object, Version
from extapi.crd.expressible import served_kinds
from extapi.registry.served import ServedKind
from extapi.webhooks.bounds import ADMISSION
from extapi.webhooks.endpoints import path_names
from tests.unit.webhooks.asking import Asked, lamps, recorded

RECORDED = recorded()
REVIEW = RECORDED["lamp-create/validate"].review


class Lamp(Object):
    """A kind."""


def kinds(*groups: str) -> list[ServedKind]:
    return list(
        served_kinds(
            Api(*(Group(group, Kind("Lamp", storage="v1", versions={"v1": Version(Lamp)})) for group in groups))
        )
    )


@pytest.mark.parametrize(
    "path", ["/validate/v1/lamp", "/validate/v1beta1/lamp", "/validate/v1/lamp.hooked.example.com"]
)
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_each_path_answers_both_versions(path: str, version: str) -> None:
    answer = lamps().send(path, {**REVIEW, "apiVersion": f"admission.k8s.io/{version}"})
    assert (answer.status, answer.json["apiVersion"]) == (200, f"admission.k8s.io/{version}")
    assert answer.headers["content-type"] == "application/json"
    assert answer.response["uid"] == REVIEW["request"]["uid"]


def test_a_singular_that_two_groups_have_needs_its_group() -> None:
    assert list(path_names(kinds("a.example.com"))) == ["lamp.a.example.com", "lamp"]
    two = kinds("a.example.com", "b.example.com")
    names = path_names(two)
    assert dict(names) == {"lamp.a.example.com": two[0], "lamp.b.example.com": two[1]}


@pytest.mark.parametrize(
    "path",
    ["/", "/validate", "/validate/v2/lamp", "/validate/v1/lamps", "/validate/v1/lamp/", "/convert/v1/pizza", "/apis"],
)
def test_other_paths(path: str) -> None:
    answer = lamps().send(path, REVIEW)
    assert (answer.status, answer.text) == (404, "404 page not found\n")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_other_methods(method: str) -> None:
    answer = lamps().send("/validate/v1/lamp", REVIEW, method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "APPLICATION/JSON"])
def test_types(content_type: str) -> None:
    assert lamps().send("/validate/v1/lamp", REVIEW, content_type=content_type).status == 200


@pytest.mark.parametrize(
    "content_type", ["", "text/plain", "application/yaml", "application/vnd.kubernetes.protobuf", "x" * 5000]
)
def test_other_types(content_type: str) -> None:
    answer = lamps().send("/validate/v1/lamp", REVIEW, content_type=content_type)
    assert (answer.status, answer.text) == (400, "the Content-Type of a review is application/json\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("/validate/v1/lamp", b"", "the body is empty; expected a review\n"),
        ("/admit/v1/lamp", b"{", "the body is no JSON: unexpected end of JSON input\n"),
        ("/convert/v1/lamp", json.dumps(REVIEW).encode(), "expected ConversionReview of apiextensions.k8s.io/v1 or"),
        (
            "/admit/v1/lamp",
            b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}',
            "the AdmissionReview has no request\n",
        ),
    ],
)
def test_what_is_no_review_gets_plain_text(path: str, body: bytes, text: str) -> None:
    answer = lamps().send(path, body)
    assert (answer.status, answer.text.startswith(text)) == (400, True), answer.text


def test_what_is_too_large() -> None:
    answer = lamps().send("/validate/v1/lamp", b" " * (ADMISSION + 1))
    assert (answer.status, answer.text) == (413, f"Request entity too large: limit is {ADMISSION}\n")


def test_before_plugins_have_started_only_conversion_is_answered() -> None:
    asked = lamps(start=False)
    for path in ("/validate/v1/lamp", "/admit/v1/lamp"):
        answer = asked.send(path, REVIEW)
        assert (answer.status, answer.text) == (503, "not ready: admission plugins are starting\n")
        assert answer.headers["retry-after"] == "1"
    review = {
        "kind": "ConversionReview",
        "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": "u", "desiredAPIVersion": "hooked.example.com/v1"},
    }
    assert asked.send("/convert/v1/lamp", review).response["result"] == {"status": "Success"}


def test_an_api_without_kinds_has_no_paths() -> None:
    assert Asked(Api()).server.paths == ()
