"""Logs: one JSON line an event, whoever logs it. In a process of its own, since logging is set up once a process."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO
from typing import Any

import pytest
from twisted.internet.task import Clock

from extapi.admission.chain import AdmissionChain
from extapi.api.user import User
from extapi.codec.options import WriteOptions
from extapi.http.request import Peer, Request
from extapi.listener.requestinfo import request_info
from extapi.registry.base import RequestScope
from extapi.server.logs import AccessLog
from extapi.server.loopback import BodyBytes
from extapi.testing import serve
from extapi.verbs.request import ResourceRequest
from tests.unit.verbs.sample import GROUP, shop

PROGRAM = """
import sys
import structlog
from twisted.logger import Logger
from extapi.server.logs import configure_logs

configure_logs(sys.stdout.buffer)
structlog.get_logger("extapi.server").info("serving", port=1)
log = Logger("things")
log.debug("not worth a line")
log.info("an {adjective} thing", adjective="odd")
log.warn("careful")
log.critical("worse")
try:
    raise ValueError("the reason")
except ValueError:
    log.failure("it failed")
try:
    raise ValueError("another")
except ValueError:
    structlog.get_logger().error("failed too", exc_info=True)
Logger("twisted.internet.base").info("Main loop terminated.")
Logger("twisted.internet.base").warn("out of descriptors")
"""


STANDARD_LIBRARY = """
import logging
import sys
from twisted.logger import Logger
from extapi.server.logs import configure_logs

configure_logs(sys.stdout.buffer)
log = logging.getLogger("mine.oven")
log.info("not wanted, unless the author says so")
log.setLevel(logging.DEBUG)
log.info("%d degrees", 300)
log.log(35, "between")
log.critical("bad %d", "arguments")
try:
    raise ValueError("the reason")
except ValueError:
    log.exception("it failed")
try:
    try:
        raise ValueError("the cause")
    except ValueError as error:
        raise KeyError("what came of it") from error
except KeyError:
    Logger("things").failure("it failed", component="controller Cook")
"""


def test_what_logging_is_told_goes_the_same_way() -> None:
    result = subprocess.run(
        [sys.executable, "-c", STANDARD_LIBRARY], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stderr == ""
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["level"], line["event"], line["source"]) for line in lines[:4]] == [
        ("info", "300 degrees", "mine.oven"),
        ("warning", "between", "mine.oven"),
        ("critical", "'bad %d' (TypeError: %d format: a real number is required, not str)", "mine.oven"),
        ("error", "it failed", "mine.oven"),
    ]
    assert lines[3]["traceback"].endswith("ValueError: the reason\n")
    assert "ValueError: the cause" in lines[4]["traceback"]
    assert lines[4]["traceback"].endswith("KeyError: 'what came of it'\n")
    assert lines[4]["component"] == "controller Cook"


def test_an_author_who_has_chosen_handlers_keeps_them() -> None:
    program = STANDARD_LIBRARY.replace("\nconfigure", "\nlogging.basicConfig(stream=sys.stderr)\nconfigure").split(
        "log.log"
    )[0]
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert (result.stdout, result.stderr) == ("", "INFO:mine.oven:300 degrees\n")


LONG_EVENTS = """
log = Logger("things")
log.info("refused {what}", what="x" * 1_000_000)
try:
    raise ValueError("y" * 1_000_000 + " at the end")
except ValueError:
    log.failure("it failed")
