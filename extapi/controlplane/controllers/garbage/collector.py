"""The controller: keeps the graph up to date, and works off what its changes make necessary.

Source: ``garbagecollector.go``.
"""

from __future__ import annotations

from collections import OrderedDict
from random import Random

from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.logger import Logger

from extapi import ApiError, Conflict, Context, EventRecorder, TransportError
from extapi.clock import Timer, stop_timer
from extapi.controlplane.controllers.garbage.calls import Calls
from extapi.controlplane.controllers.garbage.decisions import Keep, Standing, decide
from extapi.controlplane.controllers.garbage.graph import Collect, Graph, Orphan, Report, Task, Verify
from extapi.controlplane.controllers.garbage.monitors import Monitors
from extapi.controlplane.controllers.garbage.objects import FOREGROUND, ORPHAN, Claim, Observed, Owner

COMPONENT = "garbage-collector-controller"
WORKERS = 20
"""Objects that are worked on at a time (``--concurrent-gc-syncs``)."""
ORPHANED = 20
"""Dependents of one owner that are released at a time."""
RESYNC, RESYNC_SOON = 30.0, 5.0
"""Seconds between two looks at discovery (``Sync``), and while a server is away."""
APART = 1.0
"""Seconds between two looks at discovery, at least: each is work for all kinds, and hundreds may be registered at once.

Changes that are not so far apart are one series.
"""
PATIENCE, STEP = 30.0, 0.1
"""Seconds to wait until all objects are known before anything is collected (``InitialSyncTimeout``), and between looks."""
RECHECK = 30.0
"""Seconds until an owner is verified again that exists and is not followed."""
ABSENT = 500
"""Absent owners to remember (``NewReferenceCache``)."""
_DISCOVERY = ""
"""The queue's key for discovery; tasks are tuples."""
_REGISTRATIONS = frozenset({"apiregistration.k8s.io", "apiextensions.k8s.io"})
"""Groups whose objects change what is served."""


class GarbageCollector:
    """Deletes objects whose owners are gone, and carries out foreground deletion and orphaning."""

    async def run(self, context: Context) -> None:
        """Work until cancelled."""
        collection = GarbageCollection(context)
        try:
            await collection.run()
        except CancelledError:
            await collection.close()
            raise
        finally:
            collection.stop()


class UnknownKind(Exception):
    """Nobody serves the kind of an owner."""


class UnresolvableOwner(Exception):
    """A cluster-scoped object names an owner of a namespaced kind, which nobody can look up."""


class AbsentOwners:
    """Where owners were found not to be. A uid never comes back, so none has to be forgotten but for room."""

    def __init__(self, size: int = ABSENT) -> None:
        self._claims: OrderedDict[Claim, None] = OrderedDict()
        self._size = size

    def add(self, claim: Claim) -> None:
        """Remember."""
        self._claims[claim] = None
        self._claims.move_to_end(claim)
        if len(self._claims) > self._size:
            self._claims.popitem(last=False)

    def __contains__(self, claim: Claim) -> bool:
        if claim not in self._claims:
            return False
        self._claims.move_to_end(claim)
        return True


