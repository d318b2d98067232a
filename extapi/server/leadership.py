"""Whether this process leads: what authors ask, and what runs only where it is so.

Must not know how a leader is elected.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred


class Leadership:
    """Whether this process leads the processes that serve the same API.

    Where nothing is elected, as in a single process, it always leads. A process that was paused may learn late that it leads no
    more, so this never replaces a comparison of resourceVersions.
    """

    def __init__(self, *, leads: bool = True) -> None:
        self._leads = leads
        self._waiting: list[Deferred[None]] = []

    @property
    def is_leading(self) -> bool:
        """Whether this process leads now."""
        return self._leads

    async def wait(self) -> None:
        """Return when this process leads; at once if it does."""
        await self._until(leads=True)

    async def wait_lost(self) -> None:
        """Return when this process does not lead; at once if it does not."""
        await self._until(leads=False)

    def change(self, *, leads: bool) -> None:
        """Note that a term begins or ends. For the server, not for authors."""
        self._leads = leads
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(None)

    async def _until(self, *, leads: bool) -> None:
        # Those who were woken before may have waited so long that the next term has begun.
        while self._leads is not leads:
            changed: Deferred[None] = Deferred(self._forget)
            self._waiting.append(changed)
            await changed

    def _forget(self, cancelled: Deferred[None]) -> None:
        if cancelled in self._waiting:
            self._waiting.remove(cancelled)
