"""Validation of metadata, on create and on update.

The metadata has been through :func:`extapi.api.metadata.coerce`: types are right, empty fields are missing. On update,
fields that are silently restored from the stored object (behaviour E41) have been restored. Knows nothing of requests.

Source: ``apimachinery/pkg/api/validation`` objectmeta.go.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from extapi.api.names import label_value, lower, namespace_name, object_name, path_segment, qualified_name
from extapi.errors import MOST_ERRORS, FieldError, go_quote

_ANNOTATIONS_SIZE = 256 * 1024
_MANAGER_LENGTH = 128
_SUBRESOURCE_LENGTH = 256
_IMMUTABLE = "field is immutable"
_SHOWN_OF_NAMES = 253

NameRule = Callable[..., list[str]]
"""``rule(name, prefix=...)``: the problems of a name, or of the beginning of one."""


def validate_object_meta(
    obj: Mapping[str, Any], *, namespaced: bool, old: Mapping[str, Any] | None = None, name_rule: NameRule = object_name
) -> list[FieldError]:
    """The errors of ``obj["metadata"]`` (behaviour E14, E15, E41, E42); on update ``old`` is the stored object.

    On update most errors occur twice, as from kube-apiserver, which validates once for all kinds and once for this one.
    ``Invalid.of`` says each text once and keeps all causes.
    """
    metadata = obj["metadata"]
    if old is None:
        return _created(metadata, namespaced, name_rule, _common(metadata))
    common = _common(metadata)
    updated = _updated(metadata, old["metadata"], common)
    # A name that was accepted stays accepted: only what a URL path cannot carry is checked again.
    return [*_created(metadata, namespaced, path_segment, common), *updated, *updated]


Common = tuple[Sequence[FieldError], Sequence[FieldError]]
"""Errors that are reported on create and on update: those that stand before the errors of finalizers, and those after."""


def _common(metadata: Mapping[str, Any]) -> Common:
    before: list[FieldError] = []
    if labels := metadata.get("labels"):
        before += islice(_labels(labels), MOST_ERRORS)
    if annotations := metadata.get("annotations"):
        before += islice(_annotations(annotations), MOST_ERRORS)
    if owners := metadata.get("ownerReferences"):
        before += islice(_owner_references(owners), MOST_ERRORS)
    managed = metadata.get("managedFields")
    return before, managed_fields_errors(managed) if managed else ()


def _created(metadata: Mapping[str, Any], namespaced: bool, name_rule: NameRule, common: Common) -> list[FieldError]:
    """``ValidateObjectMetaAccessor``."""
    errors: list[FieldError] = []
    if base := metadata.get("generateName"):
        errors += (FieldError.invalid("metadata.generateName", base, why) for why in name_rule(base, prefix=True))
    if name := metadata.get("name"):
        errors += [FieldError.invalid("metadata.name", name, why) for why in name_rule(name)]
    else:
        errors.append(FieldError.required("metadata.name", "name or generateName is required"))
    errors += _namespace(metadata.get("namespace", ""), namespaced)
    generation = metadata.get("generation", 0)
    if generation < 0:
        errors.append(FieldError.invalid("metadata.generation", generation, "must be greater than or equal to 0"))
    before, after = common
    errors += before
    if finalizers := metadata.get("finalizers"):
        errors += islice(_finalizers(finalizers), MOST_ERRORS)
    errors += after
    return errors


def _updated(metadata: Mapping[str, Any], old: Mapping[str, Any], common: Common) -> list[FieldError]:
    """``ValidateObjectMetaAccessorUpdate``."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        errors += _no_new_finalizers(metadata.get("finalizers", ()), old.get("finalizers", ()))
    if not metadata.get("resourceVersion"):
        errors.append(FieldError.invalid("metadata.resourceVersion", "", "must be specified for an update"))
    generation = metadata.get("generation", 0)
    if generation < old.get("generation", 0):
        errors.append(FieldError.invalid("metadata.generation", generation, "must not be decremented"))
    for name in ("name", "namespace", "uid"):
        value = metadata.get(name, "")
        if value != old.get(name, ""):
            errors.append(FieldError.invalid(f"metadata.{name}", value, _IMMUTABLE))
    for name in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        value = metadata.get(name)
        if value != old.get(name):
            errors.append(FieldError.invalid(f"metadata.{name}", value, _IMMUTABLE))
    errors += common[0]
    errors += common[1]
    return errors


def _namespace(namespace: str, namespaced: bool) -> list[FieldError]:
    path = "metadata.namespace"
    if not namespaced:
        return [FieldError.forbidden(path, "not allowed on this type")] if namespace else []
    if not namespace:
        return [FieldError.required(path)]
    return [FieldError.invalid(path, namespace, why) for why in namespace_name(namespace)]


def _labels(labels: Mapping[str, str]) -> Iterator[FieldError]:
    for key, value in labels.items():
        for why in qualified_name(key):
            yield FieldError.invalid("metadata.labels", key, why)
        for why in label_value(value):
            yield FieldError.invalid("metadata.labels", value, why)


