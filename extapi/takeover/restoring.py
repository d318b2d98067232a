"""Writes the objects of a store back into a definition, through the API that everybody uses.

The API keeps neither resourceVersion nor generation, and gives a new object a new uid and creationTimestamp. The objects
that the definition still has from before the switch keep their uids: so these are updated, and only what is new is created.
Must not know freezes or APIServices.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from extapi.client.kube import Obj, ResourceName, items_of
from extapi.console.display import Report
from extapi.console.failure import told
from extapi.errors import ApiError, NotFound
from extapi.storage.base import Backend
from extapi.takeover.cluster import Cluster
from extapi.takeover.freeze import EXPORTER
from extapi.takeover.moved import MovedKind
from extapi.takeover.replica import together

PAGE = 500
"""Objects per page of the store."""
RUNNING = 16
"""Objects that are written at a time."""
SERVERS = (
    "resourceVersion",
    "selfLink",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""Metadata that only the server sets."""


@dataclass
class Outcome:
    """What became of the objects."""

    created: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    new_uids: list[str] = field(default_factory=list)
    """Namespace and name of objects whose uid the API could not keep."""
    failures: list[str] = field(default_factory=list)
    """What was refused, and why."""

    @property
    def total(self) -> int:
        """How many objects were looked at."""
        return self.created + self.updated + self.deleted + self.unchanged + len(self.failures)


