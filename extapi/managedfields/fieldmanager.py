"""The managed fields of an endpoint's objects: what each kind of write makes of ``metadata.managedFields``.

Responsible for: reading and writing the entries, times, the managers with names of their own (``before-first-apply``,
``ancient-changes``), and kubectl's annotation of client-side apply. Knows nothing of requests, admission and storage.
Source: ``k8s.io/apimachinery/pkg/util/managedfields``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from extapi.api.types import Obj
from extapi.errors import BadRequest, Conflict, StatusCause, StorageError
from extapi.fielderrors import MOST_ERRORS, MOST_TEXT
from extapi.managedfields.comparison import compare
from extapi.managedfields.fields import fields_of, whole
from extapi.managedfields.fieldset import EMPTY, SELF, FieldSet, shown
from extapi.managedfields.items import TypedError
from extapi.managedfields.lastapplied import last_applied, with_last_applied
from extapi.managedfields.managers import (
    APPLY,
    UPDATE,
    Managed,
    Manager,
    entry_of,
    is_reset,
    managed_of,
    manager_of,
)
from extapi.managedfields.updater import ConflictsError, Types, applied, updated
from extapi.managedfields.validation import check

BEFORE_FIRST_APPLY: Final = "before-first-apply"
"""Manages what an object had before anybody was tracked."""
ANCIENT_CHANGES: Final = "ancient-changes"
"""Manages what the managers of :data:`MOST_UPDATERS` earlier updates did."""
MOST_UPDATERS: Final = 10
KUBECTL: Final = "kubectl"
"""The manager whose applies take over what client-side apply has written."""
_NEVER: Final = FieldSet.of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)
"""What nobody manages."""


def _annotate(obj: Obj, config: Obj, manager: Manager) -> Obj:
    """The object, with the configuration in the annotation of client-side apply if kubectl has applied it, and there is one."""
    return with_last_applied(obj, config) if manager.name == KUBECTL and last_applied(obj) else obj


def _no_defaults(_: Obj) -> None:
    """Fill in nothing."""


@dataclass(frozen=True, slots=True)
class FieldManager:
    """The managed fields of one version and endpoint of a kind.

    ``subresource``: of the endpoint, empty for the main one. ``zero``: what every object of the kind has, even if it does not
    say so, and which nobody manages by writing it. ``default``: fills in defaults, in place, of an object that an apply has
    changed; nobody manages them. The object may share parts with the live one.
    """

    types: Types
    api_version: str
    kind: str
    subresource: str = ""
    zero: Obj = field(default_factory=dict)
    default: Callable[[Obj], None] = _no_defaults

    async def update(self, live: Obj | None, new: Obj, name: str, now: str) -> Obj:
        """The new object with its managed fields, after a create, an update or a patch.

        Args:
            live: The object before, in the same version; None on create.
            new: The object after. What it says about managed fields counts: it may forget them all, or be malformed and ignored.
            name: Of the field manager.
            now: As metav1.Time writes it.

        Raises:
            ApiError: A conversion failed.
        """
        bare = without_managed_fields(new)
        if new.get("kind") != self.kind or new.get("apiVersion") not in self.types.atoms:
            return bare  # it has no type
        if live is None and not self.zero and "managedFields" not in (new.get("metadata") or {}):
            return self._created(new, manager_of(name, UPDATE, self.api_version, self.subresource), now)
        managed = self._decoded(live, new)
        if not managed.sets and live is not None:
            return bare  # it is not tracked, and only an apply begins to
        before = self._empty() if live is None else without_managed_fields(live)
        manager = manager_of(name, UPDATE, self.api_version, self.subresource)
        try:
            after = await self.types.converted(bare, self.api_version)
            await self._update(before, after, managed, manager, now)
        except TypedError:
            return bare
        _cap(managed)
        return with_managed_fields(bare, managed)

    async def apply(self, live: Obj | None, config: Obj, name: str, now: str, *, force: bool) -> Obj:
        """The object with an applied configuration merged in, and its managed fields.

        Args:
            live: The object before, in the same version; None if there is none.
            config: What is applied.
            name: Of the field manager.
            now: As metav1.Time writes it.
            force: Take fields from their managers.

        Raises:
            BadRequest: The configuration is of another kind or version, or has managed fields.
            Conflict: Others manage fields that would change.
            StorageError: The configuration does not fit its type, or the live object is malformed (behaviour E65).
            ApiError: A conversion failed.
        """
        self._check(config)
        try:
            return await self._applied(live, config, name, now, force=force)
        except TypedError as error:
            raise StorageError(str(error)) from None

    async def _applied(self, live: Obj | None, config: Obj, name: str, now: str, *, force: bool) -> Obj:
        before = self._empty() if live is None else live
        try:
            managed = managed_of(before.get("metadata", {}).get("managedFields"), stored=True)
        except ValueError as error:
            raise StorageError(f"failed to decode managed fields: {error}") from None
        if not managed.sets and live is not None:
            before = without_managed_fields(live)
            earlier = manager_of(BEFORE_FIRST_APPLY, UPDATE, self.api_version, self.subresource)
            try:
                await self._update(self._empty(), before, managed, earlier, now)
            except TypedError as error:
                raise StorageError(self._untyped(before, error)) from None
            _cap(managed)
        manager = manager_of(name, APPLY, self.api_version, self.subresource)
        try:
            merged = await self._apply(before, config, managed, manager, now, force=force)
        except ConflictsError as error:
            left = error.without(self._client_side_applied(before)) if name == KUBECTL else error
            if left is not None:
                raise _conflict(left) from None
            merged = await self._apply(before, config, managed, manager, now, force=True)
        return with_managed_fields(merged, managed)

    def _created(self, new: Obj, manager: Manager, now: str) -> Obj:
        """A new object, all of which one manager has: the same as below, without sets."""
        reset = self.types.reset.get(self.api_version, EMPTY)
        if new["apiVersion"] != self.api_version or reset.children:
            return new
        try:
            fields = whole(new, self.types.atoms[self.api_version])
        except TypedError:
            return new
        of_metadata = _NEVER.children["f:metadata"].members
        metadata = {
            element: below
            for element, below in fields.get("f:metadata", {}).items()
            if element not in of_metadata and element != SELF
        }
        fields = {
            element: below
            for element, below in fields.items()
            if element not in _NEVER.members and element not in reset.members
        }
        if metadata:
            fields["f:metadata"] = metadata
        if not fields:
            return new
        entry = entry_of(manager, self.api_version, fields, now)
        return {**new, "metadata": {**(new.get("metadata") or {}), "managedFields": [entry]}}

    def _empty(self) -> Obj:
        return {"apiVersion": self.api_version, "kind": self.kind}

    def _decoded(self, live: Obj | None, new: Obj) -> Managed:
        """The managers before: as the request says, unless it says nothing, nonsense, or is for a subresource."""
        if not self.subresource:
            entries = new.get("metadata", {}).get("managedFields")
            if is_reset(entries):
                return Managed()
            if entries is not None:
                try:
                    managed = managed_of(entries)
                except ValueError:
                    managed = Managed()
                if managed.sets:
                    return managed
        try:
            return managed_of(live["metadata"].get("managedFields"), stored=True) if live is not None else Managed()
        except ValueError:
            return Managed()

    async def _update(self, live: Obj, new: Obj, managed: Managed, manager: Manager, now: str) -> None:
        """Change ``managed`` as the update does."""
        if self.zero:
            live, new = _completed(live, self.zero), _completed(new, self.zero)
        managed.sets, written = await updated(self.types, live, new, managed.sets, manager, _NEVER)
        if written:
            managed.times[manager] = now

    async def _apply(self, live: Obj, config: Obj, managed: Managed, manager: Manager, now: str, *, force: bool) -> Obj:
        """The merged object; changes ``managed`` as the apply does."""
        try:
            check(config, self.types.atoms[self.api_version])
        except TypedError as error:
            raise StorageError(f"failed to create typed patch object ({_described(config)}): {error}") from None
        merged, managed.sets = await applied(self.types, live, config, managed.sets, manager, _NEVER, force=force)
        if merged is None:
            # A copy as far as callers write in it: they compare it with the live object, and carry parts of that over.
            unchanged = {**live, "metadata": dict(live["metadata"])} if "metadata" in live else dict(live)
            return _annotate(unchanged, config, manager)
        managed.times[manager] = now
        # Defaults come later: the object may share parts with the configuration, which the annotation has without them.
        merged = _annotate(merged, config, manager)
        self.default(merged)
        return merged

    def _untyped(self, live: Obj, error: TypedError) -> str:
        """Why a live object that is not tracked yet cannot be applied to, and where in it that is.

        Source: ``k8s.io/apimachinery/pkg/util/managedfields/internal`` skipnonapplied.go, structuredmerge.go Update.
        """
        try:
            check(live, self.types.atoms[self.api_version], duplicates=True)
        except TypedError as placed:
            error = placed
        why = f"failed to convert new object ({_described(live)}) to smd typed: {error}"
        return f"failed to create manager for existing fields: {why}"

    def _check(self, config: Obj) -> None:
        version, kind = _text(config.get("apiVersion")), _text(config.get("kind"))
        if version.count("/") > 1:
            version = kind = ""
        if (version, kind) != (self.api_version, self.kind):
            shown = version if "/" in version else f"/{version}"
            raise BadRequest(f"invalid object type: {shown}, Kind={kind}")
        metadata = config.get("metadata")
        managed = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
        # Others break the schema, which says so.
        if isinstance(managed, list) and all(isinstance(entry, Mapping) for entry in managed):
            raise BadRequest("metadata.managedFields must be nil")

    def _client_side_applied(self, live: Obj) -> FieldSet:
        """The fields that kubectl's annotation has, with the values that the object has: client-side apply wrote them."""
        text = last_applied(live)
        if not text:
            return EMPTY
        atom = self.types.atoms[self.api_version]
        try:
            configured = msgspec.json.decode(text)
            if not isinstance(configured, dict) or configured.get("apiVersion") != self.api_version:
                return EMPTY
            check(live, atom)
            check(configured, atom)
            found = compare(configured, live, atom)
            return fields_of(configured, atom) - found.modified - found.added - found.removed
        except (msgspec.DecodeError, TypedError, RecursionError):
            return EMPTY


