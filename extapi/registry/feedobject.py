"""Objects that a feed's author made, as the watch cache keeps them: checked, with a uid, encoded in the storage version.

Knows one kind. Must not know the log, or when an object comes.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

import msgspec

from extapi.api.jsonvalue import json_equal
from extapi.api.metadata_rules import validate_object_meta
from extapi.api.types import Obj
from extapi.errors import ApiError
from extapi.managedfields.fieldmanager import without_managed_fields
from extapi.registry.served import ServedKind
from extapi.registry.store import MAX_OBJECT

_UIDS: Final = UUID("5a2c4f2e-7d0b-5c53-9f3e-2f6b1d8f7a61")
"""The namespace of derived uids (RFC 9562, section 5.5)."""
_MOST_SHOWN: Final = 200
"""Characters of an object's name in a message."""
_NOT_KEPT: Final = ("resourceVersion", "selfLink")
"""Metadata that only the server gives."""


class FeedError(Exception):
    """The feed cannot be followed; the text tells the operator why."""


class FedObject(NamedTuple):
    """An object that can be kept."""

    key: bytes
    value: bytes


class FeedEncoder:
    """Encodes the objects of one kind."""

    def __init__(self, kind: ServedKind) -> None:
        self._kind = kind

    def digest(self, made: Any) -> bytes:
        """Tells two objects apart without converting them; empty for what is no object."""
        try:
            return blake2b(msgspec.json.encode(made), digest_size=16).digest()
        except (TypeError, ValueError, OverflowError, RecursionError):
            return b""  # :meth:`encode` says what is wrong with it

    def encode(self, made: Any, namespace: str = "") -> FedObject:
        """An object as it is kept.

        Args:
            made: What the author's code made.
            namespace: The namespace of an object that names none.

        Raises:
            FeedError: It is no object of the kind that clients could read.
        """
        kind, storage = self._kind, self._kind.kind.storage
        try:
            obj = kind.converter.from_hub(made, storage, whole=True)
            kind.check(obj, "the feed")
            kind.complete(obj, storage)
            kind.coerce_and_default(obj, storage)
            self._fill(obj, namespace)
            value = b"".join(kind.to_parts(obj, storage))
        except ApiError as error:
            raise FeedError(f"{_shown(made)} cannot be read: {error.message}") from error
        except FeedError:
            raise
        except Exception as error:
            raise FeedError(f"{_shown(made)} is no {kind.kind.name}: {error}") from error
        if len(value) > MAX_OBJECT:
            raise FeedError(f"{_shown(made)} takes {len(value)} bytes, the limit is {MAX_OBJECT}")
        metadata = obj["metadata"]
        return FedObject(kind.layout.key(metadata.get("namespace", ""), metadata["name"]), value)

    def _fill(self, obj: Obj, namespace: str) -> None:
        """Complete the metadata, in place, and check it.

        Raises:
            FeedError: It breaks a rule of names, labels and so on.
        """
        kind = self._kind
        metadata: dict[str, Any] = {name: value for name, value in obj["metadata"].items() if name not in _NOT_KEPT}
        if namespace:
            metadata.setdefault("namespace", namespace)
        obj["metadata"] = metadata
        rule = kind.kind.behaviour.storing.names
        errors = validate_object_meta(obj, namespaced=kind.namespaced, name_rule=rule)
        if errors:
            raise FeedError(f"{_shown(obj)} breaks the rules of metadata: {errors[0].text()}")
        if not metadata.get("uid"):
            metadata["uid"] = self._derived_uid(metadata)
            obj["metadata"] = dict(sorted(metadata.items()))

    def _derived_uid(self, metadata: Obj) -> str:
        """A uid that is the same after each restart, and another one for an object that was created again.

        Owner references name uids: a new one after a restart would have dependents deleted.
        """
        parts = (metadata.get(name) or "" for name in ("namespace", "name", "creationTimestamp"))
        return str(uuid5(_UIDS, "/".join((self._kind.group, self._kind.kind.plural, *parts))))


def only_forgets_managers(value: bytes, before: bytes) -> bool:
    """Whether an object, as it is kept, differs from the one before only in that it has no managed fields."""
    if b'"managedFields"' not in before:
        return False
    now = msgspec.json.decode(value)
    if "managedFields" in now["metadata"]:
        return False
    return json_equal(now, without_managed_fields(msgspec.json.decode(before)))


def _shown(made: Any) -> str:
    """Which object it is. Nothing else of it: logs are read by more people than objects."""
    try:
        metadata = made["metadata"] if isinstance(made, dict) else msgspec.to_builtins(made.metadata)
        named = "/".join(str(metadata[part]) for part in ("namespace", "name") if metadata.get(part))
    except Exception:  # noqa: BLE001 -- whatever it is, it has no name
        named = ""
    what = f'object "{named}"' if named else f"a value of type {type(made).__name__}"
    return what if len(what) <= _MOST_SHOWN else f"{what[:_MOST_SHOWN]}..."
