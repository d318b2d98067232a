"""An API served in memory for an author's tests: requests go through the real chain, without network or cluster.

The test controls the time: nothing here waits for a real clock, so a watch of half an hour ends at once. What Kubernetes
provides is simulated: the test says which user sends a request, and every namespace exists unless the test removes it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from extapi.admission.namespaces import NamespaceLifecycle
from extapi.api.definition import Api, Group
from extapi.api.policyrule import PolicyRule
from extapi.api.user import User
from extapi.authentication.authenticator import UnionAuthenticator
from extapi.authentication.loopback import APISERVER, Loopback
from extapi.authentication.trust import TrustSettings
from extapi.authorization.authorizer import Attributes, Authorizer, Decision, Verdict
from extapi.client.kube import Client
from extapi.client.transport import ClientRequest, ClientResponse
from extapi.http.response import Handler
from extapi.server.health import NamedCheck
from extapi.server.rights import AuthorsClient
from extapi.server.server import RequestAuth, Server
from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend
from extapi.testing.clock import ManualClock

T = TypeVar("T")

START = 1_700_000_000.0
"""The time at which a server's clock starts, in seconds since the epoch: 2023-11-14T22:13:20Z."""

_SECRET = "in-memory"  # noqa: S105 - known only to this server, within one process
_STEP = 0.01
"""Seconds by which the clock advances per step while something is awaited."""


class AllowAll:
    """An authorizer that allows everything, for tests that are not about authorization."""

    async def authorize(self, user: User, attributes: Attributes) -> Decision:  # noqa: ARG002 - the protocol's arguments
        """Allow the request."""
        return Decision(Verdict.ALLOW)


class Namespaces:
    """The cluster's namespaces: all exist, except those that a test removes."""

    def __init__(self) -> None:
        self.missing: set[str] = set()
        """Names of namespaces that do not exist."""
        self.terminating: set[str] = set()
        """Names of namespaces that are being deleted: nothing can be created in them."""
        self.synced = True

    async def wait_synced(self) -> None:
        """Wait until :attr:`synced`; for a test that sets it to False, forever."""
        await Deferred[None]()

    def get(self, namespace: str, name: str) -> dict[str, Any] | None:
        """The namespace called ``name``; None if it does not exist."""
        del namespace
        if name in self.missing:
            return None
        phase = "Terminating" if name in self.terminating else "Active"
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "status": {"phase": phase}}

    async def live(self, name: str) -> dict[str, Any] | None:
        """The same as :meth:`get`: the copy is always up to date."""
        return self.get("", name)


@dataclass(frozen=True)
class ServerResponse:
    """A finished response.

    Header names are in lower case; several values of one header are joined with ``, ``.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, decoded from JSON."""
        return msgspec.json.decode(self.body)

    def __iter__(self) -> Iterator[Any]:
        """Allow ``status, headers, body = server.request(...)``."""
        return iter((self.status, self.headers, self.body))


@dataclass
class Stream:
    """A watch that is read in the background.

    It proceeds while :meth:`InMemoryServer.run` or :meth:`~InMemoryServer.advance` runs.
    """

    reply: ClientResponse
    lines: list[bytes] = field(default_factory=list)
    """The line of each event, as it was sent."""
    ended: bool = False
    error: BaseException | None = None
    """The error that ended the watch, if any."""

    @property
    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """All events so far, as type and object."""
        decoded = [msgspec.json.decode(line) for line in self.lines]
        return [(event["type"], event["object"]) for event in decoded]

    def close(self) -> None:
        """Close the watch."""
        self.reply.close()

    async def read(self) -> None:
        """Read until the watch ends."""
        try:
            async for line in self.reply.lines():
                self.lines.append(line)
        except Exception as error:  # noqa: BLE001 - the test sees it, whatever it is
            self.error = error
        self.ended = True


