"""gzip: behaviour G10."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.python.threadpool import ThreadPool
from zope.interface import implementer

from extapi.http.request import Peer, Request
from extapi.http.response import Response
from extapi.listener.requestinfo import request_info
from extapi.server.compression import INLINE, THRESHOLD, Compression
from extapi.server.loopback import BodyBytes
from tests.unit.verbs.sample import WIDGETS, Shop

LARGE = "x" * 150_000


def call(*accepted: str) -> Request:
    headers = {"accept-encoding": list(accepted)} if accepted else {}
    return Request(
        method="GET",
        target="/x",
        info=request_info("GET", "/x", {}),
        query={},
        headers=headers,
        body=BodyBytes(b""),
        peer=Peer(),
        audit_id="",
        received=0.0,
        deadline=60.0,
    )


def compressed(response: Response, *accepted: str, **surroundings: Any) -> Response:
    """What the stage makes of ``response``, at once."""

    async def answer(_: Request) -> Response:
        return response

    done: list[Any] = []
    Deferred.fromCoroutine(_run(Compression(**surroundings).stage(answer), call(*accepted))).addBoth(done.append)
    (result,) = done
    assert isinstance(result, Response)
    return result


async def _run(handler: Any, request: Request) -> Response:
    result: Response = await handler(request)
    return result


def body_of(response: Response) -> bytes:
    assert not callable(response.body)
    return response.body if isinstance(response.body, bytes) else b"".join(response.body)


def test_a_large_list_is_compressed_through_the_chain(shop_served: Shop) -> None:
    shop_served.create(annotations={"a": LARGE})
    plain = shop_served.request("GET", WIDGETS)
    packed = shop_served.request("GET", WIDGETS, headers={"Accept-Encoding": "deflate, gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert len(packed.body) < 10_000
    assert gzip.decompress(packed.body) == plain.body


@pytest.mark.parametrize(("size", "packed"), [(THRESHOLD, False), (THRESHOLD + 1, True)])
def test_what_is_small_is_sent_as_it_is(size: int, packed: bool) -> None:
    content = bytes(size)
    response = compressed(Response(200, [], content), "gzip")
    assert (("Content-Encoding", "gzip") in response.headers) is packed
    body = body_of(response)
    assert (gzip.decompress(body) if packed else body) == content
    assert response.length == (len(body) if packed else None)


@pytest.mark.parametrize("accepted", [[], ["gzip;q=1"], ["x-gzip"], ["br, deflate"], ["identity"]])
def test_only_exactly_gzip_counts(accepted: list[str]) -> None:
    assert compressed(Response(200, [], bytes(200_000)), *accepted).headers == []


def test_any_of_several_headers_counts() -> None:
    assert compressed(Response(200, [], bytes(200_000)), "br", "deflate,gzip").headers


def test_pieces_are_compressed_together() -> None:
    pieces = [bytes([number]) * 60_000 for number in range(4)]
    response = Response(200, [], iter(pieces), length=240_000)
    assert gzip.decompress(body_of(compressed(response, "gzip"))) == b"".join(pieces)


def test_pieces_of_unknown_size_are_left_alone() -> None:
    assert compressed(Response(200, [], iter([bytes(200_000)])), "gzip").headers == []


def test_what_is_encoded_already_is_left_alone() -> None:
    # RFC 9110 5.1: names have no case; what comes from another server is spelled as that one likes.
    for name in ("Content-Encoding", "content-encoding"):
        response = compressed(Response(200, [(name, "br")], bytes(200_000)), "gzip")
        assert response.headers == [(name, "br")]


def test_streams_are_left_alone() -> None:
    """Behaviour F22."""

    async def stream(sink: object) -> None:
        del sink

    response = compressed(Response(200, [], stream), "gzip")
    assert response.body is stream


@implementer(IReactorFromThreads)
class Reactor:
    """Takes results out of threads, here in the same one."""

    def callFromThread(self, callable: Any, *args: Any, **kwargs: Any) -> None:  # noqa: A002, N802 - Twisted's
        callable(*args, **kwargs)


class Pool(ThreadPool):
    """Does at once what is handed to it, and counts."""

    handed = 0

    def callInThreadWithCallback(self, onResult: Any, func: Any, *args: Any, **kw: Any) -> None:  # noqa: N802, N803
        self.handed += 1
        onResult(True, func(*args, **kw))


@pytest.mark.parametrize(("size", "handed"), [(INLINE, 0), (INLINE + 1, 1)])
def test_what_is_very_large_is_compressed_in_a_thread(size: int, handed: int) -> None:
    pool = Pool()
    content = bytes(size)
    response = compressed(Response(200, [], content), "gzip", reactor=Reactor(), pool=pool)
    assert pool.handed == handed
    assert gzip.decompress(body_of(response)) == content
