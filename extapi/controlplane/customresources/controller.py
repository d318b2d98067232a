"""The controller of definitions: accepts their names, has them served, establishes them, and empties those that are deleted.

Many definitions that come at once are served at once. kube-apiserver has a controller for each condition; here one writes
them all, in the same order, so that a kind is there after two writes.

Source: ``apiextensions-apiserver/pkg/controller`` status, establish and apiapproval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.logger import Logger

from extapi import ApiError, Conflict, Context, Informer, NotFound, TransportError
from extapi.api.jsonvalue import json_copy
from extapi.api.timestamp import format_timestamp
from extapi.api.types import Obj
from extapi.clock import wall_time
from extapi.controlplane.customresources.emptying import Emptier
from extapi.controlplane.customresources.names import TakenNames, named, settled
from extapi.controlplane.customresources.review import approval_condition, established_condition
from extapi.controlplane.customresources.served import DEFINITIONS, CustomResources
from extapi.controlplane.kinds.apiextensions import CLEANUP
from extapi.crd.conditions import (
    ESTABLISHED,
    NAMES_ACCEPTED,
    TERMINATING,
    DefinitionCondition,
    find_condition,
    is_true,
    set_condition,
)
from extapi.storage.base import Unavailable

_ALL: Final = ""
"""The queue's only key."""
WRITES: Final = 20
"""Statuses that are written at a time."""
AGAIN: Final = 30.0
"""Seconds until a kind that could not be served is offered again: objects in a version that it lacks may be gone."""
LONGEST: Final = 1.0
"""The most seconds for which definitions that come one after the other wait for each other."""


class DefinitionController:
    """Follows definitions.

    Args:
        served: Serves their kinds.
        emptier: Deletes the objects of kinds.
    """

    def __init__(self, served: CustomResources, emptier: Emptier) -> None:
        self._served = served
        self._emptier = emptier

    async def run(self, context: Context) -> None:
        """Work until cancelled."""
        await _Definitions(context, self._served, self._emptier).run()


