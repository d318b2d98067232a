"""Events: what a controller did to an object, to read with ``kubectl describe`` and ``kubectl get events``.

Follows client-go's ``tools/events``: writes ``events.k8s.io/v1``, with repeated events as series; and the rate per
object of ``tools/record``. If the server does not have that group, writes events of the core group. Recording never
waits and never fails: an event that cannot be written is dropped, and the log says so.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from uuid import uuid4

from twisted.logger import Logger

from extapi.api.names import is_dns_subdomain, qualified_name
from extapi.client.dynamic import DynamicClient
from extapi.client.eventseries import NOTE, WORD, EventSeries, cut, identity, reference
from extapi.client.eventsink import EventSink
from extapi.client.kube import Obj
from extapi.client.ratelimit import TokenBuckets
from extapi.clock import Clock, Timer, wall_time

FINISH = 360.0
"""Seconds within which a repeated event belongs to the same series (``finishTime``)."""
REFRESH = 1800.0
"""Seconds after which a continuing series is written again, so that it does not expire (``refreshTime``)."""
KNOWN = 4096
"""Series to remember, and objects to count the rate of (``tools/record``: ``maxLruCacheEntries``)."""
SPAM_RATE, SPAM_BURST = 1 / 300, 25.0
"""New events per object, per second and at once (``tools/record``: ``defaultSpamQPS``, ``defaultSpamBurst``)."""


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
        self._sink = EventSink(client, component, clock=clock, jitter=jitter)
        self._component = component
        self._instance = cut(instance, WORD)
        self._clock = clock
        self._known: OrderedDict[Hashable, EventSeries] = OrderedDict()
        self._spam = TokenBuckets(clock, rate=SPAM_RATE, burst=SPAM_BURST, size=KNOWN)
        self._sweeping: Timer | None = None
        self._stopped = False
        self._nanos = 0

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

    async def close(self) -> None:
        """Write the events that wait, each with one more try, for a few seconds at most; then stop."""
        self._end()
        await self._sink.close()

    def stop(self) -> None:
        """Stop writing events at once."""
        self._end()
        self._sink.stop()

    def _end(self) -> None:
        self._stopped = True
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None

    def _record(self, kind: str, regarding: Obj, reason: str, action: str, note: str, related: Obj | None) -> None:
        try:
            self._observe(kind, regarding, reason, action, note, related)
        except Exception:  # noqa: BLE001 - what an author hands over may be anything, and recording never fails
            self._log.failure("an event of {component} was dropped: it cannot be read", component=self._component)

    def _observe(self, kind: str, regarding: Obj, reason: str, action: str, note: str, related: Obj | None) -> None:
        about, also = reference(regarding), reference(related or {})
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
        key = (kind, reason, action, identity(about), identity(also))
        known = self._known.get(key)
        if known is not None and now - known.last < FINISH:
            known.count += 1
            known.last = now
            if known.count == 2:
                self._sink.put(known)
            return
        if known is not None:
            self._finish(key, known)
        if not self._spam.take(identity(about)):
            self._sink.drop("too many events about one object")
            return
        event = {
            "metadata": {"name": self._name(about["name"], now), "namespace": about.get("namespace", "default")},
            "reportingController": self._component,
            "reportingInstance": self._instance,
            "type": kind,
            "reason": cut(reason, WORD),
            "action": cut(action, WORD),
            "note": cut(note, NOTE),
            "regarding": about,
            **({"related": also} if also else {}),
        }
        made = self._known[key] = EventSeries(event, now, now)
        if len(self._known) > KNOWN:
            self._finish(*next(iter(self._known.items())))
        if self._sweeping is None and not self._stopped:
            self._sweeping = self._clock.callLater(FINISH, self._sweep)
        self._sink.put(made)

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
                self._sink.put(series)
        self._sweeping = self._clock.callLater(FINISH, self._sweep) if self._known else None

    def _finish(self, key: Hashable, series: EventSeries) -> None:
        del self._known[key]
        if series.count > 2:
            self._sink.put(series)
