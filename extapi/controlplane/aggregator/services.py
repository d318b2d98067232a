"""APIService objects as the aggregator reads them: names, backends and order (behaviour D17). Does no I/O."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Any, NamedTuple

from extapi.api.versions import version_priority
from extapi.client.kube import Obj

GROUP = "apiregistration.k8s.io"


class ServiceBackend(NamedTuple):
    """Where requests are passed on to. Equal backends share connections."""

    namespace: str
    service: str
    port: int
    ca: bytes | None
    """PEM; None for the system's roots."""
    insecure: bool

    @property
    def server_name(self) -> str:
        """The name that the server's certificate must have (behaviour D5)."""
        return f"{self.service}.{self.namespace}.svc"


class APIServiceInfo(NamedTuple):
    """A group version. ``backend`` is None if the control plane itself serves it."""

    name: str
    group: str
    version: str
    group_priority: int
    version_priority: int
    backend: ServiceBackend | None

    @property
    def path(self) -> str:
        """The path of the group version's discovery."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


def read(obj: Obj) -> APIServiceInfo:
    """The APIService in an ``apiregistration.k8s.io/v1`` object, which its kind has validated."""
    spec: dict[str, Any] = obj.get("spec") or {}
    service: dict[str, Any] | None = spec.get("service")
    backend = None
    if service is not None:
        bundle = spec.get("caBundle")
        backend = ServiceBackend(
            service.get("namespace", ""),
            service.get("name", ""),
            int(service.get("port") or 443),
            _decoded(bundle) if bundle else None,
            bool(spec.get("insecureSkipTLSVerify")),
        )
    return APIServiceInfo(
        obj["metadata"]["name"],
        spec.get("group", ""),
        spec.get("version", ""),
        int(spec.get("groupPriorityMinimum") or 0),
        int(spec.get("versionPriority") or 0),
        backend,
    )


def by_group(services: Iterable[APIServiceInfo]) -> dict[str, list[APIServiceInfo]]:
    """The groups in order of priority, with their versions in order (``helper.SortedByGroupAndVersion``)."""
    groups: dict[str, list[APIServiceInfo]] = {}
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
