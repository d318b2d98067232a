"""Webhooks as the checks see them: those of admission, and the conversion of CustomResourceDefinitions. Pure.

Source: ``admissionregistration.k8s.io/v1``, ``apiextensions.k8s.io/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from extapi.admission.matching.rules import RuleWithOperations
from extapi.admission.matching.selectors import Selector
from extapi.client.authority import authority
from extapi.doctor.registration import RegisteredService


@dataclass(frozen=True, slots=True)
class HookURL:
    """The server of a webhook with ``clientConfig.url``."""

    host: str
    port: int

    @property
    def subject(self) -> str:
        """How findings name it."""
        return f"https://{authority(self.host, self.port)}"


@dataclass(frozen=True, slots=True)
class RegisteredHook:
    """One webhook. ``owner``: the object that has it, such as ``ValidatingWebhookConfiguration shop``."""

    owner: str
    name: str
    """Its own name, as messages have it; empty for conversion."""
    path: str
    """Where in the object it is: ``webhooks[0]``, ``spec.conversion.webhook``."""
    service: RegisteredService | None
    url: HookURL | None
    bundle: bytes
    fails: bool
    """Whether a request fails if the webhook does."""
    seconds: int
    """How long kube-apiserver waits for an answer."""
    group: str
    """The first group that it is about."""
    rules: tuple[RuleWithOperations, ...] = ()
    groups: frozenset[str] = frozenset()
    namespaces: Selector = field(default_factory=lambda: Selector(None))
    objects: Selector = field(default_factory=lambda: Selector(None))
    conditions: bool = False
    """Whether it has matchConditions, which may leave out what its rules match."""
    dry: bool = True
    """Whether it is called in a dry run."""
    insecure: bool = False
    passes: bool = False
    """Whether kube-apiserver has found nothing wrong with its server; it does not say so of webhooks."""

    @property
    def subject(self) -> str:
        """How findings name it."""
        return f"webhook {self.name} of {self.owner}" if self.name else f"conversion of {self.owner}"

    @property
    def target(self) -> RegisteredService | HookURL | None:
        """Where its server is."""
        return self.service or self.url

    @property
    def bundle_field(self) -> str:
        """Its field with the authority."""
        return f"{self.path}.clientConfig.caBundle"

    @property
    def service_field(self) -> str:
        """Its field that names the Service."""
        return f"{self.path}.clientConfig.service"

    @property
    def patch_command(self) -> str:
        """What sets the authority, if the server is built with extapi."""
        return "extapi manifests MODULE:NAME --as crd --patch-ca-bundle"
