"""The bytes of a response's head, and responses that the listener makes by itself.

Knows HTTP and the headers that kube-apiserver adds to every response; nothing of connections.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus

from extapi.http.response import Response

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
SWITCHING = 101

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

    def head(
        self, response: Response, audit_id: str, *, length: int | None, chunked: bool, keep_alive: bool, http10: bool
    ) -> bytes:
        """The status line and all headers (behaviour G11, G12), including the empty line that ends them.

        A line break or NUL in a value becomes a space. ``length`` is the Content-Length to announce; None for none.
        """
        version = "HTTP/1.0" if http10 else "HTTP/1.1"
        line = _LINES[version].get(response.status) or f"{version} {response.status} Unknown\r\n"
        cached = False
        lines = [line, f"Audit-Id: {audit_id}\r\n"]
        for name, value in response.headers:
            lower = name.lower()
            if lower in _OWN:
                continue
            if lower == "cache-control":
                cached = True
            lines.append(f"{name}: {value}\r\n")
        if not cached:
            lines.append("Cache-Control: no-cache, private\r\n")
        second = int(self._now())
        if second != self._second:
            self._second = second
            self._date = f"Date: {formatdate(second, usegmt=True)}\r\n"
        lines.append(self._date)
        if length is not None:
            lines.append(f"Content-Length: {length}\r\n")
        elif chunked:
            lines.append("Transfer-Encoding: chunked\r\n")
        if response.status == SWITCHING:
            lines.append("Connection: Upgrade\r\n")
        elif not keep_alive:
            lines.append("Connection: close\r\n")
        elif http10:
            lines.append("Connection: keep-alive\r\n")
        text = "".join(lines)
        if text.count("\n") != len(lines) or text.count("\r") != len(lines) or "\0" in text:
            text = "".join(line[:-2].translate(_CONTROL) + "\r\n" for line in lines)
        # Headers may echo identities and messages: UTF-8, as Go writes them.
        return f"{text}\r\n".encode("utf-8", "replace")


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
