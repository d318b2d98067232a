"""Requests that are passed on: what a backend sees of them, and what a client sees of its answers (behaviour D6-D10)."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.error import ConnectionDone

from extapi.api.user import User
from extapi.controlplane.aggregator.proxy import Splice
from extapi.listener.requestinfo import request_info
from extapi.server.loopback import LoopbackSink
from tests.unit.controlplane.aggregator.cluster import (
    GROUP_VERSION,
    NAME,
    SERVICES,
    Backend,
    BackendConnection,
    Cluster,
    RawClient,
    Seen,
    answer,
)

WIDGETS = GROUP_VERSION + "/namespaces/a/widgets"


def test_method_path_and_body_arrive_and_the_query_is_sorted(cluster: Cluster, backend: Backend) -> None:
    client = cluster.ask(
        f"POST {WIDGETS}?b=2&a=1&b=%C3%A9+x HTTP/1.1\r\nHost: front\r\nContent-Length: 3\r\n\r\nabc".encode()
    )
    (seen,) = backend.asked(WIDGETS)
    assert seen.line == f"POST {WIDGETS}?a=1&b=2&b=%C3%A9+x HTTP/1.1"
    assert seen.body == b"abc"
    assert seen.values("host") == [f"localhost:{backend.number}"]
    assert seen.connection.client() == "front-proxy-client"
    assert client.head.startswith("HTTP/1.1 200 OK")
    assert client.body == b"{}"


def test_the_identity_is_ours_and_nothing_of_what_the_client_claims(cluster: Cluster, backend: Backend) -> None:
    cluster.get(
        WIDGETS,
        "X-Remote-User: root",
        "x-remote-group: system:masters",
        "X-Remote-Uid: 0",
        "X-Remote-Extra-Scopes: all",
        "X_Remote_User: root",
        "X-Remote_Group: system:masters",
        "X-Remote-Other: x",
        "Authorization: Bearer stolen",
        "Impersonate-Something: root",
        "Impersonate_User: root",
        "X-Custom: kept",
    )
    (seen,) = backend.asked(WIDGETS)
    identity = [(name, value) for name, value in seen.headers if "remote" in name.lower()]
    assert identity == [
        ("X-Remote-User", "jané"),
        ("X-Remote-Uid", "u-1"),
        ("X-Remote-Group", "devs"),
        ("X-Remote-Group", "system:authenticated"),
        ("X-Remote-Extra-Scopes%2Fa%25b", "x"),
        ("X-Remote-Extra-Scopes%2Fa%25b", "y"),
    ]
    assert not seen.values("authorization")
    assert not [name for name, _ in seen.headers if "impersonate" in name.lower()]
    assert seen.values("x-custom") == ["kept"]


def test_a_client_cannot_have_the_identity_taken_off_by_naming_it_in_connection(
    cluster: Cluster, backend: Backend
) -> None:
    cluster.get(WIDGETS, "Connection: keep-alive, X-Remote-User, X-Remote-Group, X-Custom, Audit-Id", "X-Custom: mine")
    (seen,) = backend.asked(WIDGETS)
    assert seen.values("x-remote-user") == ["jané"]
    assert seen.values("x-remote-group") == ["devs", "system:authenticated"]
    assert len(seen.values("audit-id")) == 1
    assert not seen.values("x-custom")
    assert not seen.values("connection")


def test_hop_by_hop_headers_stay_behind(cluster: Cluster, backend: Backend) -> None:
    cluster.get(
        WIDGETS,
        "Keep-Alive: timeout=5",
        "Proxy-Connection: x",
        "Proxy-Authorization: x",
        "Te: trailers",
        "Trailer: x",
    )
    (seen,) = backend.asked(WIDGETS)
    for name in ("keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "transfer-encoding"):
        assert not seen.values(name), name


def test_forwarded_headers_and_the_audit_id(cluster: Cluster, backend: Backend) -> None:
    client = cluster.get(
        WIDGETS + "/",
        "X-Forwarded-For: 10.0.0.1",
        "X-Forwarded-Host: evil",
        "X-Forwarded-Proto: http",
        "X-Forwarded-Uri: /evil",
        "Audit-ID: chosen",
        "Accept-Encoding: br",
    )
    (seen,) = backend.asked(WIDGETS + "/")
    assert seen.values("x-forwarded-for") == ["10.0.0.1, 127.0.0.1"]
    assert seen.values("x-forwarded-host") == [f"localhost:{backend.number}"]
    assert seen.values("x-forwarded-proto") == ["https"]
    assert seen.values("x-forwarded-uri") == [WIDGETS + "/"]
    assert seen.values("audit-id") == ["chosen"]
    assert seen.values("accept-encoding") == ["br"]
    assert "Audit-Id: chosen" in client.head


def test_odd_paths_are_forwarded_as_they_are(cluster: Cluster, backend: Backend) -> None:
    cluster.get(GROUP_VERSION + "/namespaces//widgets/%2e%2e/a%20b%3F")
    (seen,) = backend.seen
    assert seen.path == GROUP_VERSION + "/namespaces//widgets/../a%20b%3F"
    assert seen.values("x-forwarded-uri") == [GROUP_VERSION + "/namespaces/a%20b%3F"]


def test_a_body_over_three_mebibytes_is_413_and_never_sent(cluster: Cluster, backend: Backend) -> None:
    size = 3 * 1024 * 1024 + 1
    client = cluster.ask(
        f"POST {WIDGETS} HTTP/1.1\r\nHost: front\r\nContent-Length: {size}\r\n\r\n".encode() + b"x" * 1000
    )
    assert client.head.startswith("HTTP/1.1 413 ")
    assert not backend.seen


def test_status_headers_and_body_come_back(cluster: Cluster, backend: Backend) -> None:
    backend.answers[WIDGETS] = answer(
        b"no",
        "409 Conflict",
        "Content-Type: application/json",
        "Warning: 299 - one",
        "Warning: 299 - two",
        "Audit-Id: other",
        "Access-Control-Allow-Origin: *",
        "Access-Control-Allow-Methods: GET",
        "Connection: keep-alive, X-Private",
        "X-Private: 1",
        "Keep-Alive: timeout=1",
        "Cache-Control: no-store",
        "ETag: x",
    )
    client = cluster.get(WIDGETS, "Audit-Id: mine")
    lines = client.head.split("\r\n")
    assert lines[0] == "HTTP/1.1 409 Conflict"
    assert lines.count("Warning: 299 - one") == lines.count("Warning: 299 - two") == 1
    assert lines.count("Content-Length: 2") == 1
    assert "Cache-Control: no-store" in lines
    assert "Etag: x" in lines  # as Go writes it
    assert "Audit-Id: mine" in lines
    for name in ("access-control", "x-private", "keep-alive", "connection"):
        assert name not in client.head.lower()
    assert client.body == b"no"


def test_a_chunked_answer_stays_whole(cluster: Cluster, backend: Backend) -> None:
    backend.answers[WIDGETS] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    client = cluster.ask(f"GET {WIDGETS} HTTP/1.1\r\nHost: f\r\n\r\n".encode(), until=b"3\r\nabc\r\n")
    backend.seen[0].connection.write(b"2\r\nde\r\n0\r\n\r\n")
    cluster.until(lambda: client.got.endswith(b"0\r\n\r\n"))
    assert "Transfer-Encoding: chunked" in client.head
    assert client.body == b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"


def test_an_answer_that_ends_with_its_connection_is_whole_only_if_tls_says_so(
    cluster: Cluster, backend: Backend
) -> None:
    backend.answers[WIDGETS] = b"HTTP/1.1 200 OK\r\n\r\nabc"
    client = cluster.ask(f"GET {WIDGETS} HTTP/1.1\r\nHost: f\r\n\r\n".encode(), until=b"abc\r\n")
    backend.seen[0].connection.lose()
    cluster.until(lambda: client.got.endswith(b"0\r\n\r\n"))
    client = cluster.ask(f"GET {WIDGETS} HTTP/1.1\r\nHost: f\r\n\r\n".encode(), until=b"abc\r\n")
    backend.seen[1].connection.end()
    cluster.until(lambda: client.reason is not None)
    assert not client.got.endswith(b"0\r\n\r\n")


def test_head_304_and_204_have_no_body(cluster: Cluster, backend: Backend) -> None:
    backend.answers[WIDGETS] = b"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n"
    client = cluster.connect()
    client.write(f"HEAD {WIDGETS} HTTP/1.1\r\nHost: f\r\n\r\n".encode())
    cluster.until(lambda: b"\r\n\r\n" in client.got)
    assert "Content-Length: 77" in client.head
    for status in ("304 Not Modified", "204 No Content"):
        backend.answers[WIDGETS] = f'HTTP/1.1 {status}\r\nEtag: "x"\r\n\r\n'.encode()
        client.got.clear()
        client.write(f"GET {WIDGETS} HTTP/1.1\r\nHost: f\r\n\r\n".encode())
        cluster.until(lambda: b"\r\n\r\n" in client.got)
        assert client.head.startswith(f"HTTP/1.1 {status}")
        assert 'Etag: "x"' in client.head
        assert client.body == b""
        assert "content-length" not in client.head.lower()
    assert client.reason is None


def test_connections_are_kept(cluster: Cluster, backend: Backend) -> None:
    for _ in range(3):
        cluster.get(WIDGETS)
    assert len({id(seen.connection) for seen in backend.seen}) == 1


def test_a_read_is_sent_again_where_a_kept_connection_was_closed_and_a_write_is_not(
    cluster: Cluster, backend: Backend
) -> None:
    def die(seen: Seen) -> None:
        del backend.answers[WIDGETS]
        seen.connection.end()

    backend.answers[WIDGETS] = die
    assert cluster.get(WIDGETS).head.startswith("HTTP/1.1 200")
    assert len(backend.asked(WIDGETS)) == 2
    backend.answers[WIDGETS] = die
    client = cluster.ask(f"POST {WIDGETS} HTTP/1.1\r\nHost: f\r\nContent-Length: 0\r\n\r\n".encode())
    assert client.head.startswith("HTTP/1.1 503")
    assert client.body == b"error trying to reach service: EOF\n"
    assert len(backend.asked(WIDGETS)) == 3


def test_a_redirect_never_passes(cluster: Cluster, backend: Backend) -> None:
    for status in ("300 Multiple Choices", "302 Found", "308 Permanent Redirect", "399 Whatever"):
        backend.answers[WIDGETS] = answer(b"there", status, "Location: https://elsewhere/")
        client = cluster.get(WIDGETS)
        assert client.head.startswith("HTTP/1.1 502 Bad Gateway")
        assert "location" not in client.head.lower()
        assert client.body == b"the backend attempted to redirect this request, which is not permitted"


def test_a_status_of_300_without_location_passes(cluster: Cluster, backend: Backend) -> None:
    backend.answers[WIDGETS] = answer(b"x", "300 Multiple Choices")
    assert cluster.get(WIDGETS).head.startswith("HTTP/1.1 300")


def test_an_answer_that_is_no_http_is_503(cluster: Cluster, backend: Backend) -> None:
    for bad in (
        b"hello\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1001 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * (1 << 20) + b"c" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
    ):
        backend.answers[WIDGETS] = bad
        client = cluster.get(WIDGETS)
        assert client.head.startswith("HTTP/1.1 503"), bad[:60]
        assert client.body.startswith(b"error trying to reach service: ")
        cluster.until(lambda: backend.asked(WIDGETS)[-1].connection.closed)
    del backend.answers[WIDGETS]
    assert cluster.get(WIDGETS).body == b"{}"


def test_interim_answers_are_skipped(cluster: Cluster, backend: Backend) -> None:
    backend.answers[WIDGETS] = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer(b"abc")
    client = cluster.get(WIDGETS)
    assert client.body == b"abc"
    assert "Link" not in client.head


def test_what_follows_an_answer_unasked_ends_the_connection(cluster: Cluster, backend: Backend) -> None:
    backend.answers[WIDGETS] = answer(b"abc") + answer(b"smuggled")
    assert cluster.get(WIDGETS).body == b"abc"
    del backend.answers[WIDGETS]
    assert cluster.get(WIDGETS).body == b"{}"
    first, second = backend.seen
    assert first.connection is not second.connection


def test_a_body_that_breaks_off_does_so_for_the_client_too(cluster: Cluster, backend: Backend) -> None:
    for head in ("Content-Length: 10", "Transfer-Encoding: chunked"):
        backend.answers[WIDGETS] = f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n3\r\nabc\r\n".encode()
        client = cluster.ask(f"GET {WIDGETS} HTTP/1.1\r\nHost: f\r\n\r\n".encode(), until=b"abc\r\n")
        backend.seen[-1].connection.end()
        cluster.until(lambda client=client: client.reason is not None)  # type: ignore[misc]  # mypy infers no type for a default
        assert not client.got.endswith(b"0\r\n\r\n")


def test_a_client_that_goes_ends_the_backends_connection(cluster: Cluster, backend: Backend) -> None:
    backend.answers[WIDGETS] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    client = cluster.ask(f"GET {WIDGETS}?watch=1 HTTP/1.1\r\nHost: f\r\n\r\n".encode(), until=b"abc\r\n")
    client.end()
    cluster.until(lambda: backend.seen[-1].connection.closed)
    backend.answers[WIDGETS] = None
    client = cluster.connect()
    client.write(f"GET {WIDGETS} HTTP/1.1\r\nHost: f\r\n\r\n".encode())
    cluster.until(lambda: len(backend.asked(WIDGETS)) == 2)
    client.end()
    cluster.until(lambda: backend.seen[-1].connection.closed)


def test_each_event_of_a_watch_arrives_at_once(cluster: Cluster, backend: Backend) -> None:
    backend.answers[WIDGETS] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    client = cluster.ask(f"GET {WIDGETS}?watch=1 HTTP/1.1\r\nHost: f\r\n\r\n".encode(), until=b"\r\n\r\n")
    for number in range(3):
        backend.seen[0].connection.write(b"2\r\n%d\n\r\n" % number)
        cluster.until(lambda number=number: client.body.endswith(b"2\r\n%d\n\r\n" % number))  # type: ignore[misc]  # mypy infers no type for a default


def test_a_slow_client_holds_up_the_backend(cluster: Cluster, backend: Backend) -> None:
    size = 48 * 1024 * 1024
    backend.answers[WIDGETS] = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode()
    client = cluster.ask(f"GET {WIDGETS} HTTP/1.1\r\nHost: f\r\n\r\n".encode(), until=b"\r\n\r\n")
    client.pause()
    sent = Producer(backend.seen[0].connection, size)
    cluster.turn(200)
    held = sent.left
    assert held > size // 2, "the backend could send nearly all, though nobody read"
    client.resume()
    cluster.until(lambda: len(client.got) >= size, seconds=30)


class Producer:
    """Writes as much as its connection takes (IPushProducer)."""

    def __init__(self, connection: BackendConnection | RawClient, size: int) -> None:
        self.left = size
        self._paused = False
        transport: Any = connection.transport
        self._transport = transport
        self._transport.registerProducer(self, True)
        self.resumeProducing()

    def resumeProducing(self) -> None:  # noqa: N802 - Twisted's name
        self._paused = False
        while self.left and not self._paused:
            piece = min(self.left, 65536)
            self.left -= piece
            self._transport.write(b"x" * piece)
        if not self.left:
            self._transport.unregisterProducer()

    def pauseProducing(self) -> None:  # noqa: N802 - Twisted's name
        self._paused = True

    def stopProducing(self) -> None:  # noqa: N802 - Twisted's name
        self.left = 0


def test_discovery_has_five_seconds_and_other_requests_their_own(cluster: Cluster, backend: Backend) -> None:
    backend.answers[WIDGETS] = None
    client = cluster.get(WIDGETS + "?timeout=200ms")
    assert client.head.startswith("HTTP/1.1 504")
    cluster.until(lambda: backend.seen[-1].connection.closed)


def test_an_unavailable_server_is_503(cluster: Cluster) -> None:
    backend = cluster.backend()
    number = backend.number
    cluster.close(backend)
    cluster.register(number)
    cluster.until(lambda: cluster.condition().get("status") == "False")
    client = cluster.get(WIDGETS)
    assert client.head.startswith("HTTP/1.1 503 Service Unavailable")
    assert "Content-Type: text/plain; charset=utf-8" in client.head
    assert "X-Content-Type-Options: nosniff" in client.head
    assert client.body == b"service unavailable\n"


def test_a_server_that_has_gone_is_503_with_the_words_of_go_and_noticed_at_once(
    cluster: Cluster, backend: Backend
) -> None:
    cluster.close(backend)
    client = cluster.get(WIDGETS)
    number = backend.number
    assert client.head.startswith("HTTP/1.1 503 ")
    text = f"error trying to reach service: dial tcp 127.0.0.1:{number}: connect: connection refused\n"
    assert client.body.decode() == text
    cluster.until(lambda: cluster.condition().get("status") == "False", seconds=4)
    assert cluster.get(WIDGETS).body == b"service unavailable\n"


def upgrade(path: str, *headers: str) -> bytes:
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"POST {path} HTTP/1.1\r\nHost: f\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n{lines}\r\n".encode()


EXEC = WIDGETS + "/one/exec"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream: 1\r\n\r\n"


def test_an_upgraded_connection_carries_bytes_both_ways(cluster: Cluster, backend: Backend) -> None:
    def switch(seen: Seen) -> bytes:
        seen.connection.raw = bytearray(seen.connection.buffer)
        return SWITCHED + b"early"

    backend.answers[EXEC] = switch
    client = cluster.ask(upgrade(EXEC, "X-Remote-User: root") + b"first", until=b"early")
    lines = client.head.split("\r\n")
    assert lines[0] == "HTTP/1.1 101 Switching Protocols"
    assert {"Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream: 1"} <= set(lines)
    assert client.body == b"early"
    (seen,) = backend.asked(EXEC)
    assert seen.values("connection") == ["Upgrade"]
    assert seen.values("upgrade") == ["SPDY/3.1"]
    assert seen.values("x-remote-user") == ["jané"]
    assert seen.values("x-forwarded-for") == ["127.0.0.1"]
    connection = seen.connection
    cluster.until(lambda: bytes(connection.raw or b"") == b"first")
    client.write(b" second")
    cluster.until(lambda: bytes(connection.raw or b"") == b"first second")
    connection.write(b" late")
    cluster.until(lambda: client.body == b"early late")
    client.end()
    cluster.until(lambda: connection.closed)


def test_the_end_of_an_upgraded_connection_at_the_backend_is_the_end_at_the_client(
    cluster: Cluster, backend: Backend
) -> None:
    backend.answers[EXEC] = SWITCHED
    client = cluster.ask(upgrade(EXEC), until=b"\r\n\r\n")
    connection = backend.seen[-1].connection
    connection.write(b"bye")
    connection.lose()
    cluster.until(lambda: client.reason is not None)
    assert client.body == b"bye"
    assert isinstance(client.reason, ConnectionDone)


def test_a_backend_that_breaks_off_is_a_clean_end_for_the_client(cluster: Cluster, backend: Backend) -> None:
    """A reset would destroy what the client has yet to read, and fail what it has yet to write: its own Close."""
    backend.answers[EXEC] = SWITCHED
    client = cluster.ask(upgrade(EXEC), until=b"\r\n\r\n")
    connection = backend.seen[-1].connection
    connection.write(b"bye")
    cluster.until(lambda: client.body == b"bye")
    connection.end()
    cluster.until(lambda: client.reason is not None)
    assert isinstance(client.reason, ConnectionDone)


def test_both_sides_of_an_upgraded_connection_are_held_up_by_a_slow_other(cluster: Cluster, backend: Backend) -> None:
    def switch(seen: Seen) -> bytes:
        seen.connection.raw = bytearray()
        return SWITCHED

    backend.answers[EXEC] = switch
    client = cluster.ask(upgrade(EXEC), until=b"\r\n\r\n")
    connection = backend.seen[-1].connection
    size = 32 * 1024 * 1024
    client.pause()
    sent = Producer(connection, size)
    cluster.turn(200)
    assert sent.left > size // 2
    client.resume()
    cluster.until(lambda: len(client.got) >= size, seconds=30)
    transport: Any = connection.transport
    transport.pauseProducing()
    sent = Producer(client, size)
    cluster.turn(200)
    assert sent.left > size // 2
    transport.resumeProducing()
    cluster.until(lambda: len(connection.raw or b"") == size, seconds=30)


def test_a_refused_upgrade_is_relayed_and_its_connection_never_used_again(cluster: Cluster, backend: Backend) -> None:
    backend.answers[EXEC] = answer(b"no", "403 Forbidden", "X-Why: x")
    client = cluster.ask(upgrade(EXEC))
    assert client.head.startswith("HTTP/1.1 403 ")
    assert "X-Why: x" in client.head
    assert client.body == b"no"
    cluster.until(lambda: client.reason is not None)
    cluster.until(lambda: backend.seen[-1].connection.closed)
    cluster.get(WIDGETS)
    assert backend.seen[-1].connection is not backend.asked(EXEC)[0].connection


def test_an_upgrade_answered_as_if_it_were_none_is_503(cluster: Cluster, backend: Backend) -> None:
    backend.answers[EXEC] = answer(b"hello") + answer(b"smuggled")
    client = cluster.ask(upgrade(EXEC))
    assert client.head.startswith("HTTP/1.1 503 ")
    assert client.body == b"invalid upgrade response: status code 200\n"
    cluster.until(lambda: backend.seen[-1].connection.closed)


def test_an_upgrade_to_a_server_that_is_gone(cluster: Cluster, backend: Backend) -> None:
    cluster.close(backend)
    client = cluster.ask(upgrade(EXEC))
    text = f"error dialing backend: dial tcp 127.0.0.1:{backend.number}: connect: connection refused\n"
    assert client.body.decode() == text


def test_an_upgrade_that_nobody_here_knows_is_answered_as_a_request(cluster: Cluster) -> None:
    client = cluster.ask(upgrade("/version"))
    assert client.head.startswith("HTTP/1.1 405 ")
    cluster.until(lambda: client.reason is not None)


def test_discovery_is_not_waited_for_longer_than_its_time(
    cluster: Cluster, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extapi.controlplane.aggregator.proxy.DISCOVERY", 0.3)
    backend.answers[GROUP_VERSION] = None
    client = cluster.get(GROUP_VERSION)
    assert client.head.startswith("HTTP/1.1 503 ")
    assert client.body == b"error trying to reach service: context deadline exceeded\n"
    # On a busy machine the time may be over before the connection is there, and anything was asked on it.
    cluster.until(lambda: all(each.closed for each in backend.connections))


@pytest.mark.parametrize("name", ["jane\r\nX-Remote-Group: system:masters", "a\nb", "a\0", "a\x1fb", "a\x7fb"])
def test_an_identity_that_no_header_can_carry_is_not_sent(
    cluster: Cluster, backend: Backend, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Source: ``httpguts.ValidHeaderFieldValue``."""
    jane = User(name, groups=("devs",))
    monkeypatch.setattr("tests.unit.controlplane.aggregator.cluster.JANE", jane)
    client = cluster.get(WIDGETS)
    text = 'error trying to reach service: net/http: invalid header field value for "X-Remote-User"\n'
    assert client.body.decode() == text
    assert not backend.asked(WIDGETS)


