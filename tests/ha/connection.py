"""A client's connection: to one replica at a time, and to the next one when that fails, as behind a Service."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Sequence
from typing import Any

from tests.conformance.serving import HEADERS
from tests.ha.cluster import SECURE_PORT

_CONNECT, _ANSWER = 2.0, 9.0
"""Seconds until a client gives up: to connect, to be answered."""


class NotSent(Exception):
    """The request was not sent."""


class Lost(Exception):
    """The request was sent, and no answer came."""


class Connection:
    """To one replica after another."""

    def __init__(self, addresses: Sequence[str], tls: ssl.SSLContext, first: int) -> None:
        self._addresses = addresses
        self._tls = tls
        self._at = first
        self._open: http.client.HTTPSConnection | None = None

    def leave(self) -> None:
        """Use the next replica from now on."""
        self.close()
        self._at += 1

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _connected(self) -> http.client.HTTPSConnection:
        if self._open is None:
            address = self._addresses[self._at % len(self._addresses)]
            made = http.client.HTTPSConnection(address, SECURE_PORT, timeout=_CONNECT, context=self._tls)
            try:
                made.connect()
            except OSError as error:
                made.close()
                self._at += 1
                raise NotSent(str(error)) from error
            self._open = made
        return self._open

    def begin(
        self, method: str, path: str, body: Any = None, kind: str = "application/json", seconds: float = _ANSWER
    ) -> http.client.HTTPResponse:
        """Send a request; what is answered, unread.

        Raises:
            NotSent: No connection to this replica; the next one is tried next time.
            Lost: No answer.
        """
        connection = self._connected()
        assert connection.sock is not None
        connection.sock.settimeout(seconds)
        content = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, content, {**HEADERS, "Content-Type": kind})
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.leave()
            raise Lost(repr(error)) from error

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Any]:
        """One request and its whole answer: the status, and the body as JSON (as text if it is none).

        Raises:
            NotSent: As :meth:`begin`.
            Lost: As there.
        """
        answer = self.begin(method, path, body, kind)
        try:
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.leave()
            raise Lost(repr(error)) from error
        if answer.status == 503 or answer.will_close:
            self.leave()
        if answer.headers.get_content_type() == "application/json":
            return answer.status, json.loads(data)
        return answer.status, data.decode()
