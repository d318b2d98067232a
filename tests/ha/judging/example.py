"""Histories of a store that is correct: as a run records them, made up in milliseconds, for the tests of the judge."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.ha.judging.history import (
    Bookmark,
    Ended,
    Entry,
    Event,
    Get,
    Gone,
    History,
    Item,
    Listed,
    Opened,
    Result,
    Verb,
    Version,
    Watch,
    Write,
)
from tests.ha.judging.truth import Truth

KEYS = ("k0", "k1", "k2", "k3")


def correct_history(seed: int, *, writes: int = 150) -> History:
    """Writes, reads and watches that take a while and overlap, uncertain and refused ones among them."""
    return _Store(Random(seed)).run(writes)  # noqa: S311 - a seed is what it is for


class _Store:
    """Each operation takes effect at one moment between its start and its end."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.revision = 10
        self.time = 0.0
        self.newest: dict[str, Version] = {}
        self.history = History(0, [], [], [], [], [])

    def run(self, writes: int) -> History:
        history = self.history
        for number in range(writes):
            self._write(f"w-{number}")
            if self.dice.random() < 0.1:
                self.revision += 1  # somebody else's
            if self.dice.random() < 0.5:
                self._get()
            if self.dice.random() < 0.3:
                self._list()
        self._commit("final", {"op": "final", "half": "a"})
        history.writes.append(
            Write(
                "final",
                "create",
                "final",
                self.time,
                self.time + 1,
                "acknowledged",
                0,
                history.log[-1].content or {},
                self.revision,
            )
        )
        history.ends = self.revision
        truth = Truth(history.log)
        for name, half in (("w0", ""), ("w1", "a"), ("w2", "")):
            history.watches.append(Watch(name, half, list(self._watch(truth, half))))
        return history

    def _span(self) -> tuple[float, float]:
        self.time += self.dice.random()
        return self.time - self.dice.random() * 3, self.time + self.dice.random() * 3

    def _commit(self, key: str, content: dict[str, str] | None) -> None:
        self.revision += 1
        self.newest[key] = Version(self.revision, key, content)
        self.history.log.append(self.newest[key])

    def _live(self, key: str) -> Version | None:
        version = self.newest.get(key)
        return version if version is not None and version.content is not None else None

    def _write(self, name: str) -> None:
        dice = self.dice
        key = dice.choice(KEYS)
        live = self._live(key)
        verbs: list[Verb] = ["update", "patch", "patch", "delete"]
        verb: Verb = "create" if live is None else dice.choice(verbs)
        sent = {"op": name, "half": dice.choice("ab")}
        if verb == "patch":
            sent = {"op": name, "by": name}
        elif verb == "delete":
            sent = {}
        expected = -1 if verb == "patch" else live.revision if live is not None else 0
        result: Result = dice.choice(("acknowledged", "acknowledged", "acknowledged", "refused", "uncertain"))
        start, end = self._span()
        answered = 0
        if result == "acknowledged" or (result == "uncertain" and dice.random() < 0.5):
            old = live.content if verb == "patch" and live is not None else None
            self._commit(key, None if verb == "delete" else {**(old or {}), **sent})
            answered = self.revision if result == "acknowledged" and verb != "delete" else 0
        status = {"acknowledged": 200, "refused": 409, "uncertain": 504}[result]
        self.history.writes.append(Write(name, verb, key, start, end, result, expected, sent, answered, status))

    def _get(self) -> None:
        key = self.dice.choice(KEYS)
        live = self._live(key)
        start, end = self._span()
        revision, content = (live.revision, live.content) if live is not None else (0, None)
        self.history.gets.append(Get(key, start, end, True, revision, content))

    def _list(self) -> None:
        start, end = self._span()
        consistent = self.dice.random() < 0.7
        # Without, it may be of any revision that was.
        revision = (
            self.revision if consistent else self.dice.choice(self.history.log).revision if self.history.log else 1
        )
        half = self.dice.choice(("", "a"))
        self.history.lists.append(
            self._listed(Truth(self.history.log), revision, half, start, end, consistent=consistent)
        )

    def _listed(self, truth: Truth, revision: int, half: str, start: float, end: float, *, consistent: bool) -> Listed:
        items = tuple(
            Item(each.key, each.revision, each.content or {}) for each in truth.state(revision, half).values()
        )
        return Listed(start, end, consistent, (revision, revision), items, half)

    def _watch(self, truth: Truth, half: str) -> Iterator[Entry]:
        """It is late, and is not judged for that."""
        late = self.time + 10
        at = 10
        yield self._listed(truth, at, half, late, late, consistent=False)
        yield Opened(late, at)
        while event := truth.next_event(at, half):
            yield Event(late, event.kind, event.key, event.revision, event.content)
            at = event.revision
            chance = self.dice.random()
            if chance < 0.1:
                following = truth.next_event(at, half)
                at = following.revision - 1 if following is not None else at
                yield Bookmark(late, at)
            elif chance < 0.15:
                yield Ended(late, "")
                yield Opened(late, at)
            elif chance < 0.18:
                yield Ended(late, "connection reset")
                yield Opened(late, at)
                yield Gone(late)
                at = min(at + 7, self.revision)
                yield self._listed(truth, at, half, late, late, consistent=False)
                yield Opened(late, at)
