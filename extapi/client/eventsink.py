"""Where events are written: a bounded queue, tries for as long as the server is away, and a last one for each at the end.

Follows client-go's ``tools/record`` and ``tools/events``. Must not know when events happen, nor what a series is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress

from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.logger import Logger

from extapi.client.dynamic import DynamicClient
from extapi.client.eventseries import EventSeries
from extapi.client.transport import TransportError
from extapi.clock import Clock, sleep, stop_timer, wall_time
from extapi.errors import AlreadyExists, ApiError, NotFound

EVENTS = ("events.k8s.io", "v1", "events")
CORE_EVENTS = ("", "v1", "events")

TRIES = 12
RETRY = 10.0
"""Tries to write an event, and the seconds between them (``maxTriesPerEvent``, ``defaultSleepDuration``)."""
QUEUED = 1000
"""Events that may wait to be written; more are dropped (``maxQueuedEvents``)."""
DELIVERY = 4.0
"""Seconds in which what is queued is written at the end."""
WRITERS = 8
"""Events that are written at a time then. ``tools/events`` writes each by itself at any time."""


class EventSink:
    """Writes the events of a component, one after the other.

    Args:
        client: Where to write them.
        component: What has them, for the log.
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1), which spread the retries.
    """

    _log = Logger()

    def __init__(self, client: DynamicClient, component: str, *, clock: Clock, jitter: Callable[[], float]) -> None:
        self._client = client
        self._component = component
        self._clock = clock
        self._jitter = jitter
        self._queue: deque[EventSeries] = deque()
        self._underway: set[EventSeries] = set()
        self._writing: set[Deferred[None]] = set()
        self._busy = 0
        """Writers, also one that has not waited yet."""
        self._pause: Deferred[None] | None = None
        """Before another try."""
        self._closing = self._stopped = False
        self._dropped = 0
        self._core = False
        """The server does not have ``events.k8s.io``."""

    def put(self, series: EventSeries) -> None:
        """Queue a series; it is written with its state at that time. If too many wait, it is dropped."""
        if series.queued:
            return
        if self._closing or self._stopped:
            self.drop("it came after the end")
            return
        if len(self._queue) >= QUEUED:
            self.drop("too many events wait to be written")
            return
        series.queued = True
        self._queue.append(series)
        if not self._busy:
            self._begin()

    def drop(self, why: str) -> None:
        """Count an event that is not written, and say so in the log."""
        self._dropped += 1
        if self._dropped & (self._dropped - 1) == 0:  # 1, 2, 4, 8...: many dropped events must not fill the log
            self._log.warn(
                "{count} events of {component} dropped so far, the last one as {why}",
                count=self._dropped,
                component=self._component,
                why=why,
            )

    async def close(self) -> None:
        """Write what is queued, within :data:`DELIVERY` seconds, and stop: each event is tried once more.

        Source: ``k8s.io/client-go/tools/record`` EventBroadcaster.Shutdown.
        """
        if self._stopped or self._closing:
            return
        self._closing = True
        if self._pause is not None:
            self._pause.cancel()
        for _ in range(WRITERS - self._busy):
            if self._queue:
                self._begin()
        written: Deferred[None] = Deferred()
        late = self._clock.callLater(DELIVERY, self._give_up)
        DeferredList(list(self._writing)).addCallback(lambda _: None if written.called else written.callback(None))
        try:
            await written
        finally:
            stop_timer(late)
            self.stop()

    def stop(self) -> None:
        """Stop writing at once."""
        self._stopped = True
        self._queue.clear()
        for writing in list(self._writing):
            writing.cancel()

    def _give_up(self) -> None:
        self._log.warn(
            "{count} events of {component} dropped: they could not be written within {seconds:g} s of the end",
            count=len(self._queue) + len(self._underway),
            component=self._component,
            seconds=DELIVERY,
        )
        self.stop()

    def _begin(self) -> None:
        """Write what is queued, beside those who do so already."""
        self._busy += 1
        writing = Deferred.fromCoroutine(self._write_all())
        if not writing.called:
            self._writing.add(writing)
            writing.addBoth(lambda _: self._writing.discard(writing))

    async def _write_all(self) -> None:
        try:
            while (series := self._next()) is not None:
                series.queued = False
                self._underway.add(series)
                try:
                    await self._write(series)
                finally:
                    self._underway.discard(series)
        finally:
            self._busy -= 1

    def _next(self) -> EventSeries | None:
        """The first series that nobody is writing: who writes one takes it again if it was queued meanwhile."""
        for _ in range(len(self._queue)):
            series = self._queue.popleft()
            if series not in self._underway:
                return series
            self._queue.append(series)
        return None

    async def _write(self, series: EventSeries) -> None:
        """Write a series; retry while the server is unavailable, give up if it refuses, or if it cannot be written."""
        for _ in range(TRIES):
            try:
                await self._send(series)
            except GeneratorExit:  # nobody waits for it any more
                raise
            except AlreadyExists:  # by an earlier try that got no answer
                series.created = True
                return
            except (ApiError, TransportError, CancelledError) as error:
                if self._is_stopped():
                    return
                if isinstance(error, ApiError) and error.code < 500 and error.code != 429:
                    self.drop(f"the server refused it: {error}")
                    return
                last = error
            except BaseException as error:  # noqa: BLE001 - whatever is wrong with an event must not stop those behind it
                self._tell(series, error)
                return
            else:
                series.created, series.written = True, wall_time(self._clock)
                return
            if self._closing:
                break
            await self._wait()
            if self._is_stopped():
                return
        self.drop(f"it could not be written: {last}")

    async def _wait(self) -> None:
        """Wait before another try, but not for longer than until the end."""
        pause = self._pause = Deferred.fromCoroutine(sleep(self._clock, RETRY * (1 + 0.25 * self._jitter())))
        with suppress(CancelledError):
            await pause

    def _is_stopped(self) -> bool:
        return self._stopped

    def _tell(self, series: EventSeries, error: BaseException) -> None:
        """Log that an event cannot be written, with what it says: it is as good as a line of the log then."""
        event = series.event
        self._log.error(
            "an event of {component} was dropped, as it cannot be written ({error}): {reason} of {about}: {note}",
            component=self._component,
            error=f"{type(error).__name__}: {error}",
            reason=ascii(event["reason"]),
            about=ascii(event["regarding"]),
            note=ascii(event["note"]),
        )

    async def _send(self, series: EventSeries) -> None:
        metadata = series.event["metadata"]
        if series.created:
            resource = CORE_EVENTS if self._core else EVENTS
            progress = series.core_progress() if self._core else series.progress()
            try:
                await self._client.patch(*resource, metadata["name"], progress, namespace=metadata["namespace"])
            except NotFound:
                pass  # the event has expired
            else:
                return
        if not self._core:
            try:
                await self._client.create(*EVENTS, series.new())
            except NotFound as error:
                if error.name:
                    raise  # it is the namespace that was not found
            else:
                return
        await self._client.create(*CORE_EVENTS, series.core())
        self._core = True  # only now: what answered 404 before may have been a load balancer
