"""What all connections of one listener share: the handler, the limits, and what is open and under way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, Protocol

from extapi.http.request import Peer, Request, client_network
from extapi.http.response import Handler
from extapi.listener.body import BodyMemory
from extapi.listener.parsing import LowerCaseNames
from extapi.listener.proxyprotocol import ProxyHeaderLog
from extapi.listener.stream import HANDSHAKE, TLSStream
from extapi.listener.writing import HeadWriter

OnFinished = Callable[[Request, int, int, float], None]
"""``(request, status, bytes of body, seconds)``. Status 0: the peer left before there was a response."""
Describe = Callable[[BaseException], str]
"""What a response says about the error of a handler. Without it, a response says nothing: errors are for the log."""
SPREAD = 0.2
"""By what part of it the life of a connection is longer or shorter, so that many do not end at a time."""
SHED = 100
"""One in so many connections is closed at a time, because looking through all of them takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and numbers that bound what a peer can take."""

    request: float = 60.0
    """Seconds for a request that is not long-running (behaviour H4; ``--request-timeout``)."""
    idle: float = 90.0
    """Seconds a connection may be idle between requests (Go: ``IdleTimeout``)."""
    head: float = 32.0
    """Seconds from the first byte of a request to the end of its headers (Go: ``ReadHeaderTimeout``)."""
    farewell: float = 1.0
    """Seconds a connection stays open during shutdown for a request that may be on its way."""
    handshake: float = HANDSHAKE
    """Seconds for the TLS handshake."""
    connections: int = 10_000
    """Open connections; more wait in the kernel's queue."""
    bodies: int = 256 * 1024 * 1024
    """Bytes of all bodies that are still arriving, together: some 85 of the largest size."""
    requests: int = 0
    """About how many requests a connection serves before a response ends it (``--connection-requests``); 0: any number."""
    life: float = 300.0
    """About how many seconds a connection lives until a response ends it, if ``requests`` is not 0."""


class Life(NamedTuple):
    """How long a connection is used."""

    requests: float
    """The number of requests it serves."""
    until: float
    """The moment after which it serves one more, on the reactor's clock."""


UNBOUNDED = Life(float("inf"), float("inf"))


class OpenConnection(Protocol):
    """What the listener needs of a connection."""

    peer: Peer
    stream: TLSStream

    @property
    def idle_since(self) -> float | None:
        """Since when the connection has no request, on the reactor's clock; None while it has one."""
        ...

    def drain(self) -> None:
        """Finish what is under way, answer what is on its way, and end."""
        ...


@dataclass(slots=True, eq=False)
class ListenerState:
    """The part of a :class:`~extapi.listener.listener.Listener` that its connections need."""

    reactor: Any
    handler: Handler
    limits: Limits = field(default_factory=Limits)
    on_finished: OnFinished | None = None
    describe: Describe | None = None
    random: Random = field(default_factory=Random)
    """For the lives of connections."""
    writer: HeadWriter = field(default_factory=HeadWriter)
    names: LowerCaseNames = field(default_factory=LowerCaseNames)
    draining: bool = False
    """Shutdown has begun: a connection stays open only for requests that have begun, or may be on their way."""
    connections: set[OpenConnection] = field(default_factory=set)
    working: set[object] = field(default_factory=set)
    """Exchanges whose handler or producer is waiting, even if their connection has ended."""
    changed: Callable[[], None] | None = None
    """Called when one of the two sets has shrunk."""
    released: Callable[[], None] | None = None
    """Called when a connection has ended, so that there is room for another."""
    bodies: BodyMemory = field(init=False)
    proxy_headers: ProxyHeaderLog = field(init=False)

    def __post_init__(self) -> None:
        self.proxy_headers = ProxyHeaderLog(self.reactor)
        self.bodies = BodyMemory(self.limits.bodies)

    def life(self) -> Life:
        """How long a connection that begins now is used.

        Clients such as kube-aggregator keep connections for as long as they are of use. Without an end, a server that has
        just started would get none of the requests of those that were there before.

        Source: ``--goaway-chance`` of kube-apiserver, ``k8s.io/apiserver/pkg/server/filters/goaway.go``, which does this for
        HTTP/2.
        """
        limits = self.limits
        if not limits.requests:
            return UNBOUNDED
        requests = limits.requests * self._spread()
        return Life(max(1, round(requests)), self.reactor.seconds() + limits.life * self._spread())

    def _spread(self) -> float:
        return 1 + SPREAD * (2 * self.random.random() - 1)

    def worked(self, exchange: object) -> None:
        """The exchange is not waiting any more."""
        self.working.discard(exchange)
        if self.changed is not None:
            self.changed()

    def disconnected(self, connection: OpenConnection) -> None:
        """The connection has ended."""
        self.connections.discard(connection)
        if self.released is not None:
            self.released()
        if self.changed is not None:
            self.changed()

    def to_shed(self) -> list[OpenConnection]:
        """The connections to close when there are too many: the oldest idle ones of the network that has the most.

        Without this, one address could hold every connection for as long as it likes, by sending a request now and
        then. Connections over which a client has proved its identity are spared. That protects kube-apiserver even
        where an attacker shares its address, because it presents a certificate.
        """
        strangers: defaultdict[str, list[tuple[float, int, OpenConnection]]] = defaultdict(list)
        for number, connection in enumerate(self.connections):
            since = connection.idle_since
            if since is not None and not connection.peer.authenticated:
                strangers[client_network(connection.peer.address)].append((since, number, connection))
        most = max(strangers.values(), key=len, default=[])
        return [connection for _, _, connection in sorted(most)[: max(1, self.limits.connections // SHED)]]