class Restoration:
    """Makes the objects of a definition what a store has.

    Args:
        cluster: The cluster; kube-apiserver serves the definition.
        kind: The definition.
        backend: The store.
    """

    def __init__(self, cluster: Cluster, kind: MovedKind, backend: Backend) -> None:
        self._cluster = cluster
        self._kind = kind
        self._backend = backend
        self._versions = {each["name"]: each for each in kind.definition.versions}
        self.outcome = Outcome()

    async def run(self, report: Report = lambda _, __: None) -> Outcome:
        """Write what differs.

        Raises:
            ApiError: The definition's objects cannot be listed.
            Unavailable: The store cannot be read.
        """
        live = await self._live()
        wanted: set[bytes] = set()
        async for page, total in self._stored():
            for start in range(0, len(page), RUNNING):
                part = page[start : start + RUNNING]
                await together(self._restored(self._kind.opened(value), live.get(key)) for key, value in part)
            wanted.update(key for key, _ in page)
            report(len(wanted), total)
        gone = [obj for key, obj in live.items() if key not in wanted]
        for start in range(0, len(gone), RUNNING):
            await together(self._removed(obj) for obj in gone[start : start + RUNNING])
        return self.outcome

    async def differing(self) -> list[str]:
        """The objects that the store and the definition do not have alike, by namespace and name."""
        live = await self._live()
        found = []
        async for page, _ in self._stored():
            for key, value in page:
                obj, there = self._kind.opened(value), live.pop(key, None)
                if there is None or not _alike(obj, await self._shown(there, obj["apiVersion"])):
                    found.append(_title(obj))
        return found + [_title(obj) for obj in live.values()]

    async def _live(self) -> dict[bytes, Obj]:
        """The definition's objects by their keys in the store."""
        found: dict[bytes, Obj] = {}
        async for page in self._cluster.pages(self._kind.resource):
            found.update((self._kind.key(obj), obj) for obj in items_of(page))
        return found

    async def _stored(self) -> AsyncIterator[tuple[list[tuple[bytes, bytes]], int]]:
        """The store's objects, page by page, and how many there are."""
        after, more, seen = b"", True, 0
        at = await self._backend.revision()
        while more:
            page = await self._backend.page(self._kind.served.layout.prefix, at=at, after=after, limit=PAGE)
            seen += len(page.entries)
            yield [(entry.key, entry.value) for entry in page.entries], seen + page.remaining
            more = page.more
            after = page.entries[-1].key if page.entries else after

    def _resource(self, obj: Obj) -> ResourceName:
        """Where an object is written: in its own version, which kube-apiserver converts if need be."""
        group, _, version = obj["apiVersion"].rpartition("/")
        return ResourceName(group, version, self._kind.definition.plural)

    async def _shown(self, live: Obj, api_version: str) -> Obj:
        """A live object in that version."""
        if live["apiVersion"] == api_version:
            return live
        metadata = live["metadata"]
        resource = self._resource({"apiVersion": api_version})
        return await self._cluster.client.get(resource, metadata["name"], namespace=metadata.get("namespace", ""))

    async def _restored(self, obj: Obj, live: Obj | None) -> None:
        """Write one object."""
        try:
            if live is not None:
                live = await self._shown(live, obj["apiVersion"])
            if live is not None and not _is_same(obj, live):
                await self._delete(live)  # another object of the same name: it was made anew since the switch
                live = None
            if live is None:
                await self._finished(obj, await self._created(obj))
                self.outcome.created += 1
                self.outcome.new_uids.append(_title(obj))
            elif _alike(obj, live) and obj["metadata"].get("managedFields") == live["metadata"].get("managedFields"):
                self.outcome.unchanged += 1
            else:
                await self._finished(obj, await self._put(obj, live))
                self.outcome.updated += 1
        except ApiError as error:
            self.outcome.failures.append(f"{_title(obj)}: {told(error)}")

    async def _created(self, obj: Obj) -> Obj:
        metadata = {name: value for name, value in obj["metadata"].items() if name not in (*SERVERS, "uid")}
        metadata["annotations"] = {**metadata.get("annotations", {}), FORMER: obj["metadata"]["uid"]}
        return await self._cluster.client.create(
            self._resource(obj),
            {**obj, "metadata": metadata},
            namespace=metadata.get("namespace", ""),
            query={"fieldManager": EXPORTER},
        )

    async def _put(self, obj: Obj, live: Obj, subresource: str = "") -> Obj:
        """Replace a live object; what only the server sets stays."""
        before = live["metadata"]
        metadata = {name: value for name, value in obj["metadata"].items() if name not in SERVERS}
        metadata |= {"uid": before["uid"], "resourceVersion": before["resourceVersion"]}
        if former := _former(live):
            metadata["annotations"] = {**metadata.get("annotations", {}), FORMER: former}
        return await self._cluster.client.update(
            self._resource(obj),
            before["name"],
            {**obj, "metadata": metadata},
            namespace=before.get("namespace", ""),
            subresource=subresource,
            query={"fieldManager": EXPORTER},
        )

    async def _finished(self, obj: Obj, live: Obj) -> None:
        """Write what one write of the whole object leaves out: status, managed fields, and that it is being deleted."""
        version = self._versions[obj["apiVersion"].rpartition("/")[2]]
        if "status" in (version.get("subresources") or {}) and obj.get("status") != live.get("status"):
            live = await self._put(obj, live, "status")
        managed = obj["metadata"].get("managedFields") or []
        if managed and managed != live["metadata"].get("managedFields"):
            # These writes count as the exporter's. A second one that changes nothing but managed fields puts that right.
            again = copy.deepcopy(live)
            again["metadata"]["managedFields"] = managed
            live = await self._put(again, live)
        if "deletionTimestamp" in obj["metadata"] and "deletionTimestamp" not in live["metadata"]:
            await self._delete(live, strip=False)

    async def _removed(self, obj: Obj) -> None:
        try:
            await self._delete(obj)
            self.outcome.deleted += 1
        except ApiError as error:
            self.outcome.failures.append(f"{_title(obj)}: {told(error)}")

    async def _delete(self, live: Obj, *, strip: bool = True) -> None:
        """Delete an object that the store does not have: its finalizers were worked off on the server."""
        metadata = live["metadata"]
        where: dict[str, Any] = {"namespace": metadata.get("namespace", "")}
        resource = self._resource(live)
        try:
            if strip and metadata.get("finalizers"):
                patch = {"metadata": {"finalizers": None, "uid": metadata["uid"]}}
                query = {"fieldManager": EXPORTER}
                await self._cluster.client.patch(resource, metadata["name"], patch, query=query, **where)
            if not (strip and metadata.get("finalizers") and "deletionTimestamp" in metadata):
                options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": metadata["uid"]}}
                await self._cluster.client.delete(resource, metadata["name"], options=options, **where)
        except NotFound:
            return


FORMER = "extapi.takeover/former-uid"
"""The annotation of an object that was created by an export: its uid on the extension server."""


def _former(live: Obj) -> str:
    return str((live["metadata"].get("annotations") or {}).get(FORMER, ""))


def _is_same(stored: Obj, live: Obj) -> bool:
    """Whether a live object is the stored one, and not another one of the same name."""
    return stored["metadata"]["uid"] in {live["metadata"]["uid"], _former(live)}


def _alike(stored: Obj, live: Obj) -> bool:
    """Whether an export would change nothing but managed fields."""
    return _compared(stored) == _compared(live)


def _compared(obj: Obj) -> Obj:
    ignored = (*SERVERS, "managedFields", "uid")
    metadata = {name: value for name, value in obj["metadata"].items() if name not in ignored}
    annotations = {name: value for name, value in metadata.pop("annotations", {}).items() if name != FORMER}
    going = "deletionTimestamp" in obj["metadata"]
    return {**obj, "metadata": metadata, "": {"annotations": annotations, "going": going}}


def _title(obj: Obj) -> str:
    namespace = obj["metadata"].get("namespace", "")
    return f"{namespace}/{obj['metadata']['name']}" if namespace else str(obj["metadata"]["name"])
