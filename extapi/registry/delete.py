"""Deleting an object of a stored kind: at once, or marked until nothing blocks its deletion (behaviour E45-E52).

No kind has a grace period, as kinds without a graceful strategy have none. Source:
``k8s.io/apiserver/pkg/registry/generic/registry/store.go`` Delete, ``pkg/registry/rest/delete.go`` BeforeDelete.
"""

from __future__ import annotations

import msgspec

from extapi.api.types import Obj
from extapi.conversion.hub import Unfit
from extapi.errors import Conflict
from extapi.registry.base import Admission, DeleteRules, ObjectResult, Preconditions, RequestScope
from extapi.registry.encoded import EncodedObject
from extapi.registry.results import DecodedResult
from extapi.registry.served import ServedKind
from extapi.registry.store import Live, Store, with_revision
from extapi.registry.writing import Write

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
"""The finalizers that tell the garbage collector what to do with dependents (behaviour E52)."""


async def delete(
    store: Store, scope: RequestScope, name: str, rules: DeleteRules, admit: Admission
) -> tuple[ObjectResult, bool]:
    """The object as it was left, and whether it is gone."""

    async def attempt(live: Live) -> tuple[ObjectResult, bool]:
        return await _attempt(store, scope, name, live, rules, admit)

    return await store.retried("delete", scope, name, attempt)


async def _attempt(
    store: Store, scope: RequestScope, name: str, live: Live, rules: DeleteRules, admit: Admission
) -> tuple[ObjectResult, bool]:
    kind = store.kind
    try:
        old = await store.opened(live, scope.version)
    except Unfit:
        # It no longer fits the type of its own version, so it cannot be converted: it is deleted in that version.
        scope = msgspec.structs.replace(scope, version=kind.stored_in(live.value))
        old = await store.opened(live, scope.version)
    check_preconditions(kind, name, old, rules.preconditions)
    write = Write(kind, scope, admit, store.converter)
    if "deletionTimestamp" in old["metadata"] and write.is_blocked(old):
        # As in the store of namespaces: a second delete neither asks admission again nor changes the object.
        await store.check_live("delete", live)
        return DecodedResult(kind, scope.version, old, live.revision), False
    await write.deletable(name, old)
    left = _finalized(old, rules.propagation if kind.kind.behaviour.storing.propagates else "Background")
    if not write.must_stay(left):
        if admit.dry_run:
            await store.check_live("delete", live)
            revision = live.revision
        else:
            revision = await store.cache.commit("delete", live.key, None, expected=live.revision)
        return DecodedResult(kind, scope.version, with_revision(old, revision), revision), True
    marked = _marked(store, write, name, left)
    encoded = await _encoded(store, marked, scope.version)
    if admit.dry_run or encoded.value == live.value:
        await store.check_live("delete", live)
        return await encoded.answer(live.revision), False
    return await store.commit("delete", live.key, encoded, expected=live.revision), False


async def _encoded(store: Store, marked: Obj, version: str) -> EncodedObject:
    """The object as it is stored. One that no longer fits its type stays in its version."""
    kind = store.kind
    if kind.waits:
        return EncodedObject(kind, await store.converted(marked, kind.kind.storage), version, store.read)
    try:
        stored = kind.to_storage(marked, version)
    except Unfit:
        stored = marked
    return EncodedObject(kind, stored, version)


def check_preconditions(served: ServedKind, name: str, old: Obj, wanted: Preconditions) -> None:
    """Check the preconditions of a delete.

    Raises:
        Conflict: One does not hold. It names the kind, not the resource (behaviour E50).
    """
    metadata = old["metadata"]
    kind, group = served.kind.name, served.group
    uid, revision = metadata.get("uid", ""), metadata.get("resourceVersion", "")
    if wanted.uid is not None and wanted.uid != uid:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise Conflict.on(kind, group, name, why)
    if wanted.resource_version is not None and wanted.resource_version != revision:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the ResourceVersion "
            f"in record ({revision}). The object might have been modified"
        )
        raise Conflict.on(kind, group, name, why)


def _finalized(old: Obj, propagation: str | None) -> Obj:
    """The object with the finalizers that the propagation policy asks for; without a policy they stay."""
    if propagation is None:
        return old
    metadata = dict(old["metadata"])
    finalizers = [name for name in metadata.pop("finalizers", ()) if name not in {ORPHAN, FOREGROUND}]
    if propagation == "Orphan":
        finalizers.append(ORPHAN)
    if propagation == "Foreground":
        finalizers.append(FOREGROUND)
    if finalizers:
        metadata["finalizers"] = finalizers
    return {**old, "metadata": metadata}


def _marked(store: Store, write: Write, name: str, old: Obj) -> Obj:
    """The object marked for deletion; the time of an earlier mark stays (behaviour E48, E49)."""
    metadata = dict(old["metadata"])
    metadata.pop("resourceVersion")
    marked = {**old, "metadata": metadata}
    if "deletionTimestamp" in metadata:
        return marked
    metadata["deletionTimestamp"] = store.timestamp()
    metadata["deletionGracePeriodSeconds"] = 0
    if metadata.get("generation", 0) > 0:
        metadata["generation"] += 1
    return write.prepared_for_deletion(name, marked)