def _completed(obj: Obj, zero: Obj) -> Obj:
    """The object with what it does not say of ``zero``; shares all else."""
    found = {**zero, **obj}
    for name, value in zero.items():
        if isinstance(value, dict) and isinstance(own := found[name], dict) and own is not value:
            found[name] = _completed(own, value)
    return found


def _text(value: Any) -> str:
    """A text; what is none counts as empty."""
    return value if isinstance(value, str) else ""


def unconvertible(config: Obj, why: str) -> StorageError:
    """The error of an object that its Go type cannot hold, after a configuration was merged in; ``why``: Go's text.

    Source: ``apimachinery/pkg/util/managedfields/internal/structuredmerge.go`` Apply.
    """
    about = _described(config)
    of = about.partition("; ")[2]
    return StorageError(
        f"failed to convert new object ({about}) to proper version: unable to convert unstructured object to {of}: {why}"
    )


def _described(config: Obj) -> str:
    """Which object a configuration is for, as errors say it."""
    metadata = config.get("metadata")
    found = metadata if isinstance(metadata, dict) else {}
    of = f"{config['apiVersion']}, Kind={config['kind']}"
    return (
        f"{_text(found.get('namespace'))}/{_text(found.get('name'))}; {of if '/' in config['apiVersion'] else '/' + of}"
    )


