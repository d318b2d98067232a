"""What garbage collection keeps of an object: where it is, its owners, and how it is being deleted.

Pure. Must not know how objects are read.
"""

from __future__ import annotations

from sys import intern
from typing import Any, NamedTuple

import msgspec

from extapi.controlplane.controllers.resources import ServedResource

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
"""The finalizers by which an API server asks for garbage collection (behaviour E52)."""

_KEPT = ("name", "namespace", "uid", "resourceVersion")


class Owner(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename="camel"):
    """One of ``metadata.ownerReferences``."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    def to_dict(self) -> dict[str, Any]:
        """As it is written in metadata."""
        return {"apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid} | {
            name: value
            for name, value in (
                ("controller", self.controller),
                ("blockOwnerDeletion", self.block_owner_deletion),
            )
            if value is not None
        }


class Claim(NamedTuple):
    """Where a reference says that an owner is: in the dependent's namespace, or in none if its kind is cluster-scoped."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, owner: Owner, namespace: str) -> Claim:
        """What a dependent in ``namespace`` claims by this reference."""
        return cls(owner.api_version, owner.kind, namespace, owner.name, owner.uid)

    def __str__(self) -> str:
        """As kube-controller-manager writes it (``objectReference.String``)."""
        return f"[{self.api_version}/{self.kind}, namespace: {self.namespace}, name: {self.name}, uid: {self.uid}]"


class Observed(msgspec.Struct, frozen=True, gc=False):
    """An object as it was last seen."""

    resource: ServedResource
    namespace: str
    name: str
    uid: str
    resource_version: str
    owners: tuple[Owner, ...] = ()
    deleted: bool = False
    """Whether it has a deletionTimestamp."""
    orphans: bool = False
    """Whether it has the finalizer ``orphan``."""
    foreground: bool = False
    """Whether it has the finalizer ``foregroundDeletion``."""

    @property
    def orphans_dependents(self) -> bool:
        """Whether it is being deleted, and its dependents have to be released first."""
        return self.deleted and self.orphans

    @property
    def deletes_dependents(self) -> bool:
        """Whether it is being deleted, and waits for the deletion of its dependents."""
        return self.deleted and self.foreground and not self.orphans

    def fits(self, owner: Owner, namespace: str) -> bool:
        """Whether the reference of a dependent in ``namespace`` means this object.

        The version does not matter: an object is the same in each.
        """
        return (
            owner.uid == self.uid
            and owner.name == self.name
            and owner.kind == self.resource.kind
            and owner.group == self.resource.group
            and self.namespace in ("", namespace)
        )

    def claims(self, uid: str) -> list[Claim]:
        """What it says about the owner with this uid; usually one."""
        return [Claim.of(owner, self.namespace) for owner in self.owners if owner.uid == uid]

    def blocks(self, uid: str) -> bool:
        """Whether the owner with this uid waits for it in a foreground deletion."""
        return any(owner.uid == uid and owner.block_owner_deletion for owner in self.owners)


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None
    owner_references: list[Owner] | None = None


def reduced(resource: ServedResource, obj: dict[str, Any]) -> dict[str, Any]:
    """What an informer keeps of an object: what tells it from others, and as ``observed`` all that the graph needs.

    Both share their texts, so that an object costs little more than its node in the graph.
    """
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return {"metadata": {}, "observed": None}
    found = observed(resource, obj)
    kept = {name: metadata[name] for name in _KEPT if metadata.get(name)}
    if found is not None and found.namespace:
        kept["namespace"] = found.namespace
    return {"metadata": kept, "observed": found}


def observed(resource: ServedResource, obj: dict[str, Any]) -> Observed | None:
    """The object as the graph keeps it.

    Returns:
        None if it is no object. Any server may be registered, and send anything.
    """
    try:
        metadata = msgspec.convert(obj.get("metadata"), _Metadata)
    except msgspec.ValidationError:
        return None
    finalizers = metadata.finalizers or ()
    return Observed(
        resource,
        intern(metadata.namespace),
        metadata.name,
        metadata.uid,
        metadata.resource_version,
        tuple(_shared(owner) for owner in metadata.owner_references or ()),
        metadata.deletion_timestamp is not None,
        ORPHAN in finalizers,
        FOREGROUND in finalizers,
    )


def _shared(owner: Owner) -> Owner:
    """The same reference, with texts that all dependents of an owner share."""
    return msgspec.structs.replace(
        owner,
        api_version=intern(owner.api_version),
        kind=intern(owner.kind),
        name=intern(owner.name),
        uid=intern(owner.uid),
    )
