"""A clock for servers in memory whose store is a file: time passes as a test says, and the disk has no say in it."""

from __future__ import annotations

import select
from typing import Any

from twisted.internet.task import Clock


class DiskClock(Clock):
    """A clock that waits for the disk of a store at each step."""

    def __init__(self) -> None:
        super().__init__()
        self.advance(1_700_000_000)
        self._readers: list[Any] = []

    def addReader(self, reader: Any) -> None:  # noqa: N802 - of IReactorFDSet
        """See IReactorFDSet."""
        self._readers.append(reader)

    def removeReader(self, reader: Any) -> None:  # noqa: N802 - of IReactorFDSet
        """See IReactorFDSet."""
        self._readers.remove(reader)

    def advance(self, amount: float) -> None:
        """Also let what the disk has done return."""
        super().advance(amount)
        for reader in tuple(getattr(self, "_readers", ())):
            while reader in self._readers and reader.busy:
                assert select.select([reader.fileno()], [], [], 10)[0], "the disk does not answer"
                reader.doRead()
