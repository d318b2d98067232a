"""Changing an object of a stored kind, again and again until nobody came in between (spec E37-E44, K2, K3).

Source: ``registry.Store.Update`` and ``storage.Interface.GuaranteedUpdate``. PUT and PATCH differ in the change only.
"""

from __future__ import annotations

from extapi.admission.base import Operation
from extapi.api.strconv import parse_uint
from extapi.api.types import Obj
from extapi.conversion.hub import Unfit
from extapi.errors import FieldError, Invalid, StorageError
from extapi.registry.base import Admission, Change, Place
from extapi.registry.rendering import FreshRendering
from extapi.registry.served import ServedKind
from extapi.registry.writing import Store, Write, with_revision
from extapi.storage.base import Entry as Live

KEPT = ("creationTimestamp", "generation")
"""Metadata that a client's update never changes (spec E41)."""


async def update(
    store: Store, at: Place, name: str, change: Change, admit: Admission, *, part: str = ""
) -> FreshRendering:
    """Let ``change`` make the new object and store it; ``part``: just this field of it, such as status (spec E73)."""

    async def attempt(live: Live) -> FreshRendering:
        return await _attempt(store, at, name, live, change, admit, part)

    return await store.retried("update", at, name, attempt)


async def _attempt(
    store: Store, at: Place, name: str, live: Live, change: Change, admit: Admission, part: str
) -> FreshRendering:
    """Change one live state. Raises RevisionConflict if it was not live any more."""
    kind, version = store.kind, at.version
    old = with_revision(_opened(kind, name, live.value, version), live.revision)
    write = Write(kind, at, admit)
    obj = await change(old)

    native = kind.kind.native

    def keep(new: Obj) -> None:
        if part:
            _carry_part(part, new, old, metadata=native is not None and native.part_metadata)
        else:
            _carry_over(kind.kind.status, new, old)

    if (obj["kind"], obj.get("apiVersion")) != (old["kind"], old["apiVersion"]):
        _check_revision(store, name, obj, live.revision)
        if not part or not kind.knows(obj):  # a part is taken out of the object in any of its versions
            kind.check_type(obj, version, name)
    keep(obj)
    obj = await write.mutated(Operation.UPDATE, obj, old, keep)
    _check_revision(store, name, obj, live.revision)
    counted = part != "status" and (native is None or native.generation)
    if counted and _spec_changed(obj, old, has_status=kind.kind.status):
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    await write.checked(Operation.UPDATE, obj, old)
    obj["metadata"].pop("resourceVersion")
    value = write.stored(obj)
    store.check_size(value, live.value)
    if "deletionTimestamp" in obj["metadata"] and not write.stays(obj):
        if not admit.dry_run:
            await store.commit("delete", live.key, None, expected=live.revision)
        return write.answer(
            obj, value, live.revision
        )  # the last one that it had; only watchers see that of the deletion
    if admit.dry_run or value == live.value:
        return write.answer(obj, value, live.revision)
    if kind.is_stored_as(version):
        store.cache.expect(value, version)
    revision = await store.commit("update", live.key, value, expected=live.revision)
    return write.answer(obj, value, revision)


def _opened(kind: ServedKind, name: str, value: bytes, version: str) -> Obj:
    """The stored object in the request's version. Raises :class:`Invalid` if it does not fit its own version's type any more."""
    try:
        return kind.from_stored(value, version)
    except Unfit as unfit:
        raise Invalid.of(kind.kind.name, kind.error_group, name, unfit.errors) from None


def _carry_part(part: str, obj: Obj, old: Obj, *, metadata: bool) -> None:
    """Take all but one field from the stored object (spec E73); ``metadata``: that is written as with the whole object.

    Otherwise it is taken from the stored object, whatever the request says of it. A uid that a PUT names was compared
    before, as a precondition; that of a PATCH counts as little as its labels.
    Source: ``statusStrategy.PrepareForUpdate`` of ``apiextensions-apiserver/pkg/registry/customresource``.
    """
    before, after = old["metadata"], obj["metadata"]
    new = obj.get(part)
    obj.clear()
    obj.update(old)
    if metadata:
        _carry_metadata(after, before)
        obj["metadata"] = after
    else:
        obj["metadata"] = {**before, "resourceVersion": after.get("resourceVersion", "")}
    obj.pop(part, None)
    if new is not None:
        obj[part] = new


def _carry_over(has_status: bool, obj: Obj, old: Obj) -> None:
    """Take from the stored object what this request must not change (spec E41, J27)."""
    _carry_metadata(obj["metadata"], old["metadata"])
    if has_status:
        obj.pop("status", None)
        if "status" in old:
            obj["status"] = old["status"]


def _carry_metadata(after: Obj, before: Obj) -> None:
    """The same for metadata."""
    for name in KEPT:
        after.pop(name, None)
        if name in before:
            after[name] = before[name]
    if "deletionTimestamp" in before:  # before that, validation refuses a client's own
        after["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" not in after and "deletionGracePeriodSeconds" in before:
        after["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]
    if not after.get("uid"):
        after["uid"] = before.get("uid", "")
    after.pop("managedFields", None)
    after.pop("selfLink", None)


def _check_revision(store: Store, name: str, obj: Obj, live: int) -> None:
    """The resourceVersion in the body must be the live one (spec E40); without one, a native kind may take the live one."""
    text = obj["metadata"].get("resourceVersion", "")
    try:
        given = parse_uint(text) if text else 0
    except ValueError as why:
        raise StorageError(str(why)) from None
    if not given:
        native = store.kind.kind.native
        if native is not None and native.unconditional_update:
            obj["metadata"]["resourceVersion"] = str(live)
            return
        error = FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise Invalid.of(store.kind.kind.plural, store.kind.group, name, [error])
    if given != live:
        raise store.conflict(name)


def _spec_changed(obj: Obj, old: Obj, *, has_status: bool) -> bool:
    """Whether anything but metadata (and status, where it has an endpoint of its own) differs (spec J27)."""
    ignored = {"metadata", "status"} if has_status else {"metadata"}
    return {k: v for k, v in obj.items() if k not in ignored} != {k: v for k, v in old.items() if k not in ignored}
