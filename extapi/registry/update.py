"""Updating an object of a stored kind, again after each conflict (behaviour E37-E44, K2, K3).

PUT and PATCH differ only in the function that makes the new object. Source:
``k8s.io/apiserver/pkg/registry/generic/registry/store.go`` Update.
"""

from __future__ import annotations

from collections.abc import Callable

from extapi.admission.base import Operation
from extapi.api.types import Obj
from extapi.codec.strictjson import encode_parts
from extapi.conversion.hub import Unfit
from extapi.errors import FieldError, Invalid
from extapi.registry.base import Admission, Creation, RequestScope, UpdateFunction
from extapi.registry.create import create_once, read_revision
from extapi.registry.fieldmanagers import keep_managed_fields, without_new_times
from extapi.registry.results import EncodedResult
from extapi.registry.store import Live, Store
from extapi.registry.writing import Write
from extapi.schema.structural import MISSING

KEPT = ("creationTimestamp", "generation")
"""Metadata that an update never changes (behaviour E41)."""


async def update(
    store: Store,
    scope: RequestScope,
    name: str,
    change: UpdateFunction,
    admit: Admission,
    *,
    part: str = "",
    creation: Creation | None = None,
    finish: Callable[[Obj, str], None] | None = None,
) -> EncodedResult:
    """Store the object that ``change`` makes; of a subresource only its field, ``part``, such as status (behaviour E73).

    ``creation``: makes the object that is missing (behaviour E68). ``finish``: completes, in place, a valid object of a version.
    """

    async def attempt(live: Live) -> EncodedResult:
        return await _attempt(store, scope, name, live, change, admit, part, finish)

    if creation is None:
        return await store.retried("update", scope, name, attempt)
    make, as_create = creation.make, creation.admit

    async def create() -> EncodedResult:
        return await create_once(store, scope, await make(), as_create, named=name)

    return await store.retried("update", scope, name, attempt, create)


async def _attempt(
    store: Store,
    scope: RequestScope,
    name: str,
    live: Live,
    change: UpdateFunction,
    admit: Admission,
    part: str,
    finish: Callable[[Obj, str], None] | None,
) -> EncodedResult:
    """One attempt, on one state of the object.

    Raises:
        RevisionConflict: The state is no longer the live one.
    """
    kind, version = store.kind, scope.version
    old = await _opened(store, name, live, version)
    write = Write(kind, scope, admit, store.converter)
    obj = await change(old)

    storing, has_status = kind.kind.behaviour.storing, kind.versions[version].status

    managed = obj["metadata"].get("managedFields")

    def keep(new: Obj) -> None:
        keep_managed_fields(new, managed, admit.warn)
        if part:
            _carry_part(part, new, old, metadata=storing.subresource_metadata)
        else:
            _carry_over(has_status, new, old)

    if (obj["kind"], obj.get("apiVersion")) != (old["kind"], old["apiVersion"]):
        _check_revision(store, name, obj, live.revision)
        if not part or not kind.knows(obj):  # a field can come in an object of any version
            kind.check_type(obj, version, name)
    keep(obj)
    obj = await write.mutated(Operation.UPDATE, obj, old, keep)
    _check_revision(store, name, obj, live.revision)
    counted = part != "status" and storing.generation
    if counted and _spec_changed(obj, old, has_status=has_status):
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
    obj = without_new_times(obj, old)
    await write.checked(Operation.UPDATE, obj, old)
    if finish is not None:
        finish(obj, version)
    ends = "deletionTimestamp" in obj["metadata"] and not write.must_stay(obj)
    # What was sent, with its defaults, before conversion for the store takes fields away.
    sent = encode_parts(obj, kind.encode) if ends else None
    encoded, before = await write.encoded(store, obj), live.value
    store.check_size(encoded.value, before)
    if sent is not None:
        if admit.dry_run:
            await store.check_live("update", live)
        else:
            await store.cache.commit("delete", live.key, None, expected=live.revision)
        return EncodedResult(kind, version, sent, live.revision)  # the revision of the deletion is for watchers alone
    if admit.dry_run or encoded.value == before:
        await store.check_live("update", live)
        return await encoded.answer(live.revision)
    return await store.commit("update", live.key, encoded, expected=live.revision)


async def _opened(store: Store, name: str, live: Live, version: str) -> Obj:
    """The live object in the request's version.

    Raises:
        Invalid: It no longer fits the type of its own version.
    """
    try:
        return await store.opened(live, version)
    except Unfit as unfit:
        raise Invalid.of(store.kind.kind.name, store.kind.error_group, name, unfit.errors) from None


def _carry_part(part: str, obj: Obj, old: Obj, *, metadata: bool) -> None:
    """Take all but one field from the stored object (behaviour E73).

    With ``metadata``, metadata is updated as by a write of the whole object. Else that of the request is ignored, but for
    managed fields: a uid in a PUT has been compared before, as a precondition; one in a PATCH is ignored too.

    Source: ``apiextensions-apiserver/pkg/registry/customresource/status_strategy.go`` PrepareForUpdate.
    """
    before, after = old["metadata"], obj["metadata"]
    new = obj.get(part, MISSING)
    obj.clear()
    obj.update(old)
    if metadata:
        _carry_metadata(after, before)
        obj["metadata"] = after
    else:
        obj["metadata"] = {**before, "resourceVersion": after.get("resourceVersion", "")}
        if after.get("namespace"):
            obj["metadata"]["namespace"] = after["namespace"]  # another one than the path's is refused
        obj["metadata"].pop("managedFields", None)
        if "managedFields" in after:
            obj["metadata"]["managedFields"] = after["managedFields"]
    obj.pop(part, None)
    if new is not MISSING:
        obj[part] = new


def _carry_over(has_status: bool, obj: Obj, old: Obj) -> None:
    """Take from the stored object what this request cannot change (behaviour E41, J27)."""
    _carry_metadata(obj["metadata"], old["metadata"])
    if has_status:
        obj.pop("status", None)
        if "status" in old:
            obj["status"] = old["status"]


def _carry_metadata(after: Obj, before: Obj) -> None:
    """Take from the stored metadata what no request can change."""
    for name in KEPT:
        after.pop(name, None)
        if name in before:
            after[name] = before[name]
    if "deletionTimestamp" in before:  # on a live object, validation refuses one
        after["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" not in after and "deletionGracePeriodSeconds" in before:
        after["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]
    if not after.get("uid"):
        after["uid"] = before.get("uid", "")
    after.pop("selfLink", None)


def _check_revision(store: Store, name: str, obj: Obj, live: int) -> None:
    """The resourceVersion in the body must be the live one; some kinds need none (behaviour E40)."""
    given = read_revision(obj["metadata"].get("resourceVersion", ""))
    if not given:
        if store.kind.kind.behaviour.storing.unconditional_update:
            obj["metadata"]["resourceVersion"] = str(live)
            return
        error = FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise Invalid.of(store.kind.kind.plural, store.kind.group, name, [error])
    if given != live:
        raise store.conflict(name)


def _spec_changed(obj: Obj, old: Obj, *, has_status: bool) -> bool:
    """Whether anything but metadata differs, and but status where that is a subresource (behaviour J27)."""
    ignored = {"metadata", "status"} if has_status else {"metadata"}
    return {k: v for k, v in obj.items() if k not in ignored} != {k: v for k, v in old.items() if k not in ignored}
