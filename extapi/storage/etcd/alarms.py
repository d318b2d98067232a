"""etcd's alarms: asked for now and then, and when a write is refused; each is named in the log once. Knows no calls.

Source: ``server/etcdserver/apply`` of etcd, uber_apply.go: what is refused while an alarm is raised.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.clock import Clock, Timer
from extapi.storage.base import Unavailable
from extapi.storage.etcd.wire import Status

SECONDS: Final = 30.0
"""Between two questions."""
_ALARM: Final = "alarm:"
MEANING: Final = {
    "NOSPACE": "the database is as large as its quota, and writes are refused; compact and defragment it, or raise "
    "--quota-backend-bytes, then run etcdctl alarm disarm",
    "CORRUPT": "members have different data, and all requests are refused; stop this etcd and repair or restore it",
}
"""What an alarm means, and what to do."""


def alarms_of(errors: Iterable[str]) -> list[str]:
    """The names of the alarms among what a member says is wrong."""
    words = [word for error in errors for word in error[:200].split()]
    return sorted({word.removeprefix(_ALARM) for word in words if word.startswith(_ALARM)})


class EtcdAlarms:
    """The alarms that are raised.

    Args:
        ask: Asks a member for its status; raises :class:`Unavailable`.
        clock: The reactor's.
    """

    _log = Logger()

    def __init__(self, ask: Callable[[], Awaitable[Status]], clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._raised: list[str] = []
        self._timer: Timer | None = None
        self._asking: Deferred[None] | None = None
        self._stopped = True

    def check(self) -> str | None:
        """None, or why the server is not ready: with NOSPACE everything can be read, and what is deleted makes room."""
        return "etcd has raised the alarm CORRUPT" if "CORRUPT" in self._raised else None

    def note(self) -> str:
        """The alarms, for ``/readyz?verbose``; empty if there are none."""
        return f"alarm {', '.join(self._raised)}" if self._raised else ""

    def start(self) -> None:
        """Begin to ask."""
        self._stopped = False
        self.soon()

    def soon(self) -> None:
        """Ask now, since something was refused."""
        if not self._stopped and self._asking is None:
            self._cancel()
            asking = Deferred.fromCoroutine(self._once())
            self._asking = None if asking.called else asking

    def stop(self) -> None:
        """Ask no more."""
        self._stopped = True
        self._cancel()
        if self._asking is not None:
            self._asking.addErrback(lambda _: None)
            self._asking.cancel()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _once(self) -> None:
        with contextlib.suppress(Unavailable):  # that etcd does not answer is told elsewhere
            self._tell(alarms_of((await self._ask()).errors))
        self._asking = None
        if not self._stopped:
            self._timer = self._clock.callLater(SECONDS, self._next)

    def _next(self) -> None:
        self._timer = None
        self.soon()

    def _tell(self, raised: list[str]) -> None:
        known, self._raised = self._raised, raised
        for name in [each for each in raised if each not in known]:
            meaning: Any = MEANING.get(name, "see the log of etcd")
            self._log.error("etcd has raised the alarm {name}: {meaning}", name=name, meaning=meaning)
        for name in [each for each in known if each not in raised]:
            self._log.info("etcd has disarmed the alarm {name}", name=name)
