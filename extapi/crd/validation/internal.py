"""A definition's spec as kube-apiserver sees it while it validates: schemas that all versions share stand at the top.

Errors name the fields of this form: a schema that all versions share, or that of the only version, is in
``spec.validation.openAPIV3Schema``.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/v1`` conversion.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from extapi.fielderrors import RawValue
from extapi.schema.gojson import go_json, schema_as_go
from extapi.schema.structural import Structural, from_openapi

SHARED = ("subresources", "schema", "additionalPrinterColumns", "selectableFields")
"""What versions may share, by its names in a version."""


class Read(NamedTuple):
    """A schema that was read."""

    structural: Structural | None
    why: str
    """Why there is none although one was written; empty otherwise."""


@dataclass(frozen=True)
class VersionSpec:
    """One version, without what it shares with all others.

    Attributes:
        name: Its name; empty if it has none.
        own: The version as it was written.
        schema: ``{"openAPIV3Schema": ...}``; None if it is shared or there is none.
        subresources: Its subresources, likewise.
        columns: Its printer columns, likewise.
        selectable: Its selectable fields, likewise.
    """

    name: str
    own: Mapping[str, Any]
    schema: Mapping[str, Any] | None
    subresources: Mapping[str, Any] | None
    columns: Sequence[Mapping[str, Any]]
    selectable: Sequence[Mapping[str, Any]]

    @property
    def structure(self) -> Mapping[str, Any] | None:
        """The schema itself."""
        return None if self.schema is None else self.schema.get("openAPIV3Schema")

    @cached_property
    def read(self) -> Read:
        """The schema as it is checked. One that cannot be read, since it nests too deeply, is none."""
        if self.structure is None:
            return Read(None, "")
        try:
            return Read(from_openapi(self.structure), "")
        except ValueError as error:
            return Read(None, str(error))


@dataclass(frozen=True)
class Spec:
    """A definition's spec.

    Attributes:
        raw: The spec as it was written, and defaulted.
        versions: Its versions.
        shared: What all versions share, in the form of a version whose name is empty.
    """

    raw: Mapping[str, Any]
    versions: Sequence[VersionSpec]
    shared: VersionSpec

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> Spec:
        """The spec of a decoded definition."""
        raw = obj.get("spec") or {}
        written: Sequence[Mapping[str, Any]] = raw.get("versions") or ()
        first = written[0] if written else {}
        same = {key for key in SHARED if all(_part(each, key) == _part(first, key) for each in written)}
        versions = [_version(each, frozenset(SHARED) - same) for each in written]
        return cls(raw, versions, _version({**first, "name": ""}, frozenset(same)))

    @property
    def names(self) -> Mapping[str, Any]:
        """The names of the kind."""
        found: Mapping[str, Any] = self.raw.get("names") or {}
        return found

    @property
    def preserves_unknown(self) -> bool | None:
        """``preserveUnknownFields``; None if it is not set. v1 reads unset as false."""
        return bool(self.raw.get("preserveUnknownFields"))

    def schemas(self) -> list[VersionSpec]:
        """What has a schema: what all share, or versions."""
        return [each for each in (self.shared, *self.versions) if each.structure is not None]

    def schemas_by_version(self) -> dict[str, Mapping[str, Any] | None]:
        """The schema of each version, what holds it included; of several versions of one name that of the first."""
        return {each.name: self.shared.schema or each.schema for each in reversed(self.versions)}

    @cached_property
    def statuses(self) -> Mapping[str, bool]:
        """Whether each version has the subresource status; of several versions of one name what the first says."""
        shared = has_status(self.shared.subresources)
        if all(each.subresources is None for each in self.versions):
            return {each.name: shared for each in self.versions}
        return {each.name: has_status(each.subresources) for each in reversed(self.versions)}

    def shown_versions(self) -> RawValue:
        """The versions as errors show them."""
        if self.raw.get("versions") is None:
            return RawValue("null")
        return RawValue(go_json([_version_as_go(each) for each in self.versions]))


def has_status(subresources: Mapping[str, Any] | None) -> bool:
    """Whether there is the subresource status."""
    return subresources is not None and subresources.get("status") is not None


def _part(version: Mapping[str, Any], key: str) -> Any:
    """A part of a version, to compare: an empty list is none, but an empty object is not."""
    return version.get(key) if version.get(key) != [] else None


def _version(own: Mapping[str, Any], keys: frozenset[str]) -> VersionSpec:
    found = {key: own.get(key) if key in keys else None for key in SHARED}
    return VersionSpec(
        own.get("name") or "",
        own,
        found["schema"],
        found["subresources"],
        found["additionalPrinterColumns"] or (),
        found["selectableFields"] or (),
    )


def _version_as_go(version: VersionSpec) -> dict[str, Any]:
    own, subresources = version.own, version.subresources
    columns = own.get("additionalPrinterColumns") if version.columns else None
    return {
        "Name": version.name,
        "Served": bool(own.get("served")),
        "Storage": bool(own.get("storage")),
        "Deprecated": bool(own.get("deprecated")),
        "DeprecationWarning": own.get("deprecationWarning"),
        "Schema": None if version.schema is None else {"OpenAPIV3Schema": schema_as_go(version.structure)},
        "Subresources": None if subresources is None else _subresources_as_go(subresources),
        "AdditionalPrinterColumns": None if columns is None else [_column_as_go(each) for each in columns],
        "SelectableFields": [{"JSONPath": each.get("jsonPath") or ""} for each in version.selectable] or None,
    }


def _subresources_as_go(found: Mapping[str, Any]) -> dict[str, Any]:
    scale = found.get("scale")
    return {
        "Status": None if found.get("status") is None else {},
        "Scale": None
        if scale is None
        else {
            "SpecReplicasPath": scale.get("specReplicasPath") or "",
            "StatusReplicasPath": scale.get("statusReplicasPath") or "",
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        },
    }


def _column_as_go(column: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "Name": column.get("name") or "",
        "Type": column.get("type") or "",
        "Format": column.get("format") or "",
        "Description": column.get("description") or "",
        "Priority": column.get("priority") or 0,
        "JSONPath": column.get("jsonPath") or "",
    }
