"""The seam of outgoing calls: a transport carries one HTTP request. Over the network in ``client/``, in-process in ``server/``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. ``path`` is percent-encoded as it goes on the wire, without the query."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: float = 30.0
    """Seconds until the head of the answer, and until the whole of it for :meth:`Reply.read`; streams have no limit."""


class Reply(Protocol):
    """An answer whose body is read once: whole, or line by line."""

    @property
    def status(self) -> int:
        """The HTTP status code."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Lower-case names to values; several values of a name are joined with ``, ``."""
        ...

    async def read(self, limit: int = 64 * 1024 * 1024) -> bytes:
        """The whole body. Raises :class:`TransportError` if it is larger than ``limit`` bytes or breaks off."""
        ...

    def lines(self) -> AsyncIterator[bytes]:
        """The body line by line as it arrives, for watches; lines are bounded (16 MiB)."""
        ...

    def close(self) -> None:
        """Drop what has not been read."""
        ...


class TransportError(Exception):
    """The request got no answer: refused, reset, timed out, untrusted certificate. The text names the server and why."""


class ConnectionLost(TransportError):
    """The connection was there and broke before the answer came: the request may be sent again (spec A24)."""


class Transport(Protocol):
    """Carries requests to one server."""

    async def send(self, request: Request) -> Reply:
        """The answer, whatever its status. Raises :class:`TransportError`."""
        ...
