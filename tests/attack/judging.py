"""Holds what a watcher was told against what the writers were told. Every mismatch is a violation, in words.

Pure: it sees a ledger and events, and no server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.attack.watching import Event, Relist
from tests.attack.writing import Attempt, Ledger


class Judge:
    """Follows one watcher; ``truth`` is shared by the judges of one store: what happened at a revision, happened for all."""

    def __init__(
        self, ledger: Ledger, truth: dict[int, Event], *, may_be_there: Callable[[Attempt], bool] = lambda _: False
    ) -> None:
        """:param may_be_there: says of a write that was refused that it may have been written all the same."""
        self._ledger = ledger
        self._truth = truth
        self._may_be_there = may_be_there
        self.violations: list[str] = []
        self.events = 0
        self.relists = 0
        self._there: dict[str, Event] = {}
        self._by_step: dict[int, tuple[Event, int]] = {}
        self._deleted: dict[str, int] = {}
        """By uid: the revision that was deleted."""
        self._gaps: list[Relist[Event]] = []
        self._attempts = 0
        self._judged = 0

    def judge(self, told: list[Event | Relist[Event]], listed: Iterable[Event]) -> None:
        """All that came since the last time, up to a marker; ``listed`` is what is there now. All writers are quiet."""
        sent = self._ledger.attempts
        by_step = {each.step: each for each in sent[self._attempts :]}
        for each in told[self._judged :]:
            if isinstance(each, Relist):
                self._relist(each)
            else:
                self._event(each, by_step)
        self._judged = len(told)
        for attempt in sent[self._attempts :]:
            if attempt.acknowledged:
                self._acknowledged(attempt)
        self._attempts = len(sent)
        now = {each.name: each[2:] for each in listed}
        self._expect(now == {name: each[2:] for name, each in self._there.items()}, f"listed {now}", self._there)

    def _expect(self, good: bool, *what: object) -> None:
        if not good:
            self.violations.append(" ".join(map(str, what)))

    def _event(self, event: Event, by_step: dict[int, Attempt]) -> None:
        self.events += 1
        before = self._there.get(event.name)
        known = self._truth.setdefault(event.revision, event)
        self._expect(known == event, "two stories of one revision:", event, known)
        if event.kind == "DELETED":
            # Step and uid are those of what was there.
            self._expect(before is not None and (before.uid, before.step) == (event.uid, event.step), event, before)
            self._expect(event.uid not in self._deleted, "deleted twice:", event)
            self._deleted[event.uid] = before.revision if before else 0
            self._there.pop(event.name, None)
            return
        attempt = by_step.get(event.step)
        self._expect(event.step not in self._by_step, "written twice:", event)
        if attempt is None:
            self._expect(False, "nobody wrote", event)
        else:
            self._expect(attempt.name == event.name, event, attempt)
            self._expect(not attempt.refused or self._may_be_there(attempt), "refused, and there:", event, attempt)
            insisted = not attempt.expected or (before is not None and before.revision == attempt.expected)
            self._expect(insisted, event, "over", before, "for", attempt)
        if event.kind == "ADDED":
            self._expect(before is None, event, "over", before)
        else:
            self._expect(event.kind == "MODIFIED" and before is not None and before.uid == event.uid, event, before)
        self._by_step[event.step] = (event, before.revision if before else 0)
        self._there[event.name] = event

    def _relist(self, gap: Relist[Event]) -> None:
        self.relists += 1
        for item in gap.items:
            before = self._there.get(item.name)
            self._expect(
                before is None or before.uid != item.uid or item.revision >= before.revision, item, "after", before
            )
        self._there = {item.name: item for item in gap.items}
        self._gaps.append(gap)

    def _acknowledged(self, attempt: Attempt) -> None:
        if attempt.verb == "delete":
            found = attempt.uid in self._deleted
            if found and attempt.expected:
                self._expect(self._deleted[attempt.uid] == attempt.expected, "another was deleted:", attempt)
            if not found:  # it may have happened where this watcher did not look
                there = any(each.uid == attempt.uid for each in self._there.values())
                self._expect(bool(self._gaps) and not there, "lost:", attempt)
            return
        event, _ = self._by_step.get(attempt.step, (None, 0))
        if event is not None:
            self._expect((event.revision, event.uid) == (attempt.revision, attempt.uid), event, "is not", attempt)
            self._expect((event.kind == "ADDED") == (attempt.verb == "create"), event, "for", attempt)
            return
        gap = next((each for each in self._gaps if each.after < attempt.revision <= each.revision), None)
        self._expect(gap is not None, "lost:", attempt)
        if gap is not None:
            item = next((each for each in gap.items if each.uid == attempt.uid), None)
            self._expect(item is None or item.revision >= attempt.revision, "lost:", attempt, "in", item)


def reused(ledger: Ledger) -> list[str]:
    """Revisions that two acknowledged writes got."""
    first: dict[int, Attempt] = {}
    return [
        f"one revision for {first[each.revision]} and {each}"
        for each in ledger.attempts
        if each.revision and first.setdefault(each.revision, each) is not each
    ]
