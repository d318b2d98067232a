"""An API served in memory, for an author's tests: requests go through the real chain, with neither network nor cluster.

A test says what time it is: nothing here waits for a real clock, so a watch that lasts half an hour is over at once. What
Kubernetes would provide is made up: users are who the test says they are, and every namespace exists until it is told not to.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from extapi.admission.namespaces import NamespaceLifecycle
from extapi.api.definition import Api, Group
from extapi.api.policyrule import PolicyRule
from extapi.api.user import User
from extapi.authentication.loopback import APISERVER, Loopback
from extapi.authentication.settings import Settings
from extapi.authentication.union import Union
from extapi.authorization.base import Attributes, Authorizer, Decision, Verdict
from extapi.client.base import Reply, Request
from extapi.client.kube import Client
from extapi.listener.call import Handler
from extapi.server.generic import Server
from extapi.server.health import NamedCheck
from extapi.server.rights import AuthorsClient
from extapi.server.version import version_info
from extapi.storage.base import Backend
from extapi.storage.memory import MemoryBackend

if TYPE_CHECKING:
    from extapi.testing.cluster import InMemoryCluster

T = TypeVar("T")

START = 1_700_000_000.0
"""What a server's clock shows at first, in seconds since the epoch: 2023-11-14T22:13:20Z."""

_SECRET = "in-memory"  # noqa: S105 - it proves something only within the process, and only to this server
_STEP = 0.01
"""Seconds by which the clock goes on while something is waited for."""


class AllowAll:
    """An authorizer for tests that are about other things: everybody may do everything."""

    async def authorize(self, user: User, attributes: Attributes) -> Decision:  # noqa: ARG002 - it does not matter who and what
        """Allow."""
        return Decision(Verdict.ALLOW)


class Namespaces:
    """The cluster's namespaces: every one exists, but for those that a test took away."""

    def __init__(self) -> None:
        self.missing: set[str] = set()
        """Names of those that are not there."""
        self.terminating: set[str] = set()
        """Names of those that are being deleted: nothing can be created in them."""
        self.synced = True

    async def wait_synced(self) -> None:
        """Until :attr:`synced`; a test that turns that off wants to see what happens if it stays so."""
        await Deferred[None]()

    def get(self, namespace: str, name: str) -> dict[str, Any] | None:
        """The namespace called ``name``, or None."""
        del namespace
        if name in self.missing:
            return None
        phase = "Terminating" if name in self.terminating else "Active"
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "status": {"phase": phase}}

    async def live(self, name: str) -> dict[str, Any] | None:
        """As :meth:`get`: what is followed and what is there are the same here."""
        return self.get("", name)


@dataclass(frozen=True)
class Answer:
    """A finished answer. ``headers``: lower-case names; several values of one name are joined with ``, ``."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as data."""
        return msgspec.json.decode(self.body)

    def __iter__(self) -> Iterator[Any]:
        """For ``status, headers, body = server.request(...)``."""
        return iter((self.status, self.headers, self.body))


@dataclass
class Stream:
    """A watch that is read beside the test. :meth:`InMemoryServer.run` and :meth:`~InMemoryServer.advance` let it go on."""

    reply: Reply
    lines: list[bytes] = field(default_factory=list)
    """Each event's line as it was sent."""
    ended: bool = False
    error: BaseException | None = None
    """Why it ended, where it did not end as it should."""

    @property
    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """All events so far: type and object."""
        decoded = [msgspec.json.decode(line) for line in self.lines]
        return [(event["type"], event["object"]) for event in decoded]

    def close(self) -> None:
        """Hang up."""
        self.reply.close()

    async def read(self) -> None:
        """Take what comes."""
        try:
            async for line in self.reply.lines():
                self.lines.append(line)
        except Exception as error:  # noqa: BLE001 - the test is told, whatever it was
            self.error = error
        self.ended = True