def test_calls_from_within_are_passed_on_as_well(cluster: Cluster, backend: Backend) -> None:
    backend.answers[WIDGETS] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    assert cluster.read(WIDGETS)[2] == b"abc"
    (seen,) = backend.asked(WIDGETS)
    assert seen.values("x-remote-user") == ["system:apiserver"]
    assert not seen.values("x-forwarded-for")


def test_a_watch_ends_properly_when_this_server_does_and_another_body_does_not(
    cluster: Cluster, backend: Backend
) -> None:
    backend.answers[WIDGETS] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    watch = cluster.ask(f"GET {WIDGETS}?watch=1 HTTP/1.1\r\nHost: f\r\n\r\n".encode(), until=b"abc\r\n")
    other = cluster.ask(f"GET {WIDGETS} HTTP/1.1\r\nHost: f\r\n\r\n".encode(), until=b"abc\r\n")
    cluster.run(cluster.listener.drain(2.0))
    cluster.until(lambda: watch.reason and other.reason)
    assert watch.got.endswith(b"0\r\n\r\n")
    assert not other.got.endswith(b"0\r\n\r\n")


def test_idle_connections_are_closed_after_a_while(
    cluster: Cluster, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extapi.client.upstream.IDLE_SECONDS", 0.05)
    connections = [connection for connection in backend.connections if not connection.closed]
    again = cluster.backend(name="two.shop.svc")
    cluster.close(again)
    cluster.run(cluster.client.patch(SERVICES, "api", {"spec": {"externalName": "127.0.0.1"}}, namespace="shop"))
    cluster.until(lambda: all(connection.closed for connection in connections))
    cluster.available()
    assert cluster.get(WIDGETS).body == b"{}"
    connection = backend.seen[-1].connection
    cluster.until(lambda: connection.closed, seconds=4)


def test_too_many_connections_are_refused(cluster: Cluster, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.client.upstream.CONNECTIONS", 1)
    backend.answers[WIDGETS] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    cluster.ask(f"GET {WIDGETS}?watch=1 HTTP/1.1\r\nHost: f\r\n\r\n".encode(), until=b"\r\n\r\n")
    client = cluster.get(WIDGETS)
    text = f"error trying to reach service: more than 1 connections to localhost:{backend.number}\n"
    assert client.body.decode() == text


def test_a_switch_that_comes_with_the_end_passes_what_came(cluster: Cluster, backend: Backend) -> None:
    def switch(seen: Seen) -> None:
        seen.connection.raw = bytearray()
        seen.connection.write(SWITCHED)
        seen.connection.write(b"bye")
        seen.connection.lose()

    backend.answers[EXEC] = switch
    client = cluster.ask(upgrade(EXEC), until=b"\r\n\r\n")
    cluster.until(lambda: client.reason is not None)
    assert client.body == b"bye"


def test_an_upgraded_connection_is_not_idle_for_ever(
    cluster: Cluster, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extapi.controlplane.aggregator.proxy.IDLE", 0.1)
    backend.answers[EXEC] = SWITCHED
    client = cluster.ask(upgrade(EXEC), until=b"\r\n\r\n")
    cluster.until(lambda: client.reason is not None and backend.seen[-1].connection.closed)


def test_a_client_that_is_gone_when_the_answer_comes_ends_the_backends_connection(
    cluster: Cluster, backend: Backend
) -> None:
    for path, request, sent in (
        (EXEC, upgrade(EXEC), SWITCHED),
        (WIDGETS, f"POST {WIDGETS} HTTP/1.1\r\nHost: f\r\nContent-Length: 0\r\n\r\n".encode(), CHUNKED),
    ):
        backend.answers[path] = None
        client = cluster.connect()
        client.write(request)
        cluster.until(lambda path=path: backend.asked(path))  # type: ignore[misc]  # mypy infers no type for a default
        client.end()
        cluster.turn()
        connection = backend.seen[-1].connection
        assert not connection.closed  # what may change something is left to its end
        connection.write(sent)
        cluster.until(lambda connection=connection: connection.closed)  # type: ignore[misc]  # mypy infers no type for a default


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"


def test_an_upgrade_carries_our_identity_whatever_connection_names(cluster: Cluster, backend: Backend) -> None:
    request = (
        f"POST {EXEC} HTTP/1.1\r\nHost: f\r\nConnection: Upgrade, X-Remote-User, Audit-Id, X-Forwarded-For\r\n"
        "Upgrade: SPDY/3.1\r\nX-Remote-Group: system:masters\r\n\r\n"
    )
    backend.answers[EXEC] = answer(b"", "403 Forbidden")
    cluster.ask(request.encode())
    (seen,) = backend.asked(EXEC)
    assert seen.values("x-remote-user") == ["jané"]
    assert seen.values("x-remote-group") == ["devs", "system:authenticated"]
    assert seen.values("connection") == ["Upgrade"]
    assert len(seen.values("audit-id")) == len(seen.values("x-forwarded-for")) == 1


def test_a_backend_that_is_gone_before_its_connection_is_spliced(cluster: Cluster, backend: Backend) -> None:
    backend.answers[EXEC] = SWITCHED

    async def late() -> None:
        upstream = cluster.aggregator._remotes[NAME].upstream
        assert upstream is not None
        request = f"GET {EXEC} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
        gone = await upstream.send("GET", request, dedicated=True)
        gone.finish()
        sink: Any = LoopbackSink()
        await Splice(gone, cluster.reactor)(sink)
        assert sink.closed

    cluster.run(late())


PROXY = WIDGETS + "/one/proxy"
CHUNKED = f"POST {PROXY} HTTP/1.1\r\nHost: front\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


def uploading(cluster: Cluster, backend: Backend, first: bytes) -> tuple[RawClient, BackendConnection]:
    """A client that has sent the beginning of a body, and the connection on which it arrived."""

    def collect(seen: Seen) -> None:
        seen.connection.raw = bytearray(seen.connection.buffer)

    backend.answers[PROXY] = collect
    client = cluster.connect()
    client.write(CHUNKED + first)
    cluster.until(lambda: backend.asked(PROXY))
    (seen,) = backend.asked(PROXY)
    assert seen.values("transfer-encoding") == ["chunked"]
    assert not seen.values("content-length")
    return client, seen.connection


def received(connection: BackendConnection) -> bytes:
    """The body as it has come so far."""
    return connection.buffer + bytes(connection.raw or b"")


def test_a_body_to_a_subresource_is_passed_on_while_it_arrives(cluster: Cluster, backend: Backend) -> None:
    client, connection = uploading(cluster, backend, b"3\r\none\r\n")
    cluster.until(lambda: received(connection).endswith(b"3\r\none\r\n"))
    client.write(b"3\r\ntwo\r\n")
    cluster.until(lambda: received(connection).endswith(b"3\r\none\r\n3\r\ntwo\r\n"))
    client.write(b"0\r\n\r\n")
    cluster.until(lambda: received(connection).endswith(b"two\r\n0\r\n\r\n"))
    connection.write(answer())
    cluster.until(lambda: client.body == b"{}")
    cluster.until(lambda: connection.closed)  # it takes no other request: nobody knows how much of the body was read


def test_an_answer_may_come_before_the_body_has_ended(cluster: Cluster, backend: Backend) -> None:
    client, connection = uploading(cluster, backend, b"3\r\none\r\n")
    connection.write(answer(b"no", "403 Forbidden"))
    cluster.until(lambda: client.body == b"no")
    cluster.until(lambda: connection.closed)


def test_a_body_with_a_length_keeps_it_and_may_be_large(cluster: Cluster, backend: Backend) -> None:
    size = 4 * 1024 * 1024
    client = cluster.ask(
        f"POST {PROXY} HTTP/1.1\r\nHost: front\r\nContent-Length: {size}\r\n\r\n".encode() + b"x" * size
    )
    assert client.head.startswith("HTTP/1.1 200 OK")
    (seen,) = backend.asked(PROXY)
    assert (seen.values("content-length"), len(seen.body)) == ([str(size)], size)
    assert not seen.values("transfer-encoding")


def test_a_body_that_breaks_off_does_so_for_the_backend(cluster: Cluster, backend: Backend) -> None:
    client, connection = uploading(cluster, backend, b"3\r\none\r\n")
    client.end()
    cluster.until(lambda: connection.closed)
    assert not received(connection).endswith(b"0\r\n\r\n")


def test_a_backend_that_does_not_read_makes_the_client_wait(cluster: Cluster, backend: Backend) -> None:
    client, connection = uploading(cluster, backend, b"1\r\nx\r\n")
    taking: Any = connection.transport
    taking.pauseProducing()
    for _ in range(500):
        client.write(b"10000\r\n" + b"y" * 65536 + b"\r\n")  # 32 MB
    mine = next(each for each in cluster.listener._shared.connections if each.idle_since is None)
    cluster.until(lambda: mine.stream._paused)
    taking.resumeProducing()
    client.write(b"0\r\n\r\n")
    cluster.until(lambda: connection.raw is not None and connection.raw.endswith(b"\r\n0\r\n\r\n"), 60)


def test_a_backend_cannot_upgrade_who_did_not_ask(cluster: Cluster, backend: Backend) -> None:
    client, connection = uploading(cluster, backend, b"3\r\none\r\n")
    connection.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
    cluster.until(lambda: b"\r\n\r\n" in client.got)
    assert client.head.startswith("HTTP/1.1 503 ")


@pytest.mark.parametrize(
    ("path", "lasting"),
    [
        ("one/proxy", True),
        ("one/log", True),
        ("one/exec/a", True),
        ("one/attach", True),
        ("one/portforward", True),
        ("one/shell", False),
        ("one", False),
    ],
)
def test_what_lasts_is_told_by_the_subresource(cluster: Cluster, path: str, *, lasting: bool) -> None:
    """As for kube-apiserver, whoever serves it."""
    assert cluster.aggregator.long_running(request_info("GET", f"{WIDGETS}/{path}", {})) is lasting
