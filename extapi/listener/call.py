"""One request on its way through the stages, and the answer to it.

The listener makes a :class:`Call` out of bytes; each stage adds what it finds out. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from cryptography import x509

from extapi.api.requestselectors import Selectors
from extapi.api.user import User

PIECE = 64 * 1024
"""Bodies leave in pieces of at most this many bytes: a larger one is never joined in memory."""


class RequestInfo(msgspec.Struct, frozen=True, gc=False):
    """What a request asks for, read from its method and path (``k8s.io/apiserver/pkg/endpoints/request``, spec B1-B7)."""

    verb: str
    """get, list, watch, create, update, patch, delete, deletecollection; for other paths the method in lower case."""
    path: str
    """The path as the URL has it, percent-decoded once."""
    is_resource: bool = False
    prefix: str = ""
    """``api`` or ``apis``."""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    """The segments from the resource on, decoded: resource, name, subresource, and whatever follows."""
    field_selector: str = ""
    label_selector: str = ""
    """The raw selectors, for authorization; only of list, watch and deletecollection."""


@dataclass(slots=True, eq=False)
class Peer:
    """The other end of a connection: lives as long as the connection does."""

    address: str = ""
    certificates: tuple[x509.Certificate, ...] = ()
    """The client's chain as it was presented, leaf first; unverified: TLS asks for it, ``authentication/`` judges it."""
    verdicts: dict[object, Any] = field(default_factory=dict)
    """Room for what a stage wants to remember as long as the connection lives, under a key of its own."""
    authenticated: bool = False
    """Somebody has proved over this connection who they are."""
    loopback: str = ""
    """In-process calls only: the secret that proves it (spec A13, step 0). Never set by the network listener."""


class Body(Protocol):
    """The body of a request, read at most once."""

    @property
    def complete(self) -> bool:
        """All of it is there: reading does not wait."""
        ...

    async def read(self, limit: int) -> bytes:
        """All of it. Raises :class:`extapi.errors.RequestTooLarge` as soon as more than ``limit`` bytes came."""
        ...


@dataclass(slots=True, eq=False)
class Call:
    """A request. ``headers`` maps lower-case names to their values in order; values are text decoded from UTF-8."""

    method: str
    target: str
    """The request target exactly as received, for messages and logs."""
    info: RequestInfo
    query: Mapping[str, Sequence[str]]
    headers: dict[str, list[str]]
    body: Body
    peer: Peer
    audit_id: str
    received: float
    """Seconds on the reactor's clock."""
    deadline: float
    """Seconds on the reactor's clock; ``inf`` for long-running requests."""
    user: User | None = None
    """Set by authentication, and replaced by impersonation."""
    original_user: User | None = None
    """Who impersonates, if somebody does."""
    warnings: list[str] = field(default_factory=list)
    """Texts for Warning headers, in order."""
    log: dict[str, Any] = field(default_factory=dict)
    """What stages want to have in the request's log line. No secrets."""
    _selectors: Selectors | None = None

    @property
    def selectors(self) -> Selectors:
        """The query's selectors. Raises :class:`extapi.errors.BadRequest` for what is beyond their bounds."""
        found = self._selectors
        if found is None:
            found = self._selectors = Selectors(self.first("labelSelector"), self.first("fieldSelector"))
        return found

    def header(self, name: str) -> str:
        """The first value of the header (``name`` in lower case), or the empty string."""
        values = self.headers.get(name)
        return values[0] if values else ""

    def first(self, parameter: str) -> str:
        """The first value of the query parameter, or the empty string."""
        values = self.query.get(parameter)
        return values[0] if values else ""


class Chunk:
    """A piece of a stream that many connections share: the bytes, and the same bytes framed for chunked encoding."""

    __slots__ = ("data", "framed")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.framed = b"%x\r\n%b\r\n" % (len(data), data)


class Sink(Protocol):
    """Where a streaming answer goes. Lives until the producer returns or the peer goes."""

    @property
    def pending(self) -> int:
        """Bytes accepted but not yet taken by the socket."""
        ...

    @property
    def closed(self) -> bool:
        """The peer is gone or the connection was ended: what is written now is dropped."""
        ...

    def write(self, chunk: Chunk) -> None:
        """Queue a chunk. Never blocks, never raises. The caller bounds the queue by :attr:`pending`."""
        ...

    def on_closed(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called once when the sink closes from outside; at once if it is closed already."""
        ...

    async def drained(self) -> None:
        """Wait until nothing is pending, or the sink is closed."""
        ...

    def close(self) -> None:
        """Have the producer return: nothing more is taken, what was written leaves, and the body ends properly."""
        ...

    def abort(self) -> None:
        """End the connection now, without a proper end of the body: the client sees that something is missing."""
        ...


class Duplex(Sink, Protocol):
    """A connection after 101: a sink, and what the peer sends."""

    def receive(self, receiver: Callable[[bytes], None]) -> None:
        """Have ``receiver`` called with what the peer sends from now on; at once with what came already."""
        ...

    def pause(self) -> None:
        """Have the peer wait."""
        ...

    def resume(self) -> None:
        """Go on reading."""
        ...


Streaming = Callable[[Sink], Awaitable[None]]
"""Produces a body; when it returns, the body ends cleanly. If it raises, the connection is aborted."""


class Upgraded:
    """The body of a 101: ``run`` has the connection until it returns. Only for a request that asked to upgrade."""

    __slots__ = ("_run",)

    def __init__(self, run: Callable[[Duplex], Awaitable[None]]) -> None:
        self._run = run

    async def __call__(self, sink: Any) -> None:
        """As :data:`Streaming`; the listener hands in a :class:`Duplex`."""
        await self._run(sink)


@dataclass(slots=True, eq=False)
class Response:
    """An answer. ``body`` is bytes, pieces (each at most :data:`PIECE`), or a producer for a stream.

    The listener adds Content-Length or Transfer-Encoding, Date and Connection; everything else is in ``headers``,
    names spelled as they shall appear on the wire.
    """

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes | Iterable[bytes] | Streaming = b""
    length: int | None = None
    """The body's size in bytes where it comes in pieces and is known."""
    close: bool = False
    """End the connection after this answer."""


Handler = Callable[[Call], Awaitable[Response]]
"""A stage of the pipe, or all stages from one on. Never raises but for what ends the process."""
