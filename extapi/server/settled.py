"""Files that are followed: who asked is called once they have changed and are at rest again.

Asks for the state of the files now and then: that works on every file system, a ConfigMap's volume included.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import LoopingCall
from twisted.python.failure import Failure

State = TypeVar("State")


class SettledFiles(Generic[State]):
    """Looks at files, and calls when their state is another than the one that is known, and the same in two looks.

    Args:
        look: The state of the files now; compared by ``==``.
        changed: Does something about a new state. There is no other look before it has ended.
        failed: Is told what ``changed`` raised, unless that was cancelled.
        clock: The reactor.
    """

    def __init__(
        self,
        look: Callable[[], State],
        changed: Callable[[State], Coroutine[Any, Any, None]],
        failed: Callable[[Failure], None],
        clock: Any,
    ) -> None:
        self.known: State | None = None
        """The state about which nothing is to be done; whoever has done something about one sets it."""
        self.seen: State | None = None
        """The state at the last look that found a new one."""
        self._look_at_files = look
        self._changed = changed
        self._failed = failed
        self._looking = LoopingCall(self._look)
        self._looking.clock = clock
        self._running: Deferred[None] | None = None

    def start(self, interval: float) -> None:
        """Look every ``interval`` seconds, first after one."""
        self._looking.start(interval, now=False)

    def stop(self) -> None:
        """Look no more, and cancel what is being done."""
        if self._looking.running:
            self._looking.stop()
        if self._running is not None:
            self._running.cancel()

    def _look(self) -> Deferred[None] | None:
        """One look; a Deferred while something is done."""
        found = self._look_at_files()
        if found == self.known:
            self.seen = found
            return None
        if found != self.seen:  # somebody may be about to write the rest
            self.seen = found
            return None
        self._running = Deferred.fromCoroutine(self._changed(found))
        return self._running.addErrback(self._tell)

    def _tell(self, failure: Failure) -> None:
        if not isinstance(failure.value, CancelledError):
            self._failed(failure)
