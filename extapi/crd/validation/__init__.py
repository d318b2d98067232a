"""The validation of CustomResourceDefinitions: kube-apiserver's errors, with its texts, paths and order (behaviour J1 to J18).

Objects are plain JSON of ``apiextensions.k8s.io/v1``, decoded (each member has its type, unknown ones are gone) and with their
:mod:`defaults <extapi.crd.defaults>`. What is asked of the metadata of every object is not asked here. Paths name fields of
kube-apiserver's internal form: see :mod:`extapi.crd.validation.internal`.

Where kube-apiserver's order is that of a Go map, which is random, errors come in the order in which fields were written.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` validation.go, ``pkg/registry/customresourcedefinition``
strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from extapi.crd.validation.internal import Spec
from extapi.crd.validation.names import approval_errors, kind_name_errors, name_errors
from extapi.crd.validation.options import CREATE, options_of_update
from extapi.crd.validation.spec import spec_errors
from extapi.crd.validation.status import stored_version_errors
from extapi.crd.validation.unrecognized import format_warnings
from extapi.fielderrors import FieldError

__all__ = ["validate_create", "validate_status_update", "validate_update", "warnings"]

_IMMUTABLE = "field is immutable"


def validate_create(obj: Mapping[str, Any]) -> list[FieldError]:
    """The errors of a new definition.

    Args:
        obj: It, with ``status.storedVersions`` as they will be.
    """
    spec = Spec.read(obj)
    return [*name_errors(obj), *spec_errors(spec, CREATE), *_rest(obj, spec, None)]


def validate_update(obj: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """The errors of a changed definition: what is wrong with the stored one may mostly stay so (behaviour J11).

    Args:
        obj: It, with the status of the stored one, and its storage version among ``status.storedVersions``.
        old: The stored definition.
    """
    spec = Spec.read(obj)
    options = options_of_update(spec, old)
    before: Mapping[str, Any] = old.get("spec") or {}
    errors = list(spec_errors(spec, options))
    names, names_before = spec.names, before.get("names") or {}
    changes = [
        ("spec.group", spec.raw.get("group"), before.get("group")),
        ("spec.names.plural", names.get("plural"), names_before.get("plural")),
    ]
    if options.immutable_names:
        changes = [
            ("spec.scope", spec.raw.get("scope"), before.get("scope")),
            ("spec.names.kind", names.get("kind"), names_before.get("kind")),
            *changes,
        ]
    errors += (
        FieldError.invalid(path, now or "", _IMMUTABLE) for path, now, then in changes if (now or "") != (then or "")
    )
    return [*errors, *_rest(obj, spec, old)]


def validate_status_update(obj: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:  # noqa: ARG001 -- as the others
    """The errors of a changed status.

    Args:
        obj: The definition with its new status.
        old: The stored definition.
    """
    return list(_accepted_names(obj))


def warnings(obj: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> list[str]:
    """What a client is warned of that writes a definition (behaviour J10): formats that nobody knows.

    Args:
        obj: The definition.
        old: The stored one, on update: what it has already is not worth a warning.
    """
    return format_warnings(Spec.read(obj), None if old is None else Spec.read(old))


def _rest(obj: Mapping[str, Any], spec: Spec, old: Mapping[str, Any] | None) -> Iterator[FieldError]:
    yield from _accepted_names(obj)
    yield from stored_version_errors((obj.get("status") or {}).get("storedVersions"), spec)
    yield from approval_errors(obj, old)
    kept = old is not None and bool((old.get("spec") or {}).get("preserveUnknownFields"))
    if spec.preserves_unknown and not kept:
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield FieldError.invalid("spec.preserveUnknownFields", value=True, detail=text)


def _accepted_names(obj: Mapping[str, Any]) -> Iterator[FieldError]:
    accepted = (obj.get("status") or {}).get("acceptedNames") or {}
    return kind_name_errors(accepted, "status.acceptedNames")
