"""Requests that are refused: the status, the end of the connection, and that nothing reached the handler."""

from __future__ import annotations

import re

import pytest

from extapi.listener.parsing import FIELDS, HEAD
from tests.wire.conftest import Wire

CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

REFUSED = {
    "content-length with transfer-encoding": (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "transfer-encoding with content-length": (400, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"),
    "differing content-lengths": (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
    "equal content-lengths": (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
    "content-length of thousands of digits": (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nabc"),
    "a list of content-lengths": (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc"),
    "signed content-length": (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc"),
    "empty content-length": (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n"),
    "content-length beyond 64 bits": (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n"),
    "folded header": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n"),
    "header folded with a tab": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n"),
    "folded empty header": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX:\r\n b\r\n\r\n"),
    "space before the first header": (400, b"GET / HTTP/1.1\r\n X: b\r\nHost: a\r\n\r\n"),
    "space before the colon": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX-Remote-User : a\r\n\r\n"),
    "tab before the colon": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX\t: a\r\n\r\n"),
    "space in a name": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n"),
    "header without a name": (400, b"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"),
    "header without a colon": (400, b"GET / HTTP/1.1\r\nHost: a\r\nfoo\r\n\r\n"),
    "name that is no token": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX\xc3: b\r\n\r\n"),
    "bare line feeds": (400, b"GET / HTTP/1.1\nHost: a\n\n"),
    "bare line feed after a header": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX: a\nY: b\r\n\r\n"),
    "bare line feed at the end": (400, b"GET / HTTP/1.1\r\nHost: a\r\n\n"),
    "bare carriage return in a value": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n"),
    "NUL in a value": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"),
    "NUL in a name": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX\0: a\r\n\r\n"),
    "NUL in the target": (400, b"GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n"),
    "control byte in a value": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x01b\r\n\r\n"),
    "header value that is not UTF-8": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX-Remote-User: J\xfcrgen\r\n\r\n"),
    "target that is not ASCII": (400, b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n"),
    "target without a slash": (400, b"GET ?a HTTP/1.1\r\nHost: a\r\n\r\n"),
    "target of another scheme": (400, b"GET ftp://a/b HTTP/1.1\r\nHost: a\r\n\r\n"),
    "escape that is none": (400, b"GET /a%2 HTTP/1.1\r\nHost: a\r\n\r\n"),
    "path that is not UTF-8": (400, b"GET /a%ff HTTP/1.1\r\nHost: a\r\n\r\n"),
    "too many parameters": (400, b"GET /?" + b"a&" * 1000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
    "no host": (400, b"GET / HTTP/1.1\r\n\r\n"),
    "two hosts": (400, b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
    "unknown method": (501, b"MAKE / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "method in lower case": (501, b"get / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "connect": (405, b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
    "HTTP/0.9": (505, b"GET /\r\n\r\n"),
    "HTTP/2 by name": (505, b"GET / HTTP/2.0\r\nHost: a\r\n\r\n"),
    "HTTP/2 preface": (400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "unknown version": (400, b"GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
    "space after the version": (400, b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
    "two spaces after the method": (400, b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "two spaces before the version": (400, b"GET /  HTTP/1.1\r\nHost: a\r\n\r\n"),
    "tab after the method": (501, b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    "tab before the version": (400, b"GET /\tHTTP/1.1\r\nHost: a\r\n\r\n"),
    "space before the method": (501, b" GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "no target": (400, b"GET HTTP/1.1\r\nHost: a\r\n\r\n"),
    "space in the target": (400, b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
    "version in lower case": (400, b"GET / http/1.1\r\nHost: a\r\n\r\n"),
    "version with two digits": (400, b"GET / HTTP/1.10\r\nHost: a\r\n\r\n"),
    "version without a minor": (400, b"GET / HTTP/1\r\nHost: a\r\n\r\n"),
    "RTSP": (400, b"ANNOUNCE / RTSP/1.0\r\nHost: a\r\n\r\n"),
    "ICE": (400, b"SOURCE / ICE/1.0\r\nHost: a\r\n\r\n"),
    "transfer coding before chunked": (501, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "chunked not last": (400, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    "chunked twice": (400, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "empty transfer-encoding": (400, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n"),
    "unknown transfer coding": (501, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    "chunked in HTTP/1.0": (400, b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "unknown expectation": (417, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 200-ok\r\n\r\na"),
    "upgrade with a body": (400, b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc"),
    "too many headers": (431, b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * FIELDS + b"\r\n"),
    "head too large": (431, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * HEAD + b"\r\n\r\n"),
    "target too large": (431, b"GET /" + b"y" * HEAD + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
    "empty lines without end": (431, b"\r\n" * HEAD),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_the_handler(wire: Wire, name: str) -> None:
    status, request = REFUSED[name]
    client = wire.connect()
    answer = client.ask(request + b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer.status == status
    assert answer.one("connection") == "close"
    assert answer.one("content-type") == "text/plain; charset=utf-8"
    assert answer.one("cache-control") == "no-cache, private"
    assert re.fullmatch(r"[0-9a-f-]{36}", answer.one("audit-id"))
    assert answer.body.endswith(b"\n")
    client.until(lambda: client.ended)
    assert client.got == b""
    assert wire.echo.calls == []


def test_refusal_comes_after_the_answers_before_it(wire: Wire) -> None:
    client = wire.connect()
    client.send(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nX : y\r\n\r\n")
    client.settle()
    assert client.got == b""
    wire.echo.gates[0].callback(None)
    assert [client.take().status, client.take().status] == [200, 400]
    client.until(lambda: client.closed_cleanly)


@pytest.mark.parametrize("cut", range(1, 20))
def test_spaces_are_counted_however_the_request_is_cut(wire: Wire, cut: int) -> None:
    client = wire.connect()
    client.ask(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    bad = b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n"
    client.send(bad[:cut])
    client.settle()
    assert client.ask(bad[cut:]).status == 400
    assert len(wire.echo.calls) == 1


def test_spaces_are_counted_in_a_pipeline(wire: Wire) -> None:
    good = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
    client = wire.connect()
    client.send(good * 3 + b"\r\n" + good + b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert [client.take().status for _ in range(5)] == [200, 200, 200, 200, 400]


BAD_CHUNKS = {
    "size that is no number": b"0x3\r\nabc\r\n0\r\n\r\n",
    "space after the size": b"3 \r\nabc\r\n0\r\n\r\n",
    "bare line feed after the size": b"3\nabc\r\n0\r\n\r\n",
    "line feed in an extension": b"3;a\nb\r\nabc\r\n0\r\n\r\n",
    "longer than its size": b"3\r\nabcd\r\n0\r\n\r\n",
    "size beyond 64 bits": b"fffffffffffffffff\r\n",
    "extension without end": b"3;" + b"a" * 100_000,
    "trailers without end": b"0\r\nX: " + b"a" * 100_000,
}


@pytest.mark.parametrize("name", BAD_CHUNKS)
def test_bad_chunk_fails_the_read_and_ends_the_connection(wire: Wire, name: str) -> None:
    client = wire.connect()
    client.send(CHUNKED)
    wire.reactor.until(lambda: bool(wire.echo.calls))
    answer = client.ask(BAD_CHUNKS[name] + b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (answer.status, answer.one("connection")) == (400, "close")
    client.until(lambda: client.ended)
    assert len(wire.echo.calls) == 1


def test_head_up_to_the_limit_is_served_with_its_body(wire: Wire) -> None:
    client = wire.connect()
    padding = b"y" * (HEAD - 200)
    request = b"POST / HTTP/1.1\r\nHost: a\r\nX: %b\r\nContent-Length: 20000\r\n\r\n" % padding + b"b" * 20000
    assert client.ask(request).body == b"b" * 20000


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 11\r\n\r\n" + b"x" * 11,
        b"Transfer-Encoding: chunked\r\n\r\nb\r\n" + b"x" * 11 + b"\r\n0\r\n\r\n",
    ],
)
def test_body_over_the_limit(wire: Wire, body: bytes) -> None:
    wire.echo.limit = 10
    client = wire.connect()
    answer = client.ask(b"POST / HTTP/1.1\r\nHost: a\r\n" + body)
    assert (answer.status, answer.body) == (413, b"Request entity too large: limit is 10")


def test_declared_body_over_the_limit_is_refused_unseen(wire: Wire) -> None:
    wire.echo.limit = 3145728
    client = wire.connect()
    answer = client.ask(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3145729\r\n\r\n")
    assert (answer.status, answer.body) == (413, b"Request entity too large: limit is 3145728")
    client.until(lambda: client.ended)


def test_undeclared_body_over_the_limit_is_cut_off(wire: Wire) -> None:
    wire.echo.limit = 100_000
    client = wire.connect()
    client.send(CHUNKED + b"30d40\r\n" + b"x" * 200_000)
    answer = client.take()
    assert (answer.status, answer.one("connection")) == (413, "close")
    client.until(lambda: client.closed_cleanly)
