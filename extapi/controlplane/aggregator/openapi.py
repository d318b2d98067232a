"""Merged OpenAPI: v3 as an index of all servers' documents, v2 as one document (behaviour D14-D16, C18-C20).

Other servers' documents are kept as compressed bytes, not as trees, and merged when they are requested. A broken
document is left out, so that the rest stays valid.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from isal import isal_zlib
from twisted.logger import Logger

from extapi import TransportError, User
from extapi.client.upstream import Upstream
from extapi.controlplane.aggregator.proxy import BackendProxy
from extapi.controlplane.aggregator.remote import Remote
from extapi.controlplane.aggregator.services import APIServiceInfo
from extapi.http.request import Request
from extapi.http.response import Response
from extapi.schema.openapi.protobuf import encode_v2
from extapi.server.documents import Document, SwaggerDocument, joined

READER = User("system:aggregator")
SECONDS = 60.0
"""Seconds to read a document."""
V3 = "/openapi/v3/"

_DEFINITION = b'"#/definitions/'
_PARAMETER = b'"#/parameters/'
"""The beginning of references; a name and a quote follow."""
_KINDS = "x-kubernetes-group-version-kind"
_JSON = ("Accept", "application/json")


class MergedSwagger(msgspec.Struct):
    """The parts of an OpenAPI v2 document that are merged; their contents stay text."""

    paths: dict[str, msgspec.Raw] = {}
    definitions: dict[str, msgspec.Raw] = {}
    parameters: dict[str, msgspec.Raw] = {}


class MergedOpenAPI:
    """OpenAPI documents, merged when they are requested.

    Args:
        local: Returns a document of the control plane's own router, by path and Accept header.
        remotes: The other servers, by the names of their APIServices.
    """

    _log = Logger()

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

    async def read(self, proxy: BackendProxy, upstream: Upstream, remote: Remote) -> bool:
        """Read a server's documents.

        Returns:
            Whether something has changed.

        Raises:
            TransportError: The server did not respond.
        """
        status, _, body = await proxy.fetch(upstream, "/openapi/v3", READER, _JSON, seconds=SECONDS)
        schemas = _entry(body, remote.service.path) if status == 200 else None
        new = schemas != remote.schemas
        remote.schemas = schemas
        kept = (("If-None-Match", remote.swagger_etag),) if remote.swagger_etag else ()
        status, response, body = await proxy.fetch(upstream, "/openapi/v2", READER, _JSON, *kept, seconds=SECONDS)
        if status == 200:
            try:
                found = msgspec.json.encode(part_of(body, remote.service))
                encode_v2(found)  # a part that cannot be encoded would break the merged document
            except (msgspec.DecodeError, ValueError, RecursionError) as error:
                self._log.warn(
                    "the OpenAPI document of {name} is left out: {error}", name=remote.service.name, error=str(error)
                )
                return new
            remote.swagger = isal_zlib.compress(found, 1)
            remote.swagger_etag = response.header("etag")
            return True
        if status == 404 and remote.swagger is not None:
            remote.swagger, remote.swagger_etag, new = None, "", True
        return new

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
        merged = msgspec.json.decode(raw, type=MergedSwagger)
        for name in sorted(self._remotes):
            packed = self._remotes[name].swagger
            if packed is not None:
                merge(merged, isal_zlib.decompress(packed))
        document_: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        return SwaggerDocument(lambda: joined({**document_, **msgspec.structs.asdict(merged)}) + b"\n")


def part_of(body: bytes, service: APIServiceInfo) -> MergedSwagger:
    """The paths of one group version, and the definitions and parameters that they use.

    Raises:
        msgspec.DecodeError: The document is not an OpenAPI v2 document.
    """
    whole = msgspec.json.decode(body, type=MergedSwagger)
    prefix = service.path + "/"
    paths = {path: raw for path, raw in whole.paths.items() if path.startswith(prefix)}
    named = _references(_PARAMETER, paths.values())
    parameters = {name: raw for name, raw in whole.parameters.items() if name in named}
    used: set[str] = set()
    fresh = _references(_DEFINITION, (*paths.values(), *parameters.values()))
    while fresh:
        used |= fresh
        known = [whole.definitions[name] for name in fresh if name in whole.definitions]
        fresh = _references(_DEFINITION, known) - used
    return MergedSwagger(paths, {name: raw for name, raw in whole.definitions.items() if name in used}, parameters)


def merge(into: MergedSwagger, raw: bytes) -> None:
    """Add one server's part. A definition that differs from an existing one of the same name gets another name."""
    part = msgspec.json.decode(raw, type=MergedSwagger)
    definitions = _conflicts(into.definitions, part.definitions)
    parameters = _conflicts(into.parameters, part.parameters)
    if definitions or parameters:
        raw = _renamed(_renamed(raw, _DEFINITION, definitions), _PARAMETER, parameters)
        part = msgspec.json.decode(raw, type=MergedSwagger)
    for name, content in part.definitions.items():
        into.definitions.setdefault(definitions.get(name, name), content)
    for name, content in part.parameters.items():
        into.parameters.setdefault(parameters.get(name, name), content)
    for path, content in part.paths.items():
        into.paths.setdefault(path, content)


def _conflicts(known: Mapping[str, msgspec.Raw], new: Mapping[str, msgspec.Raw]) -> dict[str, str]:
    """New names for items that differ from known items of the same name."""
    renamed = {}
    for name, content in new.items():
        if name in known and _content(known[name]) != _content(content):
            count = 2
            while f"{name}_v{count}" in known or f"{name}_v{count}" in new:
                count += 1
            renamed[name] = f"{name}_v{count}"
    return renamed


def _content(raw: msgspec.Raw) -> Any:
    """A definition or parameter without the kinds that it is for, which differ per server (``deepEqualDefinitionsModuloGVKs``)."""
    content = msgspec.json.decode(raw)
    return {key: value for key, value in content.items() if key != _KINDS} if isinstance(content, dict) else content


def _references(to: bytes, texts: Any) -> set[str]:
    return {
        each.partition(b'"')[0].decode() for text in texts for each in bytes(text).split(to)[1:] if each[:1] != b'"'
    }


def _renamed(raw: bytes, to: bytes, names: Mapping[str, str]) -> bytes:
    """The document with renamed references."""
    start, *rest = raw.split(to)
    pieces = [start]
    for each in rest:
        name, quote, after = each.partition(b'"')
        pieces += (to, names.get(name.decode(), name.decode()).encode(), quote, after)
    return b"".join(pieces)


def _entry(body: bytes, path: str) -> dict[str, Any] | None:
    """The entry of a group version in an index of OpenAPI v3."""
    try:
        entry = msgspec.json.decode(body)["paths"][path.removeprefix("/")]
        return {"serverRelativeURL": str(entry["serverRelativeURL"])}
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError, TransportError):
        return None
