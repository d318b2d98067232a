"""A cluster that is nothing but rules: objects by uid, deletion as an API server does it, and a collector beside it.

The collector is the graph and the decisions; what the controller does with the API is done here by hand. Each resource has a
log of its events, which the collector reads at a pace that the test chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from extapi.controlplane.controllers.garbage.decisions import Keep, Standing, decide
from extapi.controlplane.controllers.garbage.graph import Collect, Graph, Orphan, Report, Task, Verify
from extapi.controlplane.controllers.garbage.objects import Claim, Observed, Owner
from extapi.controlplane.controllers.resources import ServedResource

ALL = frozenset({"delete", "list", "watch"})
KINDS = {
    "Map": ServedResource("", "v1", "maps", "Map", True, ALL),
    "Widget": ServedResource("example.com", "v1", "widgets", "Widget", True, ALL),
    "Base": ServedResource("example.com", "v1", "bases", "Base", False, ALL),
}
"""The resources: two with namespaces, in two groups, and one without."""


def thing(kind: str, name: str, *owners: Owner, namespace: str = "one", **more: Any) -> Observed:
    """An object whose uid is its name."""
    resource = KINDS[kind]
    return Observed(resource, namespace if resource.namespaced else "", name, name, "1", owners, **more)


def owner(obj: Observed, *, blocks: bool | None = None) -> Owner:
    """A reference to it."""
    return Owner(obj.resource.api_version, obj.resource.kind, obj.name, obj.uid, None, blocks)


class Conflict(Exception):
    """The object has changed."""


@dataclass
class World:
    """The API server's side."""

    objects: dict[str, Observed] = field(default_factory=dict)
    logs: dict[str, list[tuple[bool, Observed]]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    """By kind: whether the object is there now, and the object."""
    revision: int = 1

    def put(self, obj: Observed) -> None:
        """Create or change an object."""
        self.revision += 1
        obj = msgspec.structs.replace(obj, resource_version=str(self.revision))
        if obj.deleted and not (obj.orphans or obj.foreground):
            del self.objects[obj.uid]
            self.logs[obj.resource.kind].append((False, obj))
        else:
            self.objects[obj.uid] = obj
            self.logs[obj.resource.kind].append((True, obj))

    def delete(self, uid: str, policy: str, version: str = "") -> None:
        """Behaviour E52: the policy becomes a finalizer."""
        obj = self.objects.get(uid)
        if obj is None:
            return
        if version and obj.resource_version != version:
            raise Conflict
        finalizers = {"orphans": policy == "Orphan", "foreground": policy == "Foreground"}
        self.put(msgspec.structs.replace(obj, deleted=True, **finalizers))

    def patch(self, seen: Observed, **changes: Any) -> None:
        """Change an object as it was seen."""
        obj = self.objects.get(seen.uid)
        if obj is None:
            return
        if obj.resource_version != seen.resource_version:
            raise Conflict
        self.put(msgspec.structs.replace(obj, **changes))

    def standing(self, claim: Claim) -> Standing:
        """Of an owner where a reference says that it is."""
        obj = self.objects.get(claim.uid)
        wanted = (claim.kind, claim.name)
        if obj is None or (obj.resource.kind, obj.name) != wanted or obj.namespace not in ("", claim.namespace):
            return Standing.ABSENT
        return Standing.of(obj)


class Collector:
    """The controller's side: it reads the logs, and works off tasks."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.graph = Graph()
        self.read = dict.fromkeys(KINDS, 0)
        self.tasks: dict[Task, None] = {}
        self.rechecks: dict[Task, None] = {}
        """Owners that were found, and had not been observed: their deletion may never be, if a list leaves both out."""
        self.reports: list[Report] = []

    def steps(self) -> list[tuple[str, Any]]:
        """What may happen next."""
        if not self.tasks and all(self.read[kind] == len(self.world.logs[kind]) for kind in KINDS):
            self.tasks, self.rechecks = self.rechecks, {}
        reads = [("read", kind) for kind in KINDS if self.read[kind] < len(self.world.logs[kind])]
        return [*reads, *(("work", task) for task in self.tasks)]

    def step(self, step: tuple[str, Any], *, relist: bool = False) -> None:
        """Let it happen."""
        what, which = step
        if what == "read":
            self._relist(which) if relist else self._follow(which)
        else:
            del self.tasks[which]
            try:
                self._work(which)
            except Conflict:
                self.tasks[which] = None

    def _follow(self, kind: str) -> None:
        there, obj = self.world.logs[kind][self.read[kind]]
        self.read[kind] += 1
        self.add(self.graph.observe(obj) if there else self.graph.forget(obj.uid))

    def _relist(self, kind: str) -> None:
        """A list in place of the events since the last one, as an informer reports it."""
        seen = {obj.uid for _, obj in self.world.logs[kind][: self.read[kind]]}
        self.read[kind] = len(self.world.logs[kind])
        now = [each for each in self.world.objects.values() if each.resource.kind == kind]
        for uid in seen - {each.uid for each in now}:
            self.add(self.graph.forget(uid))
        for each in now:
            self.add(self.graph.observe(each))

    def add(self, tasks: list[Task]) -> None:
        """Queue tasks; each once."""
        for task in tasks:
            if isinstance(task, Report):
                self.reports.append(task)
            else:
                self.tasks[task] = None

    def _work(self, task: Task) -> None:
        match task:
            case Verify(claim):
                if self.graph.get(claim.uid) is None or self.world.standing(claim) is not Standing.SOLID:
                    self._verified(claim)
            case Orphan(uid):
                self._orphan(uid)
            case Collect(uid):
                self._collect(uid)

    def _verified(self, claim: Claim) -> None:
        standing = self.world.standing(claim)
        if standing is not Standing.SOLID:
            self.add([Collect(each.uid) for each in self.graph.claimants(claim)])
        if standing is not Standing.ABSENT and self.graph.get(claim.uid) is None:
            self.rechecks[Verify(claim)] = None

    def _orphan(self, uid: str) -> None:
        obj = self.graph.get(uid)
        if obj is None or not obj.orphans_dependents:
            return
        for each in self.graph.dependents(uid):
            self.world.patch(each, owners=tuple(one for one in each.owners if one.uid != uid))
        live = self.world.objects.get(uid)
        if live is not None:
            self.world.patch(live, orphans=False)

    def _collect(self, uid: str) -> None:
        obj = self.graph.get(uid)
        if obj is None:
            return
        dependents = self.graph.dependents(uid)
        if obj.deletes_dependents:
            blocking = self.graph.blocking(uid)
            live = self.world.objects.get(uid)
            if live is not None and (not blocking or self.graph.waits_for_itself(uid)):
                self.world.patch(live, foreground=False)
                return
            self.add([Collect(each.uid) for each in blocking if not each.deletes_dependents])
            return
        if obj.deleted:
            return
        decision = decide(obj, [self._standing(obj, each) for each in obj.owners], dependents)
        if isinstance(decision, Keep):
            self.world.patch(obj, owners=decision.owners)
        elif decision is not None:
            if decision.unblock:
                self.world.patch(obj, owners=decision.unblock)
                obj = self.world.objects.get(uid, obj)
            self.world.delete(uid, decision.policy, obj.resource_version)

    def _standing(self, obj: Observed, reference: Owner) -> Standing:
        found = self.graph.owner(obj, reference)
        return Standing.of(found) if found is not None else self.world.standing(Claim.of(reference, obj.namespace))


def survivors(world: World) -> dict[str, set[str]]:
    """The objects that are not being deleted, each with its owners' uids."""
    return {uid: {each.uid for each in obj.owners} for uid, obj in world.objects.items() if not obj.deleted}


def expected(objects: dict[str, Observed], deleted: set[str]) -> dict[str, set[str]]:
    """What has to be left: an object without owners, or with one that is left; and of its owners, those.

    The simplest statement of the rules: nothing of order, events or finalizers.
    """
    left = {uid: obj for uid, obj in objects.items() if uid not in deleted}

    def owners(obj: Observed) -> Iterator[str]:
        for each in obj.owners:
            found = left.get(each.uid)
            if found is not None and found.fits(each, obj.namespace):
                yield each.uid

    while gone := [uid for uid, obj in left.items() if obj.owners and not any(owners(obj))]:
        for uid in gone:
            del left[uid]
    return {uid: set(owners(obj)) for uid, obj in left.items()}
