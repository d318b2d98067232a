"""All watchers of a resource: every event is encoded once per encoding, decided once per selection, and sent in order.

Events of one turn of the reactor leave together, in one write per watcher.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from twisted.logger import Logger

from extapi.clock import Clock, stop_timer
from extapi.errors import InternalError
from extapi.watch.cachedobject import CacheSource, Representation
from extapi.watch.cachewatcher import CacheWatcher
from extapi.watch.encoding import EventEncoder, encode_event
from extapi.watch.events import CacheEvent, WatchEvent
from extapi.watch.selection import Selection
from extapi.watch.watchergroup import WatcherGroup


class EventStream:
    """The events of a resource in one encoding, and the groups of watchers that receive them."""

    _log = Logger()

    def __init__(self, encoder: EventEncoder, source: CacheSource) -> None:
        self._encoder = encoder
        self._source = source
        self._groups: dict[Selection, WatcherGroup] = {}
        self._encoded: dict[tuple[int, str], bytes] = {}
        """Events of this delivery by revision and type: the same change may be ADDED to one group and MODIFIED to another."""

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def version(self) -> str:
        """The version that its watchers read."""
        return self._encoder.representation

    def group(self, selection: Selection) -> WatcherGroup:
        """The group of a selection, created for its first watcher."""
        group = self._groups.get(selection)
        if group is None:
            group = self._groups[selection] = WatcherGroup(
                self._encoder,
                selection.predicate(self._source),
                self._source.representation(self._encoder.representation),
            )
        return group

    def add(self, watcher: CacheWatcher, selection: Selection, *, unstarted: bool) -> WatcherGroup:
        """Add a watcher to the group of its selection; see :meth:`Broadcaster.subscribe`."""
        group = self.group(selection)
        group.add(watcher, unstarted=unstarted)
        return group

    def when_delivered(self, call: Callable[[], None]) -> None:
        """Call ``call`` once all changes until now have been delivered: at once, unless conversion waits."""
        call()

    def close(self) -> None:
        """Deliver nothing more."""

    def remove(self, watcher: CacheWatcher, selection: Selection) -> None:
        """Remove a watcher from the group of its selection, and the group if it was the last one."""
        group = self._groups.get(selection)
        if group is not None:
            group.remove(watcher)
            if not group:
                del self._groups[selection]

    def deliver(self, changes: Sequence[CacheEvent]) -> None:
        """Send changes to every group."""
        for group in tuple(self._groups.values()):
            try:
                group.deliver(changes, self._encode)
            except Exception:  # noqa: BLE001 -- a watcher that missed an event must not go on as if it had not
                self._log.failure("events could not be delivered to a group of watchers")
                group.fail(InternalError.because("the watch could not go on"))
        self._encoded.clear()

    def _encode(self, event: WatchEvent) -> bytes:
        """Encode an event once per delivery."""
        key = (event.revision, event.type)
        data = self._encoded.get(key)
        if data is None:
            data = self._encoded[key] = encode_event(self._encoder, event)
        return data


class Broadcaster:
    """All watchers of one resource.

    ``new_stream`` makes the stream of an encoding.
    """

    def __init__(
        self,
        source: CacheSource,
        clock: Clock,
        new_stream: Callable[[EventEncoder, CacheSource], EventStream] = EventStream,
    ) -> None:
        self._source = source
        self._clock = clock
        self._new_stream = new_stream
        self._streams: dict[Hashable, EventStream] = {}
        """By encoding."""
        self._watchers: dict[CacheWatcher, None] = {}
        self._pending: list[CacheEvent] = []
        self._timer: Any = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._watchers)

    def representation(self, encoder: EventEncoder) -> Representation:
        """What the readers of an encoder's version share."""
        return self._source.representation(encoder.representation)

    def versions(self) -> set[str]:
        """The versions in which there are watchers."""
        return {stream.version for stream in self._streams.values()}

    def publish(self, change: CacheEvent) -> None:
        """Deliver a change at the end of this turn."""
        if self._streams:
            self._pending.append(change)
            if self._timer is None:
                self._timer = self._clock.callLater(0, self.flush)

    def flush(self) -> None:
        """Deliver pending changes now."""
        timer, self._timer = self._timer, None
        stop_timer(timer)
        changes, self._pending = self._pending, []
        if changes:
            for stream in tuple(self._streams.values()):
                stream.deliver(changes)

    def add(self, watcher: CacheWatcher) -> None:
        """Add a watcher, which receives nothing yet but ends with all others."""
        self._watchers[watcher] = None
        if self._closed:
            watcher.end()

    def subscribe(
        self, watcher: CacheWatcher, encoding: Hashable, encoder: EventEncoder, selection: Selection, *, unstarted: bool
    ) -> WatcherGroup:
        """Send a watcher all events from now on. Pending changes must have been delivered before: see :meth:`flush`.

        Args:
            watcher: A watcher that was added before.
            encoding: Identifies the encoding; watchers with equal values share the encoded bytes.
            encoder: Makes these bytes.
            selection: The objects to watch.
            unstarted: Whether the watcher has not been sent an event yet.

        Returns:
            The group that the watcher is in.
        """
        stream = self._streams.get(encoding)
        if stream is None:
            stream = self._streams[encoding] = self._new_stream(encoder, self._source)
        return stream.add(watcher, selection, unstarted=unstarted)

    def when_delivered(self, encoding: Hashable, call: Callable[[], None]) -> None:
        """Call ``call`` once the watchers of an encoding have been sent all changes until now; see :meth:`flush`."""
        stream = self._streams.get(encoding)
        if stream is not None:
            stream.when_delivered(call)

    def remove(self, watcher: CacheWatcher, encoding: Hashable, selection: Selection) -> None:
        """Remove a watcher, whether it has subscribed or not."""
        self._watchers.pop(watcher, None)
        stream = self._streams.get(encoding)
        if stream is not None:
            stream.remove(watcher, selection)
            if not stream:
                del self._streams[encoding]
                stream.close()

    def end(self, *, closed: bool = False) -> None:
        """Deliver pending changes, then end every watch cleanly; ``closed``: end later watches at once, too."""
        self._closed = self._closed or closed
        self.flush()
        for watcher in tuple(self._watchers):
            watcher.end()
