"""Answers that are finished documents: discovery and OpenAPI, with ETag and 304 (spec C13, C14, C18-C20).

Never a redirect: kube-apiserver turns one into 502, so a stale ``?hash=`` gets the current document (spec C20).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from extapi.codec.negotiation import SWAGGER_PROTOBUF, Format, negotiate, negotiate_discovery, negotiate_openapi
from extapi.listener.call import PIECE, Call, Response
from extapi.server.discovery import Document

_CACHED = (("Cache-Control", "public"),)


def document(
    call: Call,
    content: Document,
    content_type: str,
    *,
    form: Format = "json",
    etag: bool = False,
    headers: tuple[tuple[str, str], ...] = (),
) -> Response:
    """The document, or 304 if the client has it already (``If-None-Match`` is compared byte by byte).

    ``form``: JSON, or protobuf for a document of discovery; both have one ETag, as in kube-apiserver.
    """
    sent = [("Content-Type", content_type), *headers]
    if etag:
        sent += [("Vary", "Accept"), ("ETag", content.etag)]
        if call.header("if-none-match") == content.etag:
            return Response(304, sent)
    body = content.protobuf() if form == "protobuf" else content.body
    if len(body) <= PIECE:
        return Response(200, sent, body)
    pieces = (body[at : at + PIECE] for at in range(0, len(body), PIECE))
    return Response(200, sent, pieces, length=len(body))


def groups_document(call: Call, plain: Document, aggregated: Mapping[str, Document]) -> Response:
    """The answer for ``/api`` and ``/apis``; ``aggregated``: by version. Raises :class:`extapi.errors.NotAcceptable`."""
    form = negotiate_discovery(call.header("accept"))
    if not form.version:
        return plain_document(call, plain)
    content = aggregated[form.version]
    return document(call, content, form.content_type, form=form.format, etag=True, headers=_CACHED)


def plain_document(call: Call, content: Document) -> Response:
    """A document that is not aggregated, as the client wants it. Raises :class:`extapi.errors.NotAcceptable`."""
    form = negotiate(
        call.header("accept"),
        pretty=call.first("pretty"),
        user_agent=call.header("user-agent"),
        transforms=frozenset(),
        protobuf=True,
    )
    if form.pretty:
        return Response(200, [("Content-Type", form.content_type)], msgspec.json.format(content.body, indent=2))
    if form.format == "yaml":
        from extapi.codec.strictyaml import encode_yaml  # noqa: PLC0415 - the YAML library is only loaded where used

        return Response(200, [("Content-Type", form.content_type)], encode_yaml(msgspec.json.decode(content.body)))
    return document(call, content, form.content_type, form=form.format)


class Swagger:
    """OpenAPI v2: in JSON, and in protobuf, which is made when it is first asked for (kubectl reads nothing else)."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._json = Document(content)
        self._protobuf: Document | None = None

    def answer(self, call: Call) -> Response:
        """The document in the form that the client accepts. Raises :class:`extapi.errors.NotAcceptable`."""
        form = negotiate_openapi(call.header("accept"), protobuf=True)
        if form != SWAGGER_PROTOBUF:
            return document(call, self._json, form, etag=True)
        if self._protobuf is None:
            from extapi.schema.openapi_v2_protobuf import encode_v2  # noqa: PLC0415 - most servers are never asked

            self._protobuf = Document(encode_v2(msgspec.json.decode(self._json.body)))
        return document(call, self._protobuf, form, etag=True)
