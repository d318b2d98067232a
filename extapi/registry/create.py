"""Creating an object of a stored kind (behaviour E9-E19, K1)."""

from __future__ import annotations

from random import Random

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
        # Its name is the one that a plugin may have chosen.
        name, terminating = live.get("name", ""), "deletionTimestamp" in live
        raise AlreadyExists.named(store.kind.kind.plural, store.kind.group, name, terminating=terminating) from None


async def create_once(
    store: Store, scope: RequestScope, obj: Obj, admit: Admission, *, named: str = ""
) -> EncodedResult:
    """Store ``obj`` under its name; it changes.

    Args:
        store: Of the kind.
        scope: Where the object is.
        obj: The object, in the request's version.
        admit: The request's admission.
        named: The name in the path, of an apply that creates: no plugin may have the object stored under another one.

    Raises:
        RevisionConflict: There is an object of that name.
        ApiError: The object is refused, or cannot be stored now.
    """
    kind = store.kind
    kind.check_type(obj, scope.version, obj["metadata"].get("name", ""))
    given_revision = ""
    uid, created = store.new_uid(), store.timestamp()
    counted = kind.kind.behaviour.storing.generation

    managed = obj["metadata"].get("managedFields")

    def keep(new: Obj) -> None:
        nonlocal given_revision
        # A plugin is shown none, and what it sets counts as if the client had set it.
        given_revision = new["metadata"].get("resourceVersion", "") or given_revision
        _fill_system_metadata(new, uid, created)
        keep_managed_fields(new, managed, admit.warn)
        if counted:
            new["metadata"]["generation"] = 1
        if kind.versions[scope.version].status:
            new.pop("status", None)

    keep(obj)
    write = Write(kind, scope, admit, store.converter)
    name, prefix = (obj["metadata"].get(each, "") for each in ("name", "generateName"))
    obj = await write.mutated(Operation.CREATE, obj, None, keep, named=named)
    if admit.name_is_generated and obj["metadata"].get("name", "") == name:
        _follow_prefix(obj, prefix, store.random)
    if named:
        read_revision(given_revision)
    await write.checked(Operation.CREATE, obj, None)
    key = kind.layout.key(scope.namespace, obj["metadata"]["name"])
    encoded = await write.encoded(store, obj)
    store.check_size(encoded.value)
    if admit.dry_run:
        live = await store.cache.live("create", key)
        if live is not None:
            raise RevisionConflict(live)
        return await encoded.answer(0)
    if not named and _names_a_revision(given_revision):
        raise StorageError("resourceVersion should not be set on objects to be created")
    return await store.commit("create", key, encoded, expected=0)


def _follow_prefix(obj: Obj, before: str, random: Random) -> None:
    """Generate the name of an object again, in place, if a plugin has changed its prefix: no plugin is shown the name.

    Source: ``registry/generic/registry/store.go`` create, which generates it after mutating admission.
    """
    metadata = obj["metadata"]
    prefix = metadata.get("generateName", "")
    if prefix != before:
        # Without a prefix it has no name, which validation refuses.
        metadata["name"] = generate_name(prefix, random) if prefix else ""


def read_revision(text: str) -> int:
    """The number that a resourceVersion is; 0 if it is empty.

    Args:
        text: Of an object that a client or a plugin made.

    Raises:
        StorageError: It is no number.
    """
    try:
        return parse_uint(text) if text else 0
    except ValueError as why:
        raise StorageError(str(why)) from None


def _names_a_revision(text: str) -> bool:
    """Whether the text is a number other than 0. Other texts pass, as with kube-apiserver (observed on 1.36.3)."""
    try:
        return read_revision(text) > 0
    except StorageError:
        return False


def _fill_system_metadata(obj: Obj, uid: str, created: str) -> None:
    """Set the metadata that only the server decides; what the client sent for it is dropped (behaviour E11)."""
    metadata = obj["metadata"]
    for name in _SYSTEM_METADATA:
        metadata.pop(name, None)
    metadata["uid"] = uid
    metadata["creationTimestamp"] = created
