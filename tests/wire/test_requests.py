"""Requests that are served: bytes in, bytes out, over real TLS on loopback."""

from __future__ import annotations

import json
import re

import pytest

from tests.wire.conftest import Wire

GET = b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n"


def get(target: str) -> bytes:
    return GET % target.encode()


def post(target: str, body: bytes, *headers: bytes) -> bytes:
    lines = [b"POST %b HTTP/1.1" % target.encode(), b"Host: localhost", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def test_connection_is_kept_for_the_next_request(wire: Wire) -> None:
    client = wire.connect()
    for number in range(3):
        answer = client.ask(get(f"/{number}"))
        assert (answer.status, answer.body) == (200, b"echo /%d" % number)
        assert "connection" not in answer.headers
    assert [one[:3] for one in wire.finished] == [("/0", 200, 7), ("/1", 200, 7), ("/2", 200, 7)]


def test_zeros_before_a_content_length_are_many_digits_and_a_small_number(wire: Wire) -> None:
    """RFC 9112, section 6.2: any number of digits. Python reads 4,300 of them."""
    request = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"0" * 5000 + b"3\r\n\r\nabc"
    assert wire.connect().ask(request).body == b"abc"


def test_every_response_has_an_audit_id_a_date_and_cache_control(wire: Wire) -> None:
    answer = wire.connect().ask(get("/x"))
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", answer.one("audit-id"))
    assert answer.one("cache-control") == "no-cache, private"
    assert answer.one("date").endswith(" GMT")
    assert answer.one("content-length") == "7"


def test_audit_id_of_the_request_is_used(wire: Wire) -> None:
    request = b"GET / HTTP/1.1\r\nHost: a\r\nAudit-ID: of the client \xc3\xa9\r\n\r\n"
    assert wire.connect().ask(request).one("audit-id") == "of the client \xe9"
    assert wire.echo.calls[0].audit_id == "of the client \xe9"


@pytest.mark.parametrize("length", [b"0" * 5000 + b"3", b"003", b"3"])
def test_zeros_before_a_length_do_not_matter(wire: Wire, length: bytes) -> None:
    """RFC 9110, 8.6: 1*DIGIT. Python's int() stops at 4300 of them."""
    client = wire.connect()
    answer = client.ask(b"POST /third HTTP/1.1\r\nHost: a\r\nContent-Length: %b\r\n\r\nabc" % length)
    assert (answer.status, answer.body) == (200, b"abc")
    assert client.ask(get("/next")).body == b"echo /next"


def test_pipelined_requests_are_answered_in_order(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/wait") + get("/second") + post("/third", b"3") + get("/fourth"))
    client.settle()
    assert client.got == b""
    assert [call.target for call in wire.echo.calls] == ["/wait"]  # one at a time
    wire.echo.gates[0].callback(None)
    assert [client.take().body for _ in range(4)] == [b"echo /wait", b"echo /second", b"3", b"echo /fourth"]


def test_many_pipelined_requests_at_once(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/wait") + b"".join(get(f"/{number}") for number in range(2000)))
    client.settle()
    wire.echo.gates[0].callback(None)
    client.take()
    assert [client.take().body for _ in range(2000)] == [b"echo /%d" % number for number in range(2000)]


def test_request_in_single_bytes(wire: Wire) -> None:
    client = wire.connect()
    for byte in post("/a?b=c", b"body", b"X-Remote-User: J\xc3\xbcrgen"):
        client.send(bytes([byte]))
        wire.reactor.turn()
    assert client.take().body == b"body"
    call = wire.echo.calls[0]
    assert (call.info.path, call.query, call.header("x-remote-user")) == ("/a", {"b": ["c"]}, "Jürgen")


def test_equal_headers_keep_all_values_in_order(wire: Wire) -> None:
    wire.connect().ask(
        b"GET / HTTP/1.1\r\nHost: a\r\nX-Remote-Group: b \r\nx-remote-group:a\r\nX-REMOTE-GROUP:\t\r\n\r\n"
    )
    assert wire.echo.calls[0].headers["x-remote-group"] == ["b", "a", ""]


@pytest.mark.parametrize("extension", [b"", b";name=value"])
def test_chunked_request_without_its_trailers(wire: Wire, extension: bytes) -> None:
    client = wire.connect()
    chunks = b"3%b\r\nabc\r\n4\r\ndefg\r\n0\r\nX-Remote-User: admin\r\n\r\n" % extension
    assert client.ask(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n" + chunks).body == b"abcdefg"
    assert "x-remote-user" not in wire.echo.calls[0].headers
    assert client.ask(get("/next")).body == b"echo /next"


def test_expect_continue_is_answered_when_the_body_is_wanted(wire: Wire) -> None:
    client = wire.connect()
    client.send(post("/wait", b"x" * 10, b"Expect: 100-continue")[:-10])
    client.settle()
    assert client.got == b""
    wire.echo.gates[0].callback(None)
    assert client.take().first == "HTTP/1.1 100 Continue"
    client.settle()
    assert client.got == b""
    assert client.ask(b"0123456789").body == b"0123456789"
    assert client.ask(get("/next")).body == b"echo /next"


@pytest.mark.parametrize(
    "header", [b"100-continue", b"100-Continue, x", b"x, 100-continue", b"", b"100-continue\r\nExpect: x"]
)
def test_expect_continue_is_not_answered_when_the_body_is_there(wire: Wire, header: bytes) -> None:
    """Nor is an empty expectation one: as Go's net/http reads the header."""
    assert wire.connect().ask(post("/", b"body", b"Expect: " + header)).body == b"body"


def test_expect_continue_with_a_body_nobody_wants_ends_the_connection(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(post("/ignore", b"x" * 10, b"Expect: 100-continue")[:-10])
    assert (answer.status, answer.body, answer.one("connection")) == (200, b"ignored", "close")
    client.until(lambda: client.closed_cleanly and client.ended)


def test_head_has_the_length_and_no_body(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(b"HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n", head_only=True)
    assert answer.one("content-length") == "7"
    for target in (b"/pieces", b"/stream"):
        answer = client.ask(b"HEAD %b HTTP/1.1\r\nHost: a\r\n\r\n" % target, head_only=True)
        assert (answer.status, "transfer-encoding" in answer.headers) == (200, False)
    assert client.ask(get("/next")).body == b"echo /next"
    assert wire.echo.sinks == []


def test_no_content(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(get("/empty"))
    assert (answer.first, "content-length" in answer.headers) == ("HTTP/1.1 204 No Content", False)
    assert client.ask(get("/next")).body == b"echo /next"


def test_http10_is_answered_and_closed(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(b"GET /x HTTP/1.0\r\n\r\n")
    assert (answer.first, answer.body, answer.one("connection")) == ("HTTP/1.0 200 OK", b"echo /x", "close")
    client.until(lambda: client.closed_cleanly and client.ended)


def test_http10_keeps_the_connection_where_asked(wire: Wire) -> None:
    client = wire.connect()
    for _ in range(2):
        answer = client.ask(b"GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert (answer.body, answer.one("connection")) == (b"echo /x", "keep-alive")


def test_http10_gets_streams_unframed(wire: Wire) -> None:
    client = wire.connect()
    client.send(b"GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    client.until(lambda: client.got.endswith(b"\r\n\r\none"))
    wire.echo.gates[0].callback(None)
    answer = client.take()
    assert (answer.body, answer.one("connection"), client.closed_cleanly) == (b"onetwo", "close", True)


@pytest.mark.parametrize(
    "request_bytes",
    [b"GET /close HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"],
)
def test_close_ends_the_connection_whatever_follows(wire: Wire, request_bytes: bytes) -> None:
    client = wire.connect()
    answer = client.ask(request_bytes + get("/never"))
    assert answer.one("connection") == "close"
    client.until(lambda: client.closed_cleanly and client.ended)
    assert client.got == b""
    assert len(wire.echo.calls) == 1


def test_upgrade_is_ignored(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(
        b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"
    )
    assert (answer.status, answer.body, answer.one("connection")) == (200, b"echo /x", "close")
    client.until(lambda: client.ended)
    assert [call.target for call in wire.echo.calls] == ["/x"]


def test_absolute_form(wire: Wire) -> None:
    wire.connect().ask(b"GET https://elsewhere:1/a%20b?c HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (wire.echo.calls[0].info.path, wire.echo.calls[0].query) == ("/a b", {"c": [""]})


def test_handler_that_raises(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(get("/raise"))
    assert answer.status == 500
    assert answer.body == b"This request caused apiserver to panic. Look in the logs for details.\n"
    assert answer.one("content-type") == "text/plain; charset=utf-8"
    assert answer.one("audit-id")
    assert client.ask(get("/next")).body == b"echo /next"


def test_bad_timeout(wire: Wire) -> None:
    client = wire.connect()
    answer = client.ask(get("/x?timeout=soon"))
    assert json.loads(answer.body) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'invalid timeout specified in the request URL - time: invalid duration "soon"',
        "reason": "BadRequest",
        "code": 400,
    }
    assert client.ask(get("/next")).body == b"echo /next"


@pytest.mark.parametrize("path", ["/apis/g/v1/watch", "/apis/g/v1/watch/", "/api/v1/proxy", "/apis/g/v1/proxy?x=1"])
def test_path_without_a_kind(wire: Wire, path: str) -> None:
    """kube-apiserver answers 500 here: a client's mistake is not the server's failure."""
    client = wire.connect()
    answer = client.ask(get(path))
    assert answer.status == 400
    assert json.loads(answer.body)["message"] == "unable to determine kind and namespace from url"
    assert wire.echo.calls == []
    assert client.ask(get("/next")).status == 200


@pytest.mark.parametrize(
    ("timeout", "seconds"), [("", 60), ("?timeout=0s", 60), ("?timeout=2m", 60), ("?timeout=1500ms", 1.5)]
)
def test_deadline_before_anything_was_written(wire: Wire, timeout: str, seconds: float) -> None:
    client = wire.connect()
    client.send(get(f"/wait{timeout}"))
    wire.reactor.until(lambda: bool(wire.echo.gates))
    assert wire.echo.calls[0].deadline == seconds
    wire.reactor.advance(seconds - 0.01)
    client.settle()
    assert client.got == b""
    wire.reactor.advance(0.02)
    answer = client.take()
    assert answer.status == 504
    assert json.loads(answer.body) == {
        "metadata": {},
        "status": "Failure",
        "message": "Timeout: request did not complete within the allotted timeout",
        "reason": "Timeout",
        "details": {},
        "code": 504,
    }
    assert wire.echo.cancelled == [f"/wait{timeout}"]
    assert client.ask(get("/next")).body == b"echo /next"


def test_deadline_does_not_cancel_what_may_have_changed_something(wire: Wire) -> None:
    client = wire.connect()
    client.send(post("/wait", b"x"))
    wire.reactor.until(lambda: bool(wire.echo.gates))
    wire.reactor.advance(60)
    assert client.take().status == 504
    assert (wire.echo.cancelled, wire.listener.working) == ([], 1)
    wire.echo.gates[0].callback(None)
    assert (wire.echo.ended, wire.listener.working) == (["/wait"], 0)
    assert client.ask(get("/next")).body == b"echo /next"
    assert [one[1] for one in wire.finished] == [504, 200]


def test_deadline_while_the_body_is_missing(wire: Wire) -> None:
    client = wire.connect()
    client.send(post("/late?timeout=9s", b"xx")[:-1])
    wire.reactor.until(lambda: bool(wire.echo.calls))
    wire.reactor.advance(9)
    assert client.take().status == 504
    assert wire.echo.ended == ["/late?timeout=9s"]  # its read ended with an error
    client.until(lambda: client.ended)


def test_deadline_after_the_head_aborts(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/stream"))
    client.until(lambda: b"one" in client.got)
    wire.reactor.advance(60)
    assert not client.take().whole
    assert (client.ended, client.closed_cleanly) == (True, False)


def test_watch_has_no_deadline(wire: Wire) -> None:
    client = wire.connect()
    client.send(get("/apis/g/v1/things?watch=1&timeout=1s"))
    client.until(lambda: b"event" in client.got)
    assert wire.echo.calls[0].deadline == float("inf")
    wire.reactor.advance(10_000)
    client.settle()
    assert not client.ended
