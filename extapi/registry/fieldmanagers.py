"""The field managers of a kind's endpoints: one for each and each version, which says who manages which fields after a write.

Responsible for: the types of a kind's versions, made of the schemas that clients see, and the fields that an endpoint cannot
set. Must not know what becomes of ``metadata.managedFields``; :mod:`extapi.managedfields` does.

Source: ``apiextensions-apiserver/pkg/apiserver/customresource_handler.go`` scopeWithFieldManager; for built-in kinds
``apiserver/pkg/endpoints/installer.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from extapi.api.jsonvalue import json_equal
from extapi.api.metadata_rules import managed_fields_errors
from extapi.api.types import Obj
from extapi.errors import aggregate
from extapi.managedfields.fieldmanager import FieldManager
from extapi.managedfields.fieldset import FieldSet, field_element
from extapi.managedfields.managers import managed_of
from extapi.managedfields.updater import Types
from extapi.registry.managedconversion import Convert, ManagedConversion
from extapi.registry.served import ServedKind

_BROKEN: Final = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission "
    "controller; please fix your requests: "
)


class FieldManagers:
    """The field managers of one endpoint, by version; made on first use.

    Args:
        kind: Of its objects.
        convert: Converts an object to a version; it may wait.
        part: The field that the endpoint writes, such as ``status``; empty if it writes whole objects.
        subresource: The endpoint's name in ``managedFields``.
        resets: Whether a write through another endpoint sets what one through this does not.
    """

    def __init__(
        self, kind: ServedKind, convert: Convert, part: str = "", subresource: str = "", *, resets: bool = True
    ) -> None:
        self._kind = kind
        self._convert = convert
        self._part = part
        self._resets = resets
        self._subresource = subresource
        self._made: dict[str, FieldManager] = {}

    def of(self, version: str) -> FieldManager:
        """The field manager of requests in this version."""
        found = self._made.get(version)
        if found is None:
            kind = self._kind
            # It does not know this object: what is served no more goes without the garbage collector.
            conversion = ManagedConversion(kind, version, self._convert)
            types = Types(kind.atoms, conversion, self._reset_fields(kind, version) if self._resets else {})
            api_version = kind.versions[version].api_version
            zero, default = kind.kind.behaviour.storing.zero, partial(kind.default_applied, version=version)
            name, subresource = kind.kind.name, self._subresource
            found = self._made[version] = FieldManager(types, api_version, name, subresource, zero, default)
        return found

    def _reset_fields(self, kind: ServedKind, version: str) -> dict[str, FieldSet]:
        """The fields that a request to the endpoint cannot set, by apiVersion (``GetResetFields``)."""
        if not self._part:
            served = kind.versions[version]
            return {served.api_version: _fields("status")} if served.status else {}
        metadata = () if kind.kind.behaviour.storing.subresource_metadata else ("metadata",)
        if self._part == "status":
            unset = _fields("spec", *metadata)
            return {each.api_version: unset for each in kind.versions.values() if each.status}
        return {
            each.api_version: _fields(*each.structural.properties.keys() - {self._part}, *metadata)
            for each in kind.versions.values()
        }


def _fields(*names: str) -> FieldSet:
    return FieldSet.of(*((field_element(name),) for name in names))


def keep_managed_fields(obj: Obj, before: Any, warn: Callable[[str], None]) -> None:
    """Restore, in place, managed fields that admission has made invalid, with a warning (behaviour E70).

    Args:
        obj: The object after admission.
        before: The managed fields before.
        warn: Sends a warning to the client.
    """
    metadata = obj["metadata"]
    after = metadata.get("managedFields")
    if after is before or after == before:
        return
    why = _problem(after)
    if not why:
        return
    warn(_BROKEN + why)
    del metadata["managedFields"]
    if before is not None:
        metadata["managedFields"] = before


def without_new_times(obj: Obj, old: Obj) -> Obj:
    """``obj``; if it differs from ``old`` in times of managed fields alone, with the times of ``old``.

    What a write changed may be normal again after defaults and admission.
    Source: ``apiserver/pkg/endpoints/handlers/fieldmanager/equality.go``.
    """
    after, before = obj["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if after is before or not after or not before or not _equal_but_managers(obj, old) or after == before:
        return obj
    if not _equal_but_times(after, before):
        return obj
    same = {**obj, "metadata": {**obj["metadata"], "managedFields": before}}
    return same if json_equal(same, old) else obj


def _equal_but_managers(obj: Obj, old: Obj) -> bool:
    """Whether all is equal but the managed fields, which take longest to compare."""
    after, before = obj["metadata"], old["metadata"]
    if len(obj) != len(old) or len(after) != len(before):
        return False
    # Metadata first: what changes the spec changes the generation.
    for name, value in after.items():
        if name != "managedFields" and before.get(name) != value:
            return False
    return all(name == "metadata" or old.get(name) == value for name, value in obj.items())


def _equal_but_times(after: list[Obj], before: list[Obj]) -> bool:
    def timeless(entries: list[Obj]) -> list[Obj]:
        return [{**entry, "time": None} for entry in entries]

    return len(after) == len(before) and timeless(after) == timeless(before)


def _problem(entries: Any) -> str:
    """Why entries of managed fields cannot be stored; the empty string if they can."""
    errors = managed_fields_errors(entries or ())
    if errors:
        return aggregate([error.text() for error in errors])
    try:
        managed_of(entries)
    except ValueError as error:
        return str(error)
    return ""
