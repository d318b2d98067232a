"""Conversion webhooks that attack who calls them: answers without end, in every part of a response, and answers that explode.

The memory that one costs is measured; that others are served meanwhile is in ``tests/unit/crd/test_webhooks.py``.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from extapi.client.services import by_dns
from extapi.client.webhookcall import LARGEST
from extapi.conversion.converter import convert_objects
from extapi.crd.webhook import WebhookConverter
from extapi.errors import ApiError
from extapi.fielderrors import MOST_TEXT
from tests.unit.client.conftest import Turning
from tests.webhooks.answers import http
from tests.webhooks.definitions import GROUP, definition, hook
from tests.webhooks.server import Answer, Call, Certified, certified, serving

MIB = 1024 * 1024
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def endless(start: bytes, piece: bytes) -> Answer:
    """Sends pieces until the connection ends, a gigabyte at most."""

    def answer(call: Call) -> None:
        call.send(start)
        pieces = piece * max(1, MIB // len(piece))
        for _ in range(1024):
            call.send(pieces)

    return answer


def reviewing(objects: str, **members: Any) -> Answer:
    """A review with this in place of the objects."""

    def answer(call: Call) -> bytes:
        made = {"uid": call.review["request"]["uid"], "result": {"status": "Success"}, **members}
        review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": made}
        return http(json.dumps(review)[:-2] + f',"convertedObjects":{objects}}}}}')

    return answer


def inside(value: str) -> Answer:
    """A converted object with a field of this value."""
    metadata = '{"name":"a","namespace":"default","uid":"u"}'
    return reviewing(f'[{{"apiVersion":"{GROUP}/v2","kind":"Hook","metadata":{metadata},"spec":{value}}}]')


def many(value: str, size: int = 1000 * 1000) -> str:
    return f"[{','.join([value] * (size // (len(value) + 1)))}]"


ANSWERS: dict[str, tuple[Answer, str]] = {
    "body": (endless(HEAD + b"Content-Length: 1073741824\r\n\r\n", b" " * 1000), "the answer has more than"),
    "body-until-the-end": (endless(HEAD + b"Connection: close\r\n\r\n", b" " * 1000), "the answer has more than"),
    "chunks": (
        endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        "the answer has more than",
    ),
    "fields": (endless(HEAD, b"A: b\r\n"), "too many header fields"),
    "field": (endless(HEAD + b"A: ", b"b"), "the head of the answer is too large"),
    "reason": (endless(b"HTTP/1.1 200 ", b"b"), "the head of the answer is too large"),
    "interim": (endless(b"", b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"), "too many header fields"),
    "interim-without-fields": (
        endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        "the head of the answer is too large",
    ),
    "trailers": (endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n"), "too many header fields"),
    "chunk-extension": (
        endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a"),
        "(Client.Timeout or context cancellation",
    ),
    "depth": (inside("[" * 400_000 + "]" * 400_000), "exceeded max depth"),
    "depth-of-maps": (inside('{"a":' * 150_000 + "1" + "}" * 150_000), "exceeded max depth"),
    "depth-of-the-review": (reviewing("[]", result="[" * 100_000), "cannot unmarshal string"),
    "objects": (reviewing(many("null")), "returned 200000 objects, expected 1"),
    "numbers": (reviewing(many("0")), "returned 500000 objects, expected 1"),
    "number": (inside("9" * 1_000_000), ""),
    "message": (reviewing("[]", result={"message": "x" * 1_000_000}), "x" * 16384 + "..."),
    "uid": (reviewing("[]", uid="x" * 1_000_000), "x" * 1000),
    "labels": (
        reviewing(
            f'[{{"apiVersion":"{GROUP}/v2","kind":"Hook","metadata":{{"name":"a","namespace":"default","uid":"u",'
            f'"labels":{{{",".join(f"{chr(34)}{n:x}!{chr(34)}:{chr(34)}{chr(34)}" for n in range(50_000))}}}}}}}]'
        ),
        "returned invalid metadata: [metadata.labels: Invalid value",
    ),
    "name": (
        reviewing(f'[{{"apiVersion":"{GROUP}/v2","kind":"Hook","metadata":{{"name":"{"x" * 1_000_000}"}}}}]'),
        "must have the same name: a != xxx",
    ),
    "kind": (
        reviewing(f'[{{"apiVersion":"{GROUP}/v2","kind":"{"x" * 1_000_000}"}}]'),
        "invalid kind (expected Hook, received xxx",
    ),
    "aliases": (
        lambda _: http(
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(12))
        ),
        "",
    ),
}
"""How each attacks, and a part of the error that comes of it."""


@pytest.fixture(scope="module")
def certificates() -> Certified:
    return certified()


@pytest.fixture
def turning() -> Iterator[Turning]:
    made = Turning()
    yield made
    made.close()


@pytest.fixture
def measured() -> Iterator[Callable[[], int]]:
    """The most bytes that were in use since the test began."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_attack_ends_with_an_error_in_little_memory(
    name: str,
    turning: Turning,
    certificates: Certified,
    tmp_path_factory: pytest.TempPathFactory,
    measured: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer, why = ANSWERS[name]
    if name == "chunk-extension":
        monkeypatch.setattr("extapi.crd.webhook.SECONDS", 2.0)  # it costs nothing but this time
    with serving({"x": answer}, certificates.context(tmp_path_factory.mktemp("x"))) as webhook:
        made = definition(webhook.url("x"), certificates.ca.pem)
        converter = WebhookConverter("hooks", made["spec"]["conversion"], by_dns, turning.reactor)
        obj = hook("a")
        obj["metadata"] |= {"namespace": "default", "uid": "u"}
        try:
            (error,) = turning.run(convert_objects(converter, [obj], f"{GROUP}/v2"), 60)
        finally:
            converter.close()
            turning.until(lambda: not webhook.open)
    assert isinstance(error, ApiError)
    assert why in error.message
    assert len(error.message) < MOST_TEXT
    assert measured() < 10 * LARGEST
