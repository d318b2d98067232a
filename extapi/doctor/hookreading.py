"""Webhooks read from the objects that register them, as kube-apiserver returned these. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from extapi.admission.matching.rules import ALL, RuleWithOperations
from extapi.admission.matching.selectors import Selector
from extapi.doctor.facts import Obj, member, objects, text
from extapi.doctor.hooks import HookURL, RegisteredHook
from extapi.doctor.registration import bundle_of, reference_of

CONVERSION_SECONDS = 30
"""How long kube-apiserver waits for a conversion; no field says otherwise."""
ADMISSION_SECONDS = 10
"""``timeoutSeconds`` of a webhook that has none."""


def conversion_of(definition: Obj) -> RegisteredHook | None:
    """The conversion webhook of a definition, if it has one."""
    if text(definition, "spec", "conversion", "strategy") != "Webhook":
        return None
    name, group = text(definition, "metadata", "name"), text(definition, "spec", "group")
    return RegisteredHook(
        owner=f"CustomResourceDefinition {name}",
        name="",
        path="spec.conversion.webhook",
        **_server(member(definition, "spec", "conversion", "webhook", "clientConfig")),
        fails=True,
        seconds=CONVERSION_SECONDS,
        group=group,
        groups=frozenset({group}),
    )


def admission_of(configuration: Obj, kind: str) -> Iterator[RegisteredHook]:
    """The webhooks of a configuration of that kind."""
    owner = f"{kind} {text(configuration, 'metadata', 'name')}"
    for index, hook in enumerate(objects(configuration.get("webhooks"))):
        rules = objects(hook.get("rules"))
        groups = [str(group) for rule in rules for group in rule.get("apiGroups") or ()]
        seconds = hook.get("timeoutSeconds")
        yield RegisteredHook(
            owner=owner,
            name=text(hook, "name"),
            path=f"webhooks[{index}]",
            **_server(hook.get("clientConfig")),
            fails=text(hook, "failurePolicy") != "Ignore",
            seconds=seconds if isinstance(seconds, int) else ADMISSION_SECONDS,
            group=next(iter(groups), ""),
            rules=tuple(map(RuleWithOperations, rules)),
            groups=frozenset(groups),
            namespaces=Selector(_map(hook.get("namespaceSelector"))),
            objects=Selector(_map(hook.get("objectSelector"))),
            conditions=bool(hook.get("matchConditions")),
            dry=text(hook, "sideEffects") in {"None", "NoneOnDryRun"},
        )


def about(hooks: Iterable[RegisteredHook], groups: frozenset[str]) -> list[RegisteredHook]:
    """Those about one of these groups; without groups all."""
    return [each for each in hooks if not groups or each.groups & (groups | {ALL})]


def _server(config: Any) -> dict[str, Any]:
    service, url = member(config, "service"), text(config, "url")
    return {
        "service": reference_of(service) if isinstance(service, dict) else None,
        "url": _url(url) if url else None,
        "bundle": bundle_of(member(config, "caBundle")),
    }


def _url(url: str) -> HookURL | None:
    try:
        split = urlsplit(url)
        return HookURL(split.hostname or "", split.port or 443)
    except ValueError:
        return None


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
