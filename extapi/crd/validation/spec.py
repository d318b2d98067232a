"""The spec of a definition, in kube-apiserver's order.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` validateCustomResourceDefinitionSpec.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from extapi.api.names import dns1035_label
from extapi.crd.validation.internal import Spec, has_status
from extapi.crd.validation.names import group_errors, kind_name_errors, missing_names
from extapi.crd.validation.options import Options, walk
from extapi.crd.validation.schemas import schema_errors
from extapi.crd.validation.versions import part_errors, selectable_errors, version_errors
from extapi.crd.validation.webhooks import conversion_errors
from extapi.fielderrors import FieldError
from extapi.schema.default import has_default
from extapi.schema.structural import Structural

_SCOPES = ("Cluster", "Namespaced")


def spec_errors(spec: Spec, options: Options) -> Iterator[FieldError]:
    """The errors of a spec.

    Args:
        spec: The spec.
        options: What is asked.
    """
    yield from group_errors(spec.raw.get("group") or "", "spec.group")
    scope = spec.raw.get("scope") or ""
    if not scope:
        yield FieldError.required("spec.scope")
    elif scope not in _SCOPES:
        yield FieldError.not_supported("spec.scope", scope, _SCOPES)
    yield from _missing_schemas(spec, all_versions=options.schemas)
    nodes = [node for each in spec.schemas() for node in walk(each.read.structural or Structural())]
    keeps = spec.preserves_unknown
    if any(has_default(node) for node in nodes):
        options = replace(options, structural=True)
        if keeps:
            text = "must be false in order to use defaults in the schema"
            yield FieldError.invalid("spec.preserveUnknownFields", value=True, detail=text)
    if not keeps or any(_has_extensions(node) for node in nodes):
        options = replace(options, structural=True)
    yield from _versions(spec, options)
    yield from missing_names(spec.names, "spec.names")
    yield from kind_name_errors(spec.names, "spec.names")
    yield from _shared(spec, options)
    conversion = spec.raw.get("conversion")
    if conversion is None:
        return
    if keeps and conversion.get("strategy") != "None":
        text = "must be None if spec.preserveUnknownFields is true"
        yield FieldError.invalid("spec.conversion.strategy", conversion.get("strategy") or "", text)
    yield from conversion_errors(
        conversion,
        "spec.conversion",
        review_versions=options.review_versions,
        any_ca_bundle=options.any_ca_bundle,
    )


def _missing_schemas(spec: Spec, *, all_versions: bool) -> Iterator[FieldError]:
    if spec.shared.structure is not None or (not all_versions and spec.preserves_unknown):
        return
    for index, version in enumerate(spec.versions):
        if version.structure is None and (all_versions or version.own.get("served")):
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            yield FieldError.required(path, "" if all_versions else "because otherwise all fields are pruned")


def _has_extensions(node: Structural) -> bool:
    return bool(
        node.embedded_resource
        or node.preserve_unknown is not None
        or node.int_or_string
        or node.list_map_keys
        or node.list_type
        or node.validations
    )


def _versions(spec: Spec, options: Options) -> Iterator[FieldError]:
    for index, version in enumerate(spec.versions):
        path = f"spec.versions[{index}]"
        if problems := dns1035_label(version.name):
            yield FieldError.invalid(f"{path}.name", version.name, ",".join(problems))
        yield from version_errors(version, path, status=spec.statuses[version.name], options=options)
    names = {version.name for version in spec.versions}
    if len(names) < len(spec.versions):
        yield FieldError.invalid("spec.versions", spec.shown_versions(), "must contain unique version names")
    if sum(bool(version.own.get("storage")) for version in spec.versions) != 1:
        text = "must have exactly one version marked as storage version"
        yield FieldError.invalid("spec.versions", spec.shown_versions(), text)
    if spec.versions and spec.versions[0].name and (problems := dns1035_label(spec.versions[0].name)):
        yield FieldError.invalid("spec.version", spec.versions[0].name, ",".join(problems))


def _shared(spec: Spec, options: Options) -> Iterator[FieldError]:
    """The errors of what all versions share."""
    shared = spec.shared
    status = any(has_status(each.subresources) for each in (shared, *spec.versions))
    first = spec.versions[0].name if spec.versions else ""
    yield from schema_errors(shared, "spec.validation", name=first, status=status, options=options)
    yield from part_errors(shared, "spec")
    if shared.selectable:
        if shared.schema is None:
            text = "may only be set when validations.schema is included"
            yield FieldError.invalid("spec.selectableFields", "", text)
        elif shared.structure is not None:
            yield from selectable_errors(shared, "spec", "spec.schema.openAPIV3Schema", options)
