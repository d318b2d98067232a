"""A request on its way through the stages.

The listener makes a :class:`Request` from bytes; each stage adds what it finds out. Nothing is decided here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from cryptography import x509

from extapi.api.requestselectors import Selectors
from extapi.api.user import User


class RequestInfo(msgspec.Struct, frozen=True, gc=False):
    """What a request asks for, according to its method, path and query (``k8s.io/apiserver/pkg/endpoints/request``, behaviour B1-B7)."""

    verb: str
    """get, list, watch, create, update, patch, delete or deletecollection; for other paths the method in lower case."""
    path: str
    """The path of the URL, percent-decoded once."""
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
    """The decoded segments from the resource on: resource, name, subresource, and whatever follows."""
    field_selector: str = ""
    label_selector: str = ""
    """The raw selectors, for authorization; only for list, watch and deletecollection."""


@dataclass(slots=True, eq=False)
class Peer:
    """The other end of a connection; lives as long as the connection."""

    address: str = ""
    certificates: tuple[x509.Certificate, ...] = ()
    """The chain that the client presented, leaf first. Unverified: TLS asks for it, ``authentication/`` verifies it."""
    verdicts: dict[object, Any] = field(default_factory=dict)
    """What stages cache per connection, each under its own key."""
    authenticated: bool = False
    """A client has proved its identity over this connection."""
    loopback: str = ""
    """Of in-process requests only: the secret that proves it (behaviour A13, step 0). Never set by the network listener."""


class Body(Protocol):
    """The body of a request, read at most once: whole, or piece by piece."""

    @property
    def complete(self) -> bool:
        """Whether the whole body has arrived, so that reading does not wait."""
        ...

    async def read(self, limit: int) -> bytes:
        """The whole body.

        Raises:
            RequestTooLarge: More than ``limit`` bytes have arrived or are announced.
        """
        ...

    async def more(self) -> bytes:
        """The next piece, as soon as there is one; empty at the end. What is not asked for waits at the client.

        Raises:
            ApiError: Why the rest will never arrive.
        """
        ...


class NoBody:
    """The body of a request that has none."""

    complete = True

    async def read(self, limit: int) -> bytes:  # noqa: ARG002 - the protocol's signature
        """Return the empty body at once."""
        return b""

    async def more(self) -> bytes:
        """Return the end at once."""
        return b""


Authorize = Callable[[str], Awaitable[None]]
"""Asks whether the user may do something else to what the request is for, given the verb.

Raises:
    ApiError: The user may not, or nobody knows.
"""


class Request(msgspec.Struct, eq=False):
    """A request. ``headers`` maps lower-case names to their values in order, decoded from UTF-8."""

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
    """Seconds on the reactor's clock; infinite for long-running requests."""
    long_running: bool = False
    """It may last as long as its client likes, such as a watch or a connection to an object, and ends when the client leaves.

    Set before the request is authenticated. Its body goes on arriving while the response is being written.
    """
    user: User | None = None
    """Set by authentication, replaced by impersonation."""
    original_user: User | None = None
    """The impersonating user, if there is one."""
    authorize: Authorize | None = None
    """Set by authorization, for a request that may turn out to be another one: an apply that creates."""
    warnings: list[str] = msgspec.field(default_factory=list)
    """Texts for Warning headers, in order."""
    series: dict[Any, Any] | None = None
    """Set by the router once the request has reached a verb of an endpoint: what metrics have found for that endpoint."""
    audit_annotations: dict[str, str] = msgspec.field(default_factory=dict)
    """What admission plugins note for the audit, and for the request's log line."""
    log: dict[str, Any] = msgspec.field(default_factory=dict)
    """What stages add to the request's log line. No secrets."""
    _selectors: Selectors | None = None

    @property
    def selectors(self) -> Selectors:
        """The selectors in the query.

        Raises:
            BadRequest: They exceed their bounds.
        """
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


def client_network(address: str) -> str:
    """The network by which peers are counted: an IPv4 address itself; for IPv6 the /64 that a host usually gets (RFC 7934)."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:  # IPv4, as a socket on "::" sees it
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(parsed) >> 64 << 64))
