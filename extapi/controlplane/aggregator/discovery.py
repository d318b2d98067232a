"""Merged discovery: ``/apis``, ``/apis/G`` and ``/``, of what is served here and elsewhere (spec D11-D13, C3, C7-C17).

The order is that of the APIServices. Asks servers in aggregated form, and by version those that do not speak it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from extapi.api.user import User
from extapi.api.versions import version_priority
from extapi.client.base import TransportError
from extapi.client.origin import Origin
from extapi.controlplane.aggregator.proxy import Proxy
from extapi.controlplane.aggregator.remote import PROBER, Remote
from extapi.controlplane.aggregator.services import GROUP, APIService, by_group
from extapi.errors import ApiError
from extapi.listener.call import Call, Response
from extapi.server.discovery import Document
from extapi.server.documents import groups_document, plain_document

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
ACCEPT = ",".join(AGGREGATED.format(version) for version in ("v2", "v2beta1"))

FIRST = 20000
"""The priority of the group of APIServices: it comes before all others."""
UNKNOWN = 1000
"""Of groups that no APIService speaks for."""

Ask = Callable[[str, str], Awaitable[bytes]]


class Discovery:
    """``local(path, accept)``: a document of the router below. ``services``: all APIServices. ``remotes``: by name."""

    def __init__(self, local: Ask, services: Callable[[], Iterable[APIService]], remotes: Mapping[str, Remote]) -> None:
        self._local = local
        self._services = services
        self._remotes = remotes
        self._below: dict[str, dict[str, Any]] | None = None
        self._made: dict[str, Document] = {}

    def forget(self) -> None:
        """Something has changed."""
        self._made.clear()

    async def has_core(self) -> bool:
        """Whether the core group is served here."""
        try:
            await self._local("/api", "application/json")
        except ApiError:
            return False
        return True

    async def own(self) -> list[tuple[str, str]]:
        """The other groups and versions that are served here."""
        return [(group, version) for group, versions in (await self._lower()).items() for version in versions]

    async def answer(self, call: Call, path: str) -> Response | None:
        """The response for a path of discovery that has to be merged; None for others."""
        path = path.rstrip("/") or "/"
        if path in ("/", "/index.html"):
            return Response(200, [("Content-Type", "application/json")], await self._index())
        if path == "/apis":
            aggregated = {version: await self._aggregated(version) for version in ("v2", "v2beta1")}
            return groups_document(call, await self._groups(), aggregated)
        if path.startswith("/apis/") and path.count("/") == 2:
            group = path.removeprefix("/apis/")
            if any(remote.service.group == group for remote in self._remotes.values()):
                group_of = by_group(self._services())[group]
                return plain_document(call, Document({"kind": "APIGroup", "apiVersion": "v1", **_api_group(group_of)}))
        return None

    async def read(self, proxy: Proxy, origin: Origin, remote: Remote) -> bool:
        """Ask a server what is in its group version; whether that is new. Raises :class:`TransportError`."""
        kept = (("If-None-Match", remote.etag),) if remote.etag else ()
        status, answer, body = await proxy.fetch(origin, "/apis", PROBER, ("Accept", ACCEPT), *kept)
        if status == 304:
            return False
        if status == 503:
            raise TransportError("/apis was answered with 503")
        service = remote.service
        form = answer.header("content-type").replace(" ", "").lower()
        if status == 200 and "as=apigroupdiscoverylist" in form and "g=apidiscovery.k8s.io" in form:
            found = _version_of(body, service)
            remote.etag = answer.header("etag")
        else:
            found = await self._by_version(proxy, origin, service)
            remote.etag = ""
        new = found != remote.resources
        remote.resources = found
        return new

    async def _by_version(self, proxy: Proxy, origin: Origin, service: APIService) -> dict[str, Any]:
        user = User(PROBER.name)
        status, _, body = await proxy.fetch(origin, service.path, user, ("Accept", "application/json"))
        if status != 200:
            raise TransportError(f"{service.path} was answered with {status}")
        return converted(service, _decoded(body))

    async def _served(self) -> list[APIService]:
        """The APIServices that somebody answers for: another server, or this one."""
        below = await self._lower()
        return [
            each
            for each in self._services()
            if each.group and (each.backend is not None or each.version in below.get(each.group, ()))
        ]

    async def _lower(self) -> dict[str, dict[str, Any]]:
        """Groups to versions to their part of the aggregated document, of what is served here."""
        if self._below is None:
            listed = msgspec.json.decode(await self._local("/apis", AGGREGATED.format("v2")))
            self._below = {
                group["metadata"]["name"]: {version["version"]: version for version in group["versions"]}
                for group in listed["items"]
            }
        return self._below

    async def _index(self) -> bytes:
        below = msgspec.json.decode(await self._local("/", "application/json"))
        paths = set(below["paths"])
        for remote in self._remotes.values():
            paths |= {f"/apis/{remote.service.group}", remote.service.path}
        return msgspec.json.format(msgspec.json.encode({"paths": sorted(paths)}), indent=2)

    async def _groups(self) -> Document:
        if "" not in self._made:
            groups = by_group(await self._served())
            below = await self._lower()
            first = {} if GROUP in groups or GROUP not in below else {GROUP: _unregistered(GROUP, below[GROUP])}
            rest = {
                name: _unregistered(name, below[name]) for name in below if name not in groups and name not in first
            }
            merged = {**first, **groups, **rest}
            self._made[""] = Document(
                {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_api_group(each) for each in merged.values()]}
            )
        return self._made[""]

    async def _aggregated(self, version: str) -> Document:
        if version not in self._made:
            services = await self._served()
            below = await self._lower()
            known = {each.group for each in services}
            for group in below:
                if group not in known:
                    services += _unregistered(group, below[group])
            groups: dict[str, list[APIService]] = {}
            for each in services:
                groups.setdefault(each.group, []).append(each)
            # Unlike the list of groups, this one sorts groups of equal weight by their own names.
            names = sorted(groups, key=lambda name: (-max(each.group_priority for each in groups[name]), name))
            items = [
                {
                    "metadata": {"name": name},
                    "versions": [
                        self._entry(each, below)
                        for each in sorted(
                            groups[name], key=lambda each: (-each.version_priority, version_priority(each.version))
                        )
                    ],
                }
                for name in names
            ]
            self._made[version] = Document(
                {
                    "kind": "APIGroupDiscoveryList",
                    "apiVersion": f"apidiscovery.k8s.io/{version}",
                    "metadata": {},
                    "items": items,
                }
            )
        return self._made[version]

    def _entry(self, service: APIService, below: dict[str, dict[str, Any]]) -> dict[str, Any]:
        remote = self._remotes.get(service.name)
        if remote is None:
            known = below.get(service.group, {}).get(service.version)
            return known or {"version": service.version, "freshness": "Current"}
        known = remote.resources or {"version": service.version}
        return {**known, "freshness": "Current" if remote.fresh else "Stale"}


def converted(service: APIService, listed: Any) -> dict[str, Any]:
    """An APIResourceList in the aggregated form (``endpoints.ConvertGroupVersionIntoToDiscovery``)."""
    found: dict[str, dict[str, Any]] = {}
    for resource in listed.get("resources") or ():
        name, _, sub = resource["name"].partition("/")
        kind = {
            "group": resource.get("group") or service.group,
            "version": resource.get("version") or service.version,
            "kind": resource["kind"],
        }
        scope = "Namespaced" if resource.get("namespaced") else "Cluster"
        entry = found.setdefault(name, {"resource": name, "responseKind": {}, "scope": scope, "singularResource": ""})
        if sub:
            entry.setdefault("subresources", []).append(
                {"subresource": sub, "responseKind": kind, "verbs": resource.get("verbs") or []}
            )
        else:
            more = {key: resource[key] for key in ("shortNames", "categories") if resource.get(key)}
            entry |= {
                "responseKind": kind,
                "singularResource": resource.get("singularName", ""),
                "verbs": resource.get("verbs") or [],
                **more,
            }
    return {"version": service.version, "resources": list(found.values())}


def _version_of(body: bytes, service: APIService) -> dict[str, Any]:
    """The part of an APIGroupDiscoveryList for one group version; without resources if it is not there."""
    try:
        for group in _decoded(body).get("items") or ():
            for version in group.get("versions") or ():
                if (group["metadata"]["name"], version["version"]) == (service.group, service.version):
                    return dict(version)
    except (KeyError, TypeError, AttributeError) as error:
        raise TransportError(f"no APIGroupDiscoveryList: {error!r}") from error
    return {"version": service.version}


def _decoded(body: bytes) -> Any:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TransportError(f"the answer is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise TransportError("the answer is not a JSON object")
    return found


def _unregistered(group: str, versions: Iterable[str]) -> list[APIService]:
    priority = FIRST if group == GROUP else UNKNOWN
    return [APIService(f"{version}.{group}", group, version, priority, 15, None) for version in versions]


def _api_group(services: list[APIService]) -> dict[str, Any]:
    versions = [{"groupVersion": f"{each.group}/{each.version}", "version": each.version} for each in services]
    return {"name": services[0].group, "versions": versions, "preferredVersion": versions[0]}
