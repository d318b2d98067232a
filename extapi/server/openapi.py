"""The OpenAPI documents of a server, v2 and v3, made once and served with ETags (spec C18-C20, D14-D16)."""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import formatdate

from extapi.api.definition import Group
from extapi.codec.negotiation import negotiate_openapi
from extapi.listener.call import Call, Response
from extapi.registry.served import ServedKind, ServedVersion
from extapi.registry.virtual import subresource_kind
from extapi.schema.openapi import ResourceModel, SubresourceModel, TypeModel, openapi_v2, openapi_v3
from extapi.schema.openapi_model import PATCH_TYPES, STRATEGIC
from extapi.server.discovery import Document
from extapi.server.documents import Swagger, document
from extapi.server.endpoints import Endpoint, Endpoints

IMMUTABLE = 365 * 24 * 3600
"""Seconds for which a document asked for by its hash may be kept."""


class OpenAPI:
    """All OpenAPI documents; version 2 in protobuf as well."""

    def __init__(self, groups: Sequence[Group], kinds: Sequence[ServedKind], endpoints: Endpoints) -> None:
        published = [
            _published(kind, kind.versions[name], endpoints) for kind in kinds for name in kind.kind.served_versions()
        ]
        self._v2 = Swagger(openapi_v2(published))
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
                    path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={content.etag.strip(chr(34))}"}
                    for path, content in self._v3.items()
                }
            }
        )

    def paths(self) -> list[str]:
        """The paths to announce."""
        return ["/openapi/v2", "/openapi/v3", *(f"/openapi/v3/{path}" for path in self._v3)]

    def answer(self, call: Call, path: str) -> Response | None:
        """The response for a path under ``/openapi/``; None for any other."""
        if path == "/openapi/v2":
            return self._v2.answer(call)
        if path == "/openapi/v3":
            return document(call, self._index, "application/json", etag=True)  # whatever Accept says (handler3)
        content = self._v3.get(path.removeprefix("/openapi/v3/"))
        if content is None or not path.startswith("/openapi/v3/"):
            return Response(404) if path.startswith("/openapi/v3/") else None
        hash_ = call.first("hash")
        if hash_ and hash_ == content.etag.strip('"'):
            until = formatdate(call.received + IMMUTABLE, usegmt=True)
            return self._json(call, content, ("Cache-Control", "public, immutable"), ("Expires", until))
        return self._json(call, content)

    def _json(self, call: Call, content: Document, *headers: tuple[str, str]) -> Response:
        return document(call, content, negotiate_openapi(call.header("accept")), etag=True, headers=headers)


def _published(kind: ServedKind, version: ServedVersion, endpoints: Endpoints) -> ResourceModel:
    declared, native = kind.kind, kind.kind.native
    return ResourceModel(
        group=kind.group,
        version=version.name,
        kind=declared.name,
        native=native is not None,
        list_kind=declared.list_kind,
        plural=declared.plural,
        singular=declared.singular,
        scope=declared.scope,
        verbs=endpoints[kind.group, version.name, declared.plural, ""].verbs,
        status=declared.status and not kind.virtual,
        subresources=[
            _subresource(kind, name, endpoints[kind.group, version.name, declared.plural, name])
            for name in declared.subresources
        ],
        structural=version.structural,
        selectable=version.selectable.names if native is None else (),  # as the built-in groups
        patch_types=(*PATCH_TYPES, STRATEGIC) if native is not None and native.strategic_merge else PATCH_TYPES,
        returns_deleted=native is not None and native.returns_deleted,
    )


def _subresource(kind: ServedKind, name: str, endpoint: Endpoint) -> SubresourceModel:
    declared = kind.kind.subresources[name]
    group, version, of = endpoint.type
    structural = subresource_kind(kind, declared).versions[version].structural if declared.kind else None
    speaks = TypeModel(group=group, version=version, kind=of, native=kind.kind.native is not None)
    return SubresourceModel(path=name, verbs=endpoint.verbs, type=speaks, structural=structural)
