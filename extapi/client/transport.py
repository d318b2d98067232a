"""The interface for outgoing requests: a transport carries one HTTP request, over a network (``client/``) or in-process (``server/``)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

LONGEST = 600.0
"""Seconds for a response that may be long."""


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """One HTTP request. ``path`` is percent-encoded as on the wire, without the query."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: float = 30.0
    """Seconds until the head of the response, and for :meth:`ClientResponse.read` until its end; streams have no limit."""
    long: bool = False
    """Whether the response may be long: while it arrives, ``timeout`` is that between two pieces, and :data:`LONGEST` that of all."""


class ClientResponse(Protocol):
    """A response whose body is read once: as a whole, or line by line."""

    @property
    def status(self) -> int:
        """The HTTP status code."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Values by lower-case name; several values of a name are joined with ``, ``."""
        ...

    async def read(self, limit: int = 64 * 1024 * 1024) -> bytes:
        """The whole body.

        Raises:
            TransportError: The body has more than ``limit`` bytes, or broke off.
        """
        ...

    def lines(self) -> AsyncIterator[bytes]:
        """The body line by line as it arrives, for watches. Lines are bounded (16 MiB)."""
        ...

    def close(self) -> None:
        """Drop what was not read."""
        ...


class TransportError(Exception):
    """There was no response: connection refused or reset, timeout, untrusted certificate. The text names the server and why."""


class Unreachable(TransportError):
    """No connection to the server could be made: it is away, and so is everything that it could say."""


class AnswerTooLong(TransportError):
    """The answer had more bytes than were wanted, or took longer: a part of it may come through."""


class ConnectionLost(TransportError):
    """An established connection broke before the response came: the request may be sent again (behaviour A24)."""


class ProxyBusy(Unreachable):
    """A proxy on the way has no room for a connection now (503 or 429): the request was not sent, and may be a moment later."""


class Transport(Protocol):
    """Carries requests to one server."""

    async def send(self, request: ClientRequest) -> ClientResponse:
        """Send a request and return the response, whatever its status.

        Raises:
            TransportError: There was no response.
        """
        ...
