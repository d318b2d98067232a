"""Watchers that want the same: one decision and one chunk an event for all of them.

Knows selections and transitions; the bytes come from the lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from extapi.errors import ApiError
from extapi.listener.call import PIECE, Chunk
from extapi.watch.history import Event
from extapi.watch.rendering import ADDED, DELETED, MODIFIED, Occurrence, render
from extapi.watch.selection import Test

if TYPE_CHECKING:
    from extapi.watch.lane import Lane
    from extapi.watch.watcher import Watcher


def seen(test: Test | None, event: Event) -> Occurrence | None:
    """What those who select by ``test`` see of an event; ``None``: nothing (spec F12).

    An object that does not match any more, or is gone, is shown as it was, with the revision of the change.
    """
    entry, previous = event.entry, event.previous
    matches = entry is not None and (test is None or test(entry))
    matched = previous is not None and (test is None or test(previous))
    if matches and entry is not None:
        return Occurrence(MODIFIED if matched else ADDED, entry, event.revision)
    if matched and previous is not None:
        return Occurrence(DELETED, previous, event.revision)
    return None


def pieces(parts: Iterable[bytes]) -> Iterator[Chunk]:
    """Whole events, joined to chunks of at most :data:`PIECE` bytes; a larger event is a chunk of its own."""
    held: list[bytes] = []
    size = 0
    for part in parts:
        if held and size + len(part) > PIECE:
            yield Chunk(b"".join(held))
            held, size = [], 0
        held.append(part)
        size += len(part)
    if held:
        yield Chunk(b"".join(held))


class Group:
    """The watchers of one lane and one selection."""

    __slots__ = ("_lane", "_newcomers", "_test", "_watchers")

    def __init__(self, lane: Lane, test: Test | None) -> None:
        self._lane = lane
        self._test = test
        self._watchers: dict[Watcher, None] = {}
        self._newcomers: dict[Watcher, None] = {}
        """Those whose first event is yet to come, where that differs from later ones."""

    def __len__(self) -> int:
        return len(self._watchers) + len(self._newcomers)

    def join(self, watcher: Watcher, *, newcomer: bool) -> None:
        """From now on the watcher gets the events; ``newcomer``: it has got none so far."""
        watcher.group = self
        members = self._newcomers if newcomer and self._lane.renderer.distinct_first else self._watchers
        members[watcher] = None

    def leave(self, watcher: Watcher) -> None:
        """The watcher gets no more."""
        self._watchers.pop(watcher, None)
        self._newcomers.pop(watcher, None)

    def bookmark(self, watcher: Watcher, revision: int) -> None:
        """Send one watcher a bookmark."""
        first = watcher in self._newcomers
        if first:
            del self._newcomers[watcher]
            self._watchers[watcher] = None
        watcher.deliver([Chunk(self._lane.renderer.bookmark(revision, initial_end=False, first=first))])

    def deliver(self, events: Sequence[Event]) -> None:
        """Tell all watchers of the events that they select: one chunk, shared."""
        opening: Occurrence | None = None
        parts: list[bytes] = []
        failure: ApiError | None = None
        for event in events:
            try:
                occurrence = seen(self._test, event)
                if occurrence is not None:
                    parts.append(self._lane.encoded(occurrence))
                    opening = opening or occurrence
            except ApiError as error:
                failure = error
                break
        if opening is not None:
            self._deliver(opening, parts)
        if failure is not None:
            self.fail(failure)

    def fail(self, error: ApiError) -> None:
        """End all watchers with an ERROR event."""
        for watcher in (*self._watchers, *self._newcomers):
            watcher.fail(error)

    def _deliver(self, opening: Occurrence, parts: list[bytes]) -> None:
        if self._newcomers:
            newcomers, self._newcomers = self._newcomers, {}
            first = render(self._lane.renderer, opening, first=True)
            chunks = list(pieces([first, *parts[1:]]))
            for watcher in newcomers:
                watcher.deliver(chunks)
        else:
            newcomers = {}
        if self._watchers:
            chunks = list(pieces(parts))
            for watcher in tuple(self._watchers):
                watcher.deliver(chunks)
        self._watchers.update((watcher, None) for watcher in newcomers if not watcher.ended)
