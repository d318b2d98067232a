"""The status of a definition.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` ValidateCustomResourceDefinitionStoredVersions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from extapi.crd.validation.internal import Spec
from extapi.fielderrors import FieldError, RawValue

_PATH = "status.storedVersions"


def stored_version_errors(stored: Sequence[str] | None, spec: Spec) -> Iterator[FieldError]:
    """The errors of ``status.storedVersions`` (behaviour J3).

    Args:
        stored: It; None and an empty list are the same.
        spec: The definition's spec.
    """
    if not stored:
        yield FieldError.invalid(_PATH, RawValue("null"), "must have at least one stored version")
        return
    left = {name: index for index, name in enumerate(stored)}
    for version in spec.versions:
        if version.own.get("storage") and version.name not in left:
            yield FieldError.invalid(_PATH, list(stored), f"must have the storage version {version.name}")
        left.pop(version.name, None)
    for name, index in left.items():
        text = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a "
            f"storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        )
        yield FieldError.invalid(f"{_PATH}[{index}]", name, text)
