"""Holds what a watcher was told against what has happened: each change once, in order, whole. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.attack.machine.calls import Key
from tests.attack.machine.model import Change, History, State, read
from tests.attack.watching import Relist


class Told(NamedTuple):
    """A watch event; ``kind`` is LISTED for an item of a list."""

    kind: str
    state: State

    @property
    def revision(self) -> int:
        """The resourceVersion."""
        return self.state.revision


def told(kind: str, found: Mapping[str, Any]) -> Told:
    """An event, as JSON has it."""
    return Told(kind, read(found))


class Scope(NamedTuple):
    """What a watch asks for: one namespace or all, one value of the label ``team`` or all."""

    namespace: str = ""
    team: str = ""

    def has(self, state: State | None) -> bool:
        """Whether this is among it."""
        if state is None or (self.namespace and state.key.namespace != self.namespace):
            return False
        labels: Mapping[str, str] = state.content["metadata"].get("labels", {})
        return not self.team or labels.get("team") == self.team


class Mirror:
    """What one watcher knows. ``start``: the revision that it begins after; at ``index`` of the history."""

    def __init__(self, history: History, scope: Scope, events: Sequence[Told | Relist[Told]], start: int) -> None:
        self._history = history
        self._scope = scope
        self._told = events
        self._index = max((at + 1 for at, each in enumerate(history.changes) if 0 < each.revision <= start), default=0)
        self._judged = 0
        self.events = 0
        self.relists = 0
        self.violations: list[str] = []

    def judge(self) -> None:
        """All that it was told since the last time; what is too new for the history is left."""
        while self._judged < len(self._told) and not self.violations:
            each = self._told[self._judged]
            if isinstance(each, Relist):
                self._relist(each)
            elif not self._event(each):
                return
            self._judged += 1

    def left(self) -> list[Told]:
        """What came after everything in the history."""
        self.judge()
        return [each for each in self._told[self._judged :] if isinstance(each, Told)]

    def missing(self) -> list[Change]:
        """What it has not been told yet."""
        self.judge()
        return [change for change in self._history.changes[self._index :] if self._shown(change) is not None]

    def _shown(self, change: Change) -> Told | None:
        """The event that a change is in this scope; None for none."""
        before = change.before if self._scope.has(change.before) else None
        after = change.after if self._scope.has(change.after) else None
        if after is not None:
            return Told("ADDED" if before is None else "MODIFIED", after)
        return None if before is None else Told("DELETED", before)

    def _event(self, event: Told) -> bool:
        changes = self._history.changes
        while self._index < len(changes) and self._shown(changes[self._index]) is None:
            self._index += 1
        if self._index == len(changes):
            return False
        change, expected = changes[self._index], self._shown(changes[self._index])
        assert expected is not None
        revision = change.revision or self._unknown(event.revision)
        wanted = Told(expected.kind, _at(expected.state, revision))
        if event != wanted:
            self.violations.append(f"told {event}\ninstead of {wanted}")
        elif not change.revision:
            self._history.learn(self._index, revision)
        self._index += 1
        self.events += 1
        return True

    def _unknown(self, revision: int) -> int:
        """The revision of the change at hand, if it may be this."""
        changes = self._history.changes
        before = max((each.revision for each in changes[: self._index]), default=self._history.begin)
        after = next((each.revision for each in changes[self._index :] if each.revision), revision + 1)
        return revision if before < revision < after else -1

    def _relist(self, gap: Relist[Told]) -> None:
        """It was too late, and listed."""
        self.relists += 1
        listed = {item.state.key: item.state for item in gap.items}
        found = None
        for index, state in self._history.states(gap.revision):
            if listed == {key: each for key, each in state.items() if self._scope.has(each)}:
                found = index
        if found is None or found < self._index:
            self.violations.append(f"listed at {gap.revision}, after {gap.after}: {listed}")
        else:
            self._index = found


def _at(state: State, revision: int) -> State:
    return State(state.key, state.uid, revision, state.generation, state.content, state.owners)


def listed(found: Mapping[str, Any]) -> dict[Key, State]:
    """The objects of a list."""
    states = [read(item) for item in found["items"]]
    return {state.key: state for state in states}
