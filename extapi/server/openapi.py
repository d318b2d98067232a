"""The OpenAPI documents of a server, v2 and v3, made with the catalogue and served with ETags (behaviour C18-C20, D14-D16)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from email.utils import formatdate
from functools import partial
from typing import Any

from extapi.api.definition import Group
from extapi.codec.contenttype import APPLY
from extapi.codec.negotiation import negotiate_openapi
from extapi.http.request import Request
from extapi.http.response import Response
from extapi.registry.served import ServedKind
from extapi.registry.servedversion import ServedVersion
from extapi.registry.virtual import subresource_kind
from extapi.schema.openapi.document import openapi_v2, openapi_v3
from extapi.schema.openapi.meta import AUTOSCALING
from extapi.schema.openapi.model import PATCH_TYPES, ResourceModel, SubresourceModel, TypeModel
from extapi.server.documents import Document, DocumentMaker, SwaggerDocument
from extapi.server.endpoints import Endpoint, Endpoints, InstalledKinds

IMMUTABLE = 365 * 24 * 3600
"""Seconds for which clients may cache a document that they request by its hash."""


class OpenAPIDocuments:
    """All OpenAPI documents of a server.

    Args:
        groups: The groups.
        installed: Their kinds, with their endpoints.
        maker: Makes the documents.
    """

    def __init__(self, groups: Sequence[Group], installed: InstalledKinds, maker: DocumentMaker) -> None:
        published = [(kind, version) for kind in installed.endpoints for version in kind.kind.served_versions()]
        self._v2 = maker.make(
            "/openapi/v2",
            tuple(published),
            lambda: SwaggerDocument(lambda: openapi_v2(_models(published, installed))),
        )
        self._v3 = {}
        for group in groups:
            for version in group.versions_by_priority():
                path = f"apis/{group.name}/{version}" if group.name else f"api/{version}"
                kinds = installed.served(group.name, version)
                self._v3[path] = maker.make(
                    f"/openapi/v3/{path}", tuple(kinds), partial(_v3_document, group.name, version, kinds, installed)
                )
        etags = {path: document.etag.strip('"') for path, document in self._v3.items()}
        self._index = maker.make("/openapi/v3", tuple(etags.items()), lambda: Document(_index(etags)))

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


def _v3_document(group: str, version: str, kinds: Sequence[ServedKind], installed: InstalledKinds) -> Document:
    return Document(openapi_v3(group, version, _models([(kind, version) for kind in kinds], installed)))


def _models(published: Iterable[tuple[ServedKind, str]], installed: InstalledKinds) -> list[ResourceModel]:
    return [_published(kind, kind.versions[version], installed.endpoints[kind]) for kind, version in published]


def _index(etags: Mapping[str, str]) -> dict[str, Any]:
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={etag}"} for path, etag in etags.items()}}


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
        patch_types=(*PATCH_TYPES, *behaviour.patch_types, APPLY),
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
    connects = endpoint.connects
    return SubresourceModel(path=name, verbs=endpoint.verbs, type=speaks, structural=structural, connects=connects)
