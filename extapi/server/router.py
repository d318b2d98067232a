"""Stage 5 begins: which code handles an authorized request (behaviour C1-C9, C21, B1).

Paths of resources lead to a verb of an endpoint, other paths to discovery, OpenAPI, health, metrics and version. What is served may be
replaced at any time; a request ends on the catalogue with which it began.
"""

from __future__ import annotations

import platform
from importlib import metadata

from extapi.api.names import path_segment
from extapi.clock import Clock
from extapi.codec.strictjson import encode_pretty
from extapi.errors import ApiError, BadRequest, MethodNotAllowed, NotFound
from extapi.http.request import Request
from extapi.http.response import Response
from extapi.registry.base import RequestScope
from extapi.registry.ruling import RuleRunner
from extapi.server.catalogue import Catalogue
from extapi.server.collector import WRITES, is_large, uncollected
from extapi.server.currentcatalogue import CurrentCatalogue
from extapi.server.discovery import DiscoveryDocuments, core_document
from extapi.server.documents import groups_response, plain_response
from extapi.server.endpoints import Endpoint
from extapi.server.health import Health
from extapi.server.metrics import PATHS as METRICS, Metrics
from extapi.server.plugins import Plugins
from extapi.verbs.request import ResourceRequest

READ_METHODS = frozenset({"GET", "HEAD"})

KUBERNETES = ("1", "36")
"""The Kubernetes version whose behaviour is matched, as major and minor."""

SINGLE = frozenset({"get", "update", "patch", "delete"})
"""The verbs of a path that names an object; a resource without any of them has no such path."""


class Router:
    """Handles every request that is authorized."""

    def __init__(
        self,
        served: CurrentCatalogue,
        *,
        health: Health,
        metrics: Metrics,
        plugins: Plugins,
        clock: Clock,
        rules: RuleRunner,
    ) -> None:
        self._served = served
        self._health = health
        self._metrics = metrics
        self._version = encode_pretty(version_info())
        self._plugins = plugins
        self._clock = clock
        self._rules = rules

    async def __call__(self, request: Request) -> Response:
        """The response.

        Raises:
            NotFound: There is no such path, or no such object.
            MethodNotAllowed: The path has no such verb.
            ApiError: What the verb raises.
        """
        catalogue = self._served.catalogue
        if request.info.is_resource:
            return await self._resource(request, catalogue)
        path = request.info.path.rstrip("/")
        if path not in METRICS:
            if path.startswith("/openapi/") and request.method in READ_METHODS:
                await catalogue.openapi.prepare(path, self._clock)
            return self._path(request, catalogue)
        if request.method not in READ_METHODS:
            raise MethodNotAllowed.on_path()
        return await self._metrics.answer(request, path)

    async def _resource(self, request: Request, catalogue: Catalogue) -> Response:
        info = request.info
        endpoints = catalogue.endpoints
        endpoint = endpoints.get((info.group, info.version, info.resource, info.subresource))
        main = endpoint or (endpoints.get((info.group, info.version, info.resource, "")) if info.subresource else None)
        if main is None or info.prefix != ("apis" if info.group else "api"):
            raise NotFound.path()
        resource = main.resource
        routing = resource.behaviour.routing
        single = bool(info.name) and len(info.parts) > 1
        # The path of a namespace is one within that namespace, also for authorization.
        itself = single and info.resource == "namespaces" and info.namespace == info.name
        namespace = "" if itself else info.namespace
        # Only reads go across all namespaces: nothing deletes objects in all of them at once.
        across = info.verb in {"list", "watch"} and not single
        somewhere = resource.namespaced == bool(namespace) or (resource.namespaced and across)
        if not somewhere and routing.scope_before_method:
            raise NotFound.path()
        if main.warning:
            request.warnings.append(main.warning)
        if endpoint is None:
            raise routing.no_subresource(info.group, info.resource, info.name)
        verb = endpoint.handlers.get(info.verb)
        whole = single and not info.subresource
        if verb is None or (whole and info.verb == "create" and not routing.create_by_name):
            raise _refused(endpoint, info.verb, whole=whole)
        if not somewhere:
            raise NotFound.path()
        problems = path_segment(info.name) if single and (info.verb != "create" or info.subresource) else ()
        if problems:
            raise BadRequest(f'Name parameter invalid: "{info.name}": {";".join(problems)}')
        request.series = endpoint.series
        resource_request = ResourceRequest(
            request,
            resource,
            RequestScope(info.version, namespace, request.user),
            info.name,
            self._plugins.chain,  # of the same moment as the catalogue: nothing has been waited for
            self._clock,
            self._rules,
        )
        if info.verb in WRITES and is_large(request):
            return await uncollected(verb(resource_request))
        return await verb(resource_request)  # type: ignore[no-any-return]

    def _path(self, request: Request, catalogue: Catalogue) -> Response:
        path = request.info.path
        found = self._document(request, path.rstrip("/") or "/", catalogue)
        if found is None:
            if path.startswith(catalogue.roots):
                raise NotFound.path()
            return Response(404, [("Content-Type", "application/json")], catalogue.index)
        if request.method not in READ_METHODS or (request.method == "HEAD" and path.rstrip("/") == "/version"):
            raise MethodNotAllowed.on_path()  # kube-apiserver has HEAD for its documents, but not for the version
        return found

    def _document(self, request: Request, path: str, catalogue: Catalogue) -> Response | None:
        discovery = catalogue.discovery
        if path in {"/", "/index.html"}:
            return Response(200, [("Content-Type", "application/json")], catalogue.index)
        if path == "/version":
            return Response(200, [("Content-Type", "application/json")], self._version)
        if path == "/apis":
            return groups_response(request, discovery.groups, discovery.aggregated)
        if path == "/api" and discovery.core_versions:
            unaggregated = core_document(discovery.core_versions, request.header("host"))
            return groups_response(request, unaggregated, discovery.core_aggregated)
        if path.startswith("/apis/"):
            group, _, version = path.removeprefix("/apis/").partition("/")
            return _legacy(request, discovery, group, version) if group else None
        if path.startswith("/api/"):
            return _legacy(request, discovery, "", path.removeprefix("/api/"))
        return self._health.answer(request, path) or (
            catalogue.openapi.answer(request, path) if path.startswith("/openapi/") else None
        )


def _legacy(request: Request, discovery: DiscoveryDocuments, group: str, version: str) -> Response | None:
    document = discovery.versions.get((group, version)) if version else discovery.group.get(group)
    return None if document is None else plain_response(request, document)


def _refused(endpoint: Endpoint, verb: str, *, whole: bool) -> ApiError:
    """The error for a verb that a resource does not have; ``whole``: the path is that of an object."""
    resource = endpoint.resource
    if whole and not endpoint.handlers.keys() & SINGLE:
        return NotFound.path()
    return resource.behaviour.routing.no_verb(resource.group, resource.plural, verb)


def version_info() -> dict[str, str]:
    """The fields of ``version.Info`` at ``/version``; gitVersion has both the Kubernetes minor and our own version."""
    major, minor = KUBERNETES
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{major}.{minor}.0+extapi-{metadata.version('extapi')}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{machine}",
    }
