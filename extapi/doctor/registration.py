"""An APIService as the checks see it: what it registers, where its server is, and what kube-aggregator says. Pure."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import re
from dataclasses import dataclass
from typing import Any

from extapi.api.timestamp import parse_timestamp

DEFAULT_PORT = 443
"""Of ``spec.service.port`` (k8s.io/kube-aggregator/pkg/apis/apiregistration/v1)."""
_NO_LABEL = re.compile(r"[^a-z0-9-]")
"""Characters that no name of a namespace or a Service has (k8s.io/apimachinery/pkg/util/validation, ``IsDNS1123Label``)."""


@dataclass(frozen=True, slots=True)
class RegisteredService:
    """``spec.service``."""

    namespace: str
    name: str
    port: int

    @property
    def host(self) -> str:
        """The name that the server's certificate must cover (behaviour D5)."""
        return f"{self.name}.{self.namespace}.svc"

    @property
    def subject(self) -> str:
        """How findings name it."""
        return f"Service {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ReportedCondition:
    """A condition of an object's status. ``since``: of its last change of status."""

    status: str
    reason: str
    message: str
    since: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Registration:
    """One APIService. ``service``: None for a local one. ``bundle``: the PEM text of caBundle."""

    name: str
    group: str
    version: str
    service: RegisteredService | None
    bundle: bytes
    insecure: bool
    available: ReportedCondition | None
    created: dt.datetime | None = None

    @property
    def subject(self) -> str:
        """How findings name it."""
        return f"APIService {self.name}"

    @property
    def target(self) -> RegisteredService | None:
        """Where its server is."""
        return self.service

    @property
    def bundle_field(self) -> str:
        """Its field with the authority."""
        return "spec.caBundle"

    @property
    def service_field(self) -> str:
        """Its field that names the Service."""
        return "spec.service"

    @property
    def patch_command(self) -> str:
        """What sets the authority, if the server is built with extapi."""
        return "extapi manifests MODULE:NAME --patch-ca-bundle"

    @property
    def passes(self) -> bool:
        """Whether kube-apiserver proxies to it."""
        return self.available is not None and self.available.status == "True"


def registration(obj: dict[str, Any]) -> Registration:
    """Read an APIService as kube-apiserver returned it."""
    metadata, spec, status = (_map(obj.get(name)) for name in ("metadata", "spec", "status"))
    service = spec.get("service")
    return Registration(
        name=str(metadata.get("name", "")),
        group=str(spec.get("group", "")),
        version=str(spec.get("version", "")),
        service=reference_of(service) if isinstance(service, dict) else None,
        bundle=bundle_of(spec.get("caBundle")),
        insecure=spec.get("insecureSkipTLSVerify") is True,
        available=condition(status.get("conditions"), "Available"),
        created=moment(metadata.get("creationTimestamp")),
    )


def condition(conditions: Any, wanted: str) -> ReportedCondition | None:
    """The condition of that type."""
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, dict) and each.get("type") == wanted:
            status, reason, message = (str(each.get(name) or "") for name in ("status", "reason", "message"))
            return ReportedCondition(status, reason, message, moment(each.get("lastTransitionTime")))
    return None


def moment(value: Any) -> dt.datetime | None:
    """A time as the API writes it; None for other text."""
    try:
        return parse_timestamp(value) if isinstance(value, str) else None
    except ValueError:
        return None


def reference_of(service: dict[str, Any]) -> RegisteredService:
    """Read a ``service`` of an APIService or of the ``clientConfig`` of a webhook."""
    port = service.get("port")
    return RegisteredService(
        _label(service.get("namespace")), _label(service.get("name")), port if isinstance(port, int) else DEFAULT_PORT
    )


def _label(value: Any) -> str:
    """A name that is safe in paths and commands. kube-apiserver accepts any text here, though no Service has such a name."""
    return _NO_LABEL.sub("_", value) if isinstance(value, str) else ""


def bundle_of(value: Any) -> bytes:
    """The PEM text of a ``caBundle``."""
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except binascii.Error:
        return b""  # a []byte in Go: kube-apiserver has decoded it


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
