"""What a request asks for: :class:`~extapi.http.request.RequestInfo` from its method, path and query.

Knows the structure of Kubernetes paths, but no resource. Follows the original step by step (behaviour B1 to B7).

Source: ``k8s.io/apiserver/pkg/endpoints/request/requestinfo.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from extapi.api.selectors import parse_field_selector
from extapi.api.strconv import parse_int
from extapi.errors import BadRequest
from extapi.http.request import RequestInfo

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SPECIAL = frozenset({"proxy", "watch"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_NUMBERS = ("limit", "timeoutSeconds")
_NO_SEGMENT = (".", "..")
PINNING_LENGTH = 4096
"""Characters of a field selector; in a longer one no name is looked for. A name has at most 253."""

Query = Mapping[str, Sequence[str]]


class NoRequestInfo(ValueError):
    """The path begins like that of a resource and names none (behaviour B3): 400."""


def request_info(method: str, path: str, query: Query) -> RequestInfo:
    """The request info for a decoded path, which starts with ``/`` and is never normalised.

    Raises:
        NoRequestInfo: The path names no resource.
    """
    parts = path.strip("/").split("/")
    prefix = parts[0]
    if len(parts) < 3 or prefix not in ("api", "apis") or (prefix == "apis" and len(parts) < 4):
        return RequestInfo(verb=method.lower(), path=path)
    group, version, parts = ("", parts[1], parts[2:]) if prefix == "api" else (parts[1], parts[2], parts[3:])
    special = parts[0] in _SPECIAL
    if special:
        if len(parts) < 2:
            raise NoRequestInfo("unable to determine kind and namespace from url")
        verb, parts = parts[0], parts[1:]
    else:
        verb = _VERBS.get(method, "")
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 and verb != "proxy" else ""
    if not name and verb == "get":
        verb, name = _list_or_watch(query)
    elif not name and verb == "delete":
        verb = "deletecollection"
    field_selector = label_selector = ""
    if query and not special and verb in ("list", "watch", "deletecollection"):
        field_selector, label_selector = _first(query, "fieldSelector"), _first(query, "labelSelector")
    return RequestInfo(
        verb=verb,
        path=path,
        is_resource=True,
        prefix=prefix,
        group=group,
        version=version,
        namespace=namespace,
        resource=parts[0],
        subresource=subresource,
        name=name,
        parts=tuple(parts),
        field_selector=field_selector,
        label_selector=label_selector,
    )


def _list_or_watch(query: Query) -> tuple[str, str]:
    """The verb of a GET without a name, and the name that its field selector pins (behaviour B5, B6)."""
    if not query:
        return "list", ""
    watch = query.get("watch")
    verb = "watch" if watch and watch[0].lower() not in ("0", "false") else "list"
    if any(values and not _int64(values[0]) for values in map(query.get, _NUMBERS)):
        return verb, ""
    return verb, _pinned_name(_first(query, "fieldSelector"))


def _pinned_name(selector: str) -> str:
    """The value that a field selector requires of ``metadata.name``, if it can be a path segment.

    Empty also if the selector cannot be parsed (``k8s.io/apimachinery/pkg/fields``, ``ParseSelector``), or is long,
    because it is read before authentication. That is safe: without a name, the user needs more permissions, not fewer.
    """
    if len(selector) > PINNING_LENGTH or "metadata.name" not in selector:
        return ""
    try:
        found = parse_field_selector(selector).exact("metadata.name") or ""
    except BadRequest:
        return ""
    return "" if found in _NO_SEGMENT or "/" in found or "%" in found else found


def _int64(text: str) -> bool:
    try:
        parse_int(text)
    except ValueError:
        return False
    return True


def _first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""
