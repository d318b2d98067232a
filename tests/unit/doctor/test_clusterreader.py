"""Requests as they come back: whole, refused, late, too large, or not at all. The server is one on loopback, without TLS."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from kubernetes.client import Configuration

from extapi.client.operatorclient import Operator
from extapi.doctor import clusterreader
from extapi.doctor.clusterreader import CannotAsk, ClusterReader, connect
from tests.answering import serving, whole

NOW = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)


def at(server: str, seconds: float = 30) -> ClusterReader:
    return ClusterReader(Operator(configured(server)), seconds=seconds, clock=lambda: NOW)


def configured(server: str) -> Configuration:
    configuration = Configuration()
    configuration.host = f"{server}/"
    configuration.api_key["BearerToken"] = "Bearer secret"
    return configuration


def test_an_answer() -> None:
    seen: list[tuple[str, str, str | None]] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        seen.append((handler.command, handler.path, handler.headers["Authorization"]))
        whole(200, b'{"items": [{"a": 1}, 2]}', Date="Wed, 01 Jul 2026 12:00:03 GMT")(handler)

    with serving(answer) as server:
        found = at(server).get("/apis", "get on the path /apis", query={"labelSelector": "a=b,c"})
        at(server).post("/x", "create on x", {"a": 1})
    assert found.found
    assert found.items() == [{"a": 1}]
    assert (found.date, found.here) == (NOW + dt.timedelta(seconds=3), NOW)
    assert seen == [("GET", "/apis?labelSelector=a%3Db%2Cc", "Bearer secret"), ("POST", "/x", "Bearer secret")]


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (403, b'{"kind":"Status","message":"not for you"}', "needs get on it: not for you"),
        (404, b"404 page not found\n", "kube-apiserver does not know what it takes for get on it: 404 page not found"),
        (500, b"\xff" * 5000, "kube-apiserver answered 500 to get on it: " + "\ufffd" * 500),
        (302, b"", "kube-apiserver answered 302 to get on it: "),
        (200, b"<html>log in", "no answer to get on it: the answer is not what was asked for, but says '<html>log in'"),
        (
            200,
            b'{"kind": "Status", "message": "log in"}',
            "no answer to get on it: the answer is not what was asked for, but says 'log in'",
        ),
    ],
)
def test_refusals(status: int, body: bytes, why: str) -> None:
    with serving(whole(status, body, Location="/elsewhere", Date="yesterday")) as server:
        found = at(server).get("/x", "get on it")
    assert (found.found, found.why, found.date) == (False, why, None)
    assert found.obj() == {} or status == 403


def test_an_answer_that_never_ends() -> None:
    """Each piece comes in time, all of them do not."""
    over = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response_only(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not over.wait(0.02):
                handler.wfile.write(b"x")

    with serving(drip) as server:
        found = at(server, seconds=0.3).get("/x", "get on it")
        over.set()
    assert found.why == "no answer to get on it: nothing within 0.3 seconds"
    assert 0.3 <= found.seconds < 30


def test_no_answer_in_time_and_nobody_there() -> None:
    over = threading.Event()

    def nothing(_: BaseHTTPRequestHandler) -> None:
        over.wait()

    with serving(nothing) as server:
        found = at(server, seconds=0.2).get("/x", "get on it")
        over.set()
    assert found.why == "no answer to get on it: nothing within 0.2 seconds"
    gone = at(server).get("/x", "get on it")
    assert gone.status == 0
    assert "refused" in gone.why


def test_the_time_of_the_whole_run() -> None:
    now = [100.0]
    with serving(whole(200, b"{}")) as server:
        asking = ClusterReader(Operator(configured(server)), seconds=30, total=60, timer=lambda: now[0])
        assert asking.get("/x", "get on it").found
        now[0] = 159.0
        assert asking.left() == 1
        now[0] = 161.0
        assert asking.left() == 0
        found = asking.get("/x", "get on it")
    assert (found.found, found.over) == (False, True)
    assert found.why == "get on it: not tried, or not finished: the time for the whole run is over"


def test_the_last_request_gets_what_is_left() -> None:
    over = threading.Event()

    def nothing(_: BaseHTTPRequestHandler) -> None:
        over.wait()

    with serving(nothing) as server:
        found = ClusterReader(Operator(configured(server)), seconds=600, total=0.2).get("/x", "get on it")
        over.set()
    assert found.over


def test_nothing_more_is_asked_after_a_stop() -> None:
    with serving(whole(200, b"{}")) as server:
        asking = at(server)
        asking.stop()
        assert asking.get("/x", "get on it").over


def test_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusterreader, "LIMIT", 100_000)
    with serving(whole(200, b"x" * 1_000_000)) as server:
        found = at(server).get("/x", "get on it")
    assert not found.found
    assert "has more than" in found.why
    assert len(found.data) < 200_000


def test_a_body_that_breaks_off() -> None:
    with serving(whole(200, b"{}", **{"Content-Length": "10", "Connection": "close"})) as server:
        found = at(server).get("/x", "get on it")
    assert found.status == 0


def test_without_a_cluster_there_is_nothing_to_ask(tmp_path: Path) -> None:
    with pytest.raises(CannotAsk, match=r"cannot use the kubeconfig .*missing"):
        connect(tmp_path / "missing", "", seconds=5)
