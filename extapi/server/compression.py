"""Large answers are compressed where the client accepts gzip (spec G10): small ones at once, the others in a thread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from isal import isal_zlib
from twisted.internet.threads import deferToThreadPool

from extapi.listener.call import Call, Handler, Response

THRESHOLD = 128 * 1024
"""Bytes from which on compressing pays."""

INLINE = 256 * 1024
"""Bytes up to which the reactor's thread compresses by itself (under a millisecond)."""

LEVEL = 1
"""The fastest of ISA-L: 80-685 us for 370 KB, where zlib takes 1,260-3,500."""


class Compression:
    """``reactor`` and ``pool`` run what is too large to be done at once; without them everything is."""

    def __init__(self, reactor: Any = None, pool: Any = None) -> None:
        self._reactor = reactor
        self._pool = pool

    def stage(self, successor: Handler) -> Handler:
        """A stage that compresses its successor's answer if that is large and finished."""

        async def compress(call: Call) -> Response:
            response = await successor(call)
            if "accept-encoding" in call.headers and _wanted(call):
                await self._compress(response)
            return response

        return compress

    async def _compress(self, response: Response) -> None:
        body = response.body
        if callable(body) or any(name.lower() == "content-encoding" for name, _ in response.headers):
            return
        size = len(body) if isinstance(body, bytes) else response.length or 0
        if size <= THRESHOLD:
            return
        pieces = (body,) if isinstance(body, bytes) else body
        if size <= INLINE or self._pool is None:
            packed = _gzip(pieces)
        else:
            packed = await deferToThreadPool(self._reactor, self._pool, _gzip, pieces)
        response.headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        response.body = packed
        response.length = sum(map(len, packed))


def _wanted(call: Call) -> bool:
    """Whether one of the encodings is exactly ``gzip``; weights are not looked at, as in kube-apiserver."""
    return any(token.strip() == "gzip" for value in call.headers["accept-encoding"] for token in value.split(","))


def _gzip(pieces: Iterable[bytes]) -> list[bytes]:
    packer = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, 31)
    packed = [part for piece in pieces if (part := packer.compress(piece))]
    packed.append(packer.flush())
    return packed
