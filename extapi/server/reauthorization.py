"""Open watches and upgraded connections are judged again: a right that they began with may be gone.

A request is authenticated and authorized once, and a watch then lasts up to an hour. So each long-running request is
judged again by the headers with which it arrived and its connection's certificate. It is authenticated again whenever
trust changes or a certificate of its chain expires; it is authenticated and authorized again every ``period``. After 401,
403 or another user its stream ends cleanly; the client then watches again, and gets the refusal. kube-apiserver does not
judge watches again.

Must not know how requests are judged: it calls the stages that every request passes.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Awaitable, Iterator
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.authentication.authenticator import Undecided
from extapi.authentication.clientcertificate import first_expiry
from extapi.authentication.trust import TrustSettings
from extapi.authorization.authorizer import AuthorizationError
from extapi.clock import Clock, stop_timer, wall_time
from extapi.errors import ApiError
from extapi.http.request import Request
from extapi.http.response import Handler, Response, Sink
from extapi.server.longrunning import TOKENS, LongRunning, tracked

PERIOD = 10.0
"""Seconds between two judgements of a watch (``--watch-reauthorize``): as long as a review is cached."""

UNANSWERED = 300.0
"""Seconds for which a watch goes on while it cannot be judged: kube-apiserver restarts, or cannot be reached.

