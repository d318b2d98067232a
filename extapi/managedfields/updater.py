"""What a write does to the managers of an object, and an apply to the object.

Responsible for: who gains and who loses which fields, conflicts, and what an applier gives up. Knows nothing of entries,
times and requests.
Source: ``structured-merge-diff/v6/merge/update.go``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from extapi.api.jsonvalue import json_equal
from extapi.api.types import Obj
from extapi.errors import ApiError, RequestTooLarge
from extapi.managedfields.atom import Atom
from extapi.managedfields.comparison import Comparison, compare
from extapi.managedfields.fields import fields_of
from extapi.managedfields.fieldset import EMPTY, FieldSet, Path
from extapi.managedfields.managers import Manager, VersionedSet
from extapi.managedfields.merging import merge, remove
from extapi.managedfields.typedsets import reconcile, with_named_fields

Sets = Mapping[Manager, VersionedSet]
"""The managers of an object; these functions return others, and change none."""

MOST_SETS: Final = 30_000
"""Objects and items with fields of their own, in what is applied: each costs as much as several fields."""


class ConflictsError(Exception):
    """Other managers own fields with other values; ``conflicts``: their paths, by manager."""

    def __init__(self, conflicts: Mapping[Manager, FieldSet]) -> None:
        super().__init__("fields have other managers")
        self.conflicts = dict(sorted(conflicts.items(), key=lambda item: item[0].identifier))

    def without(self, allowed: FieldSet) -> ConflictsError | None:
        """The conflicts about other fields; None if there is none."""
        left = {manager: rest for manager, fields in self.conflicts.items() if (rest := fields - allowed)}
        return ConflictsError(left) if left else None

    def paths(self) -> list[tuple[Manager, Path]]:
        """Each conflict."""
        return [(manager, path) for manager, fields in self.conflicts.items() for path in fields.paths()]


class Conversion(ABC):
    """The ways between the versions of a kind. Each takes an object, and returns it in another apiVersion.

    Raises:
        ApiError: The conversion failed.
    """

    @abstractmethod
    async def whole(self, obj: Obj, api_version: str) -> Obj:
        """An object before or after a write."""

    async def partial(self, obj: Obj, api_version: str) -> Obj:
        """An object while an apply prunes it: fields are missing, and null is what lost everything in it.

        What is missing in the result counts as given up, what is there as kept: so nothing may be filled in or dropped.
        """
        return await self.whole(obj, api_version)

    async def pruned(self, before: Obj, after: Obj, merged: Obj) -> Obj:
        """What an apply has left of an object, in the version of the request.

        Args:
            before: The object, in the version in which it was pruned.
            after: The same without what is given up.
            merged: ``before`` as it was in the version of the request, before it was converted.
        """
        del before
        return await self.whole(after, merged["apiVersion"])


@dataclass(frozen=True, slots=True)
class Types:
    """The types of a kind, and the ways between its versions.

    ``atoms``: by apiVersion; versions that are not there are no longer served. ``conversion``: between them. ``reset``: the
    fields that a request to this endpoint cannot set, by apiVersion; nobody gets to manage them by it.
    """

    atoms: Mapping[str, Atom]
    conversion: Conversion
    reset: Mapping[str, FieldSet] = field(default_factory=dict)

    async def converted(self, obj: Obj, api_version: str) -> Obj:
        """A whole object in another version, or itself."""
        return obj if obj["apiVersion"] == api_version else await self.conversion.whole(obj, api_version)

    async def partial(self, obj: Obj, api_version: str) -> Obj:
        """A partial object in another version, or itself."""
        return obj if obj["apiVersion"] == api_version else await self.conversion.partial(obj, api_version)

    def compared(self, old: Obj, new: Obj, api_version: str) -> Comparison:
        """The differences of two objects of a version, but for the fields that cannot be set."""
        if old is new:
            return Comparison()
        found = compare(old, new, self.atoms[api_version])
        reset = self.reset.get(api_version)
        if reset is not None:
            found.without(reset)
        return found

    async def compared_in(self, api_version: str, old: Obj, new: Obj) -> Comparison:
        """As :meth:`compared`, of two objects that are in another version.

        Raises:
            ApiError: A conversion failed.
        """
        before = await self.converted(old, api_version)
        return self.compared(before, await self.converted(new, api_version), api_version)

    def set_by(self, fields: FieldSet, api_version: str) -> FieldSet:
        """The fields but for those that cannot be set."""
        return fields.without_subtrees(self.reset.get(api_version, EMPTY))


async def updated(
    types: Types, live: Obj, new: Obj, sets: Sets, manager: Manager, never: FieldSet
) -> tuple[dict[Manager, VersionedSet], FieldSet]:
    """The managers after a create, update or patch: whoever writes a field gets it, and all others lose it.

    Args:
        types: The types of the kind.
        live: The object before, in the version of the request; of a create, one without fields.
        new: The object after, in the version of the request.
        sets: The managers before.
        manager: Who writes; its entry is in the version of the request.
        never: Fields that nobody gets.

    Returns:
        The managers, and the fields that were written.

    Raises:
        TypedError: A list cannot be compared.
    """
    version = new["apiVersion"]
    left, found = await _shifted(types, live, new, _reconciled(types, sets), manager, force=True, needed=False)
    changed = found.changed  # without what this endpoint cannot set
    written = changed - never
    own = left.pop(manager, None)
    fields = written
    if own is not None:
        kept = own.fields - found.removed
        fields = (kept if written is changed else kept - (changed - written)) | written
    if fields:
        left[manager] = VersionedSet(fields, version) if own is None else own.having(fields)
    return left, written


async def applied(
    types: Types, live: Obj, config: Obj, sets: Sets, manager: Manager, never: FieldSet, *, force: bool
) -> tuple[Obj | None, dict[Manager, VersionedSet]]:
    """The object with an applied configuration, None if that changes nothing; and the managers.

    Args:
        types: The types of the kind.
        live: The object before, in the version of the request.
        config: What is applied, in the version of the request; it fits its type.
        sets: The managers before.
        manager: Who applies.
        never: Fields that nobody gets.
        force: Take fields from their managers.

    Raises:
        RequestTooLarge: The configuration has more than :data:`MOST_SETS`.
        ConflictsError: Others manage fields that would change.
        TypedError: A list cannot be merged.
        ApiError: A conversion failed.
    """
    version = config["apiVersion"]
    atom = types.atoms[version]
    now = _reconciled(types, sets)
    merged = merge(live, config, atom)
    last = now.get(manager)
    fields = types.set_by(fields_of(config, atom), version)
    kept = fields - never
    if last is None or last.api_version != version or last.fields != kept:
        # What nobody gets counts until the end: it is not removed, since the configuration has it.
        if _number_of_sets(fields) > MOST_SETS:
            raise RequestTooLarge(f"more than {MOST_SETS} objects and items have fields of their own")
        now[manager] = VersionedSet(fields, version)
        merged = await _pruned(types, merged, now, manager, last, never)
    if merged is not live and json_equal(live, merged):
        merged = live  # nobody loses anything
    now, _ = await _shifted(types, live, merged, now, manager, force=force)
    if not kept:
        now.pop(manager, None)
    elif now[manager] is not last:
        now[manager] = VersionedSet(kept, version)
    return None if merged is live else merged, now


def _number_of_sets(fields: FieldSet) -> int:
    """How many sets it is made of: one for each object or item with fields of its own."""
    found, level = 1, [fields]
    while level := [below for each in level for below in each.children.values()]:
        found += len(level)
    return found


async def _shifted(
    types: Types,
    old: Obj,
    new: Obj,
    sets: dict[Manager, VersionedSet],
    writer: Manager,
    *,
    force: bool,
    needed: bool = True,
) -> tuple[dict[Manager, VersionedSet], Comparison]:
    """The managers without what the others lose by a change, and the change.

    ``needed``: whether each manager's version is. Else those of a version that the object cannot be converted to lose nothing;
    the original forgets all managers then.

    Raises:
        ConflictsError: They would lose something, and it is not forced.
        ApiError: A conversion that is needed failed.
    """
    version = new["apiVersion"]
    change = types.compared(old, new, version)
    comparisons = {version: change}
    left: dict[Manager, VersionedSet] = {}
    conflicts: dict[Manager, FieldSet] = {}
    for manager, own in sets.items():
        if manager == writer:
            left[manager] = own
            continue
        if own.api_version not in types.atoms:
            continue  # of a version that is gone
        found = comparisons.get(own.api_version)
        if found is None:
            try:
                found = await types.compared_in(own.api_version, old, new)
            except ApiError:
                if needed:
                    raise
                found = Comparison()
            comparisons[own.api_version] = found
        lost = own.fields & found.changed
        if lost is not EMPTY:
            conflicts[manager] = lost
        left[manager] = own.having(own.fields - lost - found.removed)
    if conflicts and not force:
        raise ConflictsError(conflicts)
    return {manager: own for manager, own in left.items() if own.fields}, change


def _reconciled(types: Types, sets: Sets) -> dict[Manager, VersionedSet]:
    """The managers, after types have become atomic; those of versions that are gone are left as they are."""
    found = {}
    for manager, own in sets.items():
        atom = types.atoms.get(own.api_version)
        found[manager] = own if atom is None else own.having(reconcile(own.fields, atom))
    return found


# -- what an applier no longer applies --------------------------------------------------------------------------------


async def _pruned(
    types: Types, merged: Obj, sets: Sets, manager: Manager, last: VersionedSet | None, never: FieldSet
) -> Obj:
    """Without the fields that the manager applied last time, not this time, and that nobody else manages."""
    if last is None or not last.fields or last.api_version not in types.atoms:
        return merged
    version = last.api_version
    if version == sets[manager].api_version and not last.fields - sets[manager].fields:
        return merged  # it applies all that it did
    pruning = _Pruning(types, sets, never)
    in_last_version = await types.partial(merged, version)
    pruned = pruning.without(in_last_version, with_named_fields(last.fields, types.atoms[version]))
    pruned = await pruning.with_owned(in_last_version, pruned)
    pruned = await pruning.with_others(in_last_version, pruned, last)
    return pruned if in_last_version is merged else await types.conversion.pruned(in_last_version, pruned, merged)


@dataclass(frozen=True, slots=True)
class _Pruning:
    """What an applier no longer applies, taken away from an object.

    What nobody gets to manage stays, so that every object that is converted says which one it is. The original takes metadata
    away as a whole, and adds it again at the end.
    """

    types: Types
    sets: Sets
    never: FieldSet

    async def with_owned(self, merged: Obj, pruned: Obj) -> Obj:
        """With the fields that somebody manages: each was removed, and is in ``merged``."""
        types, version = self.types, merged["apiVersion"]
        managed: dict[str, list[FieldSet]] = {}
        for own in self.sets.values():
            managed.setdefault(own.api_version, []).append(own.fields)
        # The version in which fields were removed comes first: without them the conversion to others may fail.
        for each in sorted(managed, key=lambda name: (name != version, name)):
            if each not in types.atoms:
                continue
            merged, pruned = await types.partial(merged, each), await types.partial(pruned, each)
            atom = types.atoms[each]
            present, kept, owned = (
                with_named_fields(fields, atom)
                for fields in (fields_of(merged, atom), fields_of(pruned, atom), FieldSet.union(managed[each]))
            )
            pruned = self.without(merged, present - (kept | owned))
        return pruned

    async def with_others(self, merged: Obj, pruned: Obj, last: VersionedSet) -> Obj:
        """With the fields that went along with their parent, and that the manager did not apply last time."""
        pruned = await self.types.partial(pruned, last.api_version)
        atom = self.types.atoms[last.api_version]
        kept, present, before = (
            with_named_fields(fields, atom)
            for fields in (fields_of(pruned, atom), fields_of(merged, atom), last.fields)
        )
        return self.without(merged, (present - kept) & before)

    def without(self, obj: Obj, fields: FieldSet) -> Obj:
        """The object without these fields, but with its version and kind, which a client may claim to manage.

        An object whose type is atomic stays whole. The original fails in both cases.
        """
        left = remove(obj, fields - self.never, self.types.atoms[obj["apiVersion"]])
        if not isinstance(left, dict):
            return obj
        return {**left, "apiVersion": obj["apiVersion"], "kind": obj["kind"]}