"""


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert result.stderr == ""
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_event_is_a_line_with_level_and_time(lines: list[dict[str, Any]]) -> None:
    assert [(line["level"], line["event"]) for line in lines] == [
        ("info", "serving"),
        ("info", "an odd thing"),
        ("warning", "careful"),
        ("critical", "worse"),
        ("critical", "it failed"),
        ("error", "failed too"),
        ("warning", "out of descriptors"),
    ]
    assert all(line["timestamp"].endswith("Z") for line in lines)
    assert lines[0]["port"] == 1
    assert lines[1]["source"] == "things"


def test_failures_have_their_traceback(lines: list[dict[str, Any]]) -> None:
    assert "ValueError: the reason" in lines[4]["traceback"]
    assert "ValueError: another" in lines[5]["exception"]


def test_what_a_client_chose_is_cut_in_a_request_line() -> None:
    """A target may have a million bytes, and so may an identity or an id in headers: each in full would fill the disk."""
    path = "/" + "x" * 1_000_000
    who = "\u2028\x00\n" + "u" * 500_000
    call = Request(
        method="GET",
        target=path,
        info=request_info("GET", path, {}),
        query={},
        headers={},
        body=BodyBytes(b""),
        peer=Peer(),
        audit_id="i" * 500_000,
        received=0.0,
        deadline=60.0,
        user=User(who),
    )
    call.original_user = User(who)
    call.log["authentication"] = "token review: " + "x" * 500_000
    stream = BytesIO()
    AccessLog(stream, lambda: 0.0)(call, 404, 0, 0.0)
    data = stream.getvalue()
    assert data.count(b"\n") == 1
    assert b"\x00" not in data
    assert len(data) < 12_000
    line = json.loads(data)
    assert line["uri"] == f"/{'x' * 2047}... (1000001 characters)"
    assert line["audit"].endswith("i... (500000 characters)")
    assert line["user"].startswith("\u2028\x00\nuu")
    assert line["impersonator"] == line["user"]


def test_long_events_are_cut() -> None:
    program = PROGRAM.split("log = Logger", maxsplit=1)[0] + LONG_EVENTS
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    refused, failed = [json.loads(line) for line in result.stdout.splitlines()[1:]]
    assert len(refused["event"]) < 17_000
    assert len(failed["traceback"]) < 17_000
    assert failed["traceback"].startswith("Traceback (most recent call last):\n")
    assert failed["traceback"].endswith("yyy at the end\n")


def test_a_request_is_one_line_without_headers_or_body() -> None:
    path = "/apis/g.example/v1/namespaces/a/pizzas/one"
    call = Request(
        method="PUT",
        target=path,
        info=request_info("PUT", path, {}),
        query={},
        headers={"authorization": ["Bearer secret"]},
        body=BodyBytes(b"secret"),
        peer=Peer(),
        audit_id="id-1",
        received=0.0,
        deadline=60.0,
        user=User("alice"),
    )
    call.original_user = User("root")
    call.log["reason"] = "Conflict"
    stream = BytesIO()
    log = AccessLog(stream, lambda: 1_767_323_045.25)
    log(call, 409, 12, 0.0015)
    log(call, 0, 0, 2.0)
    first, second = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert first == {
        "event": "request",
        "level": "info",
        "timestamp": "2026-01-02T03:04:05.250000Z",
        "method": "PUT",
        "uri": path,
        "verb": "update",
        "status": 409,
        "bytes": 12,
        "ms": 1.5,
        "user": "alice",
        "audit": "id-1",
        "impersonator": "root",
        "reason": "Conflict",
    }
    assert (second["status"], second["ms"]) == (0, 2000.0)
    assert b"secret" not in stream.getvalue()


def test_audit_annotations_are_in_the_line_of_their_request() -> None:
    call = Request(
        method="PUT",
        target="/",
        info=request_info("PUT", "/", {}),
        query={},
        headers={},
        body=BodyBytes(b""),
        peer=Peer(),
        audit_id="id-1",
        received=0.0,
        deadline=60.0,
    )
    with serve(shop()) as server:
        resource = server.server._served.catalogue.endpoints[GROUP, "v1", "widgets", ""].resource
    request = ResourceRequest(call, resource, RequestScope("v1"), "", AdmissionChain([]), Clock())
    admission = request.admission("UpdateOptions", WriteOptions())
    stream = BytesIO()
    log = AccessLog(stream, lambda: 0.0)
    log(call, 200, 0, 0.0)
    admission.annotate("lots.example.com/state", "open")
    log(call, 200, 0, 0.0)
    for number in range(200):
        admission.annotate(f"lots.example.com/{number}", "x" * 20_000)
    log(call, 200, 0, 0.0)
    without, noted, many = stream.getvalue().splitlines()
    assert "annotations" not in json.loads(without)
    assert json.loads(noted)["annotations"] == {"lots.example.com/state": "open"}
    assert len(many) < 16_000
    assert json.loads(many)["annotations"]["lots.example.com/0"].endswith("x... (10240 characters)")
