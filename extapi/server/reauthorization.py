"""Open watches and upgraded connections, judged again: a right that was there at the beginning may be gone.

A request is authenticated and authorized once, and a watch then lasts up to an hour. So each long-running request is
judged again with what it brought (its headers as they arrived, its connection's certificate): who it is, whenever trust
changes or a certificate of its chain expires; and who it is and what it may, every ``period``. It ends when the answer is
401, 403 or another user; a clean end, after which every client watches again and is told why it may not. kube-apiserver
judges no watch again.

Must not know how either is decided: it asks the stages that every request passes.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.authentication.base import Undecided
from extapi.authentication.peer import first_expiry
from extapi.authentication.settings import Settings
from extapi.authorization.base import AuthorizationError
from extapi.client.clock import Clock
from extapi.errors import ApiError
from extapi.listener.call import Call, Handler, Response, Sink
from extapi.server.longrunning import TOKENS, LongRunning, tracked

PERIOD = 10.0
"""Seconds between two judgements of a watch (``--watch-reauthorize``): as long as an answer of a review is kept."""

UNANSWERED = 300.0
"""Seconds for which a watch goes on while nobody answers whether it may: kube-apiserver is restarted, or cannot be reached.

New requests are refused meanwhile. Ending all watches at once would have all clients come back at once, to a server that
cannot answer them; going on for good would let a cut connection to kube-apiserver keep a right alive.
"""

ASKING = 10
"""Watches that wait for a review at a time: those of new requests come between."""

TICK = 0.1
"""Seconds between two slices of the watches that are due."""

SLICE = 32
"""Watches that are judged in one turn of the reactor, when trust changes: some milliseconds."""

VISIT = 60.0
"""Seconds between two looks at the expiry of a watch that is not judged periodically."""

LAST_SECOND = 1.0
"""A certificate is valid through the whole second that its notAfter names (RFC 5280, 4.1.2.5)."""

_SPREAD = 1.25
"""A slice is that much larger than needed to come round in a period: what came together is spread, and nobody is late."""
_ACCEPTED = Response(200)


async def accept(_call: Call) -> Response:
    """The end of the stages that judge: whoever comes here may go on."""
    return _ACCEPTED


class Reauthorization:
    """Judges long-running requests again, every ``period`` seconds; 0: only when trust changes and at an expiry."""

    _log = Logger()

    def __init__(self, clock: Clock, settings: Settings, period: float = PERIOD) -> None:
        self._clock = clock
        self._settings = settings
        self._period = period
        self._visit = period or VISIT
        self._identify: Handler = accept
        self._allow: Handler = accept
        self._watches: OrderedDict[LongRunning, None] = OrderedDict()
        """All of them, in the order in which they are due."""
        self._expiring: dict[LongRunning, None] = {}
        """Those whose certificate expires before they are visited again."""
        self._changed: deque[LongRunning] = deque()
        """Those that are to be identified, because trust has changed or a certificate has expired."""
        self._waiting: OrderedDict[LongRunning, Handler] = OrderedDict()
        """Those that are to be judged as soon as fewer than :data:`ASKING` wait for an answer."""
        self._asking = 0
        self._timer: Any = None
        self._at = self._ticked = self._most_at = 0.0
        self._most = 0
        self._turn: Any = None
        settings.observers.append(self._trust_changed)

    def __len__(self) -> int:
        return len(self._watches)

    def stage(self, successor: Handler, *, identify: Handler, allow: Handler) -> Handler:
        """A stage before ``successor``, which has to come before authentication: that deletes what it judges by.

        ``identify``: the stages that find out who asks, ``allow``: those and all that decide whether they may; both end in
        :func:`accept`.
        """
        self._identify, self._allow = identify, allow

        async def register(call: Call) -> Response:
            # Calls from inside the process prove themselves by its secret: nothing of that can be withdrawn.
            if (call.info.verb != "watch" and "upgrade" not in call.headers) or call.peer.loopback:
                return await successor(call)
            headers, generation = dict(call.headers), self._settings.generation
            response = await successor(call)
            if callable(response.body):
                watch = LongRunning(call, headers)
                response.body = tracked(self, watch, response.body, generation)
            return response

        return register

    def stop(self) -> None:
        """Judge nothing any more."""
        self._watches.clear()
        self._expiring.clear()
        self._changed.clear()
        self._waiting.clear()
        self._stop_timers()

    # -- for the streams (extapi.server.longrunning.Registry)

    def enter(self, watch: LongRunning, sink: Sink, generation: int) -> None:
        """A stream has begun, of a request that was authenticated under that generation of trust, or a later one."""
        watch.sink = sink
        watch.due = self._clock.seconds() + self._visit
        self._watches[watch] = None
        self._see_expiry(watch)
        if watch.has_token and watch.call.peer.certificates:
            self._forget_token(watch)
        if generation != self._settings.generation:
            self._changed.append(watch)
            self._take_turns()
        if self._timer is None or watch.expires < self._at:
            self._set_timer()

    def leave(self, watch: LongRunning) -> None:
        """A stream has ended, for whatever reason."""
        watch.sink = None
        self._watches.pop(watch, None)
        self._expiring.pop(watch, None)
        self._waiting.pop(watch, None)
        if not self._watches:
            self._stop_timers()

    # -- when: trust has changed, or there is room to ask again

    def _trust_changed(self) -> None:
        # Trust is about certificates; of who has none nothing changes.
        self._changed = deque(watch for watch in self._watches if watch.call.peer.certificates)
        if self._changed:
            self._take_turns()

    def _take_turns(self) -> None:
        if self._turn is None:
            self._turn = self._clock.callLater(0, self._next_turn)

    def _next_turn(self) -> None:
        self._turn = None
        left = SLICE
        while self._changed and left:
            watch = self._changed.popleft()
            if watch.sink is not None:
                self._identified_again(watch)
                left -= 1
        while self._waiting and self._asking < ASKING and left:
            self._judge(*self._waiting.popitem(last=False))
            left -= 1
        if self._changed or (self._waiting and self._asking < ASKING):
            self._take_turns()

    # -- when: it is time

    def _set_timer(self) -> None:
        if not self._watches:
            return
        now = self._clock.seconds()
        due = min(next(iter(self._watches)).due, min((watch.expires for watch in self._expiring), default=math.inf))
        at = max(due, now + TICK)
        if self._timer is not None:
            if self._at <= at:
                return
            self._timer.cancel()
        self._at = at
        self._timer = self._clock.callLater(at - now, self._tick)

    def _stop_timers(self) -> None:
        for timer in (self._timer, self._turn):
            if timer is not None and timer.active():
                timer.cancel()
        self._timer = self._turn = None

    def _tick(self) -> None:
        self._timer = None
        now = self._clock.seconds()
        if expired := [watch for watch in self._expiring if watch.expires <= now]:
            for watch in expired:
                del self._expiring[watch]
            self._changed += expired  # all that one front proxy carries: in turns, too
            self._take_turns()
        # A reactor that is busy comes late, and then has more to do; not all at once after an idle time.
        elapsed, self._ticked = min(now - self._ticked, 2 * TICK), now
        # Of as many as there were lately: where many end at once, the others must not come late for that.
        if len(self._watches) >= self._most or now - self._most_at > 2 * self._visit:
            self._most, self._most_at = len(self._watches), now
        for _ in range(math.ceil(self._most * elapsed / self._visit * _SPREAD)):
            if not self._watches:
                break  # a stream that ends takes itself out
            first = next(iter(self._watches))
            if first.due > now:
                break
            self._visited(first, now)
        self._set_timer()

    def _visited(self, watch: LongRunning, now: float) -> None:
        watch.due = now + self._visit
        self._watches.move_to_end(watch)
        self._see_expiry(watch)
        if watch.asked and now - watch.asked >= UNANSWERED:
            self._end(watch, f"nobody answered for {UNANSWERED:g} seconds whether it may go on")
        elif self._period or watch.asked:
            self._bounded(watch, self._allow)

    def _see_expiry(self, watch: LongRunning) -> None:
        watch.expires = first_expiry(watch.call.peer) + LAST_SECOND
        if watch.expires <= watch.due:
            self._expiring[watch] = None

    # -- how

    def _forget_token(self, watch: LongRunning) -> None:
        """A token beside a certificate that says who it is was never looked at, and must not delay a revocation."""
        call = watch.again(without=TOKENS)
        identifying = self._identified(call)
        try:
            identifying.send(None)
        except StopIteration as end:
            if end.value and call.user == watch.requestor:
                for name in TOKENS:
                    watch.headers.pop(name, None)
                watch.has_token = False
        else:
            identifying.close()

    async def _identified(self, call: Call) -> bool:
        try:
            return await self._identify(call) is _ACCEPTED
        except ApiError:
            return False

    def _identified_again(self, watch: LongRunning) -> None:
        """Ask who it is now; at once where that is known here, since what has changed may be a revocation."""
        if not watch.has_token:
            self._judge(watch, self._identify, alone=False)
        elif watch.busy:
            watch.stale = True
        else:
            self._bounded(watch, self._identify)

    def _bounded(self, watch: LongRunning, stages: Handler) -> None:
        watch.asked = watch.asked or self._clock.seconds()
        if watch.busy:
            return
        watch.busy = True
        if self._asking < ASKING:
            self._judge(watch, stages)
        else:
            self._waiting[watch] = stages

    def _judge(self, watch: LongRunning, stages: Handler, *, alone: bool = True) -> None:
        """Most answers are there without waiting, and cost no Deferred. ``alone``: the watch is busy with that."""
        judging = self._judged(watch, stages, alone=alone)
        try:
            judging.send(None)
        except StopIteration:
            return
        self._asking += 1
        # The pending Deferred that it yielded yields itself again to whoever resumes the coroutine.
        Deferred.fromCoroutine(judging).addBoth(self._landed)

    def _landed(self, _result: object) -> None:
        self._asking -= 1
        if self._waiting:
            self._take_turns()

    async def _judged(self, watch: LongRunning, stages: Handler, *, alone: bool) -> None:
        """Ask, and draw the consequence. Raises nothing."""
        try:
            why = await self._why_not(watch, stages)
        except _NoAnswer:
            watch.asked = watch.asked or self._clock.seconds()
        except Exception:  # noqa: BLE001 - a defect must not end every watch; it counts as no answer
            self._log.failure("{target}: an open watch could not be judged again", target=watch.call.target)
            watch.asked = watch.asked or self._clock.seconds()
        else:
            if alone:
                watch.asked = 0.0
            if why:
                self._end(watch, why)
        if alone:
            watch.busy = False
            if watch.stale and watch.sink is not None:
                watch.stale = False
                self._changed.append(watch)
                self._take_turns()

    async def _why_not(self, watch: LongRunning, stages: Handler) -> str:
        """Why it has to end; empty: it may go on. Raises :class:`_NoAnswer`."""
        call = watch.again()
        try:
            answer = await stages(call)
        except ApiError as error:
            if error.code not in (401, 403) or isinstance(error.__cause__, Undecided | AuthorizationError):
                raise _NoAnswer from error
            return f"{error.code}: {call.log.get('authentication') or error.message}"
        if answer is not _ACCEPTED:
            raise _NoAnswer
        before, now = watch.identity, (call.original_user, call.user)
        if stages is self._identify:
            before, now = (None, watch.requestor), (None, call.user)
        return "" if now == before else "its credentials are another user's now"

    def _end(self, watch: LongRunning, why: str) -> None:
        sink = watch.sink
        if sink is None:
            return  # it has ended while it was judged
        watch.call.log["ended"] = why
        sink.close()


class _NoAnswer(Exception):
    """Nobody could say whether it may go on."""