New requests are refused meanwhile. If all watches ended at once, all clients would return at once, to a server that cannot
answer them. If watches went on for good, a broken connection to kube-apiserver would keep a right alive.
"""

ASKING = 10
"""Watches that wait for a review at the same time: reviews of new requests come between them."""

TICK = 0.1
"""Seconds between two batches of the watches that are due."""

SLICE = 32
"""Watches that are judged per turn of the reactor when trust changes: some milliseconds."""

VISIT = 60.0
"""Seconds between two checks for expiry of a watch that is not judged periodically."""

LAST_SECOND = 1.0
"""A certificate is valid through the whole second that its notAfter names (RFC 5280, section 4.1.2.5)."""

_SPREAD = 1.25
"""Batches are larger than needed by this factor, so that watches that began together are spread and none is late."""
_ACCEPTED = Response(200)


async def accept(_request: Request) -> Response:
    """The handler behind the stages that judge: a request that comes here may go on."""
    return _ACCEPTED


class Reauthorization:
    """Judges long-running requests again.

    Args:
        clock: The time.
        settings: The trust whose changes have them judged.
        period: Seconds between two judgements; 0 for only when trust changes or a certificate expires.
    """

    _log = Logger()

    def __init__(self, clock: Clock, settings: TrustSettings, period: float = PERIOD) -> None:
        self._clock = clock
        self._settings = settings
        self._period = period
        self._visit = period or VISIT
        self._identify: Handler = accept
        self._allow: Handler = accept
        self._watches: OrderedDict[LongRunning, None] = OrderedDict()
        """All watches, in the order in which they are due."""
        self._expiring: dict[LongRunning, None] = {}
        """Watches whose certificate expires before they are visited again."""
        self._changed: deque[LongRunning] = deque()
        """Watches to be authenticated again, because trust has changed or a certificate has expired."""
        self._waiting: OrderedDict[LongRunning, Handler] = OrderedDict()
        """Watches to be judged as soon as fewer than :data:`ASKING` wait for a review."""
        self._asking = 0
        self._timer: Any = None
        self._at = self._ticked = self._most_at = 0.0
        self._most = 0
        self._turn: Any = None
        settings.observers.append(self._trust_changed)

    def __len__(self) -> int:
        return len(self._watches)

    def requests(self) -> Iterator[Request]:
        """The requests that are open now."""
        return (watch.request for watch in self._watches)

    def stage(self, successor: Handler, *, identify: Handler, allow: Handler) -> Handler:
        """A stage that has to come before authentication, which deletes the credentials.

        Args:
            successor: The next stage.
            identify: The stages that authenticate, and then :func:`accept`.
            allow: The stages that authenticate and authorize, and then :func:`accept`.
        """
        self._identify, self._allow = identify, allow

        def register(request: Request) -> Awaitable[Response]:
            # In-process requests are authenticated by the process's secret, which is never revoked.
            lasting = request.info.verb == "watch" or request.long_running or "upgrade" in request.headers
            if not lasting or request.peer.loopback:
                return successor(request)
            return registered(request)

        async def registered(request: Request) -> Response:
            headers, generation = dict(request.headers), self._settings.generation
            response = await successor(request)
            if callable(response.body):
                watch = LongRunning(request, headers)
                response.body = tracked(self, watch, response.body, generation)
            return response

        return register

    def stop(self) -> None:
        """Stop judging."""
        self._watches.clear()
        self._expiring.clear()
        self._changed.clear()
        self._waiting.clear()
        self._stop_timers()

    # -- for the streams (extapi.server.longrunning.Registry)

    def enter(self, watch: LongRunning, sink: Sink, generation: int) -> None:
        """See :class:`extapi.server.longrunning.Registry`."""
        watch.sink = sink
        watch.due = self._clock.seconds() + self._visit
        self._watches[watch] = None
        self._see_expiry(watch)
        if watch.has_token and watch.request.peer.certificates:
            self._forget_token(watch)
        if generation != self._settings.generation:
            self._changed.append(watch)
            self._take_turns()
        if self._timer is None or self._when(watch.expires) < self._at:
            self._set_timer()

    def leave(self, watch: LongRunning) -> None:
        """See :class:`extapi.server.longrunning.Registry`."""
        watch.sink = None
        self._watches.pop(watch, None)
        self._expiring.pop(watch, None)
        self._waiting.pop(watch, None)
        if not self._watches:
            self._stop_timers()

    # -- when: trust has changed, or there is room for another review

    def _trust_changed(self) -> None:
        # Trust concerns only certificates.
        self._changed = deque(watch for watch in self._watches if watch.request.peer.certificates)
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
        first = min((watch.expires for watch in self._expiring), default=math.inf)
        at = max(min(next(iter(self._watches)).due, self._when(first)), now + TICK)
        if self._timer is not None:
            if self._at <= at:
                return
            self._timer.cancel()
        self._at = at
        self._timer = self._clock.callLater(at - now, self._tick)

    def _stop_timers(self) -> None:
        for timer in (self._timer, self._turn):
            stop_timer(timer)
        self._timer = self._turn = None

    def _tick(self) -> None:
        self._timer = None
        now, wall = self._clock.seconds(), wall_time(self._clock)
        if expired := [watch for watch in self._expiring if watch.expires <= wall]:
            for watch in expired:
                del self._expiring[watch]
            self._changed += expired  # may be all watches of a front proxy, so they take turns
            self._take_turns()
        # A late tick has more to do, but never more than two ticks' worth.
        elapsed, self._ticked = min(now - self._ticked, 2 * TICK), now
        # In proportion to the most watches there were lately: if many end at once, the others must not come late.
        if len(self._watches) >= self._most or now - self._most_at > 2 * self._visit:
            self._most, self._most_at = len(self._watches), now
        for _ in range(math.ceil(self._most * elapsed / self._visit * _SPREAD)):
            if not self._watches:
                break  # a stream that ends leaves
            first = next(iter(self._watches))
            if first.due > now:
                break
            self._visited(first, now)
        self._set_timer()

    def _visited(self, watch: LongRunning, now: float) -> None:
        watch.due = now + self._visit
        self._watches.move_to_end(watch)
        self._see_expiry(watch)
        if watch.unanswered and now - watch.unanswered >= UNANSWERED:
            self._end(watch, f"it could not be judged again for {UNANSWERED:g} seconds")
        elif self._period or watch.unanswered:
            self._bounded(watch, self._allow)

    def _see_expiry(self, watch: LongRunning) -> None:
        watch.expires = first_expiry(watch.request.peer) + LAST_SECOND
        if self._when(watch.expires) <= watch.due:
            self._expiring[watch] = None

    def _when(self, expires: float) -> float:
        """When the wall clock is likely to say ``expires``, by ``clock.seconds``."""
        return expires - wall_time(self._clock) + self._clock.seconds()

    # -- how

    def _forget_token(self, watch: LongRunning) -> None:
        """Drop the token if the certificate already names the user: the token was not looked at, and would need a review."""
        request = watch.again(without=TOKENS)
        identifying = self._identified(request)
        try:
            identifying.send(None)
        except StopIteration as end:
            if end.value and request.user == watch.requestor:
                for name in TOKENS:
                    watch.headers.pop(name, None)
                watch.has_token = False
        else:
            identifying.close()

    async def _identified(self, request: Request) -> bool:
        try:
            return await self._identify(request) is _ACCEPTED
        except ApiError:
            return False

    def _identified_again(self, watch: LongRunning) -> None:
        """Authenticate it again: at once if that needs no review, since a certificate may have been revoked."""
        if not watch.has_token:
            self._judge(watch, self._identify, alone=False)
        elif watch.busy:
            watch.stale = True
        else:
            self._bounded(watch, self._identify)

    def _bounded(self, watch: LongRunning, stages: Handler) -> None:
        watch.unanswered = watch.unanswered or self._clock.seconds()
        if watch.busy:
            return
        watch.busy = True
        if self._asking < ASKING:
            self._judge(watch, stages)
        else:
            self._waiting[watch] = stages

    def _judge(self, watch: LongRunning, stages: Handler, *, alone: bool = True) -> None:
        """Judge a watch. Most decisions are cached, and cost no Deferred. ``alone``: the watch is ``busy`` with this."""
        judging = self._judged(watch, stages, alone=alone)
        try:
            judging.send(None)
        except StopIteration:
            return
        self._asking += 1
        # The coroutine yielded a pending Deferred, which yields itself again when the coroutine is resumed.
        Deferred.fromCoroutine(judging).addBoth(self._landed)

    def _landed(self, _result: object) -> None:
        self._asking -= 1
        if self._waiting:
            self._take_turns()

    async def _judged(self, watch: LongRunning, stages: Handler, *, alone: bool) -> None:
        """Judge a watch, and end it if it may not go on. Never raises."""
        try:
            why = await self._why_not(watch, stages)
        except _NoAnswer:
            watch.unanswered = watch.unanswered or self._clock.seconds()
        except Exception:  # noqa: BLE001 - a bug must not end all watches
            self._log.failure("{target}: an open watch could not be judged again", target=watch.request.target)
            watch.unanswered = watch.unanswered or self._clock.seconds()
        else:
            if alone:
                watch.unanswered = 0.0
            if why:
                self._end(watch, why)
        if alone:
            watch.busy = False
            if watch.stale and watch.sink is not None:
                watch.stale = False
                self._changed.append(watch)
                self._take_turns()

    async def _why_not(self, watch: LongRunning, stages: Handler) -> str:
        """Why it has to end; empty if it may go on.

        Raises:
            _NoAnswer: It could not be judged.
        """
        request = watch.again()
        try:
            answer = await stages(request)
        except ApiError as error:
            if error.code not in (401, 403) or isinstance(error.__cause__, Undecided | AuthorizationError):
                raise _NoAnswer from error
            return f"{error.code}: {request.log.get('authentication') or error.message}"
        if answer is not _ACCEPTED:
            raise _NoAnswer
        before, now = watch.identity, (request.original_user, request.user)
        if stages is self._identify:
            before, now = (None, watch.requestor), (None, request.user)
        return "" if now == before else "its credentials are now another user's"

    def _end(self, watch: LongRunning, why: str) -> None:
        sink = watch.sink
        if sink is None:
            return  # it ended while it was judged
        watch.request.log["ended"] = why
        sink.close()


class _NoAnswer(Exception):
    """A watch could not be judged."""
