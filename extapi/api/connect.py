"""What an author writes for a subresource that takes the connection over, such as ``exec``, ``log`` or ``proxy``.

The connecter is one coroutine: it gets a :class:`ConnectRequest`, refuses by raising an ApiError, and returns how to answer: with
a body, as a WebSocket, or in any other protocol. Pure data and protocols; ``verbs/`` has what stands behind them.

Source: ``k8s.io/apiserver/pkg/registry/rest`` Connecter.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from extapi.api.user import User

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""The methods that a connecter can answer (``pods/proxy`` has all of them)."""


class ConnectionClosed(Exception):
    """The client has left, or the server stops: nothing can be sent any more. A session may let it pass."""


class BodyReader(Protocol):
    """The body of a request, read once: whole, or piece by piece while it arrives."""

    async def read(self, limit: int = ...) -> bytes:
        """The whole body.

        Args:
            limit: The most bytes to accept; by default 3 MiB.

        Raises:
            ApiError: It has more bytes, or did not arrive completely.
        """
        ...

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces as they arrive. A client that sends faster than you read has to wait."""
        ...


class WebSocket(Protocol):
    """A WebSocket on the server's side. Pings are answered for you."""

    protocol: str
    """The subprotocol that was chosen; empty if the client offered none."""

    async def receive(self) -> str | bytes:
        """The next message: str if it is text, bytes if it is binary.

        Raises:
            ConnectionClosed: There is no further one.
        """
        ...

    def __aiter__(self) -> AsyncIterator[str | bytes]:
        """The messages until the client closes or leaves, or the server stops."""
        ...

    async def send(self, message: str | bytes) -> None:
        """Send a message, as text or binary by its type. Waits for a client that does not read.

        Raises:
            ConnectionClosed: The client has left, or does not read.
        """
        ...

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Close, with a code of RFC 6455, section 7.4. A session that returns closes with 1000."""
        ...


class UpgradedConnection(Protocol):
    """A connection that has changed to a protocol of your own: bytes both ways."""

    async def read(self) -> bytes:
        """What has arrived, as soon as there is something; empty at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes. Waits for a client that does not read.

        Raises:
            ConnectionClosed: The client has left, or does not read.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectRequest:
    """A request on a subresource with a connecter. It is authorized, and admission has let it pass."""

    user: User
    """Who sent it."""
    version: str
    """The version in the path."""
    namespace: str = ""
    """The namespace in the path; empty for cluster-scoped kinds."""
    name: str
    """The object's name."""
    object: Any = None
    """The object, as a :class:`Strategy` sees it: of the hub type, or a dict if there is no type. It is a copy."""
    method: str
    """GET, POST and so on."""
    path: str = ""
    """What follows the subresource in the path, decoded: ``/a/b``, or empty."""
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The parameters of the query with their values in order."""
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The headers, by names in lower case. Credentials are not among them."""
    body: BodyReader
    """The body."""

    def first(self, parameter: str, default: str = "") -> str:
        """The first value of a query parameter."""
        values = self.query.get(parameter)
        return values[0] if values else default


Body: TypeAlias = str | bytes | AsyncIterable[str | bytes]


@dataclass(frozen=True, slots=True)
class StreamingResponse:
    """An answer with a body: a str, bytes, or pieces of them that are sent as they come.

    If the client leaves, the iterator is cancelled where it waits, or closed. If it raises, the connection breaks off, so that
    the client does not take what it got for the whole.
    """

    body: Body = b""
    content_type: str = "text/plain"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WebSocketResponse:
    """Accept a WebSocket, and run ``session`` on it. A client that did not ask for one gets 400."""

    session: Callable[[WebSocket], Awaitable[None]]
    """When the client closes or leaves, or the server stops, it has ten seconds to return; then it is cancelled."""
    protocols: Sequence[str] = ()
    """The subprotocols that the session speaks. The first that a client offers is chosen; a client that offers only others gets
    403. If empty, any is."""


@dataclass(frozen=True, slots=True)
class UpgradeResponse:
    """Change to ``protocol``, and run ``session`` on the bytes. A client that did not ask for this protocol gets 400."""

    protocol: str
    """As in the Upgrade header: ``SPDY/3.1``. Compared without case."""
    session: Callable[[UpgradedConnection], Awaitable[None]]
    """When the client leaves, or the server stops, it has ten seconds to return; then it is cancelled."""
    headers: Mapping[str, str] = field(default_factory=dict)


ConnectResponse: TypeAlias = StreamingResponse | WebSocketResponse | UpgradeResponse
"""What a connecter returns."""


class Connecter(Protocol):
    """Answers the requests on a subresource, and on all paths below it."""

    async def __call__(self, request: ConnectRequest, /) -> ConnectResponse:
        """Answer a request, or refuse it by raising an ApiError. There is no deadline; if the client leaves, it is cancelled."""
        ...