class GarbageCollection:
    """One run of the collector. A new run begins with nothing, and observes everything again.

    Args:
        context: Where objects are followed and changed.
    """

    _log = Logger()

    def __init__(self, context: Context) -> None:
        self._context = context
        self._graph = Graph()
        self._queue = context.queue()
        self._monitors = Monitors(context, self._seen, self._gone)
        self._calls = Calls(context, context.clock)
        self._absent = AbsentOwners()
        self._waiting: set[Collect | Verify] = set()
        """Tasks about owners whose kind nobody serves."""
        self._rechecks: dict[Claim, Timer] = {}
        self._resync: Timer | None = None
        self._looked = self._changed = -APART
        jitter = Random().random  # noqa: S311 - spreads retries
        self._recorder = EventRecorder(context, COMPONENT, COMPONENT, clock=context.clock, jitter=jitter)

    async def run(self) -> None:
        """Work until cancelled.

        Raises:
            ApiError: Discovery was refused at first.
            TransportError: Discovery did not answer at first.
        """
        await self._discover()
        deadline = self._context.clock.seconds() + PATIENCE
        while not self._monitors.synced and self._context.clock.seconds() < deadline:
            await self._context.sleep(STEP)
        await self._queue.each(self._work, workers=WORKERS)

    async def close(self) -> None:
        """Write the events that wait."""
        await self._recorder.close()

    def stop(self) -> None:
        """End everything that would go on by itself."""
        self._monitors.stop()
        self._recorder.stop()
        for timer in [*self._rechecks.values(), *([self._resync] if self._resync is not None else [])]:
            stop_timer(timer)

    # -- what happens

    def _seen(self, obj: Observed) -> None:
        if obj.resource.group in _REGISTRATIONS:
            self._discover_soon()
        self._add(self._graph.observe(obj))

    def _gone(self, obj: Observed) -> None:
        if obj.resource.group in _REGISTRATIONS:
            self._discover_soon()
        self._add(self._graph.forget(obj.uid))

    def _discover_soon(self) -> None:
        """Look at discovery, which may have changed.

        The first change of a series leads to a look now. Those that follow lead to one when they are over, or at least
        every :data:`RESYNC` seconds: each brings requests to servers that are busy with becoming available.
        """
        stop_timer(self._resync)
        now = self._context.clock.seconds()
        self._changed, before = now, self._changed
        last = max(self._looked, before)
        at = now if now - last >= APART else min(now + APART, self._looked + RESYNC)
        self._resync = self._context.clock.callLater(max(at - now, 0.0), self._queue.add, _DISCOVERY)

    def _add(self, tasks: list[Task]) -> None:
        for task in tasks:
            if isinstance(task, Report):
                self._report(task.dependent, task.owner)
            else:
                self._queue.add(task)

    def _report(self, dependent: Observed, owner: Owner) -> None:
        about = {
            "apiVersion": dependent.resource.api_version,
            "kind": dependent.resource.kind,
            "metadata": {"name": dependent.name, "namespace": dependent.namespace, "uid": dependent.uid},
        }
        claim = Claim.of(owner, dependent.namespace)
        note = f'ownerRef {claim} does not exist in namespace "{dependent.namespace}"'
        self._recorder.warning(about, "OwnerRefInvalidNamespace", "Collect", note)

    # -- what is done

    async def _work(self, task: str | Collect | Orphan | Verify) -> None:
        try:
            match task:
                case Collect():
                    await self._collect(task)
                case Orphan():
                    await self._orphan(task.uid)
                case Verify():
                    await self._verify(task)
                case _:
                    await self._discover()
        except (ApiError, TransportError) as error:
            if not isinstance(error, Conflict):  # an object that has changed, which will be seen
                self._log.info("garbage collection tries {task} again after: {error}", task=task, error=str(error))
            raise

    async def _discover(self) -> None:
        self._looked = self._context.clock.seconds()
        new = await self._monitors.resync()
        stop_timer(self._resync)
        delay = RESYNC if self._monitors.complete else RESYNC_SOON
        self._resync = self._context.clock.callLater(delay, self._queue.add, _DISCOVERY)
        if new:
            waiting, self._waiting = self._waiting, set()
            for task in waiting:
                self._queue.add(task)

    async def _collect(self, task: Collect) -> None:
        """Source: ``attemptToDeleteItem``."""
        obj = self._graph.get(task.uid)
        if obj is None:
            return
        if obj.deletes_dependents:
            await self._finish_foreground(obj)
            return
        if obj.deleted or not obj.owners:
            return
        try:
            standings = [await self._standing(obj, owner) for owner in obj.owners]
        except UnknownKind:
            self._waiting.add(task)
            return
        except UnresolvableOwner:
            return
        decision = decide(obj, standings, self._graph.dependents(obj.uid))
        if decision is None:
            return
        if isinstance(decision, Keep):
            await self._calls.keep_owners(obj, decision.owners)
            return
        latest: Observed | None = obj
        if decision.unblock:
            latest = await self._calls.keep_owners(obj, decision.unblock)
        if latest is None or not await self._calls.delete(latest, decision.policy):
            self._gone(obj)

    async def _finish_foreground(self, obj: Observed) -> None:
        """Source: ``processDeletingDependentsItem``."""
        blocking = self._graph.blocking(obj.uid)
        if not blocking or self._graph.waits_for_itself(obj.uid):
            await self._calls.remove_finalizer(obj, FOREGROUND)
            return
        for each in blocking:
            if not each.deletes_dependents:
                self._queue.add(Collect(each.uid))

    async def _orphan(self, uid: str) -> None:
        """Release the dependents, a few at a time, and then the owner.

        Source: ``attemptToOrphanWorker``.
        """
        obj = self._graph.get(uid)
        if obj is None or not obj.orphans_dependents:
            return
        dependents = self._graph.dependents(uid)
        shares = [dependents[first::ORPHANED] for first in range(min(ORPHANED, len(dependents)))]
        releasing = [Deferred.fromCoroutine(self._release(uid, share)) for share in shares]
        try:
            results = await gatherResults(releasing, consumeErrors=True)
        except CancelledError:
            for each in releasing:
                each.cancel()
            raise
        for error in results:
            if error is not None:
                raise error
        await self._calls.remove_finalizer(obj, ORPHAN)

    async def _release(self, uid: str, dependents: list[Observed]) -> ApiError | TransportError | None:
        """Take the references to an owner off its dependents. One that fails does not hold up the others."""
        failed: ApiError | TransportError | None = None
        for each in dependents:
            try:
                await self._calls.keep_owners(each, [owner for owner in each.owners if owner.uid != uid])
            except (ApiError, TransportError) as error:
                failed = error
        return failed

    async def _verify(self, task: Verify) -> None:
        """Ask once for an owner what else each of its dependents would have to ask."""
        claim = task.claim
        claimants = self._graph.claimants(claim)
        owner = self._graph.get(claim.uid)
        references = [each for one in claimants[:1] for each in one.owners if Claim.of(each, one.namespace) == claim]
        if not references or claim in self._rechecks:
            return
        if owner is not None and owner.fits(references[0], claim.namespace):
            return  # it was observed: what becomes of it will be observed, too
        try:
            standing = await self._look_up(claim)
        except UnknownKind:
            self._waiting.add(task)
            return
        except UnresolvableOwner:
            return
        if standing is not Standing.SOLID:
            for each in claimants:
                self._queue.add(Collect(each.uid))
        if standing is not Standing.ABSENT and self._graph.get(claim.uid) is None:
            # It is there, and may go before anybody observes it, or be of a kind that nobody follows.
            self._rechecks[claim] = self._context.clock.callLater(RECHECK, self._recheck, claim)

    def _recheck(self, claim: Claim) -> None:
        del self._rechecks[claim]
        self._queue.add(Verify(claim))

    async def _standing(self, obj: Observed, owner: Owner) -> Standing:
        """How an owner stands: as it was observed, or else as the API says.

        Raises:
            UnknownKind: Nobody serves its kind.
            UnresolvableOwner: It cannot be looked up.
        """
        found = self._graph.owner(obj, owner)
        return Standing.of(found) if found is not None else await self._look_up(Claim.of(owner, obj.namespace))

    async def _look_up(self, claim: Claim) -> Standing:
        """Source: ``isDangling``.

        Raises:
            UnknownKind: Nobody serves its kind.
            UnresolvableOwner: It is of a namespaced kind, and the dependent is in no namespace.
        """
        everywhere = claim._replace(namespace="")
        if claim in self._absent or everywhere in self._absent:
            return Standing.ABSENT
        resource = self._monitors.resource(claim.api_version, claim.kind)
        if resource is None:
            raise UnknownKind
        if resource.namespaced and not claim.namespace:
            raise UnresolvableOwner
        place = claim if resource.namespaced else everywhere
        found = await self._calls.get(resource, place.namespace, claim.name)
        if found is not None and found.uid == claim.uid:
            return Standing.of(found)
        self._absent.add(place)
        return Standing.ABSENT
