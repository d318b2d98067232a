"""Deleting an object of a stored kind: at once, or marked until nothing holds it any more (spec E45-E52).

Source: ``registry.Store.Delete`` and ``rest.BeforeDelete``. Grace periods are those of kinds without a graceful strategy: none.
"""

from __future__ import annotations

from dataclasses import replace

from extapi.api.types import Obj
from extapi.conversion.hub import Unfit
from extapi.errors import Conflict
from extapi.registry.base import Admission, DeleteRules, Place, Preconditions
from extapi.registry.rendering import FreshRendering
from extapi.registry.served import ServedKind
from extapi.registry.writing import Store, Write, with_revision
from extapi.storage.base import Entry as Live

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
"""The finalizers by which the garbage collector learns what to do with dependents (spec E52)."""


async def delete(
    store: Store, at: Place, name: str, rules: DeleteRules, admit: Admission
) -> tuple[FreshRendering, bool]:
    """The object as it was left, and whether it is gone."""

    async def attempt(live: Live) -> tuple[FreshRendering, bool]:
        return await _attempt(store, at, name, live, rules, admit)

    return await store.retried("delete", at, name, attempt)


async def _attempt(
    store: Store, at: Place, name: str, live: Live, rules: DeleteRules, admit: Admission
) -> tuple[FreshRendering, bool]:
    kind = store.kind
    try:
        old = kind.from_stored(live.value, at.version)
    except Unfit:
        # It does not fit the type of its own version any more, so that there is no other form of it to delete.
        at = replace(at, version=kind.stored_in(live.value))
        old = kind.from_stored(live.value, at.version)
    old = with_revision(old, live.revision)
    check_preconditions(kind, name, old, rules.preconditions)
    write = Write(kind, at, admit)
    if "deletionTimestamp" in old["metadata"] and write.held(old):
        # As the store of namespaces has it: what is held is neither asked about again nor changed by a second delete.
        return FreshRendering(kind, at.version, old, live.revision), False
    await write.deletable(name, old)
    left = _finalized(old, rules.propagation)
    if not write.stays(left):
        revision = live.revision
        if not admit.dry_run:
            revision = await store.commit("delete", live.key, None, expected=live.revision)
        return FreshRendering(kind, at.version, with_revision(old, revision), revision), True
    marked = _marked(store, write, name, left)
    try:
        value = kind.to_stored(marked, at.version)
    except Unfit:
        value = kind.to_bytes(marked, at.version)  # it goes in the version that it is in
    if value == live.value:
        return FreshRendering(kind, at.version, old, live.revision), False
    revision = live.revision
    if not admit.dry_run:
        revision = await store.commit("delete", live.key, value, expected=live.revision)
    return write.answer(marked, value, revision), False


def check_preconditions(served: ServedKind, name: str, old: Obj, wanted: Preconditions) -> None:
    """Raises :class:`Conflict`; it names the kind, not the resource (spec E50). Source: ``rest.BeforeDelete``."""
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
    """The object after the propagation policy had its say about the finalizers; without a policy they stay as they are."""
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
    """The object as it waits for what holds it (spec E48); the time of an earlier mark stays (E49)."""
    metadata = dict(old["metadata"])
    metadata.pop("resourceVersion")
    marked = {**old, "metadata": metadata}
    if "deletionTimestamp" in metadata:
        return marked
    metadata["deletionTimestamp"] = store.timestamp()
    metadata["deletionGracePeriodSeconds"] = 0
    if metadata.get("generation", 0) > 0:
        metadata["generation"] += 1
    return write.begun(name, marked)
