"""Attacks on ``extapi webhooks``: bodies without end, callers that hang, reviews that explode. Others are answered meanwhile.

How much time the worst reviews and patches take is in ``tests/unit/worst_cases.py``.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
from collections.abc import Callable, Iterator

import pytest

from extapi.webhooks.bounds import ADMISSION, CONVERSION, REVIEWS
from tests.attack.process import resident
from tests.conformance.webhooking import RunningWebhooks
from tests.unit.webhooks.asking import recorded

CASE = recorded()["lamp-create/validate"]
MIB = 1024 * 1024
ROOM = 160 * MIB
"""Bytes by which the process may grow: what all reviews together may have, and what the interpreter keeps."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWebhooks]:
    made = RunningWebhooks(tmp_path_factory.mktemp("webhooks"))
    made.start("--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics")
    yield made
    made.close()


@pytest.fixture
def grown(running: RunningWebhooks) -> Callable[[], int]:
    """By how many bytes the process has grown."""
    assert running.process is not None
    pid = running.process.pid
    before = resident(pid)
    return lambda: resident(pid) - before


def connected(running: RunningWebhooks) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(running.directory / "serving-ca.pem"))
    plain = socket.create_connection(("127.0.0.1", running.port), timeout=60)
    return context.wrap_socket(plain, server_hostname="localhost")


def head(path: str, *fields: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: a", "Content-Type: application/json", *fields, "", ""]).encode()


def status_of(connection: ssl.SSLSocket) -> int:
    answer = b""
    while b"\r\n" not in answer:
        piece = connection.recv(4096)
        assert piece, "the connection ended without an answer"
        answer += piece
    return int(answer.split(b" ")[1])


def answers_others(running: RunningWebhooks) -> None:
    status, body = running.request("POST", CASE.path, CASE.review)
    assert (status, json.loads(body)["response"]["allowed"]) == (200, True)


@pytest.mark.parametrize("path", ["/validate/v1/lamp", "/admit/v1/lamp", "/convert/v1/lamp"])
def test_a_body_that_says_it_is_a_terabyte(running: RunningWebhooks, path: str) -> None:
    with connected(running) as connection:
        connection.sendall(head(path, f"Content-Length: {1 << 40}"))
        assert status_of(connection) == 413
    answers_others(running)


@pytest.mark.parametrize("path", ["/validate/v1/lamp", "/convert/v1/lamp", "/nowhere"])
def test_a_gigabyte_without_an_end(running: RunningWebhooks, grown: Callable[[], int], path: str) -> None:
    """The listener may read on for a while after its answer, so that the caller sees it; it keeps nothing of that."""
    piece = b"%x\r\n%b\r\n" % (MIB, b" " * MIB)
    with connected(running) as connection, contextlib.suppress(OSError):  # it hangs up
        connection.sendall(head(path, "Transfer-Encoding: chunked"))
        for _ in range(1024):
            connection.sendall(piece)
    answers_others(running)
    assert grown() < ROOM


def test_callers_that_hang(running: RunningWebhooks) -> None:
    """More than reviews that may be answered at a time: they take no places."""
    hanging = [connected(running) for _ in range(REVIEWS + 20)]
    for connection in hanging:
        connection.sendall(head("/validate/v1/lamp", "Content-Length: 1000000") + b"{")
    answers_others(running)
    for connection in hanging:
        connection.close()
    answers_others(running)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/convert/v1/lamp", b"[" * CONVERSION, 400),
        ("/admit/v1/lamp", b'{"a":' * (ADMISSION // 5), 400),
        ("/admit/v1/lamp", b" " * ADMISSION, 400),
        ("/validate/v1/lamp", b"9" * ADMISSION, 400),
        ("/validate/v1/lamp", b"\xff" * ADMISSION, 400),
    ],
)
def test_reviews_of_the_largest_size(running: RunningWebhooks, path: str, body: bytes, status: int) -> None:
    with connected(running) as connection:
        connection.sendall(head(path, f"Content-Length: {len(body)}"))
        connection.sendall(body)
        assert status_of(connection) == status
    answers_others(running)


def test_a_million_objects_fail_with_the_first(running: RunningWebhooks) -> None:
    objects = b",".join([b"{}"] * 1_000_000)
    body = (
        b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u",'
        b'"desiredAPIVersion":"hooked.example.com/v1","objects":[' + objects + b"]}}"
    )
    with connected(running) as connection:
        connection.sendall(head("/convert/v1/lamp", f"Content-Length: {len(body)}") + body)
        assert status_of(connection) == 200
    answers_others(running)


def test_what_callers_make_up_is_not_in_the_metrics(running: RunningWebhooks) -> None:
    """Otherwise a caller could fill the memory with labels: paths, kinds, operations, methods."""
    answers_others(running)
    scraped = running.request("GET", "/metrics")[1].count(b"\n")
    wrong = {"group": "made-up", "version": "made-up", "kind": "made-up"}
    for number in range(30):
        path = f"/validate/v1/made-up-{number}?made-up={number}"
        assert running.request("POST", path, CASE.review)[0] == 404
        assert running.request(f"MADEUP{number}", CASE.path, CASE.review)[0] in (400, 405, 501)
        request = {
            **CASE.review["request"],
            "kind": wrong,
            "operation": f"made-up-{number}",
            "subResource": f"made-up-{number}",
        }
        assert running.request("POST", CASE.path, {**CASE.review, "request": request})[0] == 400
        request = {**request, "operation": "CREATE"}
        assert running.request("POST", CASE.path, {**CASE.review, "request": request})[0] == 200
    status, body = running.request("GET", "/metrics")
    assert (status, b"made-up" in body.lower(), b"MADEUP" in body) == (200, False, False)
    # Codes and verdicts that were not there before: a line each, and some of one histogram.
    assert body.count(b"\n") - scraped < 30
