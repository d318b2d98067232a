"""Creating an object of a stored kind (spec E9-E19, K1; ``registry.Store.Create``)."""

from __future__ import annotations

import msgspec

from extapi.admission.base import Operation
from extapi.api.names import generate_name
from extapi.api.strconv import parse_uint
from extapi.api.types import Obj
from extapi.errors import AlreadyExists, StorageError
from extapi.registry.base import Admission, Place
from extapi.registry.rendering import FreshRendering
from extapi.registry.writing import Store, Write
from extapi.storage.base import RevisionConflict

ATTEMPTS = 8
"""How often a name is generated before giving up (spec E14)."""
_OURS = (
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "resourceVersion",
    "managedFields",
)
"""Metadata that a new object has from nobody but the server."""


async def create(store: Store, at: Place, obj: Obj, admit: Admission) -> FreshRendering:
    """Store ``obj`` (accepted, in the request's version); a name is generated where only generateName is given."""
    metadata = obj["metadata"]
    prefix = metadata.get("generateName")
    if not prefix:
        return await _create(store, at, obj, admit)
    generates = not metadata.get("name")
    for _ in range(ATTEMPTS if generates else 1):
        if generates:
            metadata["name"] = generate_name(prefix, store.random)
        try:
            return await _create(store, at, {**obj, "metadata": dict(metadata)}, admit)
        except AlreadyExists as error:
            last = error
    # Also where the client gave the name: kube-apiserver does not ask whose it was (``rest.CheckGeneratedNameError``).
    last.message += ", the server was not able to generate a unique name for the object"
    last.retry_after = 1
    raise last


async def _create(store: Store, at: Place, obj: Obj, admit: Admission) -> FreshRendering:
    """One attempt with a fixed name."""
    kind = store.kind
    kind.check_type(obj, at.version, obj["metadata"].get("name", ""))
    given_revision = obj["metadata"].get("resourceVersion", "")
    uid, created = store.new_uid(), store.timestamp()
    counted = kind.kind.native is None or kind.kind.native.generation

    def keep(new: Obj) -> None:
        _fill_system_metadata(new, uid, created)
        if counted:
            new["metadata"]["generation"] = 1
        if kind.kind.status:
            new.pop("status", None)

    keep(obj)
    write = Write(kind, at, admit)
    obj = await write.mutated(Operation.CREATE, obj, None, keep)
    await write.checked(Operation.CREATE, obj, None)
    name = obj["metadata"]["name"]
    key = kind.key(at.namespace, name)
    value = write.stored(obj)
    store.check_size(value)
    if admit.dry_run:
        live = await store.live("create", key)
        if live is not None:
            raise _exists(store, name, live.value)
        return write.answer(obj, value, 0)
    if _names_a_revision(given_revision):
        raise StorageError("resourceVersion should not be set on objects to be created")
    if kind.is_stored_as(at.version):
        store.cache.expect(value, at.version)
    try:
        revision = await store.commit("create", key, value, expected=0)
    except RevisionConflict as conflict:
        raise _exists(store, name, conflict.live.value if conflict.live else b"{}") from None
    return write.answer(obj, value, revision)


def _names_a_revision(text: str) -> bool:
    """Whether the text is a number but 0; what is none is let pass, as by kube-apiserver (observed on 1.36.3)."""
    try:
        return bool(text) and parse_uint(text) > 0
    except ValueError:
        return False


def _fill_system_metadata(obj: Obj, uid: str, created: str) -> None:
    """What only the server decides (spec E11); whatever the client sent for it is dropped."""
    metadata = obj["metadata"]
    for name in _OURS:
        metadata.pop(name, None)
    metadata["uid"] = uid
    metadata["creationTimestamp"] = created


def _exists(store: Store, name: str, live: bytes) -> AlreadyExists:
    terminating = "deletionTimestamp" in msgspec.json.decode(live).get("metadata", {})
    return AlreadyExists.named(store.kind.kind.plural, store.kind.group, name, terminating=terminating)