def with_managed_fields(obj: Obj, managed: Managed) -> Obj:
    """The object with these managers; shares all else."""
    if not managed.sets:
        return without_managed_fields(obj)
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "managedFields": managed.to_json()}}


def without_managed_fields(obj: Obj) -> Obj:
    """The object without managers; itself if it has none."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    bare = dict(metadata)
    del bare["managedFields"]
    return {**obj, "metadata": bare}


def _cap(managed: Managed, most: int = MOST_UPDATERS) -> None:
    """Merge the oldest updaters, one bucket per version, until there are at most ``most``."""
    if len(managed.sets) <= most:
        return
    updaters = [manager for manager in managed.sets if manager.operation == UPDATE]
    too_many = len(updaters) - most
    if too_many <= 0:
        return
    updaters.sort(key=lambda manager: (managed.times.get(manager, ""), manager.identifier))
    first: dict[str, Manager] = {}
    grown: dict[Manager, list[FieldSet]] = {}
    for manager in updaters:
        if too_many <= 0:
            break
        own = managed.sets[manager]
        bucket = manager_of(ANCIENT_CHANGES, UPDATE, own.api_version)
        if own.api_version not in first:
            first[own.api_version] = manager
            continue
        if bucket not in managed.sets:
            managed.sets[bucket] = managed.sets.pop(first[own.api_version])
        grown.setdefault(bucket, []).append(own.fields)
        del managed.sets[manager]
        if manager == bucket:  # it is not the oldest, and the original loses it
            del grown[bucket]
        too_many -= 1
        if manager in managed.times:
            managed.times[bucket] = managed.times[manager]
        else:
            managed.times.pop(bucket, None)
    for bucket, sets in grown.items():
        into = managed.sets[bucket]
        managed.sets[bucket] = into.having(FieldSet.union([into.fields, *sets]))


def _conflict(error: ConflictsError) -> Conflict:
    """The error of an apply; it names the first :data:`~extapi.fielderrors.MOST_ERRORS` conflicts, and fewer if their paths are long."""
    paths = error.paths()
    causes: list[StatusCause] = []
    lines: list[str] = []
    size = 0
    last = None
    for manager, path in paths[:MOST_ERRORS]:
        if size > MOST_TEXT:
            break
        field = shown(path)
        size += len(field)
        causes.append(StatusCause("FieldManagerConflict", f"conflict with {manager}", field))
        if manager != last:
            lines.append(f"conflicts with {manager}:")
            last = manager
        lines.append(f"- {field}")
    if len(paths) == 1:
        message = f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    else:
        message = f"Apply failed with {len(paths)} conflicts: " + "\n".join(lines)
    return Conflict(message, causes=causes)
