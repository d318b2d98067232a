"""Stage 5's door: which code answers an authorized request (spec C1-C9, C21, B1).

Resource paths lead to an endpoint's verb; the others to discovery, OpenAPI, health and version.
"""

from __future__ import annotations

from collections.abc import Mapping

from extapi.admission.chain import AdmissionChain
from extapi.api.names import path_segment
from extapi.client.clock import Clock
from extapi.codec.strictjson import encode_pretty
from extapi.errors import ApiError, BadRequest, MethodNotAllowed, NotFound
from extapi.listener.call import Call, Response
from extapi.registry.base import Place
from extapi.server.discovery import Discovery, core_document
from extapi.server.documents import groups_document, plain_document
from extapi.server.endpoints import Endpoint, Endpoints
from extapi.server.health import Health
from extapi.server.openapi import OpenAPI
from extapi.verbs.target import Target

READ_METHODS = frozenset({"GET", "HEAD"})

SINGLE = frozenset({"get", "update", "patch", "delete"})
"""The verbs of a path that names an object; where a resource has none of them there is no such path."""


class Router:
    """Answers every request that came this far."""

    def __init__(
        self,
        *,
        endpoints: Endpoints,
        discovery: Discovery,
        openapi: OpenAPI,
        health: Health,
        version: Mapping[str, str],
        chain: AdmissionChain,
        clock: Clock,
    ) -> None:
        self._endpoints = endpoints
        self._discovery = discovery
        self._openapi = openapi
        self._health = health
        self._version = encode_pretty(dict(version))
        self._chain = chain
        self._clock = clock
        groups = [f"/apis/{name}" for name in discovery.group]
        versions = [f"/apis/{group}/{version}" for group, version in discovery.versions if group]
        core = ["/api", *(f"/api/{version}" for version in discovery.core_versions)] if discovery.core_versions else []
        # Below these nothing but Statuses says that there is nothing; elsewhere it is the list of paths (spec C2, C4).
        self._roots = ("/api/", "/apis/") if core else ("/apis/",)
        paths = [*core, "/apis", *groups, *versions, "/version", *health.paths(), *openapi.paths()]
        self._index = encode_pretty({"paths": sorted(paths)})

    async def __call__(self, call: Call) -> Response:
        """The answer. Raises :class:`NotFound` or :class:`MethodNotAllowed` where nothing leads."""
        if call.info.is_resource:
            return await self._resource(call)
        return self._path(call, call.info.path)

    async def _resource(self, call: Call) -> Response:
        info = call.info
        endpoint = self._endpoints.get((info.group, info.version, info.resource, info.subresource))
        main = endpoint or (
            self._endpoints.get((info.group, info.version, info.resource, "")) if info.subresource else None
        )
        if main is None or info.prefix != ("apis" if info.group else "api"):
            raise NotFound.path()
        resource = main.resource
        single = bool(info.name) and len(info.parts) > 1
        # A namespace is in itself, as far as its path and who may do what are concerned.
        itself = single and info.resource == "namespaces" and info.namespace == info.name
        namespace = "" if itself else info.namespace
        # Of all namespaces together there is only reading: nothing deletes the objects of all of them at once.
        across = info.verb in {"list", "watch"} and not single
        somewhere = resource.namespaced == bool(namespace) or (resource.namespaced and across)
        if not somewhere and resource.native is None:
            raise NotFound.path()
        if main.warning:
            call.warnings.append(main.warning)
        if endpoint is None:
            # An unknown subresource of a custom resource names its object (spec J38).
            raise (
                NotFound.path() if resource.native is not None else NotFound.named(info.resource, info.group, info.name)
            )
        verb = endpoint.handlers.get(info.verb)
        whole = single and not info.subresource
        if verb is None or (whole and info.verb == "create" and resource.native is not None):
            raise _refused(endpoint, info.verb, whole=whole)
        if not somewhere:
            raise NotFound.path()
        problems = path_segment(info.name) if single and (info.verb != "create" or info.subresource) else ()
        if problems:
            raise BadRequest(f'Name parameter invalid: "{info.name}": {";".join(problems)}')
        target = Target(call, resource, Place(info.version, namespace, call.user), info.name, self._chain, self._clock)
        return await verb(target)  # type: ignore[no-any-return]

    def _path(self, call: Call, path: str) -> Response:
        found = self._document(call, path.rstrip("/") or "/")
        if found is None:
            if path.startswith(self._roots):
                raise NotFound.path()
            return Response(404, [("Content-Type", "application/json")], self._index)
        if call.method not in READ_METHODS or (call.method == "HEAD" and path.rstrip("/") == "/version"):
            raise _not_allowed()  # kube-apiserver's route for the version has no HEAD, unlike its documents
        return found

    def _document(self, call: Call, path: str) -> Response | None:
        if path in {"/", "/index.html"}:
            return Response(200, [("Content-Type", "application/json")], self._index)
        if path == "/version":
            return Response(200, [("Content-Type", "application/json")], self._version)
        if path == "/apis":
            return groups_document(call, self._discovery.groups, self._discovery.aggregated)
        if path == "/api" and self._discovery.core_versions:
            unaggregated = core_document(self._discovery.core_versions, call.header("host"))
            return groups_document(call, unaggregated, self._discovery.core_aggregated)
        if path.startswith("/apis/"):
            group, _, version = path.removeprefix("/apis/").partition("/")
            return self._legacy(call, group, version) if group else None
        if path.startswith("/api/"):
            return self._legacy(call, "", path.removeprefix("/api/"))
        return self._health.answer(call, path) or (
            self._openapi.answer(call, path) if path.startswith("/openapi/") else None
        )

    def _legacy(self, call: Call, group: str, version: str) -> Response | None:
        content = self._discovery.versions.get((group, version)) if version else self._discovery.group.get(group)
        return None if content is None else plain_document(call, content)


def _refused(endpoint: Endpoint, verb: str, *, whole: bool) -> ApiError:
    """Why there is no such verb. ``whole``: the path is that of one object."""
    resource = endpoint.resource
    if whole and not endpoint.handlers.keys() & SINGLE:
        return NotFound.path()
    if resource.native is None:
        return MethodNotAllowed.on(resource.plural, resource.group, verb)
    return _not_allowed()


def _not_allowed() -> MethodNotAllowed:
    return MethodNotAllowed("the server does not allow this method on the requested resource", with_details=True)
