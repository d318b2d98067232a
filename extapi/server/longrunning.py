"""A long-running request: what it brought, to be judged again by, and its stream, known from its beginning to its end.

Knows nothing of when it is judged, nor how.
"""

from __future__ import annotations

import math
from typing import Protocol

from extapi.api.user import User
from extapi.listener.body import NoBody
from extapi.listener.call import Call, Duplex, Sink, Streaming, Upgraded

TOKENS = ("authorization", "sec-websocket-protocol")
"""Headers that carry bearer tokens."""
_NO_BODY = NoBody()


class Registry(Protocol):
    """Is told which long-running requests there are."""

    def enter(self, watch: LongRunning, sink: Sink, generation: int) -> None:
        """A stream has begun, of a request that was authenticated under that generation of trust, or a later one."""
        ...

    def leave(self, watch: LongRunning) -> None:
        """A stream has ended, for whatever reason."""
        ...


def tracked(registry: Registry, watch: LongRunning, body: Streaming, generation: int) -> Streaming:
    """The body, with ``registry`` told when it begins and ends. What upgrades a connection stays something that does."""
    if isinstance(body, Upgraded):
        return _TrackedUpgrade(registry, watch, body, generation)
    return _Tracked(registry, watch, body, generation)


class LongRunning:
    """A long-running request and what it brought. ``sink``: None before it begins and after it has ended."""

    __slots__ = (
        "asked",
        "busy",
        "call",
        "due",
        "expires",
        "has_token",
        "headers",
        "identity",
        "requestor",
        "sink",
        "stale",
    )

    def __init__(self, call: Call, headers: dict[str, list[str]]) -> None:
        self.call = call
        self.headers = headers
        self.identity: tuple[User | None, User | None] = (call.original_user, call.user)
        self.requestor = call.original_user or call.user
        self.has_token = any(name in headers for name in TOKENS)
        self.sink: Sink | None = None
        self.due = self.expires = math.inf
        self.asked = 0.0
        """Since when the question whether it may go on has no answer; 0: it has one."""
        self.busy = False
        """It is judged now, or waits for that."""
        self.stale = False
        """Trust changed while it was busy."""

    def again(self, without: tuple[str, ...] = ()) -> Call:
        """The request as it came, but for some headers, for the stages to take apart once more."""
        call = self.call
        headers = {name: values for name, values in self.headers.items() if name not in without}
        return Call(
            method=call.method,
            target=call.target,
            info=call.info,
            query=call.query,
            headers=headers,
            body=_NO_BODY,
            peer=call.peer,
            audit_id=call.audit_id,
            received=call.received,
            deadline=math.inf,
        )


class _Tracked:
    """A :data:`~extapi.listener.call.Streaming` that is known as long as it runs."""

    def __init__(self, registry: Registry, watch: LongRunning, body: Streaming, generation: int) -> None:
        self._registry = registry
        self._watch = watch
        self._body = body
        self._generation = generation

    async def __call__(self, sink: Sink) -> None:
        """See :data:`~extapi.listener.call.Streaming`."""
        self._registry.enter(self._watch, sink, self._generation)
        try:
            await self._body(sink)
        finally:
            self._registry.leave(self._watch)

    def close(self) -> None:
        """Nobody is there to read it."""
        close = getattr(self._body, "close", None)
        if close is not None:
            close()


class _TrackedUpgrade(Upgraded):
    """The same of an upgraded connection."""

    __slots__ = ("_tracked",)

    def __init__(self, registry: Registry, watch: LongRunning, body: Streaming, generation: int) -> None:
        super().__init__(self._known)
        self._tracked = _Tracked(registry, watch, body, generation)

    async def _known(self, connection: Duplex) -> None:
        await self._tracked(connection)

    def close(self) -> None:
        """Nobody is there."""
        self._tracked.close()
