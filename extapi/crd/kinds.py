"""A CustomResourceDefinition as a :class:`~extapi.api.definition.Kind`, which the catalogue serves beside those of authors.

The definition has been validated: what it says is served as it stands (behaviour J.5).

Source: ``apiextensions-apiserver/pkg/apiserver/customresource_handler.go`` getOrCreateServingInfoFor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from extapi.api.behaviour import CUSTOM_RESOURCE
from extapi.api.column import Column
from extapi.api.declaration import DeclarationError
from extapi.api.definition import CLUSTER, NAMESPACED, Kind, Version
from extapi.api.scale import Scale
from extapi.conversion.converter import Converter
from extapi.crd.definition import Definition

Converters = Callable[[Definition], Converter | None]
"""Makes the converter of a definition whose objects a webhook converts; None: it has none."""


MOST_VERSIONS: Final = 250
"""Versions of a definition. Each has documents, which are made before the kind is served, a few milliseconds for each."""


def no_converter(definition: Definition) -> Converter | None:
    """The converter of definitions whose versions differ in ``apiVersion`` only."""
    del definition
    return None


def kind_of(definition: Definition, converters: Converters = no_converter) -> Kind:
    """The kind that a valid definition declares. A new one each time: watches of a kind go on while it is the same.

    Raises:
        DeclarationError: It cannot be served although it is valid.
    """
    if len(definition.versions) > MOST_VERSIONS:
        raise DeclarationError(
            f"kind {definition.kind}: has {len(definition.versions)} versions; at most {MOST_VERSIONS} are served"
        )
    converter = converters(definition) if definition.converts_by_webhook else None
    return Kind(
        definition.kind,
        versions={version["name"]: _version(version) for version in definition.versions},
        storage=definition.storage_version,
        scope=NAMESPACED if definition.namespaced else CLUSTER,
        plural=definition.plural,
        singular=definition.singular,
        list_kind=definition.list_kind,
        short_names=tuple(definition.short_names),
        categories=tuple(definition.categories),
        status=False,
        behaviour=replace(CUSTOM_RESOURCE, defined=True, converter=converter),
    )


def _version(version: Mapping[str, Any]) -> Version:
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    return Version(
        type=(version.get("schema") or {}).get("openAPIV3Schema") or _ANYTHING,
        deprecated=version.get("deprecated", False) and (version.get("deprecationWarning") or True),
        columns=[_column(column) for column in version.get("additionalPrinterColumns") or ()],
        served=bool(version.get("served")),
        selectable=[field["jsonPath"] for field in version.get("selectableFields") or ()],
        status=subresources.get("status") is not None,
        scale=False if scale is None else _scale(scale),
    )


_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""The schema of a version without one: definitions that were stored as v1beta1 can have such."""


def _column(column: Mapping[str, Any]) -> Column:
    return Column(
        column["name"],
        column["jsonPath"],
        column["type"],
        format=column.get("format", ""),
        description=column.get("description", ""),
        priority=column.get("priority", 0),
    )


def _scale(scale: Mapping[str, Any]) -> Scale:
    return Scale(
        spec_replicas_path=scale.get("specReplicasPath", ""),
        status_replicas_path=scale.get("statusReplicasPath", ""),
        label_selector_path=scale.get("labelSelectorPath") or "",
    )
