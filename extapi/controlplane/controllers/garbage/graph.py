"""The graph of owners and dependents, and what each change of it makes necessary.

Pure. It is a function of what was observed last of each object: the order in which objects of different kinds arrive does
not matter. The tasks of a change are never too few; each is checked again when it is done, so one too many does no harm.

Source: ``graph_builder.go``; see the package for what is done otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from extapi.controlplane.controllers.garbage.objects import Claim, Observed, Owner


class Collect(NamedTuple):
    """Decide whether the object has to be deleted, or to lose references; or whether it still waits for dependents."""

    uid: str


class Orphan(NamedTuple):
    """Release the object's dependents."""

    uid: str


class Verify(NamedTuple):
    """Ask whether an owner exists that was not observed where dependents claim it to be."""

    claim: Claim


class Report(NamedTuple):
    """Record that the object refers to an owner in another namespace."""

    dependent: Observed
    owner: Owner


Task = Collect | Orphan | Verify | Report


class Graph:
    """All observed objects by uid, and the dependents of every owner, observed or not."""

    def __init__(self) -> None:
        self._objects: dict[str, Observed] = {}
        self._dependents: dict[str, set[str]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, uid: str) -> Observed | None:
        """The object, if it was observed."""
        return self._objects.get(uid)

    def dependents(self, uid: str) -> list[Observed]:
        """Every object that refers to the owner with this uid, rightly or not, in no particular order."""
        return [self._objects[each] for each in self._dependents.get(uid, ())]

    def claimants(self, claim: Claim) -> list[Observed]:
        """The dependents that claim an owner to be there."""
        return [each for each in self.dependents(claim.uid) if claim in each.claims(claim.uid)]

    def blocking(self, uid: str) -> list[Observed]:
        """The dependents that an owner waits for in a foreground deletion."""
        return [each for each in self.dependents(uid) if each.blocks(uid)]

    def waits_for_itself(self, uid: str) -> bool:
        """Whether an object in foreground deletion waits in a circle, for nothing but others that wait in one.

        kube-controller-manager leaves such objects as they are. Whether it comes to that depends on how soon it sees them.
        """
        reached: set[str] = set()
        ahead = [uid]
        while ahead:
            blocking = self.blocking(ahead.pop())
            if not blocking or not all(each.deletes_dependents for each in blocking):
                return False  # something goes on: this is checked again after that
            new = {each.uid for each in blocking} - reached
            reached |= new
            ahead += new
        return uid in reached

    def owner(self, obj: Observed, reference: Owner) -> Observed | None:
        """The owner that the reference means, if it was observed there."""
        found = self._objects.get(reference.uid)
        return found if found is not None and found.fits(reference, obj.namespace) else None

    def observe(self, obj: Observed) -> list[Task]:
        """Take in an object that was added or changed.

        Returns:
            What has to be done now.
        """
        old = self._objects.get(obj.uid)
        self._objects[obj.uid] = obj
        self._relink(old, obj)
        return [*self._as_dependent(old, obj), *self._as_owner(old, obj)]

    def forget(self, uid: str) -> list[Task]:
        """Leave out an object that is gone, or that is not followed any more.

        Whether it is gone, nobody has to believe: the claims of its dependents are verified.

        Returns:
            What has to be done now.
        """
        obj = self._objects.pop(uid, None)
        if obj is None:
            return []
        self._relink(obj, None)
        tasks: list[Task] = [Collect(owner.uid) for owner in obj.owners if self._waits(owner.uid)]
        claims = {claim: None for each in self.dependents(uid) for claim in each.claims(uid)}
        return [*tasks, *map(Verify, claims)]

    def _relink(self, old: Observed | None, new: Observed | None) -> None:
        """Bring the index of dependents up to date."""
        before = {owner.uid for owner in old.owners} if old is not None else set()
        after = {owner.uid for owner in new.owners} if new is not None else set()
        for uid in after - before:
            self._dependents.setdefault(uid, set()).add((new or old).uid)  # type: ignore[union-attr]  # one of both
        for uid in before - after:
            left = self._dependents[uid]
            left.discard((old or new).uid)  # type: ignore[union-attr]  # one of both
            if not left:
                del self._dependents[uid]

    def _as_dependent(self, old: Observed | None, obj: Observed) -> Iterator[Task]:
        """What follows from its references."""
        known = old.owners if old is not None and old.namespace == obj.namespace else ()
        for reference in obj.owners:
            if reference not in known:
                yield from self._checked(obj, reference)
        for uid in {owner.uid for owner in old.owners} if old is not None else ():
            if old is not None and old.blocks(uid) and not obj.blocks(uid) and self._waits(uid):
                yield Collect(uid)

    def _checked(self, obj: Observed, reference: Owner) -> Iterator[Task]:
        """What follows from one reference, which is new, or whose owner is."""
        owner = self.owner(obj, reference)
        if owner is None:
            found = self._objects.get(reference.uid)
            if found is not None and found.namespace not in ("", obj.namespace):
                yield Report(obj, reference)
            yield Verify(Claim.of(reference, obj.namespace))
        elif owner.deletes_dependents:
            yield Collect(obj.uid)

    def _as_owner(self, old: Observed | None, obj: Observed) -> Iterator[Task]:
        """What follows for its dependents."""
        place = (obj.resource.group, obj.resource.kind, obj.namespace, obj.name)
        if old is None or place != (old.resource.group, old.resource.kind, old.namespace, old.name):
            for each in self.dependents(obj.uid):
                for reference in each.owners:
                    if reference.uid == obj.uid and not obj.fits(reference, each.namespace):
                        yield from self._checked(each, reference)
        if obj.orphans_dependents and not (old is not None and old.orphans_dependents):
            yield Orphan(obj.uid)
        if obj.deletes_dependents and not (old is not None and old.deletes_dependents):
            yield from (Collect(each.uid) for each in self.dependents(obj.uid))
            yield Collect(obj.uid)

    def _waits(self, uid: str) -> bool:
        """Whether this owner waits for its dependents."""
        found = self._objects.get(uid)
        return found is not None and found.deletes_dependents
