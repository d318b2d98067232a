"""APIService objects as the aggregator reads them: names, places and order (spec D17). Does no I/O."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Any, NamedTuple

from extapi.api.versions import version_priority
from extapi.client.kube import Obj

GROUP = "apiregistration.k8s.io"


class Backend(NamedTuple):
    """Where requests go. Equal ones share connections."""

    namespace: str
    service: str
    port: int
    ca: bytes | None
    """PEM; None: the system's roots."""
    insecure: bool

    @property
    def server_name(self) -> str:
        """The name that the server's certificate is for (spec D5)."""
        return f"{self.service}.{self.namespace}.svc"


class APIService(NamedTuple):
    """One group version. ``backend`` is None where the control plane itself serves it."""

    name: str
    group: str
    version: str
    group_priority: int
    version_priority: int
    backend: Backend | None

    @property
    def path(self) -> str:
        """Of the group version's discovery."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


def read(obj: Obj) -> APIService:
    """An ``apiregistration.k8s.io/v1`` APIService; what its kind has validated is relied on."""
    spec: dict[str, Any] = obj.get("spec") or {}
    service: dict[str, Any] | None = spec.get("service")
    backend = None
    if service is not None:
        bundle = spec.get("caBundle")
        backend = Backend(
            service.get("namespace", ""),
            service.get("name", ""),
            int(service.get("port") or 443),
            _decoded(bundle) if bundle else None,
            bool(spec.get("insecureSkipTLSVerify")),
        )
    return APIService(
        obj["metadata"]["name"],
        spec.get("group", ""),
        spec.get("version", ""),
        int(spec.get("groupPriorityMinimum") or 0),
        int(spec.get("versionPriority") or 0),
        backend,
    )


def by_group(services: Iterable[APIService]) -> dict[str, list[APIService]]:
    """Groups, the most important first, with their versions in order (``helper.SortedByGroupAndVersion``)."""
    groups: dict[str, list[APIService]] = {}
    for service in sorted(services, key=lambda each: (-each.group_priority, each.name)):
        groups.setdefault(service.group, []).append(service)
    for versions in groups.values():
        versions.sort(key=lambda each: (-each.version_priority, version_priority(each.version)))
    return groups


def _decoded(bundle: str) -> bytes:
    try:
        return base64.b64decode(bundle)
    except (ValueError, binascii.Error):
        return b""
