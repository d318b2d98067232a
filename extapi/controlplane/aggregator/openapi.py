"""Merged OpenAPI: v3 as an index of all servers' documents, v2 as one document (behaviour D14-D16, C18-C20).

Other servers' documents are merged when they are requested. A broken one is left out, so that the rest stays valid.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import msgspec

from extapi import User
from extapi.client.upstream import Upstream
from extapi.controlplane.aggregator.proxy import BackendProxy
from extapi.controlplane.aggregator.remote import Remote
from extapi.controlplane.aggregator.services import APIServiceInfo
from extapi.controlplane.aggregator.swagger import ServersSwagger, Swagger, merge
from extapi.http.request import Request
from extapi.http.response import Response
from extapi.server.documents import Document, SwaggerDocument, joined

READER = User("system:aggregator")
SECONDS = 60.0
"""Seconds to read a document."""
V3 = "/openapi/v3/"

_JSON = ("Accept", "application/json")


class MergedOpenAPI:
    """OpenAPI documents, merged when they are requested.

    Args:
        local: Returns a document of the control plane's own router, by path and Accept header.
        remotes: The other servers, by the names of their APIServices.
    """

    def __init__(self, local: Callable[[str, str], Awaitable[bytes]], remotes: Mapping[str, Remote]) -> None:
        self._local = local
        self._remotes = remotes
        self._own_index: dict[str, Any] | None = None
        self._merged: SwaggerDocument | None = None
        self._listed: Document | None = None

    def forget(self) -> None:
        """Something has changed: merge again."""
        self._merged = self._listed = None

    def forget_own(self) -> None:
        """The control plane serves other groups: read its documents again, too."""
        self._own_index = None
        self.forget()

    def served(self, path: str) -> Remote | None:
        """The other server whose OpenAPI v3 document is at this path, if there is one."""
        if not path.startswith(V3 + "apis/"):
            return None
        group, _, version = path.removeprefix(V3 + "apis/").partition("/")
        remote = self._remotes.get(f"{version}.{group}")
        return remote if remote is not None and remote.schemas is not None else None

    async def serve(self, request: Request, path: str) -> Response | None:
        """The response for a path whose document is merged; None for other paths."""
        if path == "/openapi/v2":
            if self._merged is None:
                self._merged = await self._swagger()
            return self._merged.response(request)
        if path == "/openapi/v3":
            if self._listed is None:
                self._listed = await self._index()
            return self._listed.response(request, "application/json", etag=True)
        if path.startswith(V3) and path.removeprefix(V3) not in (await self._own_paths())["paths"]:
            return Response(404)
        return None

    async def _own_paths(self) -> dict[str, Any]:
        if self._own_index is None:
            index: dict[str, Any] = msgspec.json.decode(await self._local("/openapi/v3", "application/json"))
            self._own_index = index
        return self._own_index

    async def _index(self) -> Document:
        paths = dict((await self._own_paths())["paths"])
        for remote in self._remotes.values():
            if remote.schemas is not None:
                paths[remote.service.path.removeprefix("/")] = remote.schemas
        return Document({"paths": paths})

    async def _swagger(self) -> SwaggerDocument:
        raw = await self._local("/openapi/v2", "application/json")
        documents: dict[ServersSwagger, list[str]] = {}
        for name in sorted(self._remotes):
            remote = self._remotes[name]
            if remote.swagger is not None:
                documents.setdefault(remote.swagger, []).append(remote.service.path)
        return SwaggerDocument(lambda: _merged(raw, documents))


async def read_index(proxy: BackendProxy, upstream: Upstream) -> Mapping[str, Any]:
    """The entries of a server's index of OpenAPI v3; none if it has no such index.

    Raises:
        TransportError: The server did not respond.
    """
    status, _, body = await proxy.fetch(upstream, "/openapi/v3", READER, _JSON, seconds=SECONDS)
    try:
        paths = msgspec.json.decode(body)["paths"] if status == 200 else {}
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError):
        return {}
    return paths if isinstance(paths, dict) else {}


def entry(index: Mapping[str, Any], service: APIServiceInfo) -> dict[str, Any] | None:
    """The entry of a group version in an index of OpenAPI v3."""
    try:
        return {"serverRelativeURL": str(index[service.path.removeprefix("/")]["serverRelativeURL"])}
    except (KeyError, TypeError):
        return None


async def read_swagger(proxy: BackendProxy, upstream: Upstream, etag: str) -> tuple[int, str, bytes]:
    """A server's OpenAPI v2 document.

    Args:
        proxy: Sends the request.
        upstream: The server.
        etag: Of the document that is known; empty if none is.

    Returns:
        Status, ETag and body.

    Raises:
        TransportError: The server did not respond.
    """
    kept = (("If-None-Match", etag),) if etag else ()
    status, response, body = await proxy.fetch(upstream, "/openapi/v2", READER, _JSON, *kept, seconds=SECONDS)
    return status, response.header("etag"), body


def _merged(raw: bytes, documents: Mapping[ServersSwagger, Collection[str]]) -> bytes:
    """The merged document.

    Args:
        raw: The control plane's own.
        documents: Those of other servers, with the paths of their group versions.
    """
    merged = msgspec.json.decode(raw, type=Swagger)
    for document, group_versions in documents.items():
        merge(merged, document.part(frozenset(group_versions)))
    whole: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    return joined({**whole, **msgspec.structs.asdict(merged)}) + b"\n"
