"""Compresses large responses if the client accepts gzip, the largest ones in a thread (behaviour G10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from isal import isal_zlib
from twisted.internet.threads import deferToThreadPool

from extapi.http.request import Request
from extapi.http.response import Handler, Response

THRESHOLD = 128 * 1024
"""Smaller responses, in bytes, are not compressed."""

INLINE = 256 * 1024
"""Larger responses, in bytes, are compressed in a thread; this much takes less than a millisecond."""

LEVEL = 1
"""The fastest level of ISA-L: 80-685 us for 370 KB, where zlib takes 1,260-3,500 us."""


class Compression:
    """Compresses responses.

    Args:
        reactor: The reactor.
        pool: A thread pool for large responses; without one, everything is compressed in the reactor's thread.
    """

    def __init__(self, reactor: Any = None, pool: Any = None) -> None:
        self._reactor = reactor
        self._pool = pool

    def stage(self, successor: Handler) -> Handler:
        """A stage that compresses its successor's response if it is large and not a stream."""

        async def compress(request: Request) -> Response:
            response = await successor(request)
            body = response.body
            size = len(body) if isinstance(body, bytes) else response.length or 0
            if size > THRESHOLD and "accept-encoding" in request.headers and _wanted(request):
                await self._compress(response, size)
            return response

        return compress

    async def _compress(self, response: Response, size: int) -> None:
        body = response.body
        if callable(body) or any(name.lower() == "content-encoding" for name, _ in response.headers):
            return
        pieces = (body,) if isinstance(body, bytes) else body
        if size <= INLINE or self._pool is None:
            packed = _gzip(pieces)
        else:
            packed = await deferToThreadPool(self._reactor, self._pool, _gzip, pieces)
        response.headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        response.body = packed
        response.length = sum(map(len, packed))


def _wanted(request: Request) -> bool:
    """Whether one of the encodings is exactly ``gzip``; weights are ignored, as in kube-apiserver."""
    return any(token.strip() == "gzip" for value in request.headers["accept-encoding"] for token in value.split(","))


def _gzip(pieces: Iterable[bytes]) -> list[bytes]:
    packer = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, 31)
    packed = [part for piece in pieces if (part := packer.compress(piece))]
    packed.append(packer.flush())
    return packed
