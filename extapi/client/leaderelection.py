"""One leader among several processes, elected by a Lease, as client-go's ``leaderelection`` does it.

Whoever holds the Lease renews it; the others take it once it has not changed for as long as it says. That is measured from the
moment at which each of them has *seen* it change, so clocks need not agree. Nothing here keeps a leader that was paused from
writing late: what it writes has to be compared and set, as everything with a resourceVersion is.

Must not know what a leader does.

Source: ``k8s.io/client-go/tools/leaderelection``, ``.../resourcelock/leaselock.go``; metrics of ``component-base``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from twisted.internet.defer import CancelledError, Deferred, TimeoutError as TimedOut
from twisted.logger import Logger

from extapi.api.timestamp import format_micro_timestamp
from extapi.client.kube import Client, Obj, ResourceName
from extapi.client.transport import TransportError
from extapi.clock import Clock, sleep, wall_time
from extapi.errors import ApiError, NotFound

LEASES: Final = ResourceName("coordination.k8s.io", "v1", "leases")
JITTER: Final = 1.2
"""By how much more than the retry period a candidate may wait at most: JitterFactor, added to 1."""


@dataclass(frozen=True, kw_only=True)
class Election:
    """What candidates compete for, and how; durations are in seconds.

    Attributes:
        name: The name of the Lease.
        namespace: Its namespace.
        identity: The candidate; no two may have the same.
        lease_duration: How long others wait after the last renewal that they have seen.
        renew_deadline: How long a leader tries to renew before it gives up.
        retry_period: The pause between two tries.
    """

    name: str
    namespace: str
    identity: str
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


def problems(lease_duration: float, renew_deadline: float, retry_period: float) -> list[str]:
    """What is wrong with the durations of an election, in client-go's words.

    Source: ``k8s.io/client-go/tools/leaderelection`` NewLeaderElector.
    """
    found = []
    if lease_duration <= renew_deadline:
        found.append("leaseDuration must be greater than renewDeadline")
    if renew_deadline <= JITTER * retry_period:
        found.append("renewDeadline must be greater than retryPeriod*JitterFactor")
    if lease_duration < 1:
        found.append("leaseDuration must be at least one second: a Lease has whole seconds")
    if retry_period <= 0:
        found.append("retryPeriod must be greater than zero")
    return found


class _Record(NamedTuple):
    """What a Lease says: LeaderElectionRecord."""

    holder: str = ""
    seconds: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0

    @classmethod
    def of(cls, lease: Obj) -> _Record:
        spec: Obj = lease.get("spec") or {}
        return cls(
            str(spec.get("holderIdentity") or ""),
            int(spec.get("leaseDurationSeconds") or 0),
            str(spec.get("acquireTime") or ""),
            str(spec.get("renewTime") or ""),
            int(spec.get("leaseTransitions") or 0),
        )

    def spec(self) -> Obj:
        return {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.seconds,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }


class LeaderElector:
    """A candidate: competes from :meth:`start` to :meth:`stop`, and again after each term that it has lost.

    client-go's leader goes on until the renew deadline although it has read that another one leads. This one stops at once.

    Args:
        client: Reads and writes the Lease.
        election: What it competes for.
        clock: The reactor's clock.
        timer: Monotonic seconds, for how long ago something was seen.
        jitter: Returns random numbers in [0, 1), which spread the tries of many candidates.
        started: Is called when a term begins.
        stopped: Is called when a term ends, before another may begin and before the Lease is released. What the leader
            does has to end: others may lead ``lease_duration`` less ``renew_deadline`` seconds later.
    """

    _log = Logger()

    def __init__(
        self,
        client: Client,
        election: Election,
        *,
        clock: Clock,
        timer: Callable[[], float],
        jitter: Callable[[], float],
        started: Callable[[], None],
        stopped: Callable[[], Awaitable[None]],
    ) -> None:
        self._client = client
        self._election = election
        self._clock = clock
        self._timer = timer
        self._jitter = jitter
        self._started_leading, self._stopped_leading = started, stopped
        self._lease: Obj | None = None
        """As it was read or written last."""
        self._record = _Record()
        self._seen = 0.0
        """When the record was seen to change, by the timer."""
        self._told = ""
        self._running: Deferred[None] | None = None
        self._ended: Deferred[None] = Deferred()
        self._ending = self._stopping = False
        self.is_leading = False
        """Whether a term has begun and not ended."""

    @property
    def name(self) -> str:
        """The name of the Lease."""
        return self._election.name

    @property
    def leader(self) -> str:
        """Who holds the Lease, as far as is known; empty: nobody."""
        return self._record.holder

    def start(self) -> None:
        """Begin to compete. May be called once."""
        self._running = Deferred.fromCoroutine(self._run())
        self._running.addErrback(self._failed).addCallback(self._ended.callback)

    async def stop(self) -> None:
        """End the term if there is one, and release the Lease, so that another one need not wait."""
        if self._running is None:
            return
        self._stopping = True
        if not self._ending:  # what ends is not to be interrupted: the Lease is released after it
            self._running.cancel()
        await self._ended
        if self._is_holder():
            try:
                await self._release()
            except (ApiError, TransportError) as error:
                self._log.warn("the Lease {lease} could not be released: {error}", lease=self._where, error=str(error))

    def _failed(self, failure: Any) -> None:
        if not failure.check(CancelledError):
            self._log.failure("{identity} competes no more", failure, identity=self._me)

    async def _run(self) -> None:
        while not self._stopping:
            try:
                await self._acquire()
                await self._lead()
            except Exception:
                # Also a CancelledError that is not of stop(): a process that competes no more would be missed.
                if self._is_stopping():
                    raise
                self._log.failure(
                    "{identity} competes again for the Lease {lease}: the election failed",
                    identity=self._me,
                    lease=self._where,
                )
                await sleep(self._clock, self._election.retry_period)

    async def _lead(self) -> None:
        """One term."""
        self._log.info("leading by the Lease {lease} as {identity}", identity=self._me, lease=self._where)
        self.is_leading = True
        try:
            self._started_leading()
            await self._renew()
            self._log.warn(
                "leading no more as {identity}: the Lease {lease} was not renewed",
                identity=self._me,
                lease=self._where,
            )
        finally:
            self.is_leading, self._ending = False, True
            try:
                await self._stopped_leading()
            finally:
                self._ending = False

    def _is_stopping(self) -> bool:
        return self._stopping

    async def _acquire(self) -> None:
        """Try until the Lease is held."""
        while not await self._try():
            await sleep(self._clock, self._election.retry_period * (1 + JITTER * self._jitter()))

    async def _renew(self) -> None:
        """Renew the Lease until it is lost."""
        while True:
            renewing = Deferred.fromCoroutine(self._renewed())
            renewing.addTimeout(self._election.renew_deadline, self._clock)  # type: ignore[arg-type]  # needs callLater
            try:
                if not await renewing:
                    return
            except TimedOut:
                return
            await sleep(self._clock, self._election.retry_period)

    async def _renewed(self) -> bool:
        """Try until the Lease is renewed; False: another one has it."""
        while not await self._try():
            if not self._is_holder():
                return False
            await sleep(self._clock, self._election.retry_period)
        return True

    async def _try(self) -> bool:
        """Whether the Lease could be acquired or renewed.

        Source: ``k8s.io/client-go/tools/leaderelection`` tryAcquireOrRenew.
        """
        try:
            held = await self._tried()
        except CancelledError:
            raise
        except (ApiError, TransportError) as error:
            self._tell(f"the Lease {self._where} cannot be had now: {error}")
            return False
        except Exception:  # noqa: BLE001 - a defect must not leave the processes without a leader
            self._log.failure("the Lease {lease} could not be tried", lease=self._where)
            return False
        if not held:
            self._tell(f"{self._record.holder} leads by the Lease {self._where}")
        return held

    async def _tried(self) -> bool:
        wanted = self._wanted()
        if self._is_holder() and self._is_valid() and self._lease is not None:
            # Most times nobody else has written it: it need not be read.
            try:
                await self._write(self._kept(wanted))
            except ApiError:
                pass
            else:
                return True
        try:
            lease = await self._call("GET", LEASES.path(self._election.namespace, self._election.name))
        except NotFound:
            await self._create(wanted)
            return True
        self._lease = lease
        found = _Record.of(lease)
        if found != self._record:
            self._see(found)
        if found.holder and self._is_valid() and not self._is_holder():
            return False
        await self._write(
            self._kept(wanted) if self._is_holder() else wanted._replace(transitions=found.transitions + 1)
        )
        return True

    async def _release(self) -> None:
        """Give the Lease up, if it is still held.

        Source: ``k8s.io/client-go/tools/leaderelection`` release.

        Raises:
            ApiError: The Lease cannot be read or written.
            TransportError: There was no answer.
        """
        self._lease = await self._call("GET", LEASES.path(self._election.namespace, self._election.name))
        found = _Record.of(self._lease)
        if found.holder != self._me:
            self._see(found)
            return
        now = self._now()
        await self._write(_Record("", 1, now, now, found.transitions))

    def _wanted(self) -> _Record:
        now = self._now()
        return _Record(self._me, int(self._election.lease_duration), now, now)

    def _kept(self, record: _Record) -> _Record:
        """A record that renews the one that is there."""
        return record._replace(acquired=self._record.acquired or record.acquired, transitions=self._record.transitions)

    async def _create(self, record: _Record) -> None:
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._election.name, "namespace": self._election.namespace},
            "spec": record.spec(),
        }
        self._lease = await self._call("POST", LEASES.path(self._election.namespace), lease)
        self._see(record)

    async def _write(self, record: _Record) -> None:
        """Replace the Lease that was read last, with its resourceVersion: whoever was quicker makes this fail."""
        path = LEASES.path(self._election.namespace, self._election.name)
        self._lease = await self._call("PUT", path, {**(self._lease or {}), "spec": record.spec()})
        self._see(record)

    async def _call(self, method: str, path: str, obj: Obj | None = None) -> Obj:
        # A single request that hangs must not cost a term (resourcelock.NewFromKubeconfig).
        timeout = max(1.0, self._election.renew_deadline / 2)
        return await self._client.call(method, path, obj=obj, timeout=timeout)

    def _see(self, record: _Record) -> None:
        self._record, self._seen = record, self._timer()

    def _is_valid(self) -> bool:
        return self._seen + self._record.seconds > self._timer()

    def _is_holder(self) -> bool:
        return self._record.holder == self._me

    @property
    def _me(self) -> str:
        return self._election.identity

    @property
    def _where(self) -> str:
        return f"{self._election.namespace}/{self._election.name}"

    def _now(self) -> str:
        return format_micro_timestamp(wall_time(self._clock))

    def _tell(self, text: str) -> None:
        """Log a text unless it was the last one."""
        if self._told != text:
            self._told = text
            self._log.info("{text}", text=text)
