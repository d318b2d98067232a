"""The transport against a real HTTP server on loopback: TLS, tokens, time, size, and what errors say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectError, ConnectionLost as ConnectionLostError
from twisted.logger import ILogObserver, formatEvent, globalLogPublisher
from twisted.python.failure import Failure
from twisted.web.client import ResponseFailed
from zope.interface import implementer

from extapi.client.body import HIGH_WATER, innermost
from extapi.client.credentials import Credentials, CredentialsError, FileToken, StaticToken
from extapi.client.http import HttpTransport
from extapi.client.transport import AnswerTooLong, ClientRequest, ConnectionLost, TransportError, Unreachable
from tests.certificates import CLIENT, SERVER, authority
from tests.unit.client.conftest import Server, Turning

Serve = Callable[..., Server]


async def _body(transport: HttpTransport, request: ClientRequest, limit: int = 1 << 20) -> tuple[int, bytes]:
    reply = await transport.send(request)
    return reply.status, await reply.read(limit)


def _hello(request: Any) -> bytes:
    request.setHeader(b"Content-Type", b"application/json")
    request.responseHeaders.addRawHeader(b"Warning", b"one")
    request.responseHeaders.addRawHeader(b"Warning", b"two")
    return b'{"a": 1}'


def _silence(request: Any) -> None:
    """No answer."""


def _much(request: Any) -> bytes:
    return b"x" * 5000


def test_path_query_headers_and_body_arrive_as_given(turning: Turning, serve: Serve) -> None:
    server = serve(_hello)
    transport = HttpTransport(turning.reactor, Credentials(server.url, token=StaticToken("Bearer t1")))
    request = ClientRequest(
        "POST",
        "/api/v1/a%2Fb/%25/c",
        query=(("labelSelector", "a in (b,c)&x=y+z"), ("watch", "true")),
        headers={"X-One": "1", "Content-Type": "application/json"},
        body=b"{}",
    )

    async def send() -> None:
        reply = await transport.send(request)
        assert reply.status == 200
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers["warning"] == "one, two"
        assert await reply.read() == b'{"a": 1}'

    turning.run(send())
    (seen,) = server.seen
    assert seen.method == "POST"
    assert seen.uri == "/api/v1/a%2Fb/%25/c?labelSelector=a%20in%20%28b%2Cc%29%26x%3Dy%2Bz&watch=true"
    assert seen.headers["x-one"] == "1"
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["authorization"] == "Bearer t1"
    assert seen.body == b"{}"
    turning.run(transport.close())


def test_an_authorization_of_the_callers_own_stays(turning: Turning, serve: Serve) -> None:
    server = serve(_hello)
    transport = HttpTransport(turning.reactor, Credentials(server.url, token=StaticToken("Bearer t1")))
    turning.run(_body(transport, ClientRequest("GET", "/", headers={"Authorization": "Bearer mine"})))
    assert server.seen[0].headers["authorization"] == "Bearer mine"
    turning.run(transport.close())


@implementer(ILogObserver)
class _Said:
    def __init__(self) -> None:
        self.said: list[str | None] = []

    def __call__(self, event: Any) -> None:
        self.said.append(formatEvent(event))


def test_connections_are_not_logged(turning: Turning, serve: Serve) -> None:
    """Twisted says "Starting factory" with its address in memory: nothing for an operator's log."""
    ca = authority("ca")
    server = serve(_hello, tls=ca.leaf("s", san=["127.0.0.1"], eku=SERVER))
    observe: Any = _Said()
    globalLogPublisher.addObserver(observe)
    try:
        transport = HttpTransport(turning.reactor, Credentials(server.url, ca=ca.pem))
        turning.run(_body(transport, ClientRequest("GET", "/version")))
        turning.run(transport.close())
    finally:
        globalLogPublisher.removeObserver(observe)
    assert [line for line in observe.said if line and "HTTP11Client" in line] == []


def test_a_server_below_a_path(turning: Turning, serve: Serve) -> None:
    server = serve(_hello)
    transport = HttpTransport(turning.reactor, Credentials(server.url + "/k8s/clusters/c1/"))
    turning.run(_body(transport, ClientRequest("GET", "/version")))
    assert server.seen[0].uri == "/k8s/clusters/c1/version"
    turning.run(transport.close())


def test_connections_are_kept_alive(turning: Turning, serve: Serve) -> None:
    server = serve(_hello)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    for _ in range(3):
        turning.run(_body(transport, ClientRequest("GET", "/")))
    assert len({seen.connection for seen in server.seen}) == 1
    turning.run(transport.close())


