"""What a request meets while the server stops (spec H12, H16)."""

from __future__ import annotations

from extapi.codec.strictjson import encode_status
from extapi.errors import ServiceUnavailable
from extapi.listener.call import Call, Handler, Response

EXEMPT = ("/readyz", "/livez", "/healthz", "/metrics")


class Shutdown:
    """Knows whether the server is stopping. :attr:`requested` turns readiness off; :attr:`refusing` turns requests away."""

    def __init__(self) -> None:
        self.requested = False
        self.refusing = False

    def check(self) -> str | None:
        """The readiness check of that name."""
        return "process is shutting down" if self.requested else None

    def stage(self, successor: Handler) -> Handler:
        """A stage that answers 503 to whatever still comes. The listener, which drains, ends the connections."""

        async def refuse_late(call: Call) -> Response:
            # In-process calls are made on behalf of requests that were let in, and these finish.
            if not self.refusing or call.peer.loopback or call.info.path.startswith(EXEMPT):
                return await successor(call)
            error = ServiceUnavailable("apiserver is shutting down", retry_after=1)
            headers = [
                ("Content-Type", "application/json"),
                ("X-Content-Type-Options", "nosniff"),
                ("Retry-After", "1"),
            ]
            return Response(503, headers, encode_status(error.status()) + b"\n")

        return refuse_late
