"""Calls from inside the process: bodies, streams and hanging up."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from extapi.client.transport import ClientRequest, TransportError
from extapi.errors import RequestTooLarge
from extapi.http.request import Request
from extapi.http.response import Chunk, Response, Sink
from extapi.server.loopback import MAX_QUEUED, BodyBytes, LoopbackReply, LoopbackSink, LoopbackTransport


def now(awaitable: Any) -> Any:
    """What a coroutine comes to without waiting; an exception is raised."""

    async def run() -> Any:
        return await awaitable

    results: list[Any] = []
    Deferred.fromCoroutine(run()).addBoth(results.append)
    (result,) = results
    if hasattr(result, "raiseException"):
        result.raiseException()
    return result


async def lines(reply: LoopbackReply) -> list[bytes]:
    return [line async for line in reply.lines()]


def test_a_body_is_bounded() -> None:
    assert now(BodyBytes(b"abc").read(3)) == b"abc"
    with pytest.raises(RequestTooLarge, match="limit is 2"):
        now(BodyBytes(b"abc").read(2))


def test_what_the_chain_is_handed() -> None:
    calls: list[Request] = []

    async def handler(call: Request) -> Response:
        calls.append(call)
        return Response(200)

    clock = Clock()
    clock.advance(100)
    transport = LoopbackTransport(handler, clock, "secret")
    query = [("labelSelector", "a=b"), ("labelSelector", "c")]
    now(transport.send(ClientRequest("GET", "/apis/g.example.com/v1/a%20b", query, {"X-Y": "z"}, timeout=5)))
    now(transport.send(ClientRequest("GET", "/apis/g.example.com/v1/things", [("watch", "1")])))
    first, second = calls
    assert first.target == "/apis/g.example.com/v1/a%20b?labelSelector=a%3Db&labelSelector=c"
    assert first.info.path == "/apis/g.example.com/v1/a b"
    assert first.query == {"labelSelector": ["a=b", "c"]}
    assert first.headers == {"x-y": ["z"]}
    assert (first.received, first.deadline) == (100, 105)
    assert first.peer.loopback == "secret"
    assert second.deadline == float("inf")
    assert first.audit_id != second.audit_id


def test_headers_of_one_name_are_joined() -> None:
    assert LoopbackReply(Response(200, [("Warning", "a"), ("warning", "b"), ("X", "c")])).headers == {
        "warning": "a, b",
        "x": "c",
    }


@pytest.mark.parametrize("body", [b"a\nb\nc", [b"a\n", b"b", b"\nc"]])
def test_a_finished_body_is_read_whole_or_by_lines(body: Any) -> None:
    assert now(LoopbackReply(Response(200, [], body)).read()) == b"a\nb\nc"
    assert now(lines(LoopbackReply(Response(200, [], body)))) == [b"a", b"b", b"c"]


def test_a_body_that_is_too_large_is_refused() -> None:
    with pytest.raises(TransportError, match="larger than 2 bytes"):
        now(LoopbackReply(Response(200, [], b"abc")).read(2))


def streaming(*pieces: bytes) -> LoopbackReply:
    async def produce(sink: Sink) -> None:
        for piece in pieces:
            sink.write(Chunk(piece))
            await sink.drained()

    return LoopbackReply(Response(200, [], produce))


def test_a_stream_is_read_line_by_line_however_it_comes() -> None:
    assert now(lines(streaming(b"one\ntw", b"o\n", b"three"))) == [b"one", b"two", b"three"]


def test_a_stream_is_read_whole() -> None:
    assert now(streaming(b"one\n", b"two\n").read()) == b"one\ntwo\n"


def test_a_sink_tells_how_much_waits_and_when_it_is_gone() -> None:
    sink = LoopbackSink()
    told: list[str] = []
    sink.on_closed(lambda: told.append("first"))
    sink.write(Chunk(b"12345"))
    assert sink.pending == 5
    drained: list[object] = []
    Deferred.fromCoroutine(_drained(sink)).addBoth(drained.append)
    assert drained == []
    sink.abort()
    sink.abort()
    assert (told, drained, sink.pending, sink.closed) == (["first"], [None], 0, True)
    sink.write(Chunk(b"late"))
    assert sink.pending == 0
    sink.on_closed(lambda: told.append("second"))
    assert told == ["first", "second"]


async def _drained(sink: LoopbackSink) -> None:
    await sink.drained()


def test_who_does_not_read_is_hung_up_on() -> None:
    """Behaviour F17."""
    sink = LoopbackSink()
    chunk = Chunk(bytes(MAX_QUEUED // 2))
    sink.write(chunk)
    sink.write(chunk)
    assert not sink.closed
    sink.write(Chunk(b"x"))
    assert sink.closed


def test_hanging_up_wakes_the_reader() -> None:
    async def produce(sink: Sink) -> None:
        await Deferred[None]()

    reply = LoopbackReply(Response(200, [], produce))
    ended: list[Any] = []
    Deferred.fromCoroutine(lines(reply)).addBoth(ended.append)
    assert ended == []
    reply.close()
    assert len(ended) == 1