def test_redirects_are_not_followed(turning: Turning, serve: Serve) -> None:
    def answer(request: Any) -> bytes:
        request.setResponseCode(302)
        request.setHeader(b"Location", b"/elsewhere")
        return b"moved"

    server = serve(answer)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    assert turning.run(_body(transport, ClientRequest("GET", "/")))[0] == 302
    assert len(server.seen) == 1
    turning.run(transport.close())


def test_tls_with_client_certificate(turning: Turning, serve: Serve) -> None:
    ca = authority("serving")
    clients = authority("clients")
    middle = clients.intermediate("middle")
    me = middle.leaf("extension", eku=CLIENT)
    server = serve(_hello, tls=ca.leaf("s", san=["127.0.0.1"], eku=SERVER), clients=clients)
    credentials = Credentials(server.url, ca=ca.pem, certificate=me.chain_pem, key=me.key_pem)
    transport = HttpTransport(turning.reactor, credentials)
    assert turning.run(_body(transport, ClientRequest("GET", "/")))[0] == 200
    assert server.seen[0].client == "extension"
    turning.run(transport.close())


def test_a_server_name_of_its_own(turning: Turning, serve: Serve) -> None:
    ca = authority("serving")
    server = serve(_hello, tls=ca.leaf("s", san=["kubernetes.default"], eku=SERVER))
    transport = HttpTransport(turning.reactor, Credentials(server.url, ca=ca.pem, server_name="kubernetes.default"))
    assert turning.run(_body(transport, ClientRequest("GET", "/")))[0] == 200
    turning.run(transport.close())


@pytest.mark.parametrize(
    ("ca_of_server", "names", "text"),
    [("other", ["127.0.0.1"], "certificate verify failed"), ("serving", ["127.0.0.2"], "127.0.0.1")],
)
def test_an_untrusted_server_is_refused(
    turning: Turning, serve: Serve, ca_of_server: str, names: list[str], text: str
) -> None:
    ca = authority("serving")
    signer = ca if ca_of_server == "serving" else authority("other")
    server = serve(_hello, tls=signer.leaf("s", san=names, eku=SERVER))
    transport = HttpTransport(turning.reactor, Credentials(server.url, ca=ca.pem))
    with pytest.raises(TransportError) as caught:
        turning.run(_body(transport, ClientRequest("GET", "/")))
    assert str(caught.value).startswith(server.url)
    assert text in str(caught.value)
    assert server.seen == []
    turning.run(transport.close())


def test_nobody_listens(turning: Turning, serve: Serve) -> None:
    server = serve(_hello)
    url = server.url
    turning.wait(server.port.stopListening())
    transport = HttpTransport(turning.reactor, Credentials(url))
    with pytest.raises(Unreachable, match=rf"{url}: Connection was refused by other side"):
        turning.run(_body(transport, ClientRequest("GET", "/")))
    turning.run(transport.close())


def test_a_server_that_is_no_dns_name(turning: Turning) -> None:
    transport = HttpTransport(turning.reactor, Credentials("https://kube_api:6443"))
    with pytest.raises(TransportError, match=r"^https://kube_api:6443: .*'kube_api' not allowed$"):
        turning.run(transport.send(ClientRequest("GET", "/version")))


def test_no_answer_in_time(turning: Turning, serve: Serve) -> None:
    server = serve(_silence)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    with pytest.raises(TransportError, match=r"no answer within 0\.05 seconds"):
        turning.run(_body(transport, ClientRequest("GET", "/", timeout=0.05)))
    turning.run(transport.close())


def _answer_but(request: Any) -> bytes | None:
    """No answer at /silence, the first line of a stream at /stream."""
    if request.uri == b"/stream":
        request.write(b"one\n")
        return None
    return None if request.uri == b"/silence" else b"{}"


def test_idle_connections_are_not_used_after_one_was_silent(turning: Turning, serve: Serve) -> None:
    """client-go's only connection is given up then; a frozen proxy, or one that another one replaced, has all of ours."""
    server = serve(_answer_but)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    both = [Deferred.fromCoroutine(_body(transport, ClientRequest("GET", "/"))) for _ in range(2)]
    for each in both:
        turning.wait(each)
    with pytest.raises(TransportError, match="no answer within"):
        turning.run(transport.send(ClientRequest("GET", "/silence", timeout=0.1)))
    turning.run(_body(transport, ClientRequest("GET", "/")))
    first, second, *_, last = (seen.connection for seen in server.seen)
    assert first != second
    assert last not in {first, second}
    turning.run(transport.close())


