"""An author's kinds as CustomResourceDefinitions that kube-apiserver accepts, and what such a definition cannot say.

Pure: from :class:`~extapi.api.definition.Api` to objects and texts.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/v1`` and ``pkg/apis/apiextensions/validation``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extapi.api.column import Column
from extapi.api.definition import Api, Group, Kind
from extapi.api.jsonvalue import json_copy
from extapi.api.scale import Scale
from extapi.api.strategy import Strategy
from extapi.api.types import Obj
from extapi.api.versions import by_priority
from extapi.crd.defaults import set_defaults
from extapi.crd.validation import validate_create
from extapi.registry.declared import compiled
from extapi.schema.check import check
from extapi.schema.default import defaulter
from extapi.schema.structural import MISSING, Structural

_HOOKS = ("prepare", "validate", "warn", "prepare_for_deletion", "blocks_deletion")
_PROTECTED = ("k8s.io", "kubernetes.io")
_APPROVAL = "api-approved.kubernetes.io"
_UNAPPROVED = "unapproved, exported from Python types"


@dataclass(frozen=True)
class Exported:
    """What has become of one kind."""

    kind: str
    """Its plural and group: ``pizzas.example.com``."""
    manifest: Obj | None
    """The definition; None if there can be none."""
    notes: Sequence[str] = field(default_factory=tuple)
    """What the definition does not say although the kind does; without a definition, why there is none."""


def export_api(api: Api, *, only: str = "", webhook: Mapping[str, Any] | None = None) -> Iterator[Exported]:
    """The definitions of an API's kinds, in order.

    Args:
        api: The API.
        only: The name, plural or ``plural.group`` of a kind; empty for all.
        webhook: The ``clientConfig`` of a conversion webhook, for kinds with a hub.
    """
    for group in api.groups:
        for kind in group.kinds:
            if only in ("", kind.name, kind.plural, f"{kind.plural}.{group.name}"):
                yield export_kind(kind, group.name, webhook)


def left_out(api: Api) -> Iterator[str]:
    """What an API has besides kinds, which no definition can say."""
    if api.admission:
        names = ", ".join(dict.fromkeys(type(plugin).__name__ for plugin in api.admission))
        yield f"admission plugins are left out: {names}; write a ValidatingAdmissionPolicy or an admission webhook"
    if api.controllers:
        names = ", ".join(dict.fromkeys(type(controller).__name__ for controller in api.controllers))
        yield f"controllers are left out: {names}; they need a process of their own"
    yield from filter(None, map(_preferred, api.groups))


def export_kind(kind: Kind, group: str, webhook: Mapping[str, Any] | None = None) -> Exported:
    """The definition of one kind, or why there is none.

    Args:
        kind: The kind.
        group: The name of its group.
        webhook: The ``clientConfig`` of its conversion webhook, if it has a hub.
    """
    name = f"{kind.plural}.{group}"
    if refusals := list(_refusals(kind, group, webhook)):
        return Exported(name, None, refusals)
    schemas = {version: _accepted(structural) for version, structural in compiled(kind).items()}
    manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": _metadata(name, group),
        "spec": {
            "group": group,
            "names": _names(kind),
            "scope": kind.scope.value,
            "versions": [_version(kind, version, schemas[version]) for version in kind.versions],
            "conversion": _conversion(kind, webhook),
        },
    }
    if problems := list(_problems(manifest)):
        return Exported(name, None, problems)
    return Exported(name, manifest, list(_notes(kind, group, webhook)))


def _problems(manifest: Obj) -> Iterator[str]:
    """What kube-apiserver refuses although an author's kind may say it."""
    completed = json_copy(manifest)
    set_defaults(completed)
    for error in validate_create(completed):
        yield f"kube-apiserver refuses the definition: {error.text()}"


def _refusals(kind: Kind, group: str, webhook: Mapping[str, Any] | None) -> Iterator[str]:
    """Why there can be no definition of a kind."""
    if kind.rest is not None:
        yield "its objects are not stored (rest=), and those of a definition always are"
    if "." not in group:
        yield f'the group "{group}" has no dot: it is one of Kubernetes\' own'
    if _converts(kind) and webhook is None:
        yield (
            "its versions are converted by Python functions (hub=), which a definition can only ask a webhook to do: give "
            "--conversion-webhook-url or --conversion-webhook-service. With strategy None the versions would lose each "
            "other's data"
        )


