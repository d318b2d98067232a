"""What all connections of one listener share: the handler, the limits, and who is at work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from extapi.listener.bodymemory import BodyMemory
from extapi.listener.call import Call, Handler
from extapi.listener.stream import HANDSHAKE
from extapi.listener.writing import HeadWriter

if TYPE_CHECKING:
    from extapi.listener.connection import Connection
    from extapi.listener.exchange import Exchange

OnFinished = Callable[[Call, int, int, float], None]
"""``(call, status, bytes of body, seconds)``. Status 0: the peer was gone before an answer was there."""
Describe = Callable[[BaseException], str]
"""What an answer says of the error of a handler. Without one it says nothing: that is for the log."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and numbers that bound what a peer can take."""

    request: float = 60.0
    """Seconds for a request that is not long-running (spec H4; ``--request-timeout``)."""
    idle: float = 90.0
    """Seconds a connection may be idle between requests (Go: ``IdleTimeout``)."""
    head: float = 32.0
    """Seconds from the first byte of a request to the end of its headers (Go: ``ReadHeaderTimeout``)."""
    farewell: float = 1.0
    """Seconds a connection stays open at the end for a request that may be on its way."""
    handshake: float = HANDSHAKE
    """Seconds for the TLS handshake."""
    connections: int = 10_000
    """Open connections; more wait in the kernel's queue."""
    bodies: int = 256 * 1024 * 1024
    """Bytes of bodies that are still arriving, all together: some 85 of the largest size."""


@dataclass(slots=True, eq=False)
class Service:
    """The part of a :class:`~extapi.listener.listener.Listener` that its connections need."""

    reactor: Any
    handler: Handler
    limits: Limits = field(default_factory=Limits)
    on_finished: OnFinished | None = None
    describe: Describe | None = None
    writer: HeadWriter = field(default_factory=HeadWriter)
    draining: bool = False
    """The end is near: a connection stays open only for what has begun, or may be on its way."""
    connections: set[Connection] = field(default_factory=set)
    working: set[Exchange] = field(default_factory=set)
    """Exchanges whose handler or producer waits for something, their connection being there or not."""
    changed: Callable[[], None] | None = None
    """Called when one of the two sets has shrunk."""
    released: Callable[[], None] | None = None
    """Called when a connection has ended: there is room for another."""
    bodies: BodyMemory = field(init=False)

    def __post_init__(self) -> None:
        self.bodies = BodyMemory(self.limits.bodies)

    def worked(self, exchange: Exchange) -> None:
        """The exchange waits for nothing any more."""
        self.working.discard(exchange)
        if self.changed is not None:
            self.changed()

    def disconnected(self, connection: Connection) -> None:
        """The connection has ended."""
        self.connections.discard(connection)
        if self.released is not None:
            self.released()
        if self.changed is not None:
            self.changed()
