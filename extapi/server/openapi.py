"""The OpenAPI documents of a server, v2 and v3, served with ETags (behaviour C18-C20, D14-D16).

The parts of v3 are made with the catalogue, each once for its kind: clients read v3, and none shall wait for hundreds of them.
Those of v2, and the documents, are made when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from email.utils import formatdate
from functools import partial
from typing import Any

import msgspec
from isal import isal_zlib

from extapi.api.definition import Group
from extapi.clock import Clock, in_slices
from extapi.codec.contenttype import APPLY
from extapi.codec.negotiation import negotiate_openapi
from extapi.codec.strictjson import encode
from extapi.http.request import Request
from extapi.http.response import Response
from extapi.registry.served import ServedKind
from extapi.registry.servedversion import ServedVersion
from extapi.registry.virtual import subresource_kind
from extapi.schema.openapi.document import DocumentPart, openapi_v2, openapi_v3, v2_part, v3_part
from extapi.schema.openapi.meta import AUTOSCALING
from extapi.schema.openapi.model import PATCH_TYPES, ResourceModel, SubresourceModel, TypeModel
from extapi.server.documents import Document, DocumentMaker, Once, SwaggerDocument, joined
from extapi.server.endpoints import Endpoint, Endpoints, InstalledKinds

IMMUTABLE = 365 * 24 * 3600
"""Seconds for which clients may cache a document that they request by its hash."""
SLICE = 0.01
"""Seconds of work on documents before others have their turn."""


class OpenAPIDocuments:
    """All OpenAPI documents of a server.

    Args:
        groups: The groups.
        installed: Their kinds, with their endpoints.
        maker: Makes the documents.
    """

    def __init__(self, groups: Sequence[Group], installed: InstalledKinds, maker: DocumentMaker) -> None:
        v3, v2 = _Parts(installed, maker, "/openapi/v3", v3_part), _Parts(installed, maker, "/openapi/v2", v2_part)
        published = [(kind, version) for kind in installed.endpoints for version in kind.kind.served_versions()]
        older = [v2.of(kind, version) for kind, version in published]
        self._older = older
        self._v2 = maker.make("/openapi/v2", tuple(older), lambda: SwaggerDocument(lambda: _v2_body(older)))
        self._v3 = {}
        for group in groups:
            for version in group.versions_by_priority():
                path = f"apis/{group.name}/{version}" if group.name else f"api/{version}"
                parts = [v3.of(kind, version) for kind in installed.served(group.name, version)]
                for part in parts:
                    part()
                self._v3[path] = maker.make(f"/openapi/v3/{path}", tuple(parts), partial(_v3_document, parts))
        documents = self._v3
        self._index = maker.make(
            "/openapi/v3", tuple(documents.items()), lambda: Once(lambda: Document(_index(documents)))
        )

    def paths(self) -> list[str]:
        """The paths to list at ``/``."""
        return ["/openapi/v2", "/openapi/v3", *(f"/openapi/v3/{path}" for path in self._v3)]

    async def prepare(self, path: str, clock: Clock) -> None:
        """Make what the document at a path is made of, unless it is there: of hundreds of kinds it is seconds of work.

        Args:
            path: The path under ``/openapi/``.
            clock: The reactor: others have their turn meanwhile.
        """
        made: Iterable[Once[Any]] = ()
        if path == "/openapi/v2":
            made = self._older
        elif path == "/openapi/v3":
            made = self._v3.values()
        await in_slices(clock, SLICE, (once() for once in made))

    def answer(self, request: Request, path: str) -> Response | None:
        """The response for a path under ``/openapi/``; None for any other."""
        if path == "/openapi/v2":
            return self._v2.response(request)
        if path == "/openapi/v3":
            # Whatever the Accept header says (behaviour C18).
            return self._index().response(request, "application/json", etag=True)
        found = self._v3.get(path.removeprefix("/openapi/v3/"))
        if found is None or not path.startswith("/openapi/v3/"):
            return Response(404) if path.startswith("/openapi/v3/") else None
        document = found()
        hash_ = request.first("hash")
        if hash_ and hash_ == document.hash:
            until = formatdate(request.received + IMMUTABLE, usegmt=True)
            return _json(request, document, ("Cache-Control", "public, immutable"), ("Expires", until))
        return _json(request, document)


class _Parts:
    """The parts of the documents of one version of OpenAPI.

    Args:
        installed: The kinds, with their endpoints.
        maker: Keeps the part of a kind that stays.
        where: The path of the documents.
        make: Makes the part of a resource.
    """

    def __init__(
        self, installed: InstalledKinds, maker: DocumentMaker, where: str, make: Callable[[ResourceModel], DocumentPart]
    ) -> None:
        self._installed = installed
        self._maker = maker
        self._where = where
        self._make = make

    def of(self, kind: ServedKind, version: str) -> Once[_PackedPart]:
        """The part of a kind in a version, encoded."""
        make = self._make

        def part() -> Once[_PackedPart]:
            # Holds a model of the kind, and not the catalogue with all others.
            model = _published(kind, kind.versions[version], self._installed.endpoints[kind])
            return Once(lambda: _PackedPart(make(model)))

        return self._maker.make(f"{self._where} {kind.group}/{version}/{kind.kind.plural}", (kind,), part)


class _Texts(msgspec.Struct):
    """The members of a DocumentPart, encoded."""

    paths: dict[str, bytes]
    schemas: dict[str, bytes]
    references: frozenset[str]
    parameters: dict[str, bytes]


class _PackedPart:
    """A part of a document, encoded and compressed: parts are as large as all documents, and only needed to make these."""

    __slots__ = ("_packed",)

    def __init__(self, part: DocumentPart) -> None:
        encoded = part.encoded(encode)
        self._packed = isal_zlib.compress(msgspec.msgpack.encode(encoded), 1)

    def unpacked(self) -> DocumentPart:
        texts = msgspec.msgpack.decode(isal_zlib.decompress(self._packed), type=_Texts)
        return DocumentPart(texts.paths, texts.schemas, texts.references, texts.parameters)


def _v3_document(parts: Sequence[Once[_PackedPart]]) -> Once[Document]:
    return Once(lambda: Document(joined(openapi_v3([part().unpacked() for part in parts])) + b"\n"))


def _v2_body(parts: Sequence[Once[_PackedPart]]) -> bytes:
    return joined(openapi_v2([part().unpacked() for part in parts])) + b"\n"


def _index(documents: Mapping[str, Once[Document]]) -> dict[str, Any]:
    urls = {path: f"/openapi/v3/{path}?hash={document().hash}" for path, document in documents.items()}
    return {"paths": {path: {"serverRelativeURL": url} for path, url in urls.items()}}


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
