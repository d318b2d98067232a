"""A webhook server without network and process: plugins, health and the paths of reviews put together.

:class:`extapi.server.serving.Serving` adds a listener; tests use it in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from extapi.admission.base import Startable
from extapi.admission.chain import AdmissionChain
from extapi.api.definition import Api
from extapi.crd.expressible import served_kinds
from extapi.http.request import Request
from extapi.http.response import Handler, Response, http_error
from extapi.registry.ruling import RuleRunner
from extapi.server.context import Context, unsynced
from extapi.server.electedcontrollers import ElectedControllers
from extapi.server.exposition import Family
from extapi.server.health import PATHS as HEALTH, Health, NamedCheck
from extapi.server.metrics import PATHS as METRICS, Metrics
from extapi.server.router import version_info
from extapi.server.servedmetrics import build_families
from extapi.server.shutdown import Shutdown
from extapi.webhooks.callers import Callers
from extapi.webhooks.endpoints import ReviewPaths
from extapi.webhooks.reviewmetrics import ReviewMetrics, informer_families

_READY: Final = frozenset({"readyz"})
_HEALTH: Final = tuple([name] for name in HEALTH)
_READ: Final = frozenset({"GET", "HEAD"})


class WebhookServer:
    """One API's webhooks (:class:`extapi.server.serving.Servable`).

    Args:
        api: The API.
        reactor: The reactor.
        context: What its plugins get when they start; None if none of them is started.
        callers: Judges who asks for admission; None: anybody may.
        controllers: Run from :meth:`start` to :meth:`stop`.
        log_health: Is called with endpoint, check and reason when a health check fails.
        pool: A thread pool for rules that cost much.
        access: Lets those who may read health and metrics through; by default anybody may.

    Raises:
        DeclarationError: The API is wrong.
    """

    def __init__(
        self,
        api: Api,
        reactor: Any,
        *,
        context: Context | None = None,
        callers: Callers | None = None,
        controllers: ElectedControllers | None = None,
        log_health: Callable[[str, str, str], None] = lambda *_: None,
        pool: Any = None,
        access: Callable[[Handler], Handler] = lambda handler: handler,
    ) -> None:
        self.shutdown = Shutdown()
        self._chain = AdmissionChain(api.admission)
        self._context = context
        self._controllers = controllers
        self._started = False
        self._health = Health(
            [
                NamedCheck("admission-plugins", self._unready_check, _READY),
                NamedCheck("shutdown", self.shutdown.check, _READY),
            ],
            log_health,
        )
        self.requests = ReviewMetrics()
        """Counts requests; see :class:`extapi.server.serving.Servable`."""
        self._reviews = ReviewPaths(
            list(served_kinds(api)),
            lambda: self._chain,
            RuleRunner(reactor, pool),
            reactor,
            self._unready,
            callers,
            metrics=self.requests,
        )
        self.paths = self._reviews.paths
        """All paths of reviews."""
        self.requests.paths = frozenset(self.paths)
        self.metrics = Metrics(self._health.results)
        """What ``/metrics`` shows; others may add to it."""
        self.metrics.add(self._families)
        self._operators = access(self._figures)
        self.handler: Handler = self.shutdown.stage(self._route)

    async def start(self) -> None:
        """Start the plugins, then the controllers. Conversions are answered meanwhile.

        Raises:
            Exception: What a plugin raises.
        """
        if self._context is not None:
            await self._chain.start(self._context)
        self._started = True
        if self._controllers is not None:
            self._controllers.start()

    async def resign(self) -> None:
        """Let another process lead, and go on answering; see :meth:`extapi.server.electedcontrollers.ElectedControllers.resign`."""
        if self._controllers is not None:
            await self._controllers.resign()

    async def stop(self) -> None:
        """End the controllers, then the informers of plugins."""
        if self._controllers is not None:
            await self._controllers.stop()
        if self._context is not None:
            await self._context.close()

    def _unready(self) -> str:
        """Why plugins cannot be asked: one whose informer has not listed would refuse what is right."""
        if not self._started:
            return "admission plugins are starting"
        missing = [] if self._context is None else unsynced(self._context)
        return f"the informers of {', '.join(missing)} have not listed yet" if missing else ""

    def _unready_check(self) -> str | None:
        return self._unready() or None

    def _families(self) -> Iterator[Family]:
        yield from self.requests.families()
        if self._context is not None:
            yield from informer_families(self._context)
        if self._controllers is not None:
            yield from self._controllers.families()
        yield from build_families(version_info())

    async def _route(self, request: Request) -> Response:
        path = request.info.path.rstrip("/")
        if path in METRICS or path.split("/")[1:2] in _HEALTH:
            return await self._operators(request)
        return await self._reviews(request)

    async def _figures(self, request: Request) -> Response:
        """Health and metrics."""
        path = request.info.path.rstrip("/")
        if request.method not in _READ:
            return http_error(405, "health and metrics are read by GET", ("Allow", "GET, HEAD"))
        found = await self.metrics.answer(request, path) if path in METRICS else self._health.answer(request, path)
        return http_error(404, "404 page not found") if found is None else found


def is_started(api: Api) -> bool:
    """Whether plugins of the API get a context, so that the server needs a cluster."""
    return any(isinstance(plugin, Startable) for plugin in api.admission)
