"""MutatingWebhookConfigurations and ValidatingWebhookConfigurations: types, defaults, rules of writing.

:mod:`extapi.admission.webhooks` asks the webhooks.

Source: ``kubernetes/pkg/registry/admissionregistration``, ``kubernetes/pkg/apis/admissionregistration/v1`` defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from extapi import CLUSTER, Atomic, Column, Description, FieldError, ListMap, Object, Strategy, Struct
from extapi.api.markers import MergeKey
from extapi.api.types import Obj
from extapi.controlplane.builtin.behaviour import built_in
from extapi.controlplane.kinds.admissionmessages import ADMISSION
from extapi.controlplane.kinds.admissionparts import (
    MATCHING,
    LabelSelector,
    MatchConditions,
    RuleWithOperations,
    Words,
    complete,
    complete_rules,
    dicts_of,
    drop_empty,
)
from extapi.controlplane.kinds.admissionvalidation import name_warnings
from extapi.controlplane.kinds.parts import AGE, Base64, Int32, Text, canonical, kind_of, part_of, spelled
from extapi.controlplane.kinds.webhookvalidation import is_large, validate_webhooks


class ServiceReference(Struct):
    """The service of a webhook."""

    namespace: Annotated[str, Description("The namespace of the service.")] = ""
    name: Annotated[str, Description("The name of the service.")] = ""
    path: Annotated[Text, Description("The path of the URL.")] = None
    port: Annotated[Int32 | None, Description("The port of the service; by default 443.")] = None


class WebhookClientConfig(Struct, rename=spelled):
    """How a webhook is called: url or service."""

    url: Annotated[Text, Description("The address, which begins with https.")] = None
    service: Annotated[ServiceReference | None, Description("The service, if it runs in the cluster.")] = None
    ca_bundle: Annotated[Base64 | None, Description("The authorities of its certificate: PEM in base64.")] = None


class ValidatingWebhook(Struct):
    """A webhook that may refuse a write."""

    name: Annotated[str, Description("Its name, of at least three parts, such as check.example.com.")] = ""
    client_config: Annotated[WebhookClientConfig, Description("How it is called.")] = WebhookClientConfig()
    rules: Annotated[
        list[RuleWithOperations], Atomic(), Description("The requests that it is asked about: those of any rule.")
    ] = []
    failure_policy: Annotated[
        Text, Description("Whether a request goes on if the webhook cannot be called: Fail, the default, or Ignore.")
    ] = None
    match_policy: Annotated[
        Text,
        Description("Equivalent, the default: rules hold for other versions of a resource, too. Exact: they do not."),
    ] = None
    namespace_selector: Annotated[
        LabelSelector | None, Atomic(), Description("Selects the namespaces whose objects it is asked about.")
    ] = None
    object_selector: Annotated[
        LabelSelector | None,
        Atomic(),
        Description("Selects the objects that it is asked about, before or after the write."),
    ] = None
    side_effects: Annotated[Text, Description("None, or NoneOnDryRun.")] = None
    timeout_seconds: Annotated[Int32 | None, Description("How long a call may take: 1 to 30 s, by default 10 s.")] = (
        None
    )
    admission_review_versions: Annotated[
        Words, Description("The versions of AdmissionReview that it knows, best first.")
    ] = []
    match_conditions: MatchConditions = []


class MutatingWebhook(ValidatingWebhook):
    """A webhook that may change an object, or refuse a write."""

    reinvocation_policy: Annotated[
        Text,
        Description(
            "Whether it is asked again when another one has changed the object: Never, the default, or IfNeeded."
        ),
    ] = None


class ValidatingWebhookConfiguration(Object):
    """Webhooks that are asked about writes, and may refuse them."""

    webhooks: Annotated[
        list[ValidatingWebhook], ListMap("name"), MergeKey("name"), Description("The webhooks, all asked at a time.")
    ] = []


class MutatingWebhookConfiguration(Object):
    """Webhooks that are asked about writes, and may change or refuse them."""

    webhooks: Annotated[
        list[MutatingWebhook],
        ListMap("name"),
        MergeKey("name"),
        Description("The webhooks, asked one after the other."),
    ] = []


Configuration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration


class ConfigurationStrategy(Strategy):
    """The rules of writing a configuration (``mutatingWebhookConfigurationStrategy`` and its twin)."""

    def prepare(self, obj: Configuration, old: Configuration | None) -> None:
        """Normalize the certificates."""
        del old
        for webhook in obj.webhooks:
            config = webhook.client_config
            config.ca_bundle = canonical(type(obj).__name__, config.ca_bundle or "") or None

    def validate(self, obj: Configuration, old: Configuration | None) -> Iterable[FieldError]:
        """Check the webhooks."""
        before = None if old is None else msgspec.to_builtins(old.webhooks)
        return validate_webhooks(msgspec.to_builtins(obj.webhooks), before)

    def warn(self, obj: Configuration, old: Configuration | None) -> Iterable[str]:
        """Warn of a reserved name."""
        del old
        return name_warnings(obj.metadata.name)


_DEFAULTS: dict[str, Any] = {"failurePolicy": "Fail", **MATCHING, "timeoutSeconds": 10}


def _complete(obj: Obj, defaults: dict[str, Any]) -> None:
    for webhook in dicts_of(obj, "webhooks"):
        complete(webhook, defaults)
        config = part_of(webhook, "clientConfig")
        service = config.get("service")
        if isinstance(service, dict):
            complete(service, {"port": 443})
        if config.get("caBundle") == "":
            del config["caBundle"]
        for name in ("namespaceSelector", "objectSelector"):
            drop_empty(part_of(webhook, name), "matchExpressions")
        complete_rules(webhook, "rules")
        drop_empty(webhook, "matchConditions")
    drop_empty(obj, "webhooks")


def _complete_mutating(obj: Obj) -> None:
    """Fill in what is left out (``SetDefaults_MutatingWebhook``)."""
    _complete(obj, {**_DEFAULTS, "reinvocationPolicy": "Never"})


def _complete_validating(obj: Obj) -> None:
    """Fill in what is left out (``SetDefaults_ValidatingWebhook``)."""
    _complete(obj, _DEFAULTS)


_SHARED: dict[str, Any] = {
    "scope": CLUSTER,
    "status": False,
    "strategy": ConfigurationStrategy(),
    "categories": ["api-extensions"],
    "columns": [Column("Webhooks", type="integer", cell=lambda obj: len(obj.get("webhooks", ()))), AGE],
}
_STORING: dict[str, Any] = {
    "generation": True,
    "unconditional_update": False,
    "qualified_finalizers": False,
    "is_slow": lambda obj: is_large(obj.get("webhooks") or ()),
}
MUTATING = kind_of(
    MutatingWebhookConfiguration, behaviour=built_in(ADMISSION, complete=_complete_mutating, **_STORING), **_SHARED
)
VALIDATING = kind_of(
    ValidatingWebhookConfiguration, behaviour=built_in(ADMISSION, complete=_complete_validating, **_STORING), **_SHARED
)
