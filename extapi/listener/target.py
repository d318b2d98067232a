"""The request target: what stands between method and version, taken apart exactly once.

Follows Go's ``net/url``, which kube-apiserver reads it with: the path is decoded once and never normalised; in a query
``+`` is a space, and pairs that Go drops are dropped. Raises :class:`BadTarget` for what has no meaning.
"""

from __future__ import annotations

from extapi.api.percent import BadEscape, unescaped

PAIRS = 1000
"""Pairs a query may have."""


class BadTarget(ValueError):
    """The target cannot be understood: 400, with this text."""


def split_target(target: bytes) -> tuple[str, str]:
    """Path, decoded, and query, as it is; of an absolute-form target what follows the authority (RFC 9112, 3.2.2)."""
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

    Pairs with a bad escape or a ``;`` are left out. Bytes that are no UTF-8 become U+FFFD. Raises
    :class:`BadTarget` if there are more than :data:`PAIRS`.
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


def _text(part: str) -> str:
    return unescaped(part.replace("+", " ").encode("utf-8")).decode("utf-8", "replace")
