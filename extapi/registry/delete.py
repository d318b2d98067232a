"""Deleting an object of a stored kind: at once, or marked until its finalizers are gone (spec E45-E52).

Source: ``registry.Store.Delete`` and ``rest.BeforeDelete``. Grace periods are those of kinds without a graceful strategy: none.
"""

from __future__ import annotations

from extapi.api.types import Obj
from extapi.errors import Conflict
from extapi.registry.base import Admission, DeleteRules, Place, Preconditions
from extapi.registry.rendering import FreshRendering
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
    old = with_revision(kind.from_stored(live.value, at.version), live.revision)
    _check_preconditions(store, name, old, rules.preconditions)
    write = Write(store, at, admit)
    await write.deletable(name, old)
    finalizers = _finalizers(old["metadata"].get("finalizers", []), rules.propagation)
    if not finalizers:
        revision = live.revision
        if not admit.dry_run:
            revision = await store.commit("delete", live.key, None, expected=live.revision)
        return FreshRendering(kind, at.version, old, revision), True
    marked = _marked(store, old, finalizers)
    value = kind.to_stored(marked, at.version)
    if value == live.value:
        return FreshRendering(kind, at.version, old, live.revision), False
    revision = live.revision
    if not admit.dry_run:
        revision = await store.commit("delete", live.key, value, expected=live.revision)
    return write.answer(marked, value, revision), False


def _check_preconditions(store: Store, name: str, old: Obj, wanted: Preconditions) -> None:
    """Source: ``rest.BeforeDelete``; the conflict names the kind, not the resource (spec E50)."""
    metadata = old["metadata"]
    kind, group = store.kind.kind.name, store.kind.group
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


def _finalizers(present: list[str], propagation: str | None) -> list[str]:
    """The finalizers after the propagation policy had its say; without a policy they stay as they are."""
    if propagation is None:
        return present
    others = [name for name in present if name not in {ORPHAN, FOREGROUND}]
    if propagation == "Orphan":
        return [*others, ORPHAN]
    if propagation == "Foreground":
        return [*others, FOREGROUND]
    return others


def _marked(store: Store, old: Obj, finalizers: list[str]) -> Obj:
    """The object as it waits for its finalizers (spec E48); the time of an earlier mark stays (E49)."""
    metadata = {**old["metadata"], "finalizers": finalizers}
    metadata.pop("resourceVersion")
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = store.timestamp()
        metadata["deletionGracePeriodSeconds"] = 0
        if metadata.get("generation", 0) > 0:
            metadata["generation"] += 1
    return {**old, "metadata": metadata}
