"""From the head of a request to the :class:`~extapi.http.request.Request` that travels through the stages.

The request target is parsed exactly once, the way Go's ``net/url`` parses it for kube-apiserver: the path is decoded
once and never normalised; in a query ``+`` is a space, and the pairs that Go drops are dropped.
"""

from __future__ import annotations

import random
from functools import lru_cache

from extapi.api.duration import parse_seconds
from extapi.api.percent import BadEscape, unescaped
from extapi.errors import BadRequest
from extapi.http.request import Body, Peer, Request, RequestInfo
from extapi.listener.parsing import Head
from extapi.listener.requestinfo import Query, request_info

PAIRS = 1000
"""Pairs per query."""

TARGETS = 1024
"""Request targets in the cache: most clients ask for the same ones again and again."""
TARGET_LENGTH = 512
"""Longer targets, in bytes, are not cached."""

_FOREVER = float("inf")
_UUID4, _UUID_RANDOM = 0x4000_8000_0000_0000_0000, ~0xF000_C000_0000_0000_0000
"""Version and variant (RFC 9562, section 5.4), and all other bits."""


class BadTarget(ValueError):
    """The request target is malformed: 400 with this text."""


def split_target(target: bytes) -> tuple[str, str]:
    """The decoded path and the raw query; of an absolute-form target, what follows the authority (RFC 9112, section 3.2.2).

    Raises:
        BadTarget: The target is malformed, or its path is not UTF-8.
    """
    if target[:1] not in (b"/", b"*"):
        scheme, found, rest = target.partition(b"://")
        if not found or scheme.lower() not in (b"http", b"https"):
            raise BadTarget("malformed request target")
        cut = min((at for at in (rest.find(b"/"), rest.find(b"?")) if at >= 0), default=len(rest))
        target = rest[cut:]
    path, _, query = target.partition(b"?")
    try:
        if b"%" in path:
            path = unescaped(path)
        return path.decode("utf-8"), query.decode("ascii")
    except BadEscape as error:
        raise BadTarget(f'invalid URL escape "{error}"') from None
    except UnicodeDecodeError:
        raise BadTarget("the path is not UTF-8") from None


def parse_query(query: str) -> dict[str, list[str]]:
    """The query's parameters with their values in order (Go's ``url.ParseQuery`` without its error).

    Pairs with a bad escape or a ``;`` are dropped. Bytes that are not UTF-8 become U+FFFD.

    Raises:
        BadTarget: There are more than :data:`PAIRS` parameters.
    """
    parameters: dict[str, list[str]] = {}
    if not query:
        return parameters
    if query.count("&") >= PAIRS:
        raise BadTarget(f"more than {PAIRS} query parameters")
    for pair in query.split("&"):
        if not pair or ";" in pair:
            continue
        name, _, value = pair.partition("=")
        if "%" in pair or "+" in pair:
            try:
                name, value = _text(name), _text(value)
            except BadEscape:
                continue
        if name in parameters:
            parameters[name].append(value)
        else:
            parameters[name] = [value]
    return parameters


def time_allowed(timeout: str, maximum: float) -> float:
    """Seconds for a request with this ``timeout`` parameter; ``maximum`` if it is empty or not between 0 and ``maximum``.

    Raises:
        ValueError: The parameter is not a duration; the text is kube-apiserver's.

    Source: ``k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go`` (behaviour H4).
    """
    if not timeout:
        return maximum
    try:
        wanted = parse_seconds(timeout)
    except ValueError as error:
        raise ValueError(f"invalid timeout specified in the request URL - {error}") from None
    return wanted if 0 < wanted < maximum else maximum


def audit_id(headers: dict[str, list[str]]) -> str:
    """The id that the client chose, whatever it is, or a new UUIDv4 (behaviour G11)."""
    values = headers.get("audit-id")
    if values and values[0]:
        return values[0]
    # Unique is enough, because nothing trusts an id that clients may choose; uuid4() takes four times as long.
    digits = "%032x" % (random.getrandbits(128) & _UUID_RANDOM | _UUID4)
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def make_request(head: Head, body: Body, peer: Peer, *, identity: str, received: float, longest: float) -> Request:
    """The request for a parsed head.

    Args:
        head: Request line and headers.
        body: The body, which may be still arriving.
        peer: The other end of the connection.
        identity: The audit id.
        received: When the request arrived, on the reactor's clock.
        longest: Seconds that a request may take.

    Raises:
        BadTarget: The request target is malformed.
        NoRequestInfo: The path is incomplete.
        BadRequest: The ``timeout`` parameter is not a duration (behaviour H4).
    """
    target = head.target
    text, info, query = (_read_cached if len(target) <= TARGET_LENGTH else _read)(head.method, target)
    deadline = _FOREVER
    if info.verb != "watch":
        timeout = query.get("timeout") if query else None
        try:
            deadline = received + (time_allowed(timeout[0], longest) if timeout else longest)
        except ValueError as error:
            raise BadRequest(str(error)) from None
    return Request(
        method=head.method,
        target=text,
        info=info,
        query=query,
        headers=head.headers,
        body=body,
        peer=peer,
        audit_id=identity,
        received=received,
        deadline=deadline,
    )


def _read(method: str, target: bytes) -> tuple[str, RequestInfo, Query]:
    """A request target as text, what it asks for, and its query, which nobody changes."""
    path, raw_query = split_target(target)
    query = parse_query(raw_query)
    return target.decode("ascii"), request_info(method, path, query), query


_read_cached = lru_cache(maxsize=TARGETS)(_read)


def _text(part: str) -> str:
    return unescaped(part.replace("+", " ").encode("utf-8")).decode("utf-8", "replace")
