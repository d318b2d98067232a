"""Stage 5's door: which code answers an authorized request (spec C1-C9, C21, B1).

Resource paths lead to an endpoint's verb; the others to discovery, OpenAPI, health and version.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from extapi.admission.chain import AdmissionChain
from extapi.api.names import path_segment
from extapi.client.clock import Clock
from extapi.codec.negotiation import negotiate, negotiate_discovery
from extapi.codec.strictjson import encode_pretty
from extapi.errors import BadRequest, MethodNotAllowed, NotFound
from extapi.listener.call import Call, Response
from extapi.registry.base import Place
from extapi.server.discovery import Discovery, Document
from extapi.server.documents import document
from extapi.server.endpoints import Endpoint
from extapi.server.health import Health
from extapi.server.openapi import OpenAPI
from extapi.verbs.target import Target

READ_METHODS = frozenset({"GET", "HEAD"})


class Router:
    """Answers every request that came this far."""

    def __init__(
        self,
        *,
        endpoints: Mapping[tuple[str, str, str, str], Endpoint],
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
        versions = [f"/apis/{group}/{version}" for group, version in discovery.versions]
        paths = ["/apis", *groups, *versions, "/version", *health.paths(), *openapi.paths()]
        self._index = encode_pretty({"paths": sorted(paths)})

    async def __call__(self, call: Call) -> Response:
        """The answer. Raises :class:`NotFound` or :class:`MethodNotAllowed` where nothing leads."""
        if call.info.is_resource:
            return await self._resource(call)
        return self._path(call, call.info.path)

    async def _resource(self, call: Call) -> Response:
        info = call.info
        endpoint = self._endpoints.get((info.group, info.version, info.resource, info.subresource))
        if endpoint is None or info.prefix != "apis":
            raise self._missing(call)
        if endpoint.warning:
            call.warnings.append(endpoint.warning)
        resource = endpoint.resource
        verb = endpoint.handlers.get(info.verb)
        if verb is None:
            raise MethodNotAllowed.on(resource.plural, resource.group, info.verb)
        single = bool(info.name) and len(info.parts) > 1
        # Of all namespaces together there is only reading: nothing deletes the objects of all of them at once.
        across = info.verb in {"list", "watch"} and not single
        if resource.namespaced != bool(info.namespace) and not (resource.namespaced and across):
            raise NotFound.path()
        problems = path_segment(info.name) if single and info.verb != "create" else ()
        if problems:
            raise BadRequest(f'Name parameter invalid: "{info.name}": {";".join(problems)}')
        target = Target(call, resource, Place(info.version, info.namespace), info.name, self._chain, self._clock)
        return await verb(target)  # type: ignore[no-any-return]

    def _missing(self, call: Call) -> NotFound:
        """No such path; an unknown subresource names its object (spec J38)."""
        info = call.info
        if info.subresource and (info.group, info.version, info.resource, "") in self._endpoints:
            return NotFound.named(info.resource, info.group, info.name)
        return NotFound.path()

    def _path(self, call: Call, path: str) -> Response:
        found = self._document(call, path.rstrip("/") or "/")
        if found is None:
            # Where groups are served the answer is a Status; elsewhere the list of paths (spec C2, C4).
            if path.startswith("/apis/"):
                raise NotFound.path()
            return Response(404, [("Content-Type", "application/json")], self._index)
        if call.method not in READ_METHODS:
            raise MethodNotAllowed("the server does not allow this method on the requested resource", with_details=True)
        return found

    def _document(self, call: Call, path: str) -> Response | None:
        if path in {"/", "/index.html"}:
            return Response(200, [("Content-Type", "application/json")], self._index)
        if path == "/version":
            return Response(200, [("Content-Type", "application/json")], self._version)
        if path == "/apis":
            return self._groups(call)
        if path.startswith("/apis/"):
            return self._legacy(call, path)
        return self._health.answer(call, path) or (
            self._openapi.answer(call, path) if path.startswith("/openapi/") else None
        )

    def _groups(self, call: Call) -> Response:
        form = negotiate_discovery(call.header("accept"))
        if form.format == "yaml":
            return _yaml(self._discovery.groups)
        if not form.version:
            return document(call, self._discovery.groups, "application/json")
        content = self._discovery.aggregated[form.version]
        return document(call, content, form.content_type, etag=True, headers=(("Cache-Control", "public"),))

    def _legacy(self, call: Call, path: str) -> Response | None:
        group, _, version = path.removeprefix("/apis/").partition("/")
        content = self._discovery.versions.get((group, version)) if version else self._discovery.group.get(group)
        if content is None:
            return None
        form = negotiate(
            call.header("accept"),
            pretty=call.first("pretty"),
            user_agent=call.header("user-agent"),
            transforms=frozenset(),
        )
        if form.pretty:
            return Response(200, [("Content-Type", form.content_type)], msgspec.json.format(content.body, indent=2))
        if form.format == "yaml":
            return _yaml(content)
        return document(call, content, "application/json")


def _yaml(content: Document) -> Response:
    from extapi.codec.strictyaml import encode_yaml  # noqa: PLC0415 - the YAML library is only loaded where used

    return Response(200, [("Content-Type", "application/yaml")], encode_yaml(msgspec.json.decode(content.body)))
