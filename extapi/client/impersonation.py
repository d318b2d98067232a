"""Whom a kubeconfig's user speaks for: ``as`` and what belongs to it, which the ``kubernetes`` package passes over. Pure.

Source: k8s.io/client-go: ``tools/clientcmd/api/v1`` (the keys), ``transport`` (``impersonatingRoundTripper``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

_UNESCAPED = "!#$&'*+-.^_`|~"
"""What the name of a header may hold besides letters and digits, without the percent sign (``headerKeyEscape``)."""
_BELONGING = ("as-uid", "as-groups", "as-user-extra")


def impersonation(user: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The headers for the ``user`` of a ``users`` entry, in their order. Raises ``ValueError`` for what kubectl refuses, too."""
    if not user.get("as"):
        lost = [key for key in _BELONGING if user.get(key)]
        if lost:
            raise ValueError(f"its user has {', '.join(lost)} without as: name the user to impersonate")
        return []
    headers = [("Impersonate-User", _text("as", user["as"]))]
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", _text("as-uid", user["as-uid"])))
    headers += [("Impersonate-Group", each) for each in _texts("as-groups", user.get("as-groups"))]
    extra = user.get("as-user-extra") or {}
    keys: list[Any] = list(extra) if isinstance(extra, dict) else [None]
    if not all(isinstance(key, str) for key in keys):
        raise ValueError("as-user-extra of its user has to be an object of lists")
    for key in keys:
        values = _texts(f"as-user-extra.{key}", extra[key])
        headers += [(f"Impersonate-Extra-{quote(key, safe=_UNESCAPED)}", each) for each in values]
    return headers


def _texts(key: str, values: Any) -> list[str]:
    if values is not None and not isinstance(values, list):
        raise ValueError(f"{key} of its user has to be a list of strings")
    return [_text(key, each) for each in values or ()]


def _text(key: str, value: Any) -> str:
    """The value as ``http.client`` sends it: it writes Latin-1, Go writes UTF-8."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{key} of its user has to be a string without control characters, not {value!r}")
    return value.encode().decode("latin-1")
