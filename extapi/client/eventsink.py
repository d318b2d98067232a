"""Where events are written: a bounded queue, and tries for as long as the server is away.

Follows client-go's ``tools/record`` and ``tools/events``. Must not know when events happen, nor what a series is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.client.dynamic import DynamicClient
from extapi.client.eventseries import EventSeries
from extapi.client.transport import TransportError
from extapi.clock import Clock, sleep, wall_time
from extapi.errors import AlreadyExists, ApiError, NotFound

EVENTS = ("events.k8s.io", "v1", "events")
CORE_EVENTS = ("", "v1", "events")

TRIES = 12
RETRY = 10.0
"""Tries to write an event, and the seconds between them (``maxTriesPerEvent``, ``defaultSleepDuration``)."""
QUEUED = 1000
"""Events that may wait to be written; more are dropped (``maxQueuedEvents``)."""


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
        self._writing: Deferred[None] | None = None
        self._busy = self._stopped = False
        self._dropped = 0
        self._core = False
        """The server does not have ``events.k8s.io``."""

    def put(self, series: EventSeries) -> None:
        """Queue a series; it is written with its state at that time. If too many wait, it is dropped."""
        if series.queued or self._stopped:
            return
        if len(self._queue) >= QUEUED:
            self.drop("too many events wait to be written")
            return
        series.queued = True
        self._queue.append(series)
        if not self._busy:
            self._busy = True
            self._writing = Deferred.fromCoroutine(self._write_all())

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

    def stop(self) -> None:
        """Stop writing."""
        self._stopped = True
        self._queue.clear()
        if self._writing is not None:
            self._writing.cancel()

    async def _write_all(self) -> None:
        try:
            while self._queue:
                series = self._queue.popleft()
                series.queued = False
                await self._write(series)
        except CancelledError:
            return
        finally:
            self._busy = False

    async def _write(self, series: EventSeries) -> None:
        """Write a series; retry while the server is unavailable, give up if it refuses."""
        for _ in range(TRIES):
            try:
                await self._send(series)
            except AlreadyExists:  # by an earlier try that got no answer
                series.created = True
                return
            except (ApiError, TransportError) as error:
                away = isinstance(error, TransportError) or error.code >= 500 or error.code == 429
                if not away:
                    self.drop(f"the server refused it: {error}")
                    return
                last = error
            else:
                series.created, series.written = True, wall_time(self._clock)
                return
            await sleep(self._clock, RETRY * (1 + 0.25 * self._jitter()))
        self.drop(f"it could not be written: {last}")

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
                self._core = True
            else:
                return
        await self._client.create(*CORE_EVENTS, series.core())