class InMemoryServer:
    """An API served in memory; :func:`serve` starts and stops one around a block.

    Args:
        api: The API to serve.
        clock: The time; by default a new clock, which refuses what a reactor refuses, such as a negative delay.
        authorizer: Decides what users may do; by default everything.
        backend: The store; by default a new one in memory.
        builtin: See :class:`extapi.server.server.Server`.
        lifecycle: Whether writes are checked against :attr:`namespaces`; turn it off for an API that serves namespaces.
        checks: Further health checks.
        front: See :class:`extapi.server.server.Server`.
        log_health: Called with endpoint, check and reason of each failed health check.
        reads: How many reads may be in flight.
        writes: How many writes may be in flight.
        random: The source of generated names.
        cluster: Kinds that :attr:`cluster` has besides those of the built-in control plane.
    """

    def __init__(
        self,
        api: Api,
        *,
        clock: Clock | None = None,
        authorizer: Authorizer | None = None,
        backend: Backend | None = None,
        builtin: Sequence[Any] = (),
        lifecycle: bool = True,
        checks: Sequence[NamedCheck] = (),
        front: Callable[[Handler], Handler] | None = None,
        log_health: Callable[[str, str, str], None] = lambda *_: None,
        reads: int = 400,
        writes: int = 200,
        random: Random | None = None,
        cluster: Sequence[Group] = (),
    ) -> None:
        if clock is None:
            clock = ManualClock()
            clock.advance(START)
        self.clock = clock
        self.backend = backend or MemoryBackend(clock)
        self.namespaces = Namespaces()
        """The cluster's namespaces; a test may remove some."""
        self._cluster = _Cluster(clock, cluster, api.needs)
        if lifecycle:
            made_up = NamespaceLifecycle(cache=self.namespaces, live=self.namespaces.live, clock=clock)
            builtin = [made_up, *builtin]
        self.server = Server(
            api,
            self.backend,
            clock,
            auth=RequestAuth(
                UnionAuthenticator([Loopback(_SECRET)]), TrustSettings(), authorizer or AllowAll(), _SECRET
            ),
            builtin=builtin,
            checks=checks,
            front=front,
            log_health=log_health,
            reads=reads,
            writes=writes,
            random=random or Random(1),  # noqa: S311 - the same names in every run of a test
            cluster=AuthorsClient(self._cluster, user_agent="extapi"),
        )
        self.client = Client(self.server.transport())
        """A client that acts as the server itself, which may do everything."""

    def start(self) -> None:
        """Fill the cache, then start plugins and controllers.

        What a plugin's ``start`` raises is raised here.
        """
        self.run(self.server.start())

    def stop(self) -> None:
        """Stop controllers and watches, and close the store."""
        self.run(self.server.stop())
        self.run(self._cluster.stop())

    @property
    def cluster(self) -> InMemoryServer:
        """The cluster behind ``context.cluster``: Kubernetes' own kinds, as in the built-in control plane.

        Requests of the test may do everything; the author's code has only the rights of ``Api(needs=[...])``. The cluster
        starts at its first use. It has no garbage collection, and every namespace exists.
        """
        return self.run(self._cluster.started())

    def acting_as(self, user: User) -> Client:
        """A client that acts as ``user``."""
        return Client(self.server.transport(user))

    def run(self, coroutine: Coroutine[Any, Any, T], *, seconds: float = 60.0) -> T:
        """Run a coroutine to its end, and return or raise its result; the clock advances meanwhile.

        Raises:
            TimeoutError: It has not ended after ``seconds`` of the clock's time.
        """
        results: list[T | Failure] = []
        running = Deferred.fromCoroutine(coroutine)
        running.addBoth(results.append)
        until = self.clock.seconds() + seconds
        while not results:
            if self.clock.seconds() >= until:
                running.cancel()
                raise TimeoutError(f"not done after {seconds} seconds")
            self.clock.advance(_STEP)
        result = results[0]
        if isinstance(result, Failure):
            result.raiseException()
        return result

    def advance(self, seconds: float = 1.0) -> None:
        """Advance the clock in small steps, so that watches, informers and controllers can proceed."""
        until = self.clock.seconds() + seconds
        while self.clock.seconds() < until:
            self.clock.advance(min(_STEP, max(until - self.clock.seconds(), 1e-6)))

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        *,
        user: User = APISERVER,
    ) -> ServerResponse:
        """Send one request and return the response.

        Args:
            method: The HTTP method.
            path: The path, percent-encoded.
            query: The query parameters, not encoded.
            headers: The request's headers.
            body: The body; anything but bytes is sent as JSON.
            user: The user who sends it.
        """
        return self.run(self._answer(_request(method, path, query, headers, body), user))

    def watch(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        user: User = APISERVER,
    ) -> Stream:
        """Open a watch and read its first events. A watch that is refused ends at once."""
        request = _request("GET", path, {"watch": "true", **(query or {})}, headers, None)
        reply = self.run(self.server.transport(user).send(request))
        stream = Stream(reply)
        Deferred.fromCoroutine(stream.read())
        self.advance(_STEP)
        return stream

    async def _answer(self, request: ClientRequest, user: User) -> ServerResponse:
        reply = await self.server.transport(user).send(request)
        return ServerResponse(reply.status, reply.headers, await reply.read())


class _Cluster:
    """The cluster behind ``context.cluster``: a :class:`~extapi.client.transport.Transport` for an author's code.

    Its server is made at its first use: it is large, and most tests need none.
    """

    def __init__(self, clock: Clock, groups: Sequence[Group], needs: Sequence[PolicyRule]) -> None:
        self._clock = clock
        self._groups = groups
        self._needs = needs
        self._starting: Deferred[None] | None = None
        self._server: InMemoryServer | None = None

    async def started(self) -> InMemoryServer:
        """The started server; requests wait while it starts."""
        if self._server is None or self._starting is None:
            self._server = self._make()
            self._starting = Deferred.fromCoroutine(self._server.server.start())
        await self._starting
        return self._server

    async def send(self, request: ClientRequest) -> ClientResponse:
        """See :class:`extapi.client.transport.Transport`."""
        from extapi.testing.cluster import ACCOUNT  # noqa: PLC0415 - see _make

        server = await self.started()
        return await server.server.transport(ACCOUNT).send(request)

    async def stop(self) -> None:
        """Stop the server if it was started."""
        if self._server is not None:
            await self._server.server.stop()

    def _make(self) -> InMemoryServer:
        from extapi.testing.cluster import cluster_parts  # noqa: PLC0415 - imports the whole control plane

        parts = cluster_parts(self._clock, self._groups, self._needs)
        return InMemoryServer(
            parts.api, clock=self._clock, authorizer=parts.authorizer, builtin=parts.builtin, lifecycle=False
        )


def _request(
    method: str,
    path: str,
    query: Mapping[str, str] | Sequence[tuple[str, str]],
    headers: Mapping[str, str] | None,
    body: Any,
) -> ClientRequest:
    parameters = tuple(query.items()) if isinstance(query, Mapping) else tuple(query)
    data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
    return ClientRequest(method, path, query=parameters, headers=headers or {}, body=data)


@contextmanager
def serve(api: Api, **settings: Any) -> Iterator[InMemoryServer]:
    """Start an :class:`InMemoryServer` for a ``with`` block and stop it afterwards; takes the same ``settings``."""
    server = InMemoryServer(api, **settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()
