"""One APIService that another server answers for: where that is, whether it does, and what it said it serves.

Probes it (spec D1-D4) and keeps the condition ``Available``. Source: ``kube-aggregator/pkg/controllers/status/remote``.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.api.user import MASTERS, User
from extapi.client.base import TransportError
from extapi.client.credentials import CredentialsError
from extapi.client.kube import Obj
from extapi.client.origin import Origin
from extapi.controlplane.aggregator.proxy import Proxy
from extapi.controlplane.aggregator.services import APIService, Backend

PROBER = User("system:kube-aggregator", groups=(MASTERS,))

EVERY = 5.0
"""Seconds between two probes of a server that answers."""
SECONDS = 5.0
"""Seconds for one."""
FIRST, LAST = 0.1, 1.0
"""Seconds until the next probe of one that does not, doubled each time, and at most."""


class Condition(NamedTuple):
    """What is known about a server: status (True, False), reason and message."""

    status: str
    reason: str
    message: str


PASSED = Condition("True", "Passed", "all checks passed")
LOCAL = Condition("True", "Local", "Local APIServices are always available")


class Surroundings(Protocol):
    """What a remote needs of the aggregator."""

    proxy: Proxy

    def service(self, namespace: str, name: str) -> Obj | None:
        """The Service object."""
        ...

    def origin(self, backend: Backend, host: str) -> Origin:
        """The connections to a backend. Raises :class:`CredentialsError`."""
        ...

    async def publish(self, name: str, condition: Condition) -> None:
        """Write the condition into the APIService's status."""
        ...

    async def read(self, remote: Remote, origin: Origin) -> None:
        """Ask the server what it serves; never raises."""
        ...

    def changed(self) -> None:
        """What is served has changed."""
        ...


class Remote:
    """Follows one APIService from :meth:`start` to :meth:`stop`."""

    _log = Logger()

    def __init__(self, service: APIService, backend: Backend, around: Surroundings, reactor: Any) -> None:
        self.service = service
        self.backend = backend
        self._around = around
        self._reactor = reactor
        self._running: Deferred[None] | None = None
        self._waiting: Deferred[None] | None = None
        self._again = False
        self.origin: Origin | None = None
        self.available = False
        self.due = 0.0
        """When to ask anew what it serves."""
        self.fresh = False
        """What is known of it was asked for successfully, and it is there."""
        self.resources: dict[str, Any] | None = None
        """Its version's part of aggregated discovery; None: it never said."""
        self.etag = ""
        self.schemas: dict[str, Any] | None = None
        """Its entry in the index of ``/openapi/v3``."""
        self.swagger: bytes | None = None
        """What of its ``/openapi/v2`` is for this group version: compressed JSON."""
        self.swagger_etag = ""

    def start(self) -> None:
        """Begin to probe."""
        self._running = Deferred.fromCoroutine(self._run())
        self._running.addErrback(_cancelled)

    def stop(self) -> None:
        """End."""
        if self._running is not None:
            self._running.cancel()

    def poke(self) -> None:
        """Probe now: something has changed, or a request failed."""
        self._again = True
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.called:
            waiting.callback(None)

    def replace(self, service: APIService, backend: Backend) -> None:
        """The APIService was changed."""
        if (service, backend) != (self.service, self.backend):
            self.service, self.backend = service, backend
            self.reset()

    def reset(self) -> None:
        """It may be another server from now on: probe it and read all of it again."""
        self.due = 0.0
        self.etag = self.swagger_etag = ""
        self.poke()

    async def _run(self) -> None:
        delay = FIRST
        while True:
            self._again = False
            before = self.available
            try:
                await self._round()
            except CancelledError:
                raise
            except Exception:  # noqa: BLE001 - a defect must not end what all requests rely on
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
            self._around.changed()
        await self._around.publish(self.service.name, condition)
        if available and self.origin is not None and self.due <= self._reactor.seconds():
            await self._around.read(self, self.origin)

    async def _checked(self) -> Condition:
        name, namespace = self.backend.service, self.backend.namespace
        service = self._around.service(namespace, name)
        if service is None:
            return Condition("False", "ServiceNotFound", f'service/{name} in "{namespace}" is not present')
        spec: dict[str, Any] = service.get("spec") or {}
        if spec.get("type") != "ExternalName":
            return self._without_network(spec)
        try:
            self.origin = origin = self._around.origin(self.backend, spec.get("externalName", ""))
        except CredentialsError:
            text = "unable to load root certificates: unable to parse bytes as PEM block"
            return Condition("False", "FailedDiscoveryCheck", text)
        url = f"https://{origin.host}:{origin.port}{self.service.path}"
        try:
            status, _, _ = await self._around.proxy.fetch(origin, self.service.path, PROBER, seconds=SECONDS)
        except TransportError as error:
            problem = f'Get "{url}": {error}'
        else:
            if 200 <= status < 300:
                return PASSED
            problem = f"bad status from {url}: {status}"
        return Condition("False", "FailedDiscoveryCheck", f"failing or missing response from {url}: {problem}")

    def _without_network(self, spec: dict[str, Any]) -> Condition:
        """Services inside a cluster: there is none here, so nothing stands behind them."""
        name, namespace, port = self.backend.service, self.backend.namespace, self.backend.port
        self.origin = None
        if all(each.get("port") != port for each in spec.get("ports") or ()):
            text = f'service/{name} in "{namespace}" is not listening on port {port}'
            return Condition("False", "ServicePortError", text)
        text = f'cannot find endpointslices for service/{name} in "{namespace}"'
        return Condition("False", "EndpointsNotFound", text)

    async def _sleep(self, seconds: float) -> None:
        waiting: Deferred[None] = Deferred()
        self._waiting = waiting
        timer = self._reactor.callLater(seconds, self.poke)
        try:
            await waiting
        finally:
            self._waiting = None
            if timer.active():
                timer.cancel()


def _cancelled(failure: Any) -> None:
    failure.trap(CancelledError)