class _Definitions:
    """One run of the controller."""

    _log = Logger()

    def __init__(self, context: Context, served: CustomResources, emptier: Emptier) -> None:
        self._context = context
        self._served = served
        self._emptier = emptier
        self._queue = context.queue()
        self._deleted = context.queue()
        self._changed: set[str] = set()
        self._rested = 0.0
        """When kinds may be served again."""
        self._written: dict[str, Obj] = {}
        """Definitions as they were written last, until the informer has them."""
        self._emptied: dict[str, Obj] = {}
        """Definitions that are deleted, without what the emptier writes."""
        self._informer: Informer = context.informer(*DEFINITIONS, on_change=self._seen)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._informer.wait_synced()
        self._queue.add(_ALL)
        running = [
            Deferred.fromCoroutine(self._queue.each(self._settle)),
            Deferred.fromCoroutine(self._deleted.each(self._empty, workers=5)),
        ]
        try:
            await gatherResults(running, consumeErrors=True)
        except FirstError as error:
            error.subFailure.raiseException()
        finally:
            for each in running:
                each.cancel()

    def _seen(self, event: str, obj: Obj) -> None:
        metadata = obj["metadata"]
        name = metadata["name"]
        if event == "DELETED" or _revision(obj) >= _revision(self._written.get(name)):
            self._written.pop(name, None)
        self._changed.add(name)
        self._queue.add(_ALL)
        if event == "DELETED":
            self._emptied.pop(name, None)
        elif "deletionTimestamp" in metadata and CLEANUP in metadata.get("finalizers", ()):
            # What the emptier itself has written is no reason to begin again at once: its failures wait in the queue.
            before, self._emptied[name] = self._emptied.get(name), _without_progress(obj)
            if before != self._emptied[name]:
                self._deleted.add(name)

    def _definitions(self) -> list[Obj]:
        """All definitions as they were seen or written last, oldest first."""
        found = {each["metadata"]["name"]: each for each in self._informer.items()}
        found |= {name: obj for name, obj in self._written.items() if name in found}
        return sorted(
            found.values(), key=lambda each: (each["metadata"]["creationTimestamp"], each["metadata"]["name"])
        )

    async def _settle(self, _key: str) -> float | None:
        """Do what the changes since the last time make necessary; when to look again at what could not be served."""
        await self._rest()
        changed, self._changed = self._changed, set()
        try:
            await self._write(self._named(changed))
            began = self._context.clock.seconds()
            refused = await self._served.serve(self._definitions())
            self._rested = began + 2 * min(self._context.clock.seconds() - began, LONGEST)
            await self._write(self._established(refused))
        except BaseException:
            self._changed |= changed
            raise
        return AGAIN if refused else None

    async def _rest(self) -> None:
        """Let as much time pass as was needed to serve what came last, and meanwhile more come.

        The more kinds a group has, the longer its documents take: one after the other, a hundred would take minutes.
        """
        left = self._rested - self._context.clock.seconds()
        if left > 0:
            await self._context.sleep(left)

    def _named(self, changed: set[str]) -> list[Obj]:
        """The definitions that get names or conditions, with these."""
        now = format_timestamp(wall_time(self._context.clock))
        groups: dict[str, list[Obj]] = {}
        for obj in self._definitions():
            groups.setdefault(obj["spec"]["group"], []).append(obj)
        touched = {name.partition(".")[2] for name in changed}
        found: dict[str, Obj] = {}
        for group, members in groups.items():
            if group in touched:
                for obj in _accepted(members, now):
                    found[obj["metadata"]["name"]] = obj
                for each in members:
                    name = each["metadata"]["name"]
                    obj = found.get(name, each)
                    if name in changed and (after := _with(obj, [approval_condition(obj)], now)) is not obj:
                        found[name] = after
        return list(found.values())

    def _established(self, refused: Mapping[str, str]) -> list[Obj]:
        """The definitions that are served now and do not say so yet, or cannot be served."""
        now = format_timestamp(wall_time(self._context.clock))
        found = []
        for obj in self._definitions():
            if not is_true(obj, NAMES_ACCEPTED) or is_true(obj, ESTABLISHED):
                continue
            why = refused.get(obj["metadata"]["name"])
            condition = (
                established_condition(obj)
                if why is None
                else DefinitionCondition(ESTABLISHED, "False", "NotServed", why)
            )
            after = _with(obj, [condition], now)
            if after is not obj:
                found.append(after)
        return found

    async def _write(self, definitions: Iterable[Obj]) -> None:
        """Write the statuses of definitions. One that has changed meanwhile will be seen again.

        Raises:
            ApiError: One could not be written.
        """
        waiting = list(definitions)
        while waiting:
            batch, waiting = waiting[:WRITES], waiting[WRITES:]
            try:
                await gatherResults(
                    [Deferred.fromCoroutine(self._write_one(each)) for each in batch], consumeErrors=True
                )
            except FirstError as error:
                error.subFailure.raiseException()

    async def _write_one(self, obj: Obj) -> None:
        try:
            written = await self._context.update(*DEFINITIONS, obj, subresource="status")
        except (Conflict, NotFound):
            return
        name = written["metadata"]["name"]
        if _revision(written) > _revision(self._informer.get("", name)):
            self._written[name] = written

    async def _empty(self, name: str) -> None:
        """Delete the objects of a definition that is deleted, then its finalizer."""
        obj = self._informer.get("", name)
        if obj is not None:
            try:
                await self._emptier.finalize(self._context, name)
            except (ApiError, TransportError, Unavailable) as error:
                self._log.warn("{name} was not emptied, and is tried again: {error}", name=name, error=str(error))
                raise


def _accepted(members: list[Obj], now: str) -> list[Obj]:
    """The definitions of a group whose names change, with these. A name that one gives up may be another's."""
    members = list(members)
    taken = TakenNames.of(members)
    changed: dict[int, Obj] = {}
    for _ in members:
        before = dict(changed)
        for index, obj in enumerate(members):
            if settled(obj):
                continue
            naming = named(obj, taken)
            if naming.accepted == obj["status"].get("acceptedNames") and naming.names == find_condition(
                obj, NAMES_ACCEPTED
            ):
                continue
            after = json_copy(obj)
            after["status"]["acceptedNames"] = naming.accepted
            set_condition(after, naming.names, now)
            if naming.established != find_condition(after, ESTABLISHED):
                set_condition(after, naming.established, now)
            taken.replace(obj, after)
            members[index] = changed[index] = after
        if changed == before:
            break
    return list(changed.values())


def _with(obj: Obj, conditions: Iterable[DefinitionCondition | None], now: str) -> Obj:
    """A definition with these conditions; itself if it has them."""
    new = [each for each in conditions if each is not None and each != find_condition(obj, each.type)]
    if not new:
        return obj
    after: Obj = json_copy(obj)
    for each in new:
        set_condition(after, each, now)
    return after


def _without_progress(obj: Obj) -> Obj:
    """A definition without its condition Terminating, and without what changes with that (``crd_finalizer.go``)."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in {"resourceVersion", "managedFields"}}
    status = obj.get("status") or {}
    conditions = [each for each in status.get("conditions") or () if each["type"] != TERMINATING]
    return {**obj, "metadata": metadata, "status": {**status, "conditions": conditions}}


def _revision(obj: Obj | None) -> int:
    return int(obj["metadata"]["resourceVersion"]) if obj is not None else 0
