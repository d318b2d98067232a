"""A webhook server without network and process: plugins, health and the paths of reviews put together.

:class:`extapi.server.serving.Serving` adds a listener; tests use it in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from extapi.admission.base import Startable
from extapi.admission.chain import AdmissionChain
from extapi.api.definition import Api
from extapi.http.request import Request
from extapi.http.response import Handler, Response, http_error
from extapi.registry.ruling import RuleRunner
from extapi.server.context import Context, unsynced
from extapi.server.health import Health, NamedCheck
from extapi.server.shutdown import Shutdown
from extapi.webhooks.callers import Callers
from extapi.webhooks.endpoints import ReviewPaths
from extapi.webhooks.expressible import served_kinds

_READY: Final = frozenset({"readyz"})
_READ: Final = frozenset({"GET", "HEAD"})


class WebhookServer:
    """One API's webhooks (:class:`extapi.server.serving.Servable`).

    Args:
        api: The API.
        reactor: The reactor.
        context: What its plugins get when they start; None if none of them is started.
        callers: Judges who asks for admission; None: anybody may.
        log_health: Is called with endpoint, check and reason when a health check fails.
        pool: A thread pool for rules that cost much.

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
        log_health: Callable[[str, str, str], None] = lambda *_: None,
        pool: Any = None,
    ) -> None:
        self.shutdown = Shutdown()
        self._chain = AdmissionChain(api.admission)
        self._context = context
        self._started = False
        self._health = Health(
            [
                NamedCheck("admission-plugins", self._unready_check, _READY),
                NamedCheck("shutdown", self.shutdown.check, _READY),
            ],
            log_health,
        )
        self._reviews = ReviewPaths(
            list(served_kinds(api)), lambda: self._chain, RuleRunner(reactor, pool), reactor, self._unready, callers
        )
        self.paths = self._reviews.paths
        """All paths of reviews."""
        self.handler: Handler = self.shutdown.stage(self._route)

    def requests(self, request: Request, status: int, size: int, seconds: float) -> None:
        """See :class:`extapi.server.serving.Servable`: reviews are not counted yet."""

    async def start(self) -> None:
        """Start the plugins. Conversions are answered meanwhile.

        Raises:
            Exception: What a plugin raises.
        """
        if self._context is not None:
            await self._chain.start(self._context)
        self._started = True

    async def stop(self) -> None:
        """End the informers of plugins."""
        if self._context is not None:
            self._context.close()

    def _unready(self) -> str:
        """Why plugins cannot be asked: one whose informer has not listed would refuse what is right."""
        if not self._started:
            return "admission plugins are starting"
        missing = [] if self._context is None else unsynced(self._context)
        return f"the informers of {', '.join(missing)} have not listed yet" if missing else ""

    def _unready_check(self) -> str | None:
        return self._unready() or None

    async def _route(self, request: Request) -> Response:
        found = self._health.answer(request, request.info.path.rstrip("/"))
        if found is None:
            return await self._reviews(request)
        if request.method not in _READ:
            return http_error(405, "health is read by GET", ("Allow", "GET, HEAD"))
        return found


def is_started(api: Api) -> bool:
    """Whether plugins of the API get a context, so that the server needs a cluster."""
    return any(isinstance(plugin, Startable) for plugin in api.admission)
