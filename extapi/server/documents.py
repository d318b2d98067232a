"""Answers that are finished documents: discovery and OpenAPI, with ETag and 304 (spec C13, C14, C18-C20).

Never a redirect: kube-apiserver turns one into 502, so a stale ``?hash=`` gets the current document (spec C20).
"""

from __future__ import annotations

from extapi.listener.call import PIECE, Call, Response
from extapi.server.discovery import Document


def document(
    call: Call, content: Document, content_type: str, *, etag: bool = False, headers: tuple[tuple[str, str], ...] = ()
) -> Response:
    """The document, or 304 if the client has it already (``If-None-Match`` is compared byte by byte)."""
    sent = [("Content-Type", content_type), *headers]
    if etag:
        sent += [("Vary", "Accept"), ("ETag", content.etag)]
        if call.header("if-none-match") == content.etag:
            return Response(304, sent)
    body = content.body
    if len(body) <= PIECE:
        return Response(200, sent, body)
    pieces = (body[at : at + PIECE] for at in range(0, len(body), PIECE))
    return Response(200, sent, pieces, length=len(body))
