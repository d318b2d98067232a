"""An API server without network and process: store, cache, registry, endpoints and chain put together.

:mod:`extapi.server.serving` adds a listener; ``extapi.testing`` uses it in memory. Two servers in one process share
nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from extapi.api.arguments import is_feed
from extapi.api.definition import Api, Group
from extapi.api.policyrule import PolicyRule
from extapi.api.user import User
from extapi.authentication.authenticator import Authenticator
from extapi.authentication.loopback import APISERVER
from extapi.authentication.trust import TrustSettings
from extapi.authorization.authorizer import Authorizer
from extapi.client.kube import Client
from extapi.http.response import Handler
from extapi.listener.state import Describe
from extapi.registry.ruling import RuleRunner
from extapi.registry.served import ServedKind
from extapi.server.chain import build_chain
from extapi.server.compression import Compression
from extapi.server.context import Context
from extapi.server.currentcatalogue import CurrentCatalogue
from extapi.server.electedcontrollers import ElectedControllers, MakeElector
from extapi.server.exposition import Family
from extapi.server.health import Health, NamedCheck
from extapi.server.inflight import Room
from extapi.server.longrunning import LongRunningCheck
from extapi.server.loopback import LoopbackTransport
from extapi.server.metrics import PATHS as METRICS, Metrics
from extapi.server.plugins import Plugins, PluginSet
from extapi.server.reauthorization import PERIOD, Reauthorization
from extapi.server.requestmetrics import RequestMetrics
from extapi.server.router import Router, version_info
from extapi.server.servedmetrics import build_families, catalogue_families, room_families
from extapi.server.shutdown import Shutdown
from extapi.server.store import ServerStore
from extapi.storage.base import Backend
from extapi.storage.compaction import INTERVAL
from extapi.storage.filling import check_filled

Switched = Callable[[], None]
"""Is called at the moment from which requests find new kinds."""
Replace = Callable[[Sequence[Group], Switched], Awaitable[object]]
"""Serves other groups: :meth:`Server.replace`, or :meth:`extapi.server.kindsources.KindSources.replace`."""


@dataclass(frozen=True)
class RequestAuth:
    """Who may send requests, and what they may do."""

    authenticator: Authenticator
    """Finds the user of a request."""
    settings: TrustSettings
    """The trust that ``authenticator`` reads; its changes have open watches judged again."""
    authorizer: Authorizer
    """Decides what the user may do."""
    secret: str
    """What ``authenticator`` accepts from in-process clients."""


class Server:
    """One API on one store.

    Args:
        api: What to serve.
        backend: Where objects are stored.
        reactor: The reactor.
        auth: Who may send requests, and what they may do.
        builtin: Admission plugins before the author's, and other objects to be started with them.
        checks: Further health checks.
        store_check: The name of the store's health check.
        front: Wraps the router, for paths that something else handles, such as an aggregator.
        log_health: Is called with endpoint, check and reason when a health check fails.
        pool: A thread pool, for compression and for rules that cost much.
        reads: The most read requests in flight; 0 for no bound.
        writes: The most write requests in flight; 0 for no bound.
        reauthorize: Seconds after which an open watch is judged again; 0 for only when trust changes.
        long_running: Tells which requests last, besides watches and those that the API's connecters answer.
        random: For names and delays.
        cluster: What authors' code gets as ``context.cluster``.
        describe: Describes an author's exception to the client; for development only.
        elector: Makes this process a candidate; None: it always leads.
        compaction: Seconds between two compactions of the store; 0: none.
        replica: Who this server is among those on its store; empty: there can be no others.

    Raises:
        DeclarationError: The API cannot be served.
    """

    def __init__(
        self,
        api: Api,
        backend: Backend,
        reactor: Any,
        *,
        auth: RequestAuth,
        builtin: Sequence[Any] = (),
        checks: Sequence[NamedCheck] = (),
        store_check: str = "storage",
        front: Callable[[Handler], Handler] | None = None,
        log_health: Callable[[str, str, str], None] = lambda *_: None,
        pool: Any = None,
        reads: int = 400,
        writes: int = 200,
        reauthorize: float = PERIOD,
        long_running: LongRunningCheck = lambda _: False,
        random: Random | None = None,
        cluster: Client | None = None,
        describe: Describe | None = None,
        compaction: float = INTERVAL,
        elector: MakeElector | None = None,
        replica: str = "",
    ) -> None:
        self._reactor = reactor
        self._random = random or Random()  # noqa: S311 - for names and delays, nothing secret
        self._store = ServerStore(
            backend, reactor, random=self._random, compaction=compaction, replica=replica, kinds=self._storing
        )
        self._plugins = Plugins(api.admission, builtin)
        self.shutdown = Shutdown()
        health = Health([*self._checks(store_check), *checks], log_health)
        self._served = self._catalogue(api, health)
        self.observers = self._served.observers
        """Called after each :meth:`replace`."""
        self.requests = RequestMetrics(lambda: self._served.catalogue.endpoints)
        """Has to be called after each request of the network; see :data:`~extapi.listener.state.OnFinished`."""
        self.observers.append(self.requests.forget)
        self.metrics = Metrics(health.results)
        """What ``/metrics`` shows; others may add to it."""
        self.metrics.add(self._families)
        self._room = Room(reads, writes, self.requests.refused)
        self._reauthorization = Reauthorization(reactor, auth.settings, reauthorize)
        router, compression = self._router(health, pool, front), Compression(reactor, pool)
        self.handler: Handler = self._chain(router, auth, compression, long_running, describe)
        self._transport = LoopbackTransport(self.handler, reactor, auth.secret, finished=self.requests)
        self.context = Context(self._transport, reactor, self._random, cluster)
        """What plugins and controllers get."""
        self._controllers = ElectedControllers(api.controllers, self.context, elector)
        self.needs = api.needs
        """The rights that the author's code needs in the cluster."""

    def _router(self, health: Health, pool: Any, front: Callable[[Handler], Handler] | None) -> Handler:
        router = Router(
            self._served,
            health=health,
            metrics=self.metrics,
            plugins=self._plugins,
            clock=self._reactor,
            rules=RuleRunner(self._reactor, pool),
        )
        return router if front is None else front(router)

    def _chain(
        self,
        router: Handler,
        auth: RequestAuth,
        compression: Compression,
        long_running: LongRunningCheck,
        describe: Describe | None,
    ) -> Handler:
        return build_chain(
            router,
            authenticator=auth.authenticator,
            settings=auth.settings,
            authorizer=auth.authorizer,
            reauthorization=self._reauthorization,
            shutdown=self.shutdown,
            compression=compression,
            room=self._room,
            long_running=lambda info: long_running(info) or self._served.catalogue.connects(info),
            describe=describe,
        )

    def _catalogue(self, api: Api, health: Health) -> CurrentCatalogue:
        further = ("/version", *health.paths(), *METRICS)
        return CurrentCatalogue(
            api,
            self._store.backend,
            self._store.cacher,
            clock=self._reactor,
            random=self._random,
            further=further,
            replicas=self._store.replicas,
        )

    def _storing(self) -> list[ServedKind]:
        return self._served.storing()

    @property
    def groups(self) -> Sequence[Group]:
        """What is served now."""
        return self._served.catalogue.groups

    def transport(self, user: User = APISERVER) -> LoopbackTransport:
        """A transport that carries in-process requests through the whole chain, as ``user``."""
        return self._transport.acting_as(user)

    async def start(self) -> None:
        """Fill the cache, then start plugins and controllers.

        Raises:
            UnknownStoredVersion: The store has objects in a version that the API does not know.
            UnusableFile: The store is being filled from elsewhere.
            Exception: What the store or a plugin raises.
        """
        await check_filled(self._store.backend)
        await self._served.start()
        self._store.compactor.start()
        # A feed may need what its author's object gets when it starts, and other plugins may wait for informers of its kind.
        await self._plugins.start(self.context, self._served.feeding())
        await self._served.start_feeds(self.context)
        await self._plugins.start(self.context)
        self._controllers.start()

    async def replace(self, groups: Sequence[Group], switched: Switched = lambda: None) -> None:
        """Serve other groups from now on; see :meth:`extapi.server.currentcatalogue.CurrentCatalogue.replace`.

        Plugins and controllers stay as they are.

        Args:
            groups: All groups, also those that stay.
            switched: Is called at the moment from which requests find the new kinds.

        Raises:
            DeclarationError: They cannot be served.
            RuntimeError: The server has not been started.
            UnknownStoredVersion: Objects are stored in a version that a kind does not have.
            Unavailable: The store cannot be read, or is too slow, or the server stops.
        """
        await self._served.replace(groups, switched)

    async def replace_api(self, api: Api, before: Api, replace: Replace | None = None) -> None:
        """Serve another Api in place of ``before``: its kinds, its plugins and its controllers, while requests go on.

        Kinds and plugins change at the same moment: a request that began before ends with the old ones. Plugins and controllers
        that are the same objects in both go on. If it raises, what was served before is served still.

        Args:
            api: What to serve.
            before: What has been served until now; what a plugin that cannot be started leads back to.
            replace: Serves the groups of an Api; by default :meth:`replace`. For a server that also has kinds from elsewhere.

        Raises:
            DeclarationError: The kinds cannot be served.
            UnknownStoredVersion: Objects are stored in a version that a kind does not have.
            NotStarted: The plugins have not started in time.
            Unavailable: The store cannot be read, or is too slow, or the server stops.
            Exception: What a plugin raises when it is started.
        """
        replace = replace or self.replace
        last, following = self._plugins.now, self._plugins.following(api.admission)

        def use(plugins: PluginSet, needs: Sequence[PolicyRule]) -> None:
            self._plugins.use(plugins)
            self.needs = needs

        try:
            # A feed is followed before its kind is served, and may need what its author's object gets when it starts.
            rest = [kind.rest for group in api.groups for kind in group.kinds]
            await following.start_soon(self.context, [each for each in rest if is_feed(each)])
            await replace(api.groups, partial(use, following, api.needs))
            try:
                # After the kinds: a plugin may wait for an informer of one that is new.
                await following.start_soon(self.context)
            except Exception:
                await replace(before.groups, partial(use, last, before.needs))
                raise
        except BaseException:
            self._plugins.end_unused(self._served.feeding())
            following.stop()
            raise
        self._plugins.end_unused(self._served.feeding())
        await self._controllers.replace(api.controllers)

    async def resign(self) -> None:
        """Let another process lead, and go on serving; see :meth:`extapi.server.electedcontrollers.ElectedControllers.resign`."""
        await self._controllers.resign()

    async def stop(self) -> None:
        """Stop controllers and watches, then close the store."""
        await self._controllers.stop()
        self._plugins.stop()
        self._reauthorization.stop()
        self._served.stop()
        await self._store.compactor.stop()
        await self._served.stop_feeds()
        await self._store.close()

    def _families(self) -> Iterator[Family]:
        yield from self.requests.families(self._reauthorization.requests())
        yield from room_families(self._room)
        yield from catalogue_families(self._served.catalogue)
        yield from self._controllers.families()
        yield from build_families(version_info())

    def _checks(self, store: str) -> list[NamedCheck]:
        shutdown = NamedCheck("shutdown", self.shutdown.check, frozenset({"readyz"}))
        return [*self._store.checks(store), shutdown, *self._store.replica_checks()]
