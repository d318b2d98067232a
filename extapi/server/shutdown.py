"""What requests get while the server shuts down (behaviour H12, H16)."""

from __future__ import annotations

from collections.abc import Awaitable

from extapi.codec.strictjson import encode_status
from extapi.errors import ServiceUnavailable
from extapi.http.request import Request
from extapi.http.response import NOSNIFF, Handler, Response

EXEMPT = ("/readyz", "/livez", "/healthz", "/metrics")
"""Beginnings of paths that are served even then."""


class Shutdown:
    """How far the shutdown has come."""

    def __init__(self) -> None:
        self.requested = False
        """The server is not ready any more."""
        self.refusing = False
        """New requests are refused."""

    def check(self) -> str | None:
        """The readiness check ``shutdown``."""
        return "process is shutting down" if self.requested else None

    def stage(self, successor: Handler) -> Handler:
        """A stage that refuses new requests with 503. The listener closes the connections."""

        def refuse_late(request: Request) -> Awaitable[Response]:
            # In-process requests serve others that were accepted, which have to finish.
            if not self.refusing or request.peer.loopback or request.info.path.startswith(EXEMPT):
                return successor(request)
            return _refuse()

        return refuse_late


async def _refuse() -> Response:
    error = ServiceUnavailable("apiserver is shutting down", retry_after=1)
    headers = [
        ("Content-Type", "application/json"),
        NOSNIFF,
        ("Retry-After", "1"),
    ]
    return Response(503, headers, encode_status(error.status()) + b"\n")
