"""One APIService that another server serves: where the server is, whether it is available, and what it serves.

Probes the server (behaviour D1-D4) and keeps the condition ``Available``.

Source: ``k8s.io/kube-aggregator/pkg/controllers/status/remote``.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi import TransportError, User
from extapi.api.user import MASTERS
from extapi.client.credentials import CredentialsError
from extapi.client.kube import Obj
from extapi.client.upstream import Upstream
from extapi.clock import stop_timer
from extapi.controlplane.aggregator.proxy import BackendProxy
from extapi.controlplane.aggregator.services import APIServiceInfo, ServiceBackend
from extapi.controlplane.aggregator.swagger import ServersSwagger

PROBER = User("system:kube-aggregator", groups=(MASTERS,))

EVERY = 5.0
"""Seconds between probes of an available server."""
SECONDS = 5.0
"""Seconds per probe."""
FIRST, LAST = 0.1, 1.0
"""Seconds until the next probe of an unavailable server: the first time, doubled each time, and at most."""


class AvailableCondition(NamedTuple):
    """The condition ``Available`` of an APIService: status (True or False), reason and message."""

    status: str
    reason: str
    message: str


PASSED = AvailableCondition("True", "Passed", "all checks passed")
LOCAL = AvailableCondition("True", "Local", "Local APIServices are always available")


class RemoteOwner(Protocol):
    """What a remote needs of the aggregator it belongs to."""

    proxy: BackendProxy

    def service(self, namespace: str, name: str) -> Obj | None:
        """The Service object."""
        ...

    def upstream(self, backend: ServiceBackend, host: str) -> Upstream:
        """The upstream server of a backend.

        Raises:
            CredentialsError: The backend's CA bundle cannot be used.
        """
        ...

    async def publish(self, name: str, condition: AvailableCondition) -> None:
        """Write the condition into the APIService's status."""
        ...

    async def read(self, upstream: Upstream) -> None:
        """Read the server's discovery and OpenAPI, for all its APIServices."""
        ...

    def changed(self) -> None:
        """Something served has changed."""
        ...


class Remote:
    """Follows one APIService from :meth:`start` to :meth:`stop`.

    Attributes:
        upstream: The server, once its address is known.
        available: The last probe succeeded.
        due: When to read discovery and OpenAPI again, on the reactor's clock.
        fresh: The last reading succeeded, and the server is available.
        resources: Its version's part of aggregated discovery; None if it was never read.
        schemas: Its entry in the index at ``/openapi/v3``.
        swagger: Its server's ``/openapi/v2``, which the server's other APIServices share.
        anew: It may be another server now: what is known of it, ETags too, says nothing.
    """

    _log = Logger()

    def __init__(self, service: APIServiceInfo, backend: ServiceBackend, owner: RemoteOwner, reactor: Any) -> None:
        self.service = service
        self.backend = backend
        self._owner = owner
        self._reactor = reactor
        self._running: Deferred[None] | None = None
        self._waiting: Deferred[None] | None = None
        self._again = self._stopped = False
        self.upstream: Upstream | None = None
        self.available = False
        self.due = 0.0
        self.fresh = False
        self.resources: dict[str, Any] | None = None
        self.schemas: dict[str, Any] | None = None
        self.swagger: ServersSwagger | None = None
        self.anew = False

    def start(self) -> None:
        """Start probing."""
        self._running = Deferred.fromCoroutine(self._run())
        self._running.addErrback(_cancelled)

    def stop(self) -> None:
        """Stop probing."""
        self._stopped = True
        if self._running is not None:
            self._running.cancel()

    def poke(self) -> None:
        """Probe now: something has changed, or a request failed."""
        self._again = True
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.called:
            waiting.callback(None)

    def replace(self, service: APIServiceInfo, backend: ServiceBackend) -> None:
        """The APIService has changed."""
        if (service, backend) != (self.service, self.backend):
            self.service, self.backend = service, backend
            self.reset()

    def reset(self) -> None:
        """It may be another server now: probe it and read everything again."""
        self.due = 0.0
        self.anew = True
        self.poke()

    def served(self, resources: dict[str, Any]) -> bool:
        """Its version's part of discovery has been read.

        Returns:
            Whether something has changed.
        """
        before = (self.resources, self.fresh)
        self.resources, self.fresh = resources, self.available
        return before != (self.resources, self.fresh)

    async def _run(self) -> None:
        delay = FIRST
        while True:
            self._again = False
            before = self.available
            try:
                await self._round()
            except Exception:  # a defect must not stop the probes, which all requests rely on
                if self._stopped:
                    raise
                self._log.failure("probing for {name} failed", name=self.service.name)
            delay = FIRST if self.available or before else min(delay * 2, LAST)
            if not self._again:
                await self._sleep(EVERY if self.available else delay)

    async def _round(self) -> None:
        condition = await self._checked()
        available = condition is PASSED
        if available != self.available:
            self.available = available
            self.fresh = False
            self.due = 0.0
            self._owner.changed()
        await self._owner.publish(self.service.name, condition)
        if available and self.upstream is not None and self.due <= self._reactor.seconds():
            await self._owner.read(self.upstream)

    async def _checked(self) -> AvailableCondition:
        name, namespace = self.backend.service, self.backend.namespace
        service = self._owner.service(namespace, name)
        if service is None:
            return AvailableCondition("False", "ServiceNotFound", f'service/{name} in "{namespace}" is not present')
        spec: dict[str, Any] = service.get("spec") or {}
        if spec.get("type") != "ExternalName":
            return self._without_network(spec)
        try:
            self.upstream = upstream = self._owner.upstream(self.backend, spec.get("externalName", ""))
        except CredentialsError:
            text = "unable to load root certificates: unable to parse bytes as PEM block"
            return AvailableCondition("False", "FailedDiscoveryCheck", text)
        url = f"https://{upstream.host}:{upstream.port}{self.service.path}"
        try:
            status, _, _ = await self._owner.proxy.fetch(upstream, self.service.path, PROBER, seconds=SECONDS)
        except TransportError as error:
            problem = f'Get "{url}": {error}'
        else:
            if 200 <= status < 300:
                return PASSED
            problem = f"bad status from {url}: {status}"
        return AvailableCondition("False", "FailedDiscoveryCheck", f"failing or missing response from {url}: {problem}")

    def _without_network(self, spec: dict[str, Any]) -> AvailableCondition:
        """The condition for a Service inside a cluster: there is no cluster here, so it has no endpoints."""
        name, namespace, port = self.backend.service, self.backend.namespace, self.backend.port
        self.upstream = None
        if all(each.get("port") != port for each in spec.get("ports") or ()):
            text = f'service/{name} in "{namespace}" is not listening on port {port}'
            return AvailableCondition("False", "ServicePortError", text)
        text = f'cannot find endpointslices for service/{name} in "{namespace}"'
        return AvailableCondition("False", "EndpointsNotFound", text)

    async def _sleep(self, seconds: float) -> None:
        waiting: Deferred[None] = Deferred()
        self._waiting = waiting
        timer = self._reactor.callLater(seconds, self.poke)
        try:
            await waiting
        finally:
            self._waiting = None
            stop_timer(timer)


def _cancelled(failure: Any) -> None:
    failure.trap(CancelledError)
