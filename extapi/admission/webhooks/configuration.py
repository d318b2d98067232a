"""One webhook of a configuration, read once: what it is about, where it is, and what to do if it fails.

What a kube-apiserver has accepted is valid. What is not, must not break a server: it fails when it is needed, with a text.

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/accessors.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from extapi.admission.expressions.conditions import MatchConditions
from extapi.admission.matching.rules import RuleWithOperations
from extapi.admission.matching.selectors import Selector
from extapi.api.types import Obj

DEFAULT_SECONDS: Final = 10
"""``timeoutSeconds`` of a webhook that has none."""


class Webhook:
    """A webhook.

    Attributes:
        uid: Distinguishes it from all others of its kind of configurations.
        configuration: The name of its configuration.
        name: Its own, such as ``check.example.com``.
        config: Its ``clientConfig``.
        address: The same as text: webhooks with the same one share connections.
        rules: See :class:`extapi.admission.matching.index.Ruled`.
        equivalent: See :class:`extapi.admission.matching.index.Ruled`.
        ignores_failures: Whether a write goes on if the webhook cannot be called (``failurePolicy``).
        seconds: How long a call may take.
        review_versions: The versions of AdmissionReview that it takes.
        side_effects: ``None``, ``NoneOnDryRun``, ``Some``, ``Unknown``; empty: it does not say.
        reinvoked: Whether it is called again after a change (``reinvocationPolicy``).
    """

    __slots__ = (
        "address",
        "conditions",
        "config",
        "configuration",
        "equivalent",
        "ignores_failures",
        "name",
        "namespace_selector",
        "object_selector",
        "reinvoked",
        "review_versions",
        "rules",
        "seconds",
        "side_effects",
        "uid",
    )

    def __init__(self, uid: str, configuration: str, webhook: Mapping[str, Any]) -> None:
        self.uid = uid
        self.configuration = configuration
        self.name = str(webhook.get("name") or "")
        self.config: Mapping[str, Any] = webhook.get("clientConfig") or {}
        self.address = msgspec.json.encode(self.config, order="sorted")
        self.rules = tuple(RuleWithOperations(each) for each in webhook.get("rules") or ())
        self.equivalent = webhook.get("matchPolicy", "Equivalent") == "Equivalent"
        self.ignores_failures = webhook.get("failurePolicy") == "Ignore"
        self.seconds = int(webhook.get("timeoutSeconds") or DEFAULT_SECONDS)
        self.review_versions: tuple[str, ...] = tuple(webhook.get("admissionReviewVersions") or ())
        self.side_effects = str(webhook.get("sideEffects") or "")
        self.reinvoked = webhook.get("reinvocationPolicy") == "IfNeeded"
        self.namespace_selector = Selector(webhook.get("namespaceSelector"))
        self.object_selector = Selector(webhook.get("objectSelector"))
        self.conditions = MatchConditions(webhook.get("matchConditions") or (), fails=not self.ignores_failures)


def webhooks_of(configurations: Iterable[Obj], known: Mapping[str, list[Webhook]]) -> dict[str, list[Webhook]]:
    """The webhooks of all configurations by the configurations' names, in the order in which they are called.

    Args:
        configurations: The configurations, in any order.
        known: Webhooks, by the names of configurations that have not changed.
    """
    named = {str(each["metadata"]["name"]): each for each in configurations}
    return {name: known.get(name) or list(_webhooks(name, named[name])) for name in sorted(named)}


def _webhooks(name: str, configuration: Obj) -> Iterator[Webhook]:
    seen: dict[str, int] = {}
    for each in configuration.get("webhooks") or ():
        webhook = str(each.get("name") or "")
        number = seen.get(webhook, 0)
        seen[webhook] = number + 1
        yield Webhook(f"{name}/{webhook}/{number}", name, each)