@pytest.mark.parametrize("silence", [0.0, 60.0])
def test_idle_connections_are_not_used_after_a_silent_stream_was_given_up(
    turning: Turning, serve: Serve, monkeypatch: pytest.MonkeyPatch, silence: float
) -> None:
    """As a watch that does not end in time is; not after one whose reader has had enough."""
    monkeypatch.setattr("extapi.client.http.SILENCE", silence)
    server = serve(_answer_but)
    transport = HttpTransport(turning.reactor, Credentials(server.url))

    async def read() -> None:
        reply = await transport.send(ClientRequest("GET", "/stream"))
        async for _ in reply.lines():
            await _body(transport, ClientRequest("GET", "/"))
            reply.close()

    with pytest.raises(TransportError, match="closed"):
        turning.run(read())
    turning.run(_body(transport, ClientRequest("GET", "/")))
    assert (server.seen[2].connection == server.seen[1].connection) is (silence > 1)
    turning.run(transport.close())


def test_a_body_that_does_not_end_in_time(turning: Turning, serve: Serve) -> None:
    def answer(request: Any) -> None:
        request.write(b"half")

    server = serve(answer)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    with pytest.raises(TransportError, match="the answer took too long"):
        turning.run(_body(transport, ClientRequest("GET", "/", timeout=0.2)))
    turning.run(transport.close())


def test_a_long_body_has_time_as_long_as_it_arrives(turning: Turning, serve: Serve) -> None:
    """Go's client has no limit for lists (``rest.Config.Timeout`` of informers is 0)."""

    def answer(request: Any) -> None:
        pieces = 8

        def send(number: int) -> None:
            request.write(b"x")
            if number < pieces:
                turning.reactor.callLater(0.1, send, number + 1)
            elif b"whole" in request.uri:
                request.finish()

        send(1)

    server = serve(answer)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    assert turning.run(_body(transport, ClientRequest("GET", "/whole", timeout=0.4, long=True))) == (200, b"x" * 8)
    with pytest.raises(AnswerTooLong, match="the answer took too long"):
        turning.run(_body(transport, ClientRequest("GET", "/stalls", timeout=0.4, long=True)))
    with pytest.raises(AnswerTooLong, match="the answer took too long"):
        turning.run(_body(transport, ClientRequest("GET", "/whole", timeout=0.4)))
    turning.run(transport.close())


def test_a_body_over_the_limit(turning: Turning, serve: Serve) -> None:
    server = serve(_much)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    assert turning.run(_body(transport, ClientRequest("GET", "/"), 5000)) == (200, b"x" * 5000)
    with pytest.raises(AnswerTooLong, match="more than 4999 bytes"):
        turning.run(_body(transport, ClientRequest("GET", "/"), 4999))
    turning.run(transport.close())


def test_a_connection_lost_before_the_answer_may_be_tried_again(turning: Turning, serve: Serve) -> None:
    def answer(request: Any) -> None:
        request.channel.transport.abortConnection()

    server = serve(answer)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    with pytest.raises(ConnectionLost, match=server.url):
        turning.run(_body(transport, ClientRequest("POST", "/", body=b"{}")))
    turning.run(transport.close())


def test_a_body_that_breaks_off(turning: Turning, serve: Serve) -> None:
    def answer(request: Any) -> None:
        request.setHeader(b"Content-Length", b"100")
        request.write(b"half")
        turning.reactor.callLater(0.05, request.channel.transport.abortConnection)

    server = serve(answer)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    with pytest.raises(TransportError, match="broke off") as raised:
        turning.run(_body(transport, ClientRequest("GET", "/")))
    assert "ailure" not in str(raised.value)  # Twisted's errors print the failures that they wrap
    turning.run(transport.close())


def test_a_failure_within_an_error_is_told_by_its_own_words() -> None:
    """As Twisted's endpoints wrap the loss of a connection that was hardly made."""
    lost = ConnectionLostError("Connection lost.")
    untyped: Any = (Failure, ResponseFailed, ConnectError)
    failure, failed, unconnected = untyped
    for wrapper in (unconnected(string=failure(lost)), failed([failure(lost)])):
        assert innermost(wrapper) == [lost]


def test_lines_arrive_as_they_are_written(turning: Turning, serve: Serve) -> None:
    requests: list[Any] = []

    def answer(request: Any) -> None:
        requests.append(request)
        request.write(b"one\ntw")

    server = serve(answer)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    got: list[bytes] = []

    async def read() -> None:
        reply = await transport.send(ClientRequest("GET", "/"))
        async for line in reply.lines():
            got.append(line)  # noqa: PERF401 - what has come so far is looked at

    reading = Deferred.fromCoroutine(read())
    turning.until(lambda: got == [b"one"])
    requests[0].write(b"o\n\nthree\nrest")
    turning.until(lambda: len(got) == 4)
    requests[0].finish()
    turning.wait(reading)
    assert got == [b"one", b"two", b"", b"three", b"rest"]
    turning.run(transport.close())