class InMemoryServer:
    """``api``, served in memory; :func:`serve` starts and stops one around a block.

    ``clock``: what time it is, by default one of its own. ``authorizer``: who may do what, by default all. ``checks``:
    more health checks. ``backend``: another store than one in memory. ``random``: where generated names come from.
    ``builtin`` and ``front``: as of :class:`extapi.server.generic.Server`. ``lifecycle``: whether writes are checked against
    :attr:`namespaces`; not for an API that has namespaces of its own. ``cluster``: kinds that :attr:`cluster` has besides
    those of the built-in control plane.
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
            clock = Clock()
            clock.advance(START)
        self.clock = clock
        self.backend = backend or MemoryBackend(clock)
        self.namespaces = Namespaces()
        """The cluster's namespaces, for a test to take away."""
        self._cluster = _LazyCluster(clock, cluster, api.needs)
        if lifecycle:
            made_up = NamespaceLifecycle(cache=self.namespaces, live=self.namespaces.live, clock=clock)
            builtin = [made_up, *builtin]
        self.server = Server(
            api,
            self.backend,
            clock,
            authenticator=Union([Loopback(_SECRET)]),
            settings=Settings(),
            authorizer=authorizer or AllowAll(),
            secret=_SECRET,
            version=version_info(),
            builtin=builtin,
            checks=checks,
            front=front,
            log_health=log_health,
            reads=reads,
            writes=writes,
            random=random or Random(1),  # noqa: S311 - the same names in each run of a test
            cluster=AuthorsClient(self._cluster, user_agent="extapi"),
        )
        self.client = Client(self.server.transport())
        """Acts as the server itself, which may do everything."""

    def start(self) -> None:
        """Fill the cache, start plugins and controllers. Raises what a start may raise."""
        self.run(self.server.start())

    def stop(self) -> None:
        """End controllers, watches and the store."""
        self.run(self.server.stop())
        self.run(self._cluster.stop())

    @property
    def cluster(self) -> InMemoryServer:
        """What an author's code reaches as ``context.cluster``: Kubernetes' own kinds, as the built-in control plane has them.

        Requests of the test may do everything; the author's code has the rights of ``Api(needs=[...])`` and no others.
        Starts at first use. Knows no garbage collection, and every namespace exists.
        """
        return self.run(self._cluster.started())

    def acting_as(self, user: User) -> Client:
        """A client that acts as ``user``."""
        return Client(self.server.transport(user))

    def run(self, coroutine: Coroutine[Any, Any, T], *, seconds: float = 60.0) -> T:
        """What ``coroutine`` returns or raises; the clock goes on until then.

        :raises TimeoutError: it has not ended after ``seconds`` of the clock's time.
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
        """Let the clock go on in small steps, so that watches, informers and controllers get their turns."""
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
    ) -> Answer:
        """Send one request and read its answer. ``path`` is percent-encoded; a ``body`` that is not bytes is sent as JSON."""
        return self.run(self._answer(_request(method, path, query, headers, body), user))

    def watch(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        user: User = APISERVER,
    ) -> Stream:
        """Open a watch and take its first events; an answer that refuses it is one that ends at once."""
        request = _request("GET", path, {"watch": "true", **(query or {})}, headers, None)
        reply = self.run(self.server.transport(user).send(request))
        stream = Stream(reply)
        Deferred.fromCoroutine(stream.read())
        self.advance(_STEP)
        return stream

    async def _answer(self, request: Request, user: User) -> Answer:
        reply = await self.server.transport(user).send(request)
        return Answer(reply.status, reply.headers, await reply.read())


class _LazyCluster:
    """The way to a cluster that is made when it is first asked: most tests need none (``extapi.client.base.Transport``)."""

    def __init__(self, clock: Clock, groups: Sequence[Group], needs: Sequence[PolicyRule]) -> None:
        self._arguments = (clock, groups, needs)
        self._made: InMemoryCluster | None = None

    async def started(self) -> InMemoryServer:
        """Its server."""
        cluster = self._cluster()
        await cluster.start()
        return cluster.server

    async def send(self, request: Request) -> Reply:
        """See :class:`extapi.client.base.Transport`."""
        return await self._cluster().send(request)

    async def stop(self) -> None:
        """Stop it, if there is one."""
        if self._made is not None:
            await self._made.stop()

    def _cluster(self) -> InMemoryCluster:
        if self._made is None:
            from extapi.testing.cluster import InMemoryCluster  # noqa: PLC0415 - it is an InMemoryServer, and a large one

            self._made = InMemoryCluster(*self._arguments)
        return self._made


def _request(
    method: str,
    path: str,
    query: Mapping[str, str] | Sequence[tuple[str, str]],
    headers: Mapping[str, str] | None,
    body: Any,
) -> Request:
    parameters = tuple(query.items()) if isinstance(query, Mapping) else tuple(query)
    data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
    return Request(method, path, query=parameters, headers=headers or {}, body=data)


@contextmanager
def serve(api: Api, **settings: Any) -> Iterator[InMemoryServer]:
    """Start an :class:`InMemoryServer` for a ``with`` block, and stop it after that; it takes the same ``settings``."""
    server = InMemoryServer(api, **settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()
