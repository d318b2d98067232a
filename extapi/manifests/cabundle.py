"""Setting ``caBundle`` on APIServices in a cluster: which authority vouches for the server behind them.

Everything is checked before anything is changed. Knows APIServices; the cluster is an argument.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from extapi.authentication.bundle import Bundle, BundleError
from extapi.manifests.registration import INJECT
from extapi.manifests.settings import ManifestSettings

Obj = dict[str, Any]


class PatchFailed(Exception):
    """Nothing was changed, or not everything; the text says why and what to do."""


class ApiServices(Protocol):
    """The APIServices of a cluster.

    Each method raises :class:`PatchFailed` if the cluster refuses.
    """

    def get(self, name: str) -> Obj | None:
        """The APIService; None if there is none of that name."""
        ...

    def patch(self, name: str, patch: Obj) -> None:
        """Change it by a JSON merge patch (RFC 7386)."""
        ...


def read_bundle(path: Path, now: dt.datetime) -> bytes:
    """The PEM of the authorities in ``path``, without comments and keys.

    Raises:
        PatchFailed: The file cannot be read, or one of its certificates cannot vouch for a server at ``now``.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PatchFailed(
            f"{path}: {error.strerror}; make it with 'extapi certs', or name another one with --ca-file"
        ) from error
    if b"PRIVATE KEY" in content:
        raise PatchFailed(f"{path} holds a private key, which must stay out of the cluster; name the certificate")
    try:
        found = Bundle(content).certificates
    except BundleError as error:
        raise PatchFailed(f"{path}: {error}") from error
    problems = [f"{path}: {each}" for certificate in found for each in _problems(certificate, now)]
    if problems:
        raise PatchFailed("\n".join(problems))
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in found)


def set_bundle(
    cluster: ApiServices, settings: ManifestSettings, names: Sequence[str], bundle: bytes
) -> Iterator[tuple[str, bool]]:
    """Set it on the APIServices ``names``; yields each name, and whether it was changed.

    Raises:
        PatchFailed: An APIService is missing or belongs to another server (then none is changed), or the cluster refuses.
    """
    text = base64.b64encode(bundle).decode()
    found = {name: cluster.get(name) for name in names}
    problems = [why for name, obj in found.items() if (why := _mistake(name, obj, settings))]
    if problems:
        raise PatchFailed("\n".join(problems))
    for name, obj in found.items():
        spec = (obj or {}).get("spec", {})
        changed: Obj = {} if spec.get("caBundle") == text else {"caBundle": text}
        if spec.get("insecureSkipTLSVerify"):  # together both are refused; the server has to be verified
            changed["insecureSkipTLSVerify"] = None
        if changed:
            cluster.patch(name, {"spec": changed})
        yield name, bool(changed)


def _mistake(name: str, obj: Obj | None, settings: ManifestSettings) -> str:
    """Why the APIService must not be patched; empty if it may be."""
    if obj is None:
        return f"there is no APIService {name}: apply the manifests first (kubectl apply -k DIRECTORY)"
    service = obj.get("spec", {}).get("service") or {}
    where = (service.get("namespace"), service.get("name"))
    if where != (settings.namespace, settings.name):
        led = f"to the Service {where[0]}/{where[1]}" if service else "to no Service"
        wanted = f"{settings.namespace}/{settings.name}"
        return f"the APIService {name} leads {led}, not to {wanted}: choose the Service with --namespace and --name"
    if INJECT in obj.get("metadata", {}).get("annotations", {}):
        return (
            f"the APIService {name} has the annotation {INJECT}: cert-manager sets its caBundle, and would do so again"
        )
    return ""


def _problems(certificate: x509.Certificate, now: dt.datetime) -> Iterator[str]:
    subject = certificate.subject.rfc4514_string()
    try:
        authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        authority = False
    # A self-signed serving certificate is its own authority; Go takes every certificate of a bundle for an anchor.
    if not authority and certificate.issuer != certificate.subject:
        yield f"{subject} is not an authority (basic constraints); caBundle needs the certificate that signed the server's"
    if certificate.not_valid_after_utc <= now:
        yield f"{subject} expired at {certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}; remove it, or make a new one"
