"""What leads to the server: the Service, one APIService per version, and the certificates if cert-manager issues them.

An APIService is rendered without ``caBundle``, so that a file in a repository does not go stale when the authority changes.
Until it is set (:mod:`extapi.manifests.cabundle`, or cert-manager's injector), kube-apiserver trusts only the authorities of
its own system and reports the API as not available. Verification is never turned off.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from extapi.api.definition import Api
from extapi.manifests.settings import ManifestSettings
from extapi.manifests.workload import metadata, tls_secret
from extapi.manifests.yamltext import Noted

Obj = dict[str, Any]

INJECT = "cert-manager.io/inject-ca-from"
SERVICE_PORT = 443
_GROUP_PRIORITY = 1000
_FIRST_VERSION_PRIORITY = 100
_CERT_MANAGER = "cert-manager.io/v1"


def service(settings: ManifestSettings, *, unready: bool = False) -> Obj:
    """The name and the port at which kube-apiserver reaches the server. ``unready``: also while it is not ready."""
    early = Noted(
        "publishNotReadyAddresses",
        "The server is ready once it has listed what its code follows, and has to convert some of that.",
    )
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(settings),
        "spec": {
            **({early: True} if unready else {}),
            "selector": settings.labels,
            "ports": [{"name": "https", "port": SERVICE_PORT, "targetPort": "https"}],
        },
    }


def api_services(settings: ManifestSettings, api: Api) -> Iterator[Obj]:
    """One per version; within a group the preferred version has the highest priority (``versionPriority``)."""
    annotations = (
        {"annotations": {INJECT: f"{settings.namespace}/{settings.name}-tls"}} if settings.cert_manager else {}
    )
    for group in api.groups:
        for position, version in enumerate(group.versions_by_priority()):
            yield {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": f"{version}.{group.name}", "labels": settings.labels, **annotations},
                "spec": {
                    "group": group.name,
                    "version": version,
                    "groupPriorityMinimum": _GROUP_PRIORITY,
                    "versionPriority": max(_FIRST_VERSION_PRIORITY - position, 1),
                    "service": {"name": settings.name, "namespace": settings.namespace, "port": SERVICE_PORT},
                },
            }


def hosts(settings: ManifestSettings) -> tuple[str, ...]:
    """The names that the serving certificate must cover; kube-apiserver checks the first one."""
    inside = f"{settings.name}.{settings.namespace}"
    return (f"{inside}.svc", f"{inside}.svc.cluster.local")


def certificates(settings: ManifestSettings) -> Iterator[tuple[str, Obj]]:
    """File names, and the objects that make cert-manager issue and renew the serving certificate with its own authority."""
    selfsigned, authority = f"{settings.name}-selfsigned", f"{settings.name}-ca"
    yield "issuer-selfsigned", _issuer(settings, "selfsigned", {"selfSigned": {}})
    kept = Noted(
        "rotationPolicy", "The renewed authority has the key of the old one: it vouches for what that has signed."
    )
    authority_spec = {
        "isCA": True,
        "commonName": authority,
        "secretName": authority,
        "duration": "87600h",
        "privateKey": {"algorithm": "ECDSA", "size": 256, kept: "Never"},
        "issuerRef": {"group": "cert-manager.io", "kind": "Issuer", "name": selfsigned},
    }
    yield "certificate-ca", _certificate(settings, "ca", authority_spec)
    yield "issuer-ca", _issuer(settings, "ca", {"ca": {"secretName": authority}})
    serving_spec = {
        "secretName": tls_secret(settings),
        "dnsNames": list(hosts(settings)),
        "usages": ("server auth", "digital signature"),
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "issuerRef": {"group": "cert-manager.io", "kind": "Issuer", "name": authority},
    }
    yield "certificate-tls", _certificate(settings, "tls", serving_spec)


def _issuer(settings: ManifestSettings, suffix: str, spec: Obj) -> Obj:
    return {"apiVersion": _CERT_MANAGER, "kind": "Issuer", "metadata": metadata(settings, suffix), "spec": spec}


def _certificate(settings: ManifestSettings, suffix: str, spec: Obj) -> Obj:
    return {"apiVersion": _CERT_MANAGER, "kind": "Certificate", "metadata": metadata(settings, suffix), "spec": spec}
