"""Responses that are finished documents: discovery and OpenAPI, with ETag and 304 (behaviour C13, C14, C18-C20).

Never a redirect: kube-apiserver turns one into 502, so a stale ``?hash=`` gets the current document (behaviour C20).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from extapi.codec.negotiation import (
    SWAGGER_PROTOBUF,
    DiscoveryFormat,
    Format,
    negotiate,
    negotiate_discovery,
    negotiate_openapi,
)
from extapi.codec.protobufdiscovery import discovery_bytes
from extapi.codec.strictjson import encode
from extapi.http.request import Request
from extapi.http.response import PIECE, Response

D = TypeVar("D")
T = TypeVar("T")

MadeDocuments = Mapping[str, tuple[tuple[object, ...], Any]]
"""Documents by path and format, each with what it was made from."""

_CACHED = (("Cache-Control", "public"),)


class DocumentMaker:
    """Makes the documents of a catalogue, except those that the one before has already.

    Args:
        before: What the one before has made.
    """

    def __init__(self, before: MadeDocuments) -> None:
        self._before = before
        self.made: dict[str, tuple[tuple[object, ...], Any]] = {}
        """What this one has; not of ``before`` what is not wanted any more."""

    def make(self, where: str, sources: tuple[object, ...], make: Callable[[], D]) -> D:
        """A document: the one before, if there is one that was made from equal ``sources``.

        Args:
            where: Its path, and its format if the path has several.
            sources: All that it depends on. A compiled kind is equal only to itself.
            make: Makes it.
        """
        found = self._before.get(where)
        if found is None or found[0] != sources:
            found = (sources, make())
        self.made[where] = found
        document: D = found[1]
        return document


class Once(Generic[T]):
    """A value that is made when it is first asked for. What it is made from is not kept.

    Args:
        make: Makes it.
    """

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._value: T

    def __call__(self) -> T:
        """The value."""
        if self._make is not None:
            self._value, self._make = self._make(), None
        return self._value


class Document:
    """A finished document: its bytes, and the ETag by which clients cache it (behaviour C13).

    Args:
        content: Data to encode as JSON, or bytes.
    """

    __slots__ = ("_protobuf", "body", "etag")

    def __init__(self, content: Any) -> None:
        self.body = content if isinstance(content, bytes) else encode(content) + b"\n"
        self.etag = f'"{hashlib.sha512(self.body).hexdigest().upper()}"'
        self._protobuf = b""

    @property
    def hash(self) -> str:
        """The ETag without quotes."""
        return self.etag.strip('"')

    def response(
        self,
        request: Request,
        content_type: str,
        *,
        encoding: Format = "json",
        etag: bool = False,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Response:
        """The document, or 304 if the client has it (``If-None-Match`` is compared byte by byte).

        Args:
            request: The request.
            content_type: The value of Content-Type.
            encoding: ``json``, or ``protobuf`` for discovery; as in kube-apiserver, the ETag is the same.
            etag: Whether to send the ETag.
            headers: Further headers.
        """
        sent = [("Content-Type", content_type), *headers]
        if etag:
            sent += [("Vary", "Accept"), ("ETag", self.etag)]
            if request.header("if-none-match") == self.etag:
                return Response(304, sent)
        body = self._as_protobuf() if encoding == "protobuf" else self.body
        if len(body) <= PIECE:
            return Response(200, sent, body)
        pieces = (body[at : at + PIECE] for at in range(0, len(body), PIECE))
        return Response(200, sent, pieces, length=len(body))

    def _as_protobuf(self) -> bytes:
        """A discovery document in protobuf, encoded on first use."""
        if not self._protobuf:
            self._protobuf = discovery_bytes(msgspec.json.decode(self.body))
        return self._protobuf


class SwaggerDocument:
    """OpenAPI v2, in JSON and in protobuf.

    Each is made on first use: it is of all kinds together, the largest document by far, and most clients read v3. kubectl
    reads the protobuf only.

    Args:
        make: Makes the JSON.
    """

    def __init__(self, make: Callable[[], bytes]) -> None:
        self._json = Once(lambda: Document(make()))
        self._protobuf = Once(lambda: Document(_swagger_protobuf(self._json().body)))

    def response(self, request: Request) -> Response:
        """The document in the encoding that the client accepts.

        Raises:
            NotAcceptable: The client accepts neither.
        """
        content_type = negotiate_openapi(request.header("accept"), protobuf=True)
        document = self._protobuf if content_type == SWAGGER_PROTOBUF else self._json
        return document().response(request, content_type, etag=True)


def _swagger_protobuf(body: bytes) -> bytes:
    from extapi.schema.openapi.protobuf import encode_v2  # noqa: PLC0415 - only loaded where used

    return encode_v2(body)


def joined(value: Any) -> bytes:
    """The JSON of a document whose members, at any depth of objects, may be encoded already: as bytes or as msgspec.Raw.

    The texts are copied once, however deep they are: these are the largest documents of a server.

    Raises:
        NotJSONError: A value is not JSON.
    """
    return b"".join(_texts(value))


def _texts(value: Any) -> Iterator[bytes | memoryview]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, msgspec.Raw):
        yield memoryview(value)
    elif isinstance(value, dict):
        between = b"{"
        for key in sorted(value):
            yield between
            yield encode(key)
            yield b":"
            yield from _texts(value[key])
            between = b","
        yield b"}" if value else b"{}"
    else:
        yield encode(value)


def groups_response(request: Request, plain: Document, aggregated: Mapping[str, Document]) -> Response:
    """The response for ``/api`` or ``/apis``.

    Args:
        request: The request.
        plain: The document for clients that do not ask for aggregated discovery.
        aggregated: The documents of aggregated discovery, by version.

    Raises:
        NotAcceptable: The client accepts no encoding of it.
    """
    negotiated = discovery_format(request)
    if not negotiated.version:
        return plain_response(request, plain)
    return aggregated_response(request, aggregated[negotiated.version], negotiated)


def discovery_format(request: Request) -> DiscoveryFormat:
    """The format of ``/api`` or ``/apis`` that the client accepts.

    Raises:
        NotAcceptable: The client accepts none.
    """
    return negotiate_discovery(request.header("accept"))


def aggregated_response(request: Request, document: Document, negotiated: DiscoveryFormat) -> Response:
    """The response with a document of aggregated discovery."""
    return document.response(request, negotiated.content_type, encoding=negotiated.format, etag=True, headers=_CACHED)


def plain_response(request: Request, document: Document) -> Response:
    """The response with a document that is not aggregated, in the encoding that the client accepts.

    Raises:
        NotAcceptable: The client accepts none.
    """
    negotiated = negotiate(
        request.header("accept"),
        pretty=request.first("pretty"),
        user_agent=request.header("user-agent"),
        transforms=frozenset(),
        protobuf=True,
    )
    headers = [("Content-Type", negotiated.content_type)]
    if negotiated.pretty:
        return Response(200, headers, msgspec.json.format(document.body, indent=2))
    if negotiated.format == "yaml":
        from extapi.codec.strictyaml import encode_yaml  # noqa: PLC0415 - the YAML library is only loaded where used

        return Response(200, headers, encode_yaml(msgspec.json.decode(document.body)))
    return document.response(request, negotiated.content_type, encoding=negotiated.format)
