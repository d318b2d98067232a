"""The OpenAPI documents of a server, v2 and v3, made once at start and served with ETags (behaviour C18-C20, D14-D16)."""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import formatdate

from extapi.api.definition import Group
from extapi.codec.negotiation import negotiate_openapi
from extapi.http.request import Request
from extapi.http.response import Response
from extapi.registry.served import ServedKind, ServedVersion
from extapi.registry.virtual import subresource_kind
from extapi.schema.openapi.document import openapi_v2, openapi_v3
from extapi.schema.openapi.meta import AUTOSCALING
from extapi.schema.openapi.model import PATCH_TYPES, ResourceModel, SubresourceModel, TypeModel
from extapi.server.documents import Document, SwaggerDocument
from extapi.server.endpoints import Endpoint, Endpoints

IMMUTABLE = 365 * 24 * 3600
"""Seconds for which clients may cache a document that they request by its hash."""


class OpenAPIDocuments:
    """All OpenAPI documents of a server."""

    def __init__(self, groups: Sequence[Group], kinds: Sequence[ServedKind], endpoints: Endpoints) -> None:
        published = [
            _published(kind, kind.versions[name], endpoints) for kind in kinds for name in kind.kind.served_versions()
        ]
        self._v2 = SwaggerDocument(openapi_v2(published))
        self._v3 = {
            f"apis/{group.name}/{version}" if group.name else f"api/{version}": Document(
                openapi_v3(group.name, version, [r for r in published if (r.group, r.version) == (group.name, version)])
            )
            for group in groups
            for version in group.versions_by_priority()
        }
        self._index = Document(
            {
                "paths": {
                    path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={document.etag.strip(chr(34))}"}
                    for path, document in self._v3.items()
                }
            }
        )

    def paths(self) -> list[str]:
        """The paths to list at ``/``."""
        return ["/openapi/v2", "/openapi/v3", *(f"/openapi/v3/{path}" for path in self._v3)]

    def answer(self, request: Request, path: str) -> Response | None:
        """The response for a path under ``/openapi/``; None for any other."""
        if path == "/openapi/v2":
            return self._v2.response(request)
        if path == "/openapi/v3":
            # Whatever the Accept header says (behaviour C18).
            return self._index.response(request, "application/json", etag=True)
        document = self._v3.get(path.removeprefix("/openapi/v3/"))
        if document is None or not path.startswith("/openapi/v3/"):
            return Response(404) if path.startswith("/openapi/v3/") else None
        hash_ = request.first("hash")
        if hash_ and hash_ == document.etag.strip('"'):
            until = formatdate(request.received + IMMUTABLE, usegmt=True)
            return _json(request, document, ("Cache-Control", "public, immutable"), ("Expires", until))
        return _json(request, document)


def _json(request: Request, document: Document, *headers: tuple[str, str]) -> Response:
    return document.response(request, negotiate_openapi(request.header("accept")), etag=True, headers=headers)


def _published(kind: ServedKind, version: ServedVersion, endpoints: Endpoints) -> ResourceModel:
    declared, behaviour = kind.kind, kind.kind.behaviour
    return ResourceModel(
        group=kind.group,
        version=version.name,
        kind=declared.name,
        rules=behaviour.openapi,
        list_kind=declared.list_kind,
        plural=declared.plural,
        singular=declared.singular,
        scope=declared.scope,
        verbs=endpoints[kind.group, version.name, declared.plural, ""].verbs,
        status=version.status and not kind.virtual,
        subresources=[
            *_scale(kind, version, endpoints),
            *(
                _subresource(kind, name, endpoints[kind.group, version.name, declared.plural, name])
                for name in declared.subresources
            ),
        ],
        structural=version.structural,
        selectable=version.selectable.names if behaviour.openapi.selectable_fields else (),
        patch_types=(*PATCH_TYPES, *behaviour.patch_types),
        returns_deleted=behaviour.answering.returns_deleted,
    )


def _scale(kind: ServedKind, version: ServedVersion, endpoints: Endpoints) -> list[SubresourceModel]:
    """The scale subresource; kube-apiserver names the custom resource's kind in its operations."""
    if version.scale is None:
        return []
    of = TypeModel(group=kind.group, version=version.name, kind=kind.kind.name, schema=f"{AUTOSCALING}Scale")
    verbs = endpoints[kind.group, version.name, kind.kind.plural, "scale"].verbs
    return [SubresourceModel(path="scale", verbs=verbs, type=of)]


def _subresource(kind: ServedKind, name: str, endpoint: Endpoint) -> SubresourceModel:
    declared = kind.kind.subresources[name]
    group, version, of = endpoint.type
    structural = subresource_kind(kind, declared).versions[version].structural if declared.kind else None
    speaks = TypeModel(group=group, version=version, kind=of, rules=kind.kind.behaviour.openapi)
    return SubresourceModel(path=name, verbs=endpoint.verbs, type=speaks, structural=structural)
