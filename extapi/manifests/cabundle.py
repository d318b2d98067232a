"""Setting ``caBundle`` on what leads to a server in a cluster: which authority vouches for it.

That is APIServices, or CustomResourceDefinitions with a conversion webhook and configurations of admission webhooks. Everything
is checked before anything is changed. The cluster is an argument.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from extapi.authentication.bundle import Bundle, BundleError
from extapi.manifests.registration import INJECT
from extapi.manifests.settings import ManifestSettings

Obj = dict[str, Any]


class PatchFailed(Exception):
    """Nothing was changed, or not everything; the text says why and what to do."""


class Registered(NamedTuple):
    """An object that leads to a server."""

    kind: str
    """Such as ``APIService``."""
    name: str

    @property
    def resource(self) -> str:
        """How kubectl names what it belongs to: ``apiservice.apiregistration.k8s.io``."""
        return f"{self.kind.lower()}.{_GROUPS[self.kind]}"

    @property
    def path(self) -> str:
        """Where kube-apiserver has it."""
        return f"/apis/{_GROUPS[self.kind]}/v1/{self.kind.lower()}s/{self.name}"


_GROUPS = {
    "APIService": "apiregistration.k8s.io",
    "CustomResourceDefinition": "apiextensions.k8s.io",
    "MutatingWebhookConfiguration": "admissionregistration.k8s.io",
    "ValidatingWebhookConfiguration": "admissionregistration.k8s.io",
}


class RegisteredObjects(Protocol):
    """The objects of a cluster that lead to servers.

    Each method raises :class:`PatchFailed` if the cluster refuses.
    """

    def get(self, of: Registered) -> Obj | None:
        """The object; None if there is none of that kind and name."""
        ...

    def patch(self, of: Registered, patch: list[Obj]) -> None:
        """Change it by a JSON patch (RFC 6902)."""
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
    cluster: RegisteredObjects, settings: ManifestSettings, objects: Sequence[Registered], bundle: bytes
) -> Iterator[tuple[Registered, bool]]:
    """Set it on the objects; yields each one, and whether it was changed.

    Raises:
        PatchFailed: One is missing or belongs to another server (then none is changed), or the cluster refuses.
    """
    text = base64.b64encode(bundle).decode()
    found = {each: cluster.get(each) for each in objects}
    problems = [why for each, obj in found.items() if (why := _mistake(each, obj, settings))]
    if problems:
        raise PatchFailed("\n".join(problems))
    for each, obj in found.items():
        patch = list(_changes(obj or {}, text))
        if patch:
            cluster.patch(each, patch)
        yield each, bool(patch)


def _changes(obj: Obj, text: str) -> Iterator[Obj]:
    """The operations of a JSON patch that set the bundle where it is another one."""
    for pointer, config in _configs(obj):
        if config.get("caBundle") == text:
            continue
        if pointer.startswith("/webhooks/"):  # somebody else may change the list meanwhile
            index = int(pointer.split("/")[2])
            yield {"op": "test", "path": f"/webhooks/{index}/name", "value": obj["webhooks"][index]["name"]}
        yield {"op": "add", "path": f"{pointer}/caBundle", "value": text}
    if obj.get("spec", {}).get("insecureSkipTLSVerify"):  # together both are refused; the server has to be verified
        yield {"op": "remove", "path": "/spec/insecureSkipTLSVerify"}


def _configs(obj: Obj) -> Iterator[tuple[str, Obj]]:
    """What has ``service`` and ``caBundle`` in it, each with its JSON pointer."""
    if "webhooks" in obj:
        for index, hook in enumerate(obj["webhooks"]):
            yield f"/webhooks/{index}/clientConfig", hook.get("clientConfig", {})
    elif "names" in obj.get("spec", {}):
        webhook = (obj["spec"].get("conversion") or {}).get("webhook") or {}
        yield "/spec/conversion/webhook/clientConfig", webhook.get("clientConfig") or {}
    else:
        yield "/spec", obj.get("spec", {})


def _mistake(of: Registered, obj: Obj | None, settings: ManifestSettings) -> str:
    """Why the object must not be patched; empty if it may be."""
    what = f"the {of.kind} {of.name}"
    if obj is None:
        return f"there is no {of.kind} {of.name}: apply the manifests first (kubectl apply -k DIRECTORY)"
    for _, config in _configs(obj):
        service = config.get("service") or {}
        where = (service.get("namespace"), service.get("name"))
        if where != (settings.namespace, settings.name):
            led = f"to the Service {where[0]}/{where[1]}" if service else "to no Service"
            wanted = f"{settings.namespace}/{settings.name}"
            return f"{what} leads {led}, not to {wanted}: choose the Service with --namespace and --name"
    if INJECT in obj.get("metadata", {}).get("annotations", {}):
        return f"{what} has the annotation {INJECT}: cert-manager sets its caBundle, and would do so again"
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
