"""The aggregator: follows APIServices, passes requests on, and merges discovery and OpenAPI (behaviour D).

Stands after authorization and before the control plane's router.

Source: ``k8s.io/kube-aggregator/pkg/apiserver/apiserver.go``.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any
from weakref import WeakSet

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi import ApiError, Context, Informer, NotFound, TransportError
from extapi.api.timestamp import format_timestamp
from extapi.authentication.loopback import APISERVER
from extapi.client.clientpair import ClientPair, Pair
from extapi.client.kube import Obj, ResourceName
from extapi.client.tls import UpstreamTls
from extapi.client.upstream import Upstream
from extapi.clock import wall_time
from extapi.controlplane.aggregator.discovery import MergedDiscovery
from extapi.controlplane.aggregator.openapi import MergedOpenAPI
from extapi.controlplane.aggregator.proxy import BackendProxy
from extapi.controlplane.aggregator.remote import LOCAL, AvailableCondition, Remote
from extapi.controlplane.aggregator.serverreader import REFRESH, ServerReader
from extapi.controlplane.aggregator.services import GROUP, APIServiceInfo, ServiceBackend, read
from extapi.http.request import NoBody, Peer, Request, RequestInfo
from extapi.http.response import Handler, Response, http_error

_API_SERVICES = ResourceName(GROUP, "v1", "apiservices")
_LABEL = "kube-aggregator.kubernetes.io/automanaged"
_PRIORITIES = {
    "": (18000, 1),
    "events.k8s.io": (17750, 15),
    "authentication.k8s.io": (17700, 15),
    "authorization.k8s.io": (17600, 15),
    "rbac.authorization.k8s.io": (17000, 15),
    "apiextensions.k8s.io": (16700, 15),
    "admissionregistration.k8s.io": (16700, 15),
    "coordination.k8s.io": (16500, 15),
}
"""Priorities of the groups that kube-apiserver serves itself (``DefaultGenericAPIServicePriorities``)."""


LONG_RUNNING = frozenset({"attach", "exec", "log", "portforward", "proxy"})
"""Subresources whose requests have no deadline and are not counted among those in flight."""


class Aggregator:
    """The aggregator of one control plane.

    Give :meth:`front` to the Server, put the aggregator among its ``builtin`` so that :meth:`start` is called, and call
    :meth:`stop` at the end.

    Args:
        certificate: The PEM file of the front proxy's client certificate; changes are noticed with the next probe.
        key: The PEM file of its key.
        reactor: Provides IReactorTCP, IReactorTime and host name resolution.
    """

    _log = Logger()

    def __init__(self, *, certificate: Path, key: Path, reactor: Any) -> None:
        self._certificate = ClientPair(certificate, key, "the front proxy's")
        self._pair: Pair | None = None
        self._reactor = reactor
        self._local: Handler = _no_router
        self._context: Context | None = None
        self._informer: Informer | None = None
        self._objects: dict[str, Obj] = {}
        self._services: Informer | None = None
        self._remotes: dict[str, Remote] = {}
        self._infos: dict[str, APIServiceInfo] = {}
        self._upstreams: dict[tuple[ServiceBackend, str, Pair], Upstream] = {}
        self._readers: dict[Upstream, ServerReader] = {}
        self._retired: WeakSet[Upstream] = WeakSet()
        self._stopped = False
        self._registered = False
        self.proxy = BackendProxy(reactor)
        self._discovery = MergedDiscovery(self.local, self._infos.values, self._remotes)
        self._openapi = MergedOpenAPI(self.local, self._remotes)

    # -- called by the server

    def front(self, handler: Handler) -> Handler:
        """The handler that stands before the router ``handler``."""
        self._local = handler
        return self._serve

    def long_running(self, info: RequestInfo) -> bool:
        """Whether a request may last: by its verb or subresource, whoever serves it.

        Source: ``k8s.io/kubernetes/pkg/controlplane/apiserver/config.go`` LongRunningFunc.
        """
        return info.verb == "proxy" or (info.is_resource and info.subresource in LONG_RUNNING)

    async def start(self, context: Context) -> None:
        """Register the control plane's own group versions, and follow APIServices and Services."""
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
        for reader in self._readers.values():
            reader.stop()
        for upstream in (*self._upstreams.values(), *self._retired):
            upstream.close()

    def registered(self) -> str | None:
        """A health check: None once the control plane's own group versions are registered."""
        return None if self._registered else "not all of the control plane's own groups are registered"

    def synced(self) -> str | None:
        """A health check: None once all Services and APIServices are known."""
        known = (informer is not None and informer.synced for informer in (self._services, self._informer))
        return None if all(known) else "APIServices are not known yet"

    # -- requests

    async def _serve(self, request: Request) -> Response:
        path = request.info.path
        if path.startswith("/apis/"):
            group, _, rest = path.removeprefix("/apis/").partition("/")
            remote = self._remotes.get(f"{rest.partition('/')[0]}.{group}") if rest else None
            if remote is not None:
                return await self._pass_on(request, remote)
            if rest:
                return await self._local(request)
        if request.method in ("GET", "HEAD") and not request.info.is_resource:
            remote = self._openapi.served(path)
            if remote is not None:
                return await self._pass_on(request, remote)
            response = await self._discovery.serve(request, path) or await self._openapi.serve(request, path)
            if response is not None:
                return response
        return await self._local(request)

    async def _pass_on(self, request: Request, remote: Remote) -> Response:
        if not remote.available or remote.upstream is None:
            return http_error(503, "service unavailable")
        return await self.proxy.pass_on(request, remote.upstream, remote.poke)

    async def direct(self, request: Request) -> Response:
        """The response of the control plane's own router, whatever APIServices say; for its own controllers."""
        request.user = APISERVER
        return await self._local(request)

    async def local(self, path: str, accept: str) -> bytes:
        """A document of the control plane's own router.

        Raises:
            ApiError: The router does not serve the path.
        """
        now = self._reactor.seconds()
        request = Request(
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
        body: Any = (await self._local(request)).body  # whole or in pieces; documents are not streams
        return body if isinstance(body, bytes) else b"".join(body)

    # -- following APIServices

    async def _own(self) -> list[APIServiceInfo]:
        found = [("", "v1")] if await self._discovery.has_core() else []
        found += await self._discovery.own()
        return [
            APIServiceInfo(f"{version}.{group}", group, version, *_PRIORITIES[group], None)
            for group, version in found
            if group in _PRIORITIES
        ]

    async def _register(self, context: Context, service: APIServiceInfo) -> None:
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
        before = remote.backend if remote is not None else None
        if event == "DELETED" or self._stopped:
            self._infos.pop(service.name, None)
            self._objects.pop(service.name, None)
            self._forget(service.name)
        elif service.backend is None:
            self._infos[service.name] = service
            self._forget(service.name)
            self._spawn(self.publish(service.name, LOCAL))
        else:
            self._infos[service.name] = service
            if remote is None:
                self._remotes[service.name] = remote = Remote(service, service.backend, self, self._reactor)
                remote.start()
            else:
                remote.replace(service, service.backend)
        if before not in (None, service.backend if event != "DELETED" else None):
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
        self._retire([key for key in self._upstreams if key[0] not in used])

    def _retire(self, keys: Iterable[tuple[ServiceBackend, str, Pair]]) -> None:
        """Stop using these servers' connections, but let requests under way finish, as kube-apiserver does."""
        for key in keys:
            upstream = self._upstreams.pop(key)
            if reader := self._readers.pop(upstream, None):
                reader.stop()
            upstream.retire()
            self._retired.add(upstream)

    # -- called by remotes

    def service(self, namespace: str, name: str) -> Obj | None:
        """The Service object."""
        return self._services.get(namespace, name) if self._services is not None else None

    def upstream(self, backend: ServiceBackend, host: str) -> Upstream:
        """The upstream server of a backend; a new one once the Service points elsewhere or our certificate has changed.

        Raises:
            CredentialsError: The backend's CA bundle cannot be used.
        """
        pair = self._certificate.current()
        if self._pair not in (None, pair):
            for remote in self._remotes.values():
                remote.poke()  # the probe asks for the new upstream
        self._pair = pair
        upstream = self._upstreams.get((backend, host, pair))
        if upstream is None:
            tls = UpstreamTls(
                backend.server_name,
                ca=backend.ca,
                certificate=pair.certificate,
                key=pair.key,
                insecure=backend.insecure,
                clock=self._reactor,
            )
            self._retire([key for key in self._upstreams if key[0] == backend])
            self._upstreams[backend, host, pair] = upstream = Upstream(self._reactor, host, backend.port, tls)
        return upstream

    async def publish(self, name: str, condition: AvailableCondition) -> None:
        """Write the condition into the APIService's status if it has changed; after a failure, the next probe does it."""
        context, obj = self._context, self._objects.get(name)
        if context is None or obj is None:
            return
        conditions: list[Obj] = list((obj.get("status") or {}).get("conditions") or ())
        old = next((each for each in conditions if each.get("type") == "Available"), {})
        if [old.get("status"), old.get("reason"), old.get("message")] == list(condition):
            return
        changed = format_timestamp(wall_time(self._reactor))
        if old.get("status") == condition.status:
            changed = old.get("lastTransitionTime") or changed
        new = {"type": "Available", **condition._asdict(), "lastTransitionTime": changed}
        conditions = [each for each in conditions if each.get("type") != "Available"] + [new]
        try:
            await context.patch_status(GROUP, "v1", "apiservices", name, {"conditions": conditions})
        except (ApiError, TransportError) as error:
            self._log.info("the status of APIService {name} was not written: {error}", name=name, error=str(error))

    async def read(self, upstream: Upstream) -> None:
        """Read the server's discovery and OpenAPI, for all its APIServices; what fails is retried after the next probe."""
        reader = self._readers.get(upstream)
        if reader is None:
            if upstream not in self._upstreams.values():
                return  # the next probe has another one

            def remotes() -> list[Remote]:
                return [each for each in self._remotes.values() if each.available and each.upstream is upstream]

            reader = self._readers[upstream] = ServerReader(upstream, self.proxy, remotes, self.changed, self._reactor)
        await reader.read()

    def changed(self) -> None:
        """Something served has changed: build the merged documents again when they are requested."""
        self._discovery.forget()
        self._openapi.forget()

    def own_changed(self) -> None:
        """The control plane serves other groups: give this to :attr:`extapi.server.server.Server.observers`."""
        self._discovery.forget_own()
        self._openapi.forget_own()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        running = Deferred.fromCoroutine(work)
        running.addErrback(lambda failure: self._log.failure("the aggregator failed", failure))


async def _no_router(_request: Request) -> Response:
    raise NotFound.path()
