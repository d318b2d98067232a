"""An API, served: store, cache, registry, endpoints and chain put together, without a network and without a process.

``lifecycle`` puts a listener before it; ``extapi.testing`` talks to it in memory. Two of them in one process share nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from extapi.admission.chain import AdmissionChain
from extapi.api.definition import Api
from extapi.api.user import User
from extapi.authentication.base import Authenticator
from extapi.authentication.loopback import APISERVER
from extapi.authentication.settings import Settings
from extapi.authorization.base import Authorizer
from extapi.client.kube import Client
from extapi.listener.call import Handler
from extapi.listener.service import Describe
from extapi.registry.kinds import serve_kinds
from extapi.registry.shared import SharedKind
from extapi.registry.storedversions import check_stored_versions
from extapi.server.chain import build_chain
from extapi.server.compression import Compression
from extapi.server.context import Context
from extapi.server.controllers import Controllers
from extapi.server.discovery import Discovery
from extapi.server.health import Health, NamedCheck
from extapi.server.installation import Installation
from extapi.server.loopback import LoopbackTransport
from extapi.server.openapi import OpenAPI
from extapi.server.reauthorization import PERIOD, Reauthorization
from extapi.server.router import Router
from extapi.server.shutdown import Shutdown
from extapi.storage.base import Backend
from extapi.storage.compaction import Compactor
from extapi.storage.probe import ProbedBackend
from extapi.watch.cacher import Cacher


class Server:
    """One API on one store.

    ``builtin``: admission plugins that come before the author's, and what only wants to be started with them.
    ``checks``: health checks of those around it; ``store_check``: what that of the store is called. ``secret``: proves in-process calls to ``authenticator``. ``front``:
    wraps what answers authorized requests, for paths that are answered elsewhere, such as those of an aggregator.
    ``reauthorize``: seconds after which an open watch is judged again. ``cluster``: what authors' code reaches as
    ``context.cluster``. ``describe``: what the answer to a request says of an unexpected error; for development only.
    Raises :class:`extapi.api.declaration.DeclarationError` for an API that cannot be served.
    """

    def __init__(
        self,
        api: Api,
        backend: Backend,
        reactor: Any,
        *,
        authenticator: Authenticator,
        settings: Settings,
        authorizer: Authorizer,
        secret: str,
        version: Mapping[str, str],
        builtin: Sequence[Any] = (),
        checks: Sequence[NamedCheck] = (),
        store_check: str = "storage",
        front: Callable[[Handler], Handler] | None = None,
        log_health: Callable[[str, str, str], None] = lambda *_: None,
        pool: Any = None,
        reads: int = 400,
        writes: int = 200,
        reauthorize: float = PERIOD,
        random: Random | None = None,
        cluster: Client | None = None,
        describe: Describe | None = None,
    ) -> None:
        self._backend = backend = ProbedBackend(backend, reactor)
        self._reactor = reactor
        self._random = random or Random()  # noqa: S311 - for names and delays, nothing secret
        self._cacher = Cacher(backend, reactor)
        self._compactor = Compactor(backend, reactor)
        self._kinds = serve_kinds(api)
        self._admission = AdmissionChain([*builtin, *api.admission])
        self.shutdown = Shutdown()
        self._reauthorization = Reauthorization(reactor, settings, reauthorize)
        installation = Installation(self._cacher, backend, reactor, self._random)
        for kind in self._kinds:
            installation.add(kind)
        router = Router(
            endpoints=installation.endpoints,
            discovery=Discovery(api.groups, installation.endpoints),
            openapi=OpenAPI(api.groups, self._kinds, installation.endpoints),
            health=Health([*self._checks(store_check), *checks], log_health),
            version=version,
            chain=self._admission,
            clock=reactor,
        )
        self.handler: Handler = build_chain(
            front(router) if front is not None else router,
            authenticator=authenticator,
            settings=settings,
            authorizer=authorizer,
            reauthorization=self._reauthorization,
            shutdown=self.shutdown,
            compression=Compression(reactor, pool),
            reads=reads,
            writes=writes,
            describe=describe,
        )
        self._transport = LoopbackTransport(self.handler, reactor, secret)
        self.context = Context(self._transport, reactor, self._random, cluster)
        """What plugins and controllers are given: informers and a client through the whole chain."""
        self._controllers = Controllers(api.controllers, self.context)

    def transport(self, user: User = APISERVER) -> LoopbackTransport:
        """Carries in-process requests through the whole chain, as ``user``."""
        return self._transport.acting_as(user)

    async def start(self) -> None:
        """Fill the cache, start plugins and controllers.

        Raises :class:`extapi.registry.storedversions.UnknownStoredVersion`, and what the store raises.
        """
        for kind in self._kinds:
            if not kind.virtual and not isinstance(kind, SharedKind):
                await check_stored_versions(self._backend, kind)
        await self._cacher.start()
        self._compactor.start()
        await self._admission.start(self.context)
        self._controllers.start()

    async def stop(self) -> None:
        """End controllers and watches, then the store's work."""
        self._controllers.stop()
        self._reauthorization.stop()
        await self._compactor.stop()
        await self._cacher.stop()
        await self._backend.close()

    def _checks(self, store: str) -> list[NamedCheck]:
        ready = frozenset({"readyz"})
        return [
            NamedCheck(store, lambda: None if self._cacher.ready else "the cache does not follow the store"),
            # A restart does not heal a full disk: no matter of liveness.
            NamedCheck("storage-writes", self._backend.check, ready),
            NamedCheck("shutdown", self.shutdown.check, ready),
        ]
