"""The HTTP response of a webhook: whether it has a body worth reading, and otherwise what client-go says about it.

Pure. Must not know what the body is.

Source: ``client-go/rest/request.go`` transformResponse, ``apimachinery/pkg/api/errors/errors.go`` NewGenericServerResponse.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

from extapi.errors import go_quote

LONGEST = 16 * 1024
"""Characters that a text of a webhook's, or a piece of its answer, has in an error."""
LONGEST_TEXT = 2048
"""Bytes of a body that go into an error (``maxUnstructuredResponseTextBytes``)."""

_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 -- a grammar's, RFC 9110, section 5.6.2
_MEDIA: Final = re.compile(rf"({_TOKEN})?(/)?({_TOKEN})?(.*)", re.DOTALL)
_PARAMETERS: Final = re.compile(rf'(?:;\s*(?:{_TOKEN}\s*=\s*(?:{_TOKEN}|"[^"\\]*")\s*)?)*')
_TEXTS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    406: "the server was unable to respond with a content type that the client supports",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class WebhookError(Exception):
    """A webhook was not reached, or has not answered as it should. The text is client-go's.

    Attributes:
        code: The HTTP status code that kube-apiserver counts it under.
    """

    def __init__(self, text: str, code: int = 503) -> None:
        super().__init__(text)
        self.code = code


class Reply(NamedTuple):
    """A response as far as it matters."""

    status: int
    content_type: str
    """The header; empty if there is none."""
    body: bytes


class _Status(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: str = ""
    message: str = ""
    code: int | None = None


def shortened(text: str) -> str:
    """A text for an error, not longer than :data:`LONGEST`."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def body_of(reply: Reply) -> bytes:
    """The body of a response that is a success. Its Content-Type has to be one, but may be any.

    Raises:
        WebhookError: It is none.
    """
    content_type = reply.content_type or "application/json"
    _check_content_type(content_type)
    if not 200 <= reply.status <= 206:
        raise _refusal(reply)
    if not reply.body:
        raise WebhookError(f"0-length response with status code: {reply.status} and content type: {content_type}")
    return reply.body


def _check_content_type(text: str) -> None:
    """Check a Content-Type (Go's ``mime.ParseMediaType``).

    Raises:
        WebhookError: It is none.
    """
    media, found, parameters = text.partition(";")
    match = _MEDIA.fullmatch(media.strip())
    main, slash, sub, rest = match.groups() if match is not None else ("", "", "", "")
    why = ""
    if not main:
        why = "no media type"
    elif not slash and (sub or rest):
        why = "expected slash after first token"
    elif slash and not sub:
        why = "expected token after slash"
    elif rest:
        why = "unexpected content after media subtype"
    elif found and _PARAMETERS.fullmatch(f";{parameters}") is None:
        why = "invalid media parameter"
    if why:
        raise WebhookError(f"Internal error occurred: mime: {why}", 500)


def _refusal(reply: Reply) -> WebhookError:
    """What a response that is no success says: its Status, if the body is one that says Failure, or its code."""
    try:
        found = msgspec.json.decode(reply.body, type=_Status)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = _Status()
    if found.message and (found.kind, found.api_version or "v1", found.status) == ("Status", "v1", "Failure"):
        return WebhookError(shortened(found.message), found.code or 0)
    return WebhookError(_server_text(reply), reply.status)


def _server_text(reply: Reply) -> str:
    """What the status code means; for some of them with the body, if it is text."""
    media = reply.content_type.partition(";")[0].strip().lower()
    said = "unknown"
    if not reply.content_type or media.startswith("text/"):
        said = reply.body[:LONGEST_TEXT].decode("utf-8", "replace").strip()
    code = reply.status
    if code in (403, 415) or (code == 406 and said not in ("", "unknown")):
        return said
    if code in _TEXTS:
        return _TEXTS[code]
    if code >= 500:
        return f"an error on the server ({go_quote(said)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"