def test_a_closed_stream_ends_with_an_error_and_the_server_sees_it(turning: Turning, serve: Serve) -> None:
    lost: list[Any] = []

    def answer(request: Any) -> None:
        request.notifyFinish().addErrback(lost.append)
        request.write(b"one\n")

    server = serve(answer)
    transport = HttpTransport(turning.reactor, Credentials(server.url))

    async def read() -> None:
        reply = await transport.send(ClientRequest("GET", "/"))
        async for _ in reply.lines():
            turning.reactor.callLater(0, reply.close)

    with pytest.raises(TransportError, match="closed"):
        turning.run(read())
    turning.until(lambda: bool(lost))
    turning.run(transport.close())


def test_a_slow_reader_holds_the_server_back(turning: Turning, serve: Serve) -> None:
    size = 24 * HIGH_WATER

    def answer(request: Any) -> bytes:
        return b"x" * size

    server = serve(answer)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    reply = turning.run(transport.send(ClientRequest("GET", "/")))
    body = reply._deliver()
    turning.until(lambda: body._paused)
    for _ in range(2000):  # enough to read all of it
        turning.reactor.iterate(0)
    assert body._size < 3 * HIGH_WATER
    assert len(turning.run(reply.read(size))) == size
    turning.run(transport.close())


def test_a_line_without_end(turning: Turning, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extapi.client.body.LINE_LIMIT", 10_000)

    def answer(request: Any) -> bytes:
        return b"x" * 9_000 + b"\n" + b"y" * 11_000

    server = serve(answer)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    got: list[bytes] = []

    async def read() -> None:
        async for line in (await transport.send(ClientRequest("GET", "/"))).lines():
            got.append(line)  # noqa: PERF401 - what has come so far is looked at

    with pytest.raises(TransportError, match="a line of the answer has more than 10000 bytes"):
        turning.run(read())
    assert got in ([], [b"x" * 9_000])
    turning.run(transport.close())


def test_what_is_read_after_the_end_is_not_there(turning: Turning, serve: Serve) -> None:
    server = serve(_hello)
    transport = HttpTransport(turning.reactor, Credentials(server.url))

    async def read() -> None:
        reply = await transport.send(ClientRequest("GET", "/"))
        await reply.read()
        assert await reply.read() == b""
        reply.close()

    turning.run(read())
    assert transport.replies == set()
    turning.run(transport.close())


def test_close_ends_open_streams(turning: Turning, serve: Serve) -> None:
    def answer(request: Any) -> None:
        request.write(b"one\n")

    server = serve(answer)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    got: list[bytes] = []

    async def read() -> None:
        async for line in (await transport.send(ClientRequest("GET", "/"))).lines():
            got.append(line)  # noqa: PERF401 - what has come so far is looked at

    reading = Deferred.fromCoroutine(read())
    turning.until(lambda: bool(got))
    turning.run(transport.close())
    with pytest.raises(TransportError, match="closed"):
        turning.wait(reading)


def test_cancelling_who_waits_cancels_the_request(turning: Turning, serve: Serve) -> None:
    server = serve(_silence)
    transport = HttpTransport(turning.reactor, Credentials(server.url))
    sending = Deferred.fromCoroutine(transport.send(ClientRequest("GET", "/")))
    turning.until(lambda: bool(server.seen))
    sending.cancel()
    with pytest.raises(CancelledError):
        turning.wait(sending)
    turning.run(transport.close())


def test_no_token_no_request(turning: Turning, serve: Serve, tmp_path: Path) -> None:
    server = serve(_hello)
    token = FileToken(tmp_path / "token", turning.reactor)
    transport = HttpTransport(turning.reactor, Credentials(server.url, token=token))
    with pytest.raises(TransportError, match="cannot read the token file"):
        turning.run(_body(transport, ClientRequest("GET", "/")))
    assert server.seen == []
    turning.run(transport.close())


@pytest.mark.parametrize("broken", ["ca", "certificate", "key"])
def test_unusable_pem_is_refused_at_once(turning: Turning, broken: str) -> None:
    ca = authority("a")
    me = ca.leaf("me")
    parts: dict[str, Any] = {"ca": ca.pem, "certificate": me.pem, "key": me.key_pem, broken: b"nonsense"}
    with pytest.raises(CredentialsError, match="no usable PEM"):
        HttpTransport(turning.reactor, Credentials("https://127.0.0.1:1", **parts))
