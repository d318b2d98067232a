"""Where a Service is reached: the address behind its name, as the configuration of a webhook gives it (behaviour J47).

Does no I/O: who calls it has the Service, from an informer or wherever. In a cluster nobody has to look: its DNS knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extapi.api.types import Obj
from extapi.errors import ApiError, NotFound, ServiceUnavailable, StorageError, go_quote

Resolve = Callable[[str, str, int], tuple[str, int]]
"""Namespace, name and port of a Service to the host (a name or an address) and port to connect to. May raise ApiError."""


def by_dns(namespace: str, name: str, port: int) -> tuple[str, int]:
    """The name that a cluster's DNS has for the Service."""
    return f"{name}.{namespace}.svc", port


def by_objects(get: Callable[[str, str], Obj | None]) -> Resolve:
    """Look the Service up.

    Args:
        get: The Service object of a namespace and name, such as :meth:`extapi.Informer.get`.
    """

    def resolve(namespace: str, name: str, port: int) -> tuple[str, int]:
        service = get(namespace, name)
        if service is None:
            raise NotFound.named("service", "", name)
        return address(service, port)

    return resolve


def address(service: Obj, port: int) -> tuple[str, int]:
    """The host and port of a Service: its cluster IP, or the external name.

    Raises:
        ApiError: It has none, or not that port.

    Source: ``apiserver/pkg/util/proxy/proxy.go`` ResolveCluster.
    """
    spec: dict[str, Any] = service.get("spec") or {}
    kind, host = spec.get("type") or "ClusterIP", str(spec.get("clusterIP") or "")
    if kind == "ExternalName":
        return str(spec.get("externalName") or ""), port
    if kind not in ("ClusterIP", "LoadBalancer", "NodePort"):
        raise StorageError(f"unsupported service type {go_quote(str(kind))}")
    if kind == "ClusterIP" and host == "None":
        raise StorageError('cannot route to service with ClusterIP "None"')
    if all(each.get("port") != port for each in spec.get("ports") or ()):
        name = go_quote(service["metadata"]["name"])
        raise ServiceUnavailable(f"no service port {port} found for service {name}")
    if not host:
        raise _unassigned(service)
    return host, port


def _unassigned(service: Obj) -> ApiError:
    """No cluster IP: a control plane without a network gives none. kube-apiserver would dial an empty host."""
    return ServiceUnavailable(f"service {go_quote(service['metadata']['name'])} has no cluster IP")
