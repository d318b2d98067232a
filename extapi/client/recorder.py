"""Events: what a controller did to an object, to read with ``kubectl describe`` and ``kubectl get events``.

Follows client-go's ``tools/events``: writes ``events.k8s.io/v1``, with repeated events as series; and the rate per
object of ``tools/record``. If the server does not have that group, writes events of the core group. Recording never
waits and never fails: an event that cannot be written is dropped, and the log says so.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from extapi.api.names import is_dns_subdomain, qualified_name
from extapi.api.timestamp import format_micro_timestamp, format_timestamp
from extapi.client.dynamic import DynamicClient
from extapi.client.kube import Obj
from extapi.client.ratelimit import TokenBuckets
from extapi.client.transport import TransportError
from extapi.clock import Clock, Timer, sleep, wall_time
from extapi.errors import AlreadyExists, ApiError, NotFound

EVENTS = ("events.k8s.io", "v1", "events")
CORE_EVENTS = ("", "v1", "events")

FINISH = 360.0
"""Seconds within which a repeated event belongs to the same series (``finishTime``)."""
REFRESH = 1800.0
"""Seconds after which a continuing series is written again, so that it does not expire (``refreshTime``)."""
TRIES = 12
RETRY = 10.0
"""Tries to write an event, and the seconds between them (``maxTriesPerEvent``, ``defaultSleepDuration``)."""
QUEUED = 1000
"""Events that may wait to be written; more are dropped (``maxQueuedEvents``)."""
KNOWN = 4096
"""Series to remember, and objects to count the rate of (``tools/record``: ``maxLruCacheEntries``)."""
SPAM_RATE, SPAM_BURST = 1 / 300, 25.0
"""New events per object, per second and at once (``tools/record``: ``defaultSpamQPS``, ``defaultSpamBurst``)."""

_NOTE, _WORD = 1024, 128
"""Bytes in a note, and in a reason, action or instance (``pkg/apis/core/validation/events.go``)."""


@dataclass(eq=False, slots=True)
class _Series:
    """An event, and how often it has happened so far."""

    event: Obj
    first: float
    last: float
    count: int = 1
    created: bool = False
    queued: bool = False
    written: float = 0.0


class EventRecorder:
    """Records the events of a component.

    Args:
        client: Where to write them.
        component: A qualified name, such as ``example.com/cooker``.
        instance: The name of this process.
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1), which spread the retries.

    Raises:
        ValueError: The component is not a qualified name.
    """

    _log = Logger()

    def __init__(
        self, client: DynamicClient, component: str, instance: str, *, clock: Clock, jitter: Callable[[], float]
    ) -> None:
        for problem in qualified_name(component):
            raise ValueError(f"recorder: the component {component!r} is not a qualified name: {problem}")
        self._client = client
        self._component = component
        self._instance = _cut(instance, _WORD)
        self._clock = clock
        self._jitter = jitter
        self._known: OrderedDict[Hashable, _Series] = OrderedDict()
        self._spam = TokenBuckets(clock, rate=SPAM_RATE, burst=SPAM_BURST, size=KNOWN)
        self._queue: deque[_Series] = deque()
        self._writing: Deferred[None] | None = None
        self._busy = self._stopped = False
        self._sweeping: Timer | None = None
        self._nanos = 0
        self._dropped = 0
        self._core = False
        """The server does not have ``events.k8s.io``."""

    def normal(self, regarding: Obj, reason: str, action: str, note: str, *, related: Obj | None = None) -> None:
        """Record that something went as it should. See :meth:`warning` for the arguments."""
        self._record("Normal", regarding, reason, action, note, related)

    def warning(self, regarding: Obj, reason: str, action: str, note: str, *, related: Obj | None = None) -> None:
        """Record that something is wrong, or soon will be.

        Args:
            regarding: The object, with apiVersion, kind and metadata, as the API returned it. The event is in its namespace.
            reason: Why: one word in CamelCase that programs can look for.
            action: What was done: one word in CamelCase that programs can look for.
            note: A sentence for people; of a series, the first one stays.
            related: A second object, if there is one.
        """
        self._record("Warning", regarding, reason, action, note, related)

    def stop(self) -> None:
        """Stop writing events."""
        self._stopped = True
        self._queue.clear()
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        if self._writing is not None:
            self._writing.cancel()

    def _record(self, kind: str, regarding: Obj, reason: str, action: str, note: str, related: Obj | None) -> None:
        about, also = _reference(regarding), _reference(related or {})
        if not (about.get("kind") and about.get("name") and reason and action):
            self._log.error(
                "an event of {component} was dropped: it needs a reason ({reason}), an action ({action}), and an object"
                " with kind and name ({about})",
                component=self._component,
                reason=repr(reason),
                action=repr(action),
                about=about,
            )
            return
        now = wall_time(self._clock)
        key = (kind, reason, action, _identity(about), _identity(also))
        known = self._known.get(key)
        if known is not None and now - known.last < FINISH:
            known.count += 1
            known.last = now
            if known.count == 2:
                self._enqueue(known)
            return
        if known is not None:
            self._finish(key, known)
        if not self._spam.take(_identity(about)):
            self._drop("too many events about one object")
            return
        event = {
            "metadata": {"name": self._name(about["name"], now), "namespace": about.get("namespace", "default")},
            "reportingController": self._component,
            "reportingInstance": self._instance,
            "type": kind,
            "reason": _cut(reason, _WORD),
            "action": _cut(action, _WORD),
            "note": _cut(note, _NOTE),
            "regarding": about,
            **({"related": also} if also else {}),
        }
        made = self._known[key] = _Series(event, now, now)
        if len(self._known) > KNOWN:
            self._finish(*next(iter(self._known.items())))
        if self._sweeping is None and not self._stopped:
            self._sweeping = self._clock.callLater(FINISH, self._sweep)
        self._enqueue(made)

    def _name(self, name: str, now: float) -> str:
        """A unique name for an event (``record/util.GenerateEventName``)."""
        self._nanos = max(self._nanos + 1, int(now * 1e9))
        made = f"{name}.{self._nanos:x}"
        return made if is_dns_subdomain(made) else str(uuid4())

    def _sweep(self) -> None:
        """Write and forget series that have ended; write those that continue (``finishSeries``, ``refreshExistingEventSeries``)."""
        now = wall_time(self._clock)
        for key, series in list(self._known.items()):
            if now - series.last >= FINISH:
                self._finish(key, series)
            elif series.count > 1 and now - series.written >= REFRESH:
                self._enqueue(series)
        self._sweeping = self._clock.callLater(FINISH, self._sweep) if self._known else None

    def _finish(self, key: Hashable, series: _Series) -> None:
        del self._known[key]
        if series.count > 2:
            self._enqueue(series)

    def _enqueue(self, series: _Series) -> None:
        if series.queued or self._stopped:
            return  # it is written with its state at that time
        if len(self._queue) >= QUEUED:
            self._drop("too many events wait to be written")
            return
        series.queued = True
        self._queue.append(series)
        if not self._busy:
            self._busy = True
            self._writing = Deferred.fromCoroutine(self._write_all())

    def _drop(self, why: str) -> None:
        self._dropped += 1
        if self._dropped & (self._dropped - 1) == 0:  # 1, 2, 4, 8...: many dropped events must not fill the log
            self._log.warn(
                "{count} events of {component} dropped so far, the last one as {why}",
                count=self._dropped,
                component=self._component,
                why=why,
            )

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

    async def _write(self, series: _Series) -> None:
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
                    self._drop(f"the server refused it: {error}")
                    return
                last = error
            else:
                series.created, series.written = True, wall_time(self._clock)
                return
            await sleep(self._clock, RETRY * (1 + 0.25 * self._jitter()))
        self._drop(f"it could not be written: {last}")

    async def _send(self, series: _Series) -> None:
        metadata = series.event["metadata"]
        if series.created:
            resource = CORE_EVENTS if self._core else EVENTS
            try:
                await self._client.patch(
                    *resource, metadata["name"], self._progress(series), namespace=metadata["namespace"]
                )
            except NotFound:
                pass  # the event has expired
            else:
                return
        if not self._core:
            try:
                await self._client.create(*EVENTS, _new_event(series))
            except NotFound as error:
                if error.name:
                    raise  # it is the namespace that was not found
                self._core = True
            else:
                return
        await self._client.create(*CORE_EVENTS, _core_event(series))

    def _progress(self, series: _Series) -> Obj:
        """The fields that change while a series continues."""
        return _core_series(series) if self._core else {"series": _series(series)}


def _new_event(series: _Series) -> Obj:
    """The event in ``events.k8s.io/v1``."""
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", **series.event}
    event["eventTime"] = format_micro_timestamp(series.first)
    if series.count > 1:
        event["series"] = _series(series)
    return event


def _series(series: _Series) -> Obj:
    return {"count": series.count, "lastObservedTime": format_micro_timestamp(series.last)}


def _core_event(series: _Series) -> Obj:
    """The same event in the core group, in its older form."""
    event = dict(series.event)
    about, component, note = (event.pop(name) for name in ("regarding", "reportingController", "note"))
    return {
        "apiVersion": "v1",
        "kind": "Event",
        **event,
        "involvedObject": about,
        "message": note,
        "reportingComponent": component,
        "source": {"component": component},
        "firstTimestamp": format_timestamp(series.first),
        **_core_series(series),
    }


def _core_series(series: _Series) -> Obj:
    return {"count": series.count, "lastTimestamp": format_timestamp(series.last)}


def _reference(obj: Mapping[str, Any]) -> dict[str, str]:
    """An ObjectReference (``client-go/tools/reference.GetReference``)."""
    metadata = obj.get("metadata") or {}
    found = {name: obj.get(name) for name in ("apiVersion", "kind")}
    found |= {name: metadata.get(name) for name in ("name", "namespace", "uid", "resourceVersion")}
    return {name: value for name, value in found.items() if value}


def _identity(reference: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What identifies an object. Not its resourceVersion, because a controller's own writes would end each series."""
    return tuple(item for item in reference.items() if item[0] != "resourceVersion")


def _cut(text: str, limit: int) -> str:
    """At most ``limit`` bytes."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= limit else data[: limit - 3].decode("utf-8", "ignore") + "..."
