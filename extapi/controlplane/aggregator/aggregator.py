"""The aggregator put together: follows APIServices, and answers what the control plane's router cannot alone.

Stands before the router, after authorization. Source: ``kube-aggregator/pkg/apiserver/apiserver.go`` (spec D).
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any
from weakref import WeakSet

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.api.timestamp import format_timestamp
from extapi.authentication.loopback import APISERVER
from extapi.client.base import TransportError
from extapi.client.informer import Informer
from extapi.client.kube import Obj, ResourceName
from extapi.client.origin import Origin
from extapi.client.tls import UpstreamTls
from extapi.controlplane.aggregator.discovery import Discovery
from extapi.controlplane.aggregator.frontproxy import FrontProxyCertificate, Pair
from extapi.controlplane.aggregator.openapi import OpenAPI
from extapi.controlplane.aggregator.proxy import Proxy
from extapi.controlplane.aggregator.remote import LOCAL, Condition, Remote
from extapi.controlplane.aggregator.services import GROUP, APIService, Backend, read
from extapi.errors import ApiError, NotFound
from extapi.listener.body import NoBody
from extapi.listener.call import Call, Handler, Peer, RequestInfo, Response
from extapi.listener.writing import text_response
from extapi.server.context import Context

REFRESH = 60.0
"""Seconds after which a server is asked again what it serves (spec D12, D14)."""

_API_SERVICES = ResourceName(GROUP, "v1", "apiservices")
_LABEL = "kube-aggregator.kubernetes.io/automanaged"
_PRIORITIES = {
    "": (18000, 1),
    "events.k8s.io": (17750, 15),
    "authentication.k8s.io": (17700, 15),
    "authorization.k8s.io": (17600, 15),
    "rbac.authorization.k8s.io": (17000, 15),
    "apiextensions.k8s.io": (16700, 15),
    "coordination.k8s.io": (16500, 15),
}
"""Of the groups that kube-apiserver serves itself (``DefaultGenericAPIServicePriorities``)."""


class Aggregator:
    """``certificate``, ``key``: PEM files of the front proxy's client certificate; changes are seen with the next probe of a server.

    ``reactor`` provides IReactorTCP, IReactorTime and host name resolution. Hand :meth:`front` to the Server, put the
    aggregator among its ``builtin`` for :meth:`start`, and call :meth:`stop` at the end.
    """

    _log = Logger()

    def __init__(self, *, certificate: Path, key: Path, reactor: Any) -> None:
        self._certificate = FrontProxyCertificate(certificate, key)
        self._pair: Pair | None = None
        self._reactor = reactor
        self._local: Handler = _nothing
        self._context: Context | None = None
        self._informer: Informer | None = None
        self._objects: dict[str, Obj] = {}
        self._services: Informer | None = None
        self._remotes: dict[str, Remote] = {}
        self._all: dict[str, APIService] = {}
        self._origins: dict[tuple[Backend, str, Pair], Origin] = {}
        self._retired: WeakSet[Origin] = WeakSet()
        self._stopped = False
        self._registered = False
        self.proxy = Proxy(reactor)
        self._discovery = Discovery(self.local, self._all.values, self._remotes)
        self._openapi = OpenAPI(self.local, self._remotes)

    # -- for the server

    def front(self, handler: Handler) -> Handler:
        """The handler before the router ``handler``."""
        self._local = handler
        return self._answer

    async def start(self, context: Context) -> None:
        """Register what the control plane serves itself, and follow APIServices and Services."""
        self._context = context
        for service in await self._own():
            await self._register(context, service)
        self._registered = True
        self._services = context.informer("", "v1", "services", on_change=self._service_changed)
        await self._services.wait_synced()
        self._informer = context.informer(GROUP, "v1", "apiservices", on_change=self._changed)
        await self._informer.wait_synced()

    def stop(self) -> None:
        """End probes and connections."""
        self._stopped = True
        for remote in self._remotes.values():
            remote.stop()
        for origin in (*self._origins.values(), *self._retired):
            origin.close()

    def registered(self) -> str | None:
        """A health check: None once what is served here is registered."""
        return None if self._registered else "not all of the control plane's own groups are registered"

    def synced(self) -> str | None:
        """A health check: None once all Services and APIServices are known."""
        known = (informer is not None and informer.synced for informer in (self._services, self._informer))
        return None if all(known) else "APIServices are not known yet"

    # -- requests

    async def _answer(self, call: Call) -> Response:
        path = call.info.path
        if path.startswith("/apis/"):
            group, _, rest = path.removeprefix("/apis/").partition("/")
            remote = self._remotes.get(f"{rest.partition('/')[0]}.{group}") if rest else None
            if remote is not None:
                return await self._pass_on(call, remote)
            if rest:
                return await self._local(call)
        if call.method in ("GET", "HEAD") and not call.info.is_resource:
            remote = self._openapi.served(path)
            if remote is not None:
                return await self._pass_on(call, remote)
            answer = await self._discovery.answer(call, path) or await self._openapi.answer(call, path)
            if answer is not None:
                return answer
        return await self._local(call)

    async def _pass_on(self, call: Call, remote: Remote) -> Response:
        if not remote.available or remote.origin is None:
            return text_response(503, "service unavailable")
        return await self.proxy.pass_on(call, remote.origin, remote.poke)

    async def local(self, path: str, accept: str) -> bytes:
        """A document of the control plane's own router. Raises :class:`ApiError`."""
        now = self._reactor.seconds()
        call = Call(
            method="GET",
            target=path,
            info=RequestInfo("get", path),
            query={},
            headers={"accept": [accept]},
            body=NoBody(),
            peer=Peer(),
            audit_id="aggregator",
            received=now,
            deadline=now + REFRESH,
            user=APISERVER,
        )
        body: Any = (await self._local(call)).body  # whole or in pieces; documents are no streams
        return body if isinstance(body, bytes) else b"".join(body)

    # -- what APIServices say

    async def _own(self) -> list[APIService]:
        found = [("", "v1")] if await self._discovery.has_core() else []
        found += await self._discovery.own()
        return [
            APIService(f"{version}.{group}", group, version, *_PRIORITIES[group], None)
            for group, version in found
            if group in _PRIORITIES
        ]

    async def _register(self, context: Context, service: APIService) -> None:
        spec = {
            "group": service.group,
            "version": service.version,
            "groupPriorityMinimum": service.group_priority,
            "versionPriority": service.version_priority,
        }
        obj: Obj = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "APIService",
            "metadata": {"name": service.name, "labels": {_LABEL: "onstart"}},
            "spec": {key: value for key, value in spec.items() if value != ""},
        }
        try:
            await context.client.create(_API_SERVICES, obj)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    def _changed(self, event: str, obj: Obj) -> None:
        service = read(obj)
        self._objects[service.name] = obj
        remote = self._remotes.get(service.name)
        if event == "DELETED" or self._stopped:
            self._all.pop(service.name, None)
            self._objects.pop(service.name, None)
            self._forget(service.name)
        elif service.backend is None:
            self._all[service.name] = service
            self._forget(service.name)
            self._spawn(self.publish(service.name, LOCAL))
        else:
            self._all[service.name] = service
            if remote is None:
                self._remotes[service.name] = remote = Remote(service, service.backend, self, self._reactor)
                remote.start()
            else:
                remote.replace(service, service.backend)
        self._drop_unused()
        self.changed()

    def _forget(self, name: str) -> None:
        remote = self._remotes.pop(name, None)
        if remote is not None:
            remote.stop()

    def _service_changed(self, _event: str, obj: Obj) -> None:
        metadata = obj["metadata"]
        for remote in self._remotes.values():
            if (remote.backend.namespace, remote.backend.service) == (metadata.get("namespace"), metadata["name"]):
                remote.reset()

    def _drop_unused(self) -> None:
        used = {remote.backend for remote in self._remotes.values()}
        self._retire([key for key in self._origins if key[0] not in used])

    def _retire(self, keys: Iterable[tuple[Backend, str, Pair]]) -> None:
        """What is under way on these connections comes to its end; kube-apiserver changes its transports so, too."""
        for key in keys:
            origin = self._origins.pop(key)
            origin.retire()
            self._retired.add(origin)

    # -- what remotes ask for

    def service(self, namespace: str, name: str) -> Obj | None:
        """The Service object."""
        return self._services.get(namespace, name) if self._services is not None else None

    def origin(self, backend: Backend, host: str) -> Origin:
        """The connections to a backend; other ones as soon as the Service points elsewhere, or our certificate changed.

        Raises :class:`extapi.client.credentials.CredentialsError`.
        """
        pair = self._certificate.current()
        if self._pair not in (None, pair):
            for remote in self._remotes.values():
                remote.poke()  # it gets its other connections with the probe
        self._pair = pair
        origin = self._origins.get((backend, host, pair))
        if origin is None:
            tls = UpstreamTls(
                backend.server_name,
                ca=backend.ca,
                certificate=pair.certificate,
                key=pair.key,
                insecure=backend.insecure,
                clock=self._reactor,
            )
            self._retire([key for key in self._origins if key[0] == backend])
            self._origins[backend, host, pair] = origin = Origin(self._reactor, host, backend.port, tls)
        return origin

    async def publish(self, name: str, condition: Condition) -> None:
        """Write the condition into the APIService's status, unless it is there; a failure is made good next time."""
        context, obj = self._context, self._objects.get(name)
        if context is None or obj is None:
            return
        conditions: list[Obj] = list((obj.get("status") or {}).get("conditions") or ())
        old = next((each for each in conditions if each.get("type") == "Available"), {})
        if [old.get("status"), old.get("reason"), old.get("message")] == list(condition):
            return
        changed = format_timestamp(self._reactor.seconds())
        if old.get("status") == condition.status:
            changed = old.get("lastTransitionTime") or changed
        new = {"type": "Available", **condition._asdict(), "lastTransitionTime": changed}
        conditions = [each for each in conditions if each.get("type") != "Available"] + [new]
        try:
            await context.patch_status(GROUP, "v1", "apiservices", name, {"conditions": conditions})
        except (ApiError, TransportError) as error:
            self._log.info("the status of APIService {name} was not written: {error}", name=name, error=str(error))

    async def read(self, remote: Remote, origin: Origin) -> None:
        """Ask the server what it serves; what fails is tried again after the next probe."""
        before, new = remote.fresh, False
        try:
            remote.fresh = False
            new = await self._discovery.read(self.proxy, origin, remote)
            remote.fresh = True
            new = await self._openapi.read(self.proxy, origin, remote) or new
            remote.due = self._reactor.seconds() + REFRESH
        except TransportError as error:
            self._log.info("{path} was not read: {error}", path=remote.service.path, error=str(error))
        if new or remote.fresh != before:
            self.changed()

    def changed(self) -> None:
        """What is served has changed: documents are made anew when somebody asks."""
        self._discovery.forget()
        self._openapi.forget()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        running = Deferred.fromCoroutine(work)
        running.addErrback(lambda failure: self._log.failure("the aggregator failed", failure))


async def _nothing(_call: Call) -> Response:
    raise NotFound.path()
