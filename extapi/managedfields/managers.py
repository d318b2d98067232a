"""The entries of ``metadata.managedFields``: who manages which fields, in which version, since when.

Responsible for: both directions of the entries, their order, and what is malformed. Knows nothing of objects and types.
Source: ``k8s.io/apimachinery/pkg/util/managedfields/internal/managedfields.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Any, Final, NamedTuple

from extapi.api.timestamp import canonical_timestamp
from extapi.errors import go_quote
from extapi.managedfields.fieldset import FieldSet, json_text

APPLY: Final = "Apply"
UPDATE: Final = "Update"
_FIELDS_V1: Final = "FieldsV1"


class Manager(NamedTuple):
    """Who an entry is about. Those who apply have one entry for all versions, so ``api_version`` is empty for them."""

    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """Sorts as the JSON text by which the original knows a manager."""
        parts = (("manager", self.name), ("operation", self.operation), ("apiVersion", self.api_version))
        written = [f'"{name}":{json_text(value)}' for name, value in parts if value]
        if self.subresource:
            written.append(f'"subresource":{json_text(self.subresource)}')
        return "{" + ",".join(written) + "}"

    def __str__(self) -> str:
        """As conflicts show it."""
        shown = go_quote(self.name)
        if self.subresource:
            shown += f" with subresource {go_quote(self.subresource)}"
        return f"{shown} using {self.api_version}" if self.operation == UPDATE else shown


def manager_of(name: str, operation: str, api_version: str, subresource: str = "") -> Manager:
    """The manager of a request; ``name``: empty for ``unknown``."""
    return Manager(name or "unknown", operation, "" if operation == APPLY else api_version, subresource)


@dataclass(slots=True)
class VersionedSet:
    """The fields of one manager, named as in ``api_version``. Never changed; not frozen, since such dataclasses are made slowly."""

    fields: FieldSet
    api_version: str

    def having(self, fields: FieldSet) -> VersionedSet:
        """Other fields of the same version."""
        return self if fields is self.fields else VersionedSet(fields, self.api_version)


class _Stored(NamedTuple):
    """What :func:`managed_of` read from a stored object: most writes change nothing of it but a time."""

    entries: list[dict[str, Any]]
    sets: dict[Manager, VersionedSet]
    times: dict[Manager, str]

    def has(self, sets: Mapping[Manager, VersionedSet]) -> bool:
        """Whether these are the same sets. Whoever changes one makes another object."""
        if len(sets) != len(self.entries):
            return False
        return all(map(is_, map(self.sets.get, sets), sets.values()))


@dataclass(slots=True)
class Managed:
    """All managers of an object. ``times``: when each of them last changed a field, as metav1.Time writes it."""

    sets: dict[Manager, VersionedSet] = field(default_factory=dict)
    times: dict[Manager, str] = field(default_factory=dict)
    _stored: _Stored | None = None

    def to_json(self) -> list[dict[str, Any]]:
        """The value of ``metadata.managedFields``, in the order of kube-apiserver; the stored one if nothing has changed."""
        stored = self._stored
        if stored is not None and stored.times == self.times and stored.has(self.sets):
            return stored.entries
        entries = []
        for manager in sorted(self.sets, key=self._order):
            found = self.sets[manager]
            entries.append(entry_of(manager, found.api_version, found.fields.to_json(), self.times.get(manager)))
        return entries

    def _order(self, manager: Manager) -> tuple[Any, ...]:
        found = self.sets[manager]
        time = self.times.get(manager, "")
        return (manager.operation, time, manager.name, found.api_version, manager.subresource)


def entry_of(manager: Manager, api_version: str, fields: dict[str, Any], time: str | None) -> dict[str, Any]:
    """One entry; ``fields``: its ``fieldsV1``."""
    entry: dict[str, Any] = {"apiVersion": api_version, "fieldsType": _FIELDS_V1, "fieldsV1": fields}
    if manager.name:
        entry["manager"] = manager.name
    entry["operation"] = manager.operation
    if manager.subresource:
        entry["subresource"] = manager.subresource
    if time is not None:
        entry["time"] = time
    return entry


def managed_of(entries: Any, *, stored: bool = False) -> Managed:
    """Read ``metadata.managedFields``; absent: nobody manages anything.

    ``stored``: they are of a stored object, and so in the form that :meth:`Managed.to_json` gives them.

    An entry without ``fieldsType`` is read as FieldsV1, the only type that there ever was: the original refuses every
    apply to such an object (kubernetes#96351).

    Raises:
        ValueError: It is malformed.
    """
    managed = Managed()
    if entries is None:
        return managed
    if not isinstance(entries, list):
        raise ValueError("managedFields must be a list")  # noqa: TRY004 - malformed input, as below
    for index, entry in enumerate(entries):
        manager, found, time = _entry(entry, index)
        managed.sets[manager] = found
        managed.times.pop(manager, None)
        if time is not None:
            managed.times[manager] = time
    if stored:
        managed._stored = _Stored(entries, dict(managed.sets), dict(managed.times))  # noqa: SLF001 - of this module
    return managed


def is_reset(entries: Any) -> bool:
    """Whether a client asks to forget all managers: by ``[]`` or ``[{}]``."""
    return entries in ([], [{}])


def _entry(entry: Any, index: int) -> tuple[Manager, VersionedSet, str | None]:
    if not isinstance(entry, dict):
        raise ValueError(f"managed fields entry {index} must be an object")  # noqa: TRY004 - as above
    operation, api_version = entry.get("operation"), entry.get("apiVersion")
    name, subresource, time = entry.get("manager") or "", entry.get("subresource") or "", entry.get("time")
    if operation not in (APPLY, UPDATE):
        raise ValueError("operation must be `Apply` or `Update`")
    if not isinstance(api_version, str) or not api_version:
        raise ValueError("apiVersion must not be empty")
    fields_type = entry.get("fieldsType") or _FIELDS_V1
    if fields_type != _FIELDS_V1:
        raise ValueError(f"invalid fieldsType {fields_type!r} in managed fields entry {index}")
    if not isinstance(name, str) or not isinstance(subresource, str):
        raise ValueError(f"manager and subresource must be strings in managed fields entry {index}")  # noqa: TRY004 - as above
    if time is not None:
        if not isinstance(time, str):
            raise ValueError(f"time must be a string in managed fields entry {index}")
        time = canonical_timestamp(time)
    manager = Manager(name, operation, "" if operation == APPLY else api_version, subresource)
    return manager, VersionedSet(FieldSet.from_json(entry.get("fieldsV1")), api_version), time
