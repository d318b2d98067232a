"""One form in one version on its way to the watchers: every event is encoded once, in order.

And the audience of a resource: its lanes, and the events of the tick that have yet to be told.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from twisted.logger import Logger

from extapi.client.clock import Clock
from extapi.errors import InternalError
from extapi.watch.entry import Source
from extapi.watch.group import Group
from extapi.watch.history import Event
from extapi.watch.rendering import Occurrence, Renderer, render
from extapi.watch.selection import Selection
from extapi.watch.watcher import Watcher


class Lane:
    """The groups of one renderer."""

    _log = Logger()

    def __init__(self, renderer: Renderer, source: Source) -> None:
        self.renderer = renderer
        self._source = source
        self._groups: dict[Selection, Group] = {}
        self._encoded: dict[tuple[int, str], bytes] = {}
        """Of the tick: groups of different selections see the same change as one type or another."""

    def __len__(self) -> int:
        return len(self._groups)

    def group(self, selection: Selection) -> Group:
        """The group of a selection; made when it has its first watcher."""
        group = self._groups.get(selection)
        if group is None:
            group = self._groups[selection] = Group(self, selection.test(self._source))
        return group

    def drop(self, selection: Selection) -> None:
        """Forget a group that has no watcher any more."""
        group = self._groups.get(selection)
        if group is not None and not group:
            del self._groups[selection]

    def encoded(self, occurrence: Occurrence) -> bytes:
        """The event's bytes. See :func:`~extapi.watch.rendering.render`."""
        key = (occurrence.revision, occurrence.kind)
        data = self._encoded.get(key)
        if data is None:
            data = self._encoded[key] = render(self.renderer, occurrence)
        return data

    def deliver(self, events: Sequence[Event]) -> None:
        """Tell every group of the events of one tick."""
        for group in tuple(self._groups.values()):
            try:
                group.deliver(events)
            except Exception:  # noqa: BLE001 -- a watcher that missed an event must not go on as if it had not
                self._log.failure("the watchers of a group could not be told")
                group.fail(InternalError.because("the watch could not go on"))
        self._encoded.clear()


class Audience:
    """All watchers of one resource."""

    def __init__(self, source: Source, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._lanes: dict[Hashable, Lane] = {}
        self._watchers: dict[Watcher, None] = {}
        self._untold: list[Event] = []
        self._timer: Any = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._watchers)

    def tell(self, event: Event) -> None:
        """Have an event told at the end of this turn: all events of a turn leave in one write a watcher."""
        if self._lanes:
            self._untold.append(event)
            if self._timer is None:
                self._timer = self._clock.callLater(0, self.flush)

    def flush(self) -> None:
        """Tell what is untold now."""
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()
        events, self._untold = self._untold, []
        if events:
            for lane in tuple(self._lanes.values()):
                lane.deliver(events)

    def enter(self, watcher: Watcher) -> None:
        """Count the watcher in: it is ended with all others."""
        self._watchers[watcher] = None
        if self._closed:
            watcher.end()

    def join(
        self, watcher: Watcher, key: Hashable, renderer: Renderer, selection: Selection, *, newcomer: bool
    ) -> None:
        """Give the watcher all events from now on; what is untold has been told before (:meth:`flush`)."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(renderer, self._source)
        lane.group(selection).join(watcher, newcomer=newcomer)

    def leave(self, watcher: Watcher, key: Hashable, selection: Selection) -> None:
        """The watcher gets no more."""
        self._watchers.pop(watcher, None)
        lane = self._lanes.get(key)
        if watcher.group is None or lane is None:
            return
        watcher.group.leave(watcher)
        lane.drop(selection)
        if not lane:
            del self._lanes[key]

    def end(self, *, closed: bool = False) -> None:
        """End every watch cleanly, after what is untold has been told; ``closed``: and every one that comes."""
        self._closed = self._closed or closed
        self.flush()
        for watcher in tuple(self._watchers):
            watcher.end()
