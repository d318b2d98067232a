"""An API as CustomResourceDefinitions: the definitions, and the configurations of the webhooks that its author's code needs.

A webhook is registered only for what the code has: a kind without plugins that change objects and without ``Strategy.prepare``
has no mutating webhook. Nothing is rendered with a ``caBundle`` (:mod:`extapi.manifests.registration` says why).

Source: ``apiextensions.k8s.io/v1``, ``admissionregistration.k8s.io/v1``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from extapi.admission.base import Mutator, Validator
from extapi.api.definition import Api, Group, Kind
from extapi.api.strategy import Strategy
from extapi.crd.export import export_kind
from extapi.manifests.registration import INJECT, SERVICE_PORT
from extapi.manifests.settings import ManifestSettings

Obj = dict[str, Any]

REVIEWS: Final = "v1"
"""The version of reviews that is asked for, and that stands in paths."""
TIMEOUT: Final = 10
"""Seconds for one admission review; kube-apiserver's default."""
_WRITES: Final = ("CREATE", "UPDATE")
_ALL: Final = ("CREATE", "UPDATE", "DELETE")


class KindReviews(NamedTuple):
    """What the author's code does with the writes of one kind."""

    group: Group
    kind: Kind
    mutates: tuple[str, ...]
    """The operations about which code that changes objects is asked; empty: there is none."""
    validates: tuple[str, ...]
    """The same of code that refuses them."""

    @property
    def name(self) -> str:
        """The plural and the group: the name of the definition, and of the kind's webhooks."""
        return f"{self.kind.plural}.{self.group.name}"


def definitions(settings: ManifestSettings, api: Api) -> Iterator[Obj]:
    """One CustomResourceDefinition per kind, in order. Kinds whose versions differ are converted by the server.

    Raises:
        ValueError: A kind has none; :func:`extapi.manifests.settings.make_settings` refuses such an API.
    """
    names = _path_names(api)
    for group, kind in _kinds(api):
        path = f"/convert/{REVIEWS}/{names[group.name, kind.plural]}"
        made = export_kind(kind, group.name, _client(settings, path))
        if made.manifest is None:
            raise ValueError(f"{made.kind}: {'; '.join(made.notes)}")
        converted = made.manifest["spec"]["conversion"]["strategy"] == "Webhook"
        metadata = made.manifest["metadata"]
        annotations = metadata.get("annotations", {}) | (_annotations(settings) if converted else {})
        made.manifest["metadata"] = {
            "name": metadata["name"],
            "labels": settings.labels,
            **({"annotations": annotations} if annotations else {}),
        }
        yield made.manifest


def configurations(settings: ManifestSettings, api: Api) -> Iterator[Obj]:
    """The MutatingWebhookConfiguration and the ValidatingWebhookConfiguration, each if the code needs it."""
    names = _path_names(api)
    for kind, verb in (("MutatingWebhookConfiguration", "admit"), ("ValidatingWebhookConfiguration", "validate")):
        hooks = [
            _webhook(settings, each, operations, f"/{verb}/{REVIEWS}/{names[each.group.name, each.kind.plural]}")
            for each in reviews(api)
            if (operations := each.mutates if verb == "admit" else each.validates)
        ]
        if hooks:
            metadata: Obj = {"name": settings.name, "labels": settings.labels}
            if annotations := _annotations(settings):
                metadata["annotations"] = annotations
            yield {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": metadata,
                "webhooks": hooks,
            }


def reviews(api: Api) -> Iterator[KindReviews]:
    """What the code does with each kind, as ``extapi webhooks`` asks it.

    Plugins see every kind of the API, deletions too; a strategy its kind, and no deletion.
    """
    mutators = any(isinstance(plugin, Mutator) for plugin in api.admission)
    validators = any(isinstance(plugin, Validator) for plugin in api.admission)
    for group, kind in _kinds(api):
        strategy = type(kind.strategy)
        prepares = strategy.prepare is not Strategy.prepare
        checks = strategy.validate is not Strategy.validate or strategy.warn is not Strategy.warn
        yield KindReviews(
            group,
            kind,
            mutates=_ALL if mutators else _WRITES if prepares else (),
            validates=_ALL if validators else _WRITES if checks else (),
        )


def converted(api: Api) -> list[tuple[str, str]]:
    """The group and plural of the kinds whose objects the server converts."""
    return [(group.name, kind.plural) for group, kind in _kinds(api) if kind.hub is not None and len(kind.versions) > 1]


def _webhook(settings: ManifestSettings, each: KindReviews, operations: Sequence[str], path: str) -> Obj:
    kind, plugins = each.kind, tuple(operations) == _ALL
    whole = [kind.plural]
    if path.startswith("/validate/") or plugins:  # prepare is not asked about subresources
        whole += [f"{kind.plural}/status"] if any(map(kind.status_of, kind.versions)) else []
        whole += [f"{kind.plural}/scale"] if any(map(kind.scale_of, kind.versions)) else []
    return {
        "name": each.name,
        "clientConfig": _client(settings, path),
        "rules": [
            {
                "apiGroups": (each.group.name,),
                "apiVersions": tuple(kind.served_versions()),
                "operations": tuple(operations),
                "resources": tuple(whole),
                "scope": kind.scope.value,
            }
        ],
        "matchPolicy": "Equivalent",
        "failurePolicy": "Fail",
        # A plugin may act elsewhere unless review.dry_run is set; a strategy may not act at all.
        "sideEffects": "NoneOnDryRun" if plugins else "None",
        "timeoutSeconds": TIMEOUT,
        "admissionReviewVersions": (REVIEWS,),
    }


def _client(settings: ManifestSettings, path: str) -> Obj:
    service = {"namespace": settings.namespace, "name": settings.name, "path": path, "port": SERVICE_PORT}
    return {"service": service}


def _annotations(settings: ManifestSettings) -> Obj:
    return {INJECT: f"{settings.namespace}/{settings.name}-tls"} if settings.cert_manager else {}


def _kinds(api: Api) -> Iterator[tuple[Group, Kind]]:
    for group in api.groups:
        yield from ((group, kind) for kind in group.kinds)


def _path_names(api: Api) -> dict[tuple[str, str], str]:
    """What stands in paths, by group and plural: the singular, or where two kinds have the same one SINGULAR.GROUP."""
    count = Counter(kind.singular for _, kind in _kinds(api))
    return {
        (group.name, kind.plural): kind.singular if count[kind.singular] == 1 else f"{kind.singular}.{group.name}"
        for group, kind in _kinds(api)
    }
