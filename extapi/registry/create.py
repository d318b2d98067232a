"""Creating an object of a stored kind (behaviour E9-E19, K1)."""

from __future__ import annotations

import msgspec

from extapi.admission.base import Operation
from extapi.api.jsonvalue import json_copy
from extapi.api.names import generate_name
from extapi.api.strconv import parse_uint
from extapi.api.types import Obj
from extapi.errors import AlreadyExists, StorageError
from extapi.registry.base import Admission, RequestScope
from extapi.registry.fieldmanagers import keep_managed_fields
from extapi.registry.results import EncodedResult
from extapi.registry.store import Store
from extapi.registry.writing import Write
from extapi.storage.base import RevisionConflict

ATTEMPTS = 8
"""Attempts to generate a free name (behaviour E14)."""
_SYSTEM_METADATA = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion")
"""Metadata that a client cannot set on a new object."""


def wipe_system_metadata(obj: Obj) -> None:
    """Drop, in place, what only the server decides, before anybody is said to manage it (``rest.WipeObjectMetaSystemFields``)."""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"):
        obj["metadata"].pop(name, None)


async def create(store: Store, scope: RequestScope, obj: Obj, admit: Admission) -> EncodedResult:
    """Store ``obj``, which is decoded and in the request's version. Without a name it gets a generated one."""
    metadata = obj["metadata"]
    prefix = metadata.get("generateName")
    if not prefix:
        return await _created(store, scope, obj, admit)
    generates = not metadata.get("name")
    if generates:
        admit = msgspec.structs.replace(admit, name_is_generated=True)
    for _ in range(ATTEMPTS if generates else 1):
        if generates:
            metadata["name"] = generate_name(prefix, store.random)
        try:
            return await _created(store, scope, json_copy(obj), admit)  # an attempt changes its object
        except AlreadyExists as error:
            last = error
    # The text is the same where the client gave the name (``rest.CheckGeneratedNameError``).
    last.message += ", the server was not able to generate a unique name for the object"
    last.retry_after = 1
    raise last


async def _created(store: Store, scope: RequestScope, obj: Obj, admit: Admission) -> EncodedResult:
    """One attempt, with a fixed name."""
    try:
        return await create_once(store, scope, obj, admit)
    except RevisionConflict as conflict:
        live = msgspec.json.decode(conflict.live.value if conflict.live else b"{}").get("metadata", {})
        name, terminating = obj["metadata"].get("name", ""), "deletionTimestamp" in live
        raise AlreadyExists.named(store.kind.kind.plural, store.kind.group, name, terminating=terminating) from None


async def create_once(store: Store, scope: RequestScope, obj: Obj, admit: Admission) -> EncodedResult:
    """Store ``obj`` under its name; it changes.

    Raises:
        RevisionConflict: There is an object of that name.
        ApiError: The object is refused, or cannot be stored now.
    """
    kind = store.kind
    kind.check_type(obj, scope.version, obj["metadata"].get("name", ""))
    given_revision = obj["metadata"].get("resourceVersion", "")
    uid, created = store.new_uid(), store.timestamp()
    counted = kind.kind.behaviour.storing.generation

    managed = obj["metadata"].get("managedFields")

    def keep(new: Obj) -> None:
        _fill_system_metadata(new, uid, created)
        keep_managed_fields(new, managed, admit.warn)
        if counted:
            new["metadata"]["generation"] = 1
        if kind.versions[scope.version].status:
            new.pop("status", None)

    keep(obj)
    write = Write(kind, scope, admit, store.converter)
    obj = await write.mutated(Operation.CREATE, obj, None, keep)
    await write.checked(Operation.CREATE, obj, None)
    key = kind.layout.key(scope.namespace, obj["metadata"]["name"])
    encoded = await write.encoded(store, obj)
    store.check_size(encoded.value)
    if admit.dry_run:
        live = await store.cache.live("create", key)
        if live is not None:
            raise RevisionConflict(live)
        return await encoded.answer(0)
    if _names_a_revision(given_revision):
        raise StorageError("resourceVersion should not be set on objects to be created")
    return await store.commit("create", key, encoded, expected=0)


def _names_a_revision(text: str) -> bool:
    """Whether the text is a number other than 0. Other texts pass, as with kube-apiserver (observed on 1.36.3)."""
    try:
        return bool(text) and parse_uint(text) > 0
    except ValueError:
        return False


def _fill_system_metadata(obj: Obj, uid: str, created: str) -> None:
    """Set the metadata that only the server decides; what the client sent for it is dropped (behaviour E11)."""
    metadata = obj["metadata"]
    for name in _SYSTEM_METADATA:
        metadata.pop(name, None)
    metadata["uid"] = uid
    metadata["creationTimestamp"] = created
