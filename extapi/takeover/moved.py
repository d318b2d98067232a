"""The kinds that move together: read from their live definitions, and checked before anything is done.

An APIService moves a whole version of a group: all kinds in it, in one go. So all definitions that serve one of the versions
have to be named. Must not know stores, freezes or APIServices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from extapi.api.declaration import DeclarationError
from extapi.client.kube import Obj, ResourceName
from extapi.codec.strictjson import decode_stored
from extapi.console.failure import told
from extapi.crd.definition import Definition
from extapi.crd.kinds import kind_of
from extapi.errors import ApiError
from extapi.registry.served import ServedKind
from extapi.takeover.cluster import DEFINITIONS, Cluster
from extapi.takeover.failure import TakeoverFailure

DROPPED = ("resourceVersion", "selfLink")
"""Metadata that is not stored: the former comes with each read, the latter is none any more."""


@dataclass(frozen=True)
class MovedKind:
    """One definition. ``served``: the kind as the extension server will serve it; ``version``: in which objects are read."""

    definition: Definition
    served: ServedKind
    version: str

    @property
    def name(self) -> str:
        """The name of the definition."""
        return self.definition.name

    @property
    def uid(self) -> str:
        """The uid of the definition."""
        return str(self.definition.obj["metadata"]["uid"])

    @property
    def resource(self) -> ResourceName:
        """Where its objects are read."""
        return ResourceName(self.definition.group, self.version, self.definition.plural)

    def key(self, obj: Obj) -> bytes:
        """The key of an object in the store."""
        metadata = obj["metadata"]
        return self.served.layout.key(metadata.get("namespace", ""), metadata["name"])

    def stored(self, obj: Obj) -> bytes:
        """An object of the API as the server stores it.

        Raises:
            TakeoverFailure: The server could not store it.
        """
        metadata = {name: value for name, value in obj["metadata"].items() if name not in DROPPED}
        try:
            return b"".join(self.served.to_parts({**obj, "metadata": metadata}, self.version))
        except ApiError as error:
            raise TakeoverFailure(f"{self.name} {metadata.get('name')}: cannot be stored: {error}") from error

    def opened(self, value: bytes) -> Obj:
        """A stored object, in the version in which it is stored."""
        found: Obj = decode_stored(value)
        return found


async def read_kinds(cluster: Cluster, names: Sequence[str]) -> list[MovedKind]:
    """The named definitions, which can move together.

    Raises:
        TakeoverFailure: One does not exist or is not established; or others have to move with them.
    """
    every = {obj["metadata"]["name"]: obj for obj in await cluster.definitions()}
    missing = [name for name in names if name not in every]
    if missing:
        raise TakeoverFailure(
            f"the cluster has no CustomResourceDefinition {', '.join(missing)}; --crd takes the name as in "
            f"kubectl get crd, such as crontabs.stable.example.com"
        )
    check_together(names, every)
    return [moved(every[name]) for name in dict.fromkeys(names)]


def check_together(names: Sequence[str], every: Mapping[str, Obj]) -> None:
    """Check that no other definition serves a version that moves.

    Raises:
        TakeoverFailure: Some do; the text names them.
    """
    versions = group_versions([every[name] for name in names])
    others = [
        f"{name} ({', '.join(shared)})"
        for name, obj in sorted(every.items())
        if name not in names and (shared := [version for group, version in served(obj) if (group, version) in versions])
    ]
    if others:
        raise TakeoverFailure(
            f"an APIService moves all kinds of a version at once, and these would move, too: {'; '.join(others)}. Give a "
            f"--crd for each of them, or have the version served by fewer definitions"
        )


def group_versions(definitions: Sequence[Obj]) -> list[tuple[str, str]]:
    """The groups and versions that the definitions serve, each once."""
    return list(dict.fromkeys(pair for obj in definitions for pair in served(obj)))


def served(obj: Obj) -> list[tuple[str, str]]:
    """The group and each served version of a definition."""
    spec = obj["spec"]
    return [(spec["group"], version["name"]) for version in spec["versions"] if version.get("served")]


def moved(obj: Obj) -> MovedKind:
    """A live definition, as the extension server will serve it.

    Raises:
        TakeoverFailure: It is not established, is going, or cannot be served.
    """
    name = obj["metadata"]["name"]
    conditions = {each["type"]: each["status"] for each in (obj.get("status") or {}).get("conditions") or ()}
    if conditions.get("Established") != "True":
        raise TakeoverFailure(f"{name} is not established: kubectl describe crd {name} says why")
    if "deletionTimestamp" in obj["metadata"]:
        raise TakeoverFailure(f"{name} is being deleted, and its objects with it")
    definition = Definition(obj)
    if not definition.served_versions:
        raise TakeoverFailure(f"{name} serves no version, so that its objects cannot be read")
    # Objects in the storage version need no conversion, neither now nor when the server reads them.
    readable = definition.storage_version in definition.served_versions
    version = definition.storage_version if readable else definition.served_versions[0]
    try:
        kind = kind_of(definition)  # nothing is converted here
        return MovedKind(definition, ServedKind(kind, definition.group), version)
    except DeclarationError as error:
        raise TakeoverFailure(f"{name} cannot be served by this extapi: {error}") from error


async def read_definition(cluster: Cluster, name: str) -> Obj:
    """A definition that has to be there.

    Raises:
        TakeoverFailure: It is not.
    """
    try:
        return await cluster.client.get(DEFINITIONS, name)
    except ApiError as error:
        raise TakeoverFailure(f"the CustomResourceDefinition {name} cannot be read: {told(error)}") from error