def _annotations(annotations: Mapping[str, str]) -> Iterator[FieldError]:
    path, size = "metadata.annotations", 0
    for key, value in annotations.items():
        # Upper case is allowed in the prefix too, unlike in labels.
        for why in qualified_name(lower(key)):
            yield FieldError.invalid(path, key, why)
        size += _size(key) + _size(value)
    if size > _ANNOTATIONS_SIZE:
        yield FieldError.too_long(path, _ANNOTATIONS_SIZE)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _owner_references(references: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    path = "metadata.ownerReferences"
    controller = ""
    for reference in references:
        yield from _owner_reference(reference, path)
        if reference.get("controller"):
            # The error names both; overlong names are cut.
            this = f"{reference['kind'][:_SHOWN_OF_NAMES]}/{reference['name'][:_SHOWN_OF_NAMES]}"
            if controller:
                yield FieldError.invalid(
                    path,
                    references,
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {this}',
                )
            else:
                controller = this


def _owner_reference(reference: Mapping[str, Any], path: str) -> list[FieldError]:
    errors = []
    api_version = reference["apiVersion"]
    # "group/version" or "version"; with more slashes, and as "/" alone, it has no version.
    version = "" if api_version.count("/") > 1 else api_version.rpartition("/")[2]
    if not version:
        errors.append(FieldError.invalid(f"{path}.apiVersion", api_version, "version must not be empty"))
    errors += [
        FieldError.invalid(f"{path}.{name}", "", "must not be empty")
        for name in ("kind", "name", "uid")
        if not reference[name]
    ]
    if (api_version, reference["kind"]) == ("v1", "Event"):
        errors.append(FieldError.invalid(path, reference, "/v1, Kind=Event is disallowed from being an owner"))
    return errors


def _finalizers(finalizers: Sequence[str]) -> Iterator[FieldError]:
    path = "metadata.finalizers"
    yield from (FieldError.invalid(path, name, why) for name in finalizers for why in qualified_name(name))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        yield FieldError.invalid(path, finalizers, detail)


def _no_new_finalizers(finalizers: Sequence[str], old: Sequence[str]) -> list[FieldError]:
    added = sorted(set(finalizers) - set(old))
    if not added:
        return []
    listed = ", ".join(go_quote(name) for name in added)
    return [
        FieldError.forbidden(
            "metadata.finalizers",
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}",
        )
    ]


def _managed_fields(entries: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        operation, manager = entry.get("operation", ""), entry.get("manager", "")
        if (
            entry.get("fieldsType") == "FieldsV1"
            and operation in {"Apply", "Update"}
            and len(manager) <= _MANAGER_LENGTH
            and manager.isascii()
            and manager.isprintable()
            and len(entry.get("subresource", "")) <= _SUBRESOURCE_LENGTH // 4
        ):
            continue  # as nearly all are
        path = f"metadata.managedFields[{index}]"
        if operation not in {"Apply", "Update"}:
            yield FieldError.invalid(f"{path}.operation", operation, "must be `Apply` or `Update`")
        fields_type = entry.get("fieldsType", "")
        if fields_type not in {"", "FieldsV1"}:
            yield FieldError.invalid(f"{path}.fieldsType", fields_type, "must be `FieldsV1`")
        yield from field_manager(entry.get("manager", ""), f"{path}.manager")
        if _size(entry.get("subresource", "")) > _SUBRESOURCE_LENGTH:
            yield FieldError.too_long(f"{path}.subresource", _SUBRESOURCE_LENGTH)


def field_manager(manager: str, path: str = "fieldManager") -> Iterator[FieldError]:
    """The errors of a field manager's name, in managedFields or in options (``ValidateFieldManager``)."""
    if _size(manager) > _MANAGER_LENGTH:
        yield FieldError.too_long(path, _MANAGER_LENGTH)
    if manager.isascii() and manager.isprintable():
        return
    position = 0
    for char in manager:
        if not (char == " " or unicodedata.category(char)[0] in "LMNPS"):
            shown = f" '{char}'" if char.isprintable() else ""
            detail = f"invalid character U+{ord(char):04X}{shown} (at position {position})"
            yield FieldError.invalid(path, manager, detail)
        position += _size(char)


def label_errors(labels: Mapping[str, str]) -> list[FieldError]:
    """What is wrong with labels alone (``ValidateLabels``); not more than :data:`MOST_ERRORS`."""
    return list(islice(_labels(labels), MOST_ERRORS))


def annotation_errors(annotations: Mapping[str, str]) -> list[FieldError]:
    """What is wrong with annotations alone (``ValidateAnnotations``); not more than :data:`MOST_ERRORS`."""
    return list(islice(_annotations(annotations), MOST_ERRORS))


def managed_fields_errors(entries: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    """What is wrong with entries of managed fields (``ValidateManagedFields``); not more than :data:`MOST_ERRORS`."""
    return list(islice(_managed_fields(entries), MOST_ERRORS))