def _notes(kind: Kind, group: str, webhook: Mapping[str, Any] | None) -> Iterator[str]:
    """What a kind has and its definition has not."""
    hooks = [name for name in _HOOKS if getattr(type(kind.strategy), name) is not getattr(Strategy, name)]
    if hooks:
        names = ", ".join(hooks)
        yield (
            f"the strategy is left out: {type(kind.strategy).__name__} has {names}; what a rule in CEL can say, write as "
            "extapi.Rule on the type"
        )
    for name, subresource in kind.subresources.items():
        what = f"field {subresource.field}" if subresource.field else "Python code"
        yield f"subresource {name} is left out: it is {what}; a definition has status and scale only"
    cells = {column.name: version for version in kind.versions for column in kind.columns_of(version) if column.cell}
    for column in cells:
        yield f"column {column} is left out: a Python function computes it; a definition has paths only"
    if any(
        column.name == "Name" for version in kind.versions for column in kind.columns_of(version) if not column.cell
    ):
        yield "column Name comes second: a definition always shows the object's name first, under the same heading"
    if _converts(kind) and webhook is not None:
        yield "its versions are converted by Python functions: the webhook in spec.conversion has to do what they do"
    if group.endswith(tuple(f".{suffix}" for suffix in _PROTECTED)) or group in _PROTECTED:
        yield f"groups of Kubernetes need an approval: the annotation {_APPROVAL} says that there is none"


def _converts(kind: Kind) -> bool:
    return kind.hub is not None and len(kind.versions) > 1


def _preferred(group: Group) -> str:
    """A preferred version that is not the one with the highest priority, which is that of definitions."""
    first = by_priority({version for kind in group.kinds for version in kind.served_versions()})[0]
    if group.preferred == first:
        return ""
    return f"group {group.name}: the preferred version will be {first}, not {group.preferred}: definitions cannot choose it"


def _metadata(name: str, group: str) -> Obj:
    protected = group in _PROTECTED or group.endswith(tuple(f".{suffix}" for suffix in _PROTECTED))
    return {"name": name, **({"annotations": {_APPROVAL: _UNAPPROVED}} if protected else {})}


def _names(kind: Kind) -> Obj:
    names: Obj = {"plural": kind.plural, "singular": kind.singular, "kind": kind.name, "listKind": kind.list_kind}
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    return names


def _version(kind: Kind, name: str, structural: Structural) -> Obj:
    version = kind.versions[name]
    made: Obj = {"name": name, "served": version.served, "storage": name == kind.storage}
    if version.deprecated:
        made["deprecated"] = True
    if isinstance(version.deprecated, str) and version.deprecated:
        made["deprecationWarning"] = version.deprecated
    made["schema"] = {"openAPIV3Schema": json_copy(structural.to_openapi())}
    if subresources := _subresources(status=kind.status_of(name), scale=kind.scale_of(name)):
        made["subresources"] = subresources
    columns = version.columns if version.columns is not None else kind.columns
    if written := [_column(column) for column in columns if not column.cell]:
        made["additionalPrinterColumns"] = written
    if selectable := kind.selectable_of(name):
        made["selectableFields"] = [{"jsonPath": path} for path in selectable]
    return made


def _subresources(*, status: bool, scale: Scale | None) -> Obj:
    made: Obj = {"status": {}} if status else {}
    if scale is not None:
        made["scale"] = {
            "specReplicasPath": scale.spec_replicas_path,
            "statusReplicasPath": scale.status_replicas_path,
        }
        if scale.label_selector_path:
            made["scale"]["labelSelectorPath"] = scale.label_selector_path
    return made


def _column(column: Column) -> Obj:
    made: Obj = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    if column.format:
        made["format"] = column.format
    if column.description:
        made["description"] = column.description
    if column.priority:
        made["priority"] = column.priority
    return made


def _conversion(kind: Kind, webhook: Mapping[str, Any] | None) -> Obj:
    if not _converts(kind):
        return {"strategy": "None"}
    config = dict(webhook or {})
    return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config}}


def _accepted(structural: Structural) -> Structural:
    """The schema as a definition may have it."""
    plain = _map(structural, lambda node: dataclasses.replace(node, patch_strategy="", patch_merge_key=""))
    # kube-apiserver judges the rules of a default without the defaults inside of it: if it has to, it finds them written out.
    return _map(plain, _with_filled_default) if check(plain) else plain


def _with_filled_default(node: Structural) -> Structural:
    if node.default is MISSING:
        return node
    around = {"default": json_copy(node.default)}
    defaulter(Structural(type="object", properties={"default": dataclasses.replace(node, default=MISSING)}))(around)
    return dataclasses.replace(node, default=around["default"])


def _map(node: Structural, change: Callable[[Structural], Structural]) -> Structural:
    """A schema with each of its nodes changed."""
    additional = node.additional
    inner = dataclasses.replace(
        node,
        properties={key: _map(sub, change) for key, sub in node.properties.items()},
        items=None if node.items is None else _map(node.items, change),
        additional_properties=node.additional_properties if additional is None else _map(additional, change),
    )
    return change(inner)
