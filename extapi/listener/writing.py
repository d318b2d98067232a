"""The bytes of a response's head, the framing of its body, and responses that the listener makes by itself.

Knows HTTP and the headers that kube-apiserver adds to every response; nothing of connections.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http import HTTPStatus

from extapi.http.response import PIECE, Response

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
SWITCHING = 101

HEADS = 256
"""Combinations of status and headers that are cached; most responses have one of a handful."""
LONGEST = 512
"""Headers of more characters, such as warnings, are not cached."""

PANIC = "This request caused apiserver to panic. Look in the logs for details."
TIMED_OUT = "Timeout: request did not complete within the allotted timeout"

# Added here and nowhere else: what a stage has set is dropped.
_OWN = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "date", "audit-id"})
_LINES = {
    version: {status.value: f"{version} {status.value} {status.phrase}\r\n" for status in HTTPStatus}
    for version in ("HTTP/1.1", "HTTP/1.0")
}
_CONTROL = str.maketrans({"\r": " ", "\n": " ", "\0": " "})


class HeadWriter:
    """Writes heads. ``now`` returns the wall clock in seconds since the epoch, for Date, which is cached for a second."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._second = -1
        self._date = ""
        self._cache: dict[tuple[object, ...], tuple[str, str]] = {}
        """By status, version and headers: the parts of a head that are the same in many responses."""

    def head(
        self, response: Response, audit_id: str, *, length: int | None, chunked: bool, keep_alive: bool, http10: bool
    ) -> bytes:
        """The status line and all headers (behaviour G11, G12), including the empty line that ends them.

        A line break or NUL in a value becomes a space. ``length`` is the Content-Length to announce; None for none.
        """
        key = (response.status, http10, *response.headers)
        line, headers = self._cache.get(key) or self._make(response, key, http10=http10)
        if not audit_id.isprintable():
            audit_id = audit_id.translate(_CONTROL)
        second = int(self._now())
        if second != self._second:
            self._second = second
            self._date = f"Date: {formatdate(second, usegmt=True)}\r\n"
        framing = ""
        if length is not None:
            framing = f"Content-Length: {length}\r\n"
        elif chunked:
            framing = "Transfer-Encoding: chunked\r\n"
        if response.status == SWITCHING:
            framing += "Connection: Upgrade\r\n"
        elif not keep_alive:
            framing += "Connection: close\r\n"
        elif http10:
            framing += "Connection: keep-alive\r\n"
        # Headers may echo identities and messages: UTF-8, as Go writes them.
        return f"{line}Audit-Id: {audit_id}\r\n{headers}{self._date}{framing}\r\n".encode("utf-8", "replace")

    def _make(self, response: Response, key: tuple[object, ...], *, http10: bool) -> tuple[str, str]:
        """The status line, and the headers that the handler has chosen."""
        version = "HTTP/1.0" if http10 else "HTTP/1.1"
        line = _LINES[version].get(response.status) or f"{version} {response.status} Unknown\r\n"
        chosen = [(name, value) for name, value in response.headers if name.lower() not in _OWN]
        if not any(name.lower() == "cache-control" for name, _ in chosen):
            chosen.append(("Cache-Control", "no-cache, private"))
        headers = "".join(f"{name}: {value}".translate(_CONTROL) + "\r\n" for name, value in chosen)
        if len(headers) <= LONGEST:
            if len(self._cache) >= HEADS:
                self._cache.clear()
            self._cache[key] = line, headers
        return line, headers


def framed(piece: bytes | memoryview) -> bytes:
    """A piece of a body as a chunk (RFC 9112, section 7.1). It must not be empty: that would end the body."""
    return b"".join((b"%x\r\n" % len(piece), piece, b"\r\n"))


def in_pieces(body: bytes) -> Iterator[memoryview]:
    """A body in pieces of at most ``PIECE`` bytes, none of them copied."""
    view = memoryview(body)
    for at in range(0, len(body), PIECE):
        yield view[at : at + PIECE]


def json_response(status: int, content: object, *, close: bool = False) -> Response:
    """Compact JSON with a line break at the end."""
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    return Response(status, [("Content-Type", "application/json")], body, close=close)


def timed_out() -> Response:
    """The response if the deadline passes before anything is written (behaviour H5): a Status without kind and apiVersion."""
    return json_response(
        504,
        {
            "metadata": {},
            "status": "Failure",
            "message": TIMED_OUT,
            "reason": "Timeout",
            "details": {},
            "code": 504,
        },
    )
