"""Long-running requests: which they are, the credentials by which each can be judged again, and its stream to its end.

Must not know when or how they are judged.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Protocol

from extapi.api.user import User
from extapi.http.request import NoBody, Request, RequestInfo
from extapi.http.response import Duplex, Handler, Response, Sink, Streaming, Upgraded

TOKENS = ("authorization", "sec-websocket-protocol")
"""Headers that carry bearer tokens."""
_NO_BODY = NoBody()


LongRunningCheck = Callable[[RequestInfo], bool]
"""Whether a request is long-running, besides watches (``LongRunningRequestCheck`` in ``k8s.io/apiserver``)."""


def mark_long_running(successor: Handler, check: LongRunningCheck) -> Handler:
    """A stage that frees long-running requests from their deadline."""

    def mark(request: Request) -> Awaitable[Response]:
        if check(request.info):
            request.long_running, request.deadline = True, math.inf
        return successor(request)

    return mark


class Registry(Protocol):
    """Is told when long-running requests begin and end."""

    def enter(self, watch: LongRunning, sink: Sink, generation: int) -> None:
        """A stream has begun.

        Args:
            watch: The request.
            sink: Where it is written.
            generation: The generation of trust under which the request was authenticated, or an earlier one.
        """
        ...

    def leave(self, watch: LongRunning) -> None:
        """A stream has ended."""
        ...


def tracked(registry: Registry, watch: LongRunning, body: Streaming, generation: int) -> Streaming:
    """The body, which now tells ``registry`` when it begins and ends. An :class:`Upgraded` body stays one."""
    if isinstance(body, Upgraded):
        return _TrackedUpgrade(registry, watch, body, generation)
    return _Tracked(registry, watch, body, generation)


class LongRunning:
    """A long-running request.

    Args:
        request: The request; the stages have deleted its credentials.
        headers: Its headers as they arrived.
    """

    __slots__ = (
        "busy",
        "due",
        "expires",
        "has_token",
        "headers",
        "identity",
        "request",
        "requestor",
        "sink",
        "stale",
        "unanswered",
    )

    def __init__(self, request: Request, headers: dict[str, list[str]]) -> None:
        self.request = request
        self.headers = headers
        self.identity: tuple[User | None, User | None] = (request.original_user, request.user)
        self.requestor = request.original_user or request.user
        self.has_token = any(name in headers for name in TOKENS)
        self.sink: Sink | None = None
        """Where it is written; None before it begins and after it has ended."""
        self.due = self.expires = math.inf
        """When it is to be judged again, and when its certificate expires."""
        self.unanswered = 0.0
        """Since when it could not be judged again; 0 if the last judgement succeeded."""
        self.busy = False
        """It is being judged, or waits for that."""
        self.stale = False
        """Trust changed while it was busy."""

    def again(self, without: tuple[str, ...] = ()) -> Request:
        """A copy of the request as it arrived, without some headers, for the stages that judge it again."""
        request = self.request
        headers = {name: values for name, values in self.headers.items() if name not in without}
        return Request(
            method=request.method,
            target=request.target,
            info=request.info,
            query=request.query,
            headers=headers,
            body=_NO_BODY,
            peer=request.peer,
            audit_id=request.audit_id,
            received=request.received,
            deadline=math.inf,
        )


class _Tracked:
    """A :data:`~extapi.http.response.Streaming` that tells the registry when it runs."""

    def __init__(self, registry: Registry, watch: LongRunning, body: Streaming, generation: int) -> None:
        self._registry = registry
        self._watch = watch
        self._body = body
        self._generation = generation

    async def __call__(self, sink: Sink) -> None:
        """See :data:`~extapi.http.response.Streaming`."""
        self._registry.enter(self._watch, sink, self._generation)
        try:
            await self._body(sink)
        finally:
            self._registry.leave(self._watch)

    def close(self) -> None:
        """The client left before it began."""
        close = getattr(self._body, "close", None)
        if close is not None:
            close()


class _TrackedUpgrade(Upgraded):
    """The same for an upgraded connection."""

    __slots__ = ("_tracked",)

    def __init__(self, registry: Registry, watch: LongRunning, body: Streaming, generation: int) -> None:
        super().__init__(self._run_tracked)
        self._tracked = _Tracked(registry, watch, body, generation)

    async def _run_tracked(self, connection: Duplex) -> None:
        await self._tracked(connection)

    def close(self) -> None:
        """The client left before it began."""
        self._tracked.close()
