"""Defaults of a CustomResourceDefinition: what kube-apiserver fills in whenever it decodes one.

Objects are plain JSON of ``apiextensions.k8s.io/v1``, whose members have the right types. Unset and null are the same, as for
every typed object of Go.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/v1`` SetObjectDefaults_CustomResourceDefinition.
"""

from __future__ import annotations

from typing import Any

__all__ = ["set_defaults"]

_HTTPS_PORT = 443


def set_defaults(obj: dict[str, Any]) -> None:
    """Fill in the defaults of a definition, in place.

    The names ``singular`` and ``listKind``, ``conversion``, the port of the webhook's service, and ``status.storedVersions``.

    Args:
        obj: A CustomResourceDefinition, as decoded: ``{"metadata": ..., "spec": {...}, "status": {...}}``.
    """
    spec = _member(obj, "spec")
    _names(_member(spec, "names"))
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    webhook = spec["conversion"].get("webhook") or {}
    service = (webhook.get("clientConfig") or {}).get("service")
    if service is not None and service.get("port") is None:
        service["port"] = _HTTPS_PORT
    status = _member(obj, "status")
    if not status.get("storedVersions"):
        stored = [version.get("name") or "" for version in spec.get("versions") or () if version.get("storage")]
        if stored:
            status["storedVersions"] = stored[:1]


def _names(names: dict[str, Any]) -> None:
    kind = names.get("kind") or ""
    if not names.get("singular"):
        # Rune by rune, as in Go: Python knows letters that become two, and a sigma that depends on its place.
        names["singular"] = "".join(char.lower()[0] for char in kind)
    if not names.get("listKind") and kind:
        names["listKind"] = f"{kind}List"


def _member(obj: dict[str, Any], name: str) -> dict[str, Any]:
    """An object in another, which is added if it is missing."""
    if obj.get(name) is None:
        obj[name] = {}
    member: dict[str, Any] = obj[name]
    return member
