"""The store's revisions: etcd's and the offset of the mark, which never go back. Pure: knows answers of etcd, and no calls.

A process that has seen a revision refuses to go on with an etcd that has not: it was restored from an older snapshot, and would
give numbers again that clients know. A greater offset, raised by ``extapi storage bump`` or ``copy``, begins a new numbering:
whoever notices it goes on with it, and forgets the past, whose numbers mean something else now.
"""

from __future__ import annotations

from twisted.logger import Logger

from extapi.storage.base import Unavailable
from extapi.storage.etcd.mark import Mark

_ADVICE = (
    "raise the offset with 'extapi storage bump etcd:' and the flags of this server; or restore with etcdutl snapshot restore "
    "--bump-revision 1000000000 --mark-compacted, and restart the servers"
)


class WentBack(Unavailable):
    """etcd does not know what this process has seen there."""


class Numbering:
    """How one process numbers revisions, and what it has seen."""

    _log = Logger()

    def __init__(self) -> None:
        self.mark: Mark | None = None
        """As it was last read; None: not yet."""
        self.oldest = 0
        """The greatest revision of the store that was seen to be compacted; 0: the mark has not been read."""
        self.highest = 0
        """The greatest revision of the store that was seen at all."""
        self.refusal = ""
        """Why this process does not go on; empty: it does."""

    @property
    def offset(self) -> int:
        """What is added to etcd's revisions."""
        return self.mark.offset if self.mark else 0

    def compacted(self, revision: int) -> int:
        """Etcd's ``revision`` is the oldest that can be read; the store's oldest as it is known now."""
        self.oldest = max(self.oldest, revision + self.offset)
        return self.oldest

    def seen(self, revision: int) -> None:
        """A revision of the store has been seen."""
        self.highest = max(self.highest, revision)

    def check(self) -> None:
        """Check that this process goes on.

        Raises:
            WentBack: It does not.
        """
        if self.refusal:
            raise WentBack(self.refusal)

    def answered(self, revision: int, since: int) -> None:
        """Etcd has answered a linearizable call.

        Args:
            revision: etcd's.
            since: :attr:`highest` when the call began.

        Raises:
            WentBack: It was at a greater one when the call began.
        """
        number = revision + self.offset
        if number < since:
            self._refuse(f"etcd is at revision {number} of the store, and was at {since}: an older state was restored")
        self.seen(number)

    def took(self, mark: Mark, revision: int, since: int) -> bool:
        """The mark has been read.

        Args:
            mark: What it says.
            revision: etcd's, when it was read.
            since: See :meth:`answered`.

        Returns:
            Whether it begins a new numbering.

        Raises:
            WentBack: See :meth:`answered`.
        """
        known = self.mark
        renumbered = known is not None and mark.offset != known.offset
        number = revision + mark.offset
        if number < since:
            self._refuse(f"etcd is at revision {number} of the store, and was at {since}: an older state was restored")
        if not renumbered:
            self.check()
        elif self.refusal:
            self._log.info("etcd's revisions go on above those that were seen: going on")
            self.refusal = ""
        self.mark = mark
        # A smaller offset is that of an older state, whose revisions were raised by other means: nothing before means anything.
        self.oldest = max(self.oldest, number if known and mark.offset < known.offset else mark.compacted + mark.offset)
        self.seen(number)
        return renumbered

    def replaced(self, revision: int, *, reached: bool) -> None:
        """What etcd had at a revision of its own is not what was seen there, or it has not ``reached`` it yet."""
        if not self.refusal:
            how = "had something else at" if reached else "has not reached"
            number = revision + self.offset
            self._note(f"etcd {how} revision {number} of the store, which was seen: an older state was restored")

    def lost(self) -> None:
        """The mark is gone.

        Raises:
            WentBack: It was there before.
        """
        if self.mark is not None:
            self._refuse("etcd no longer has the store's mark: what is below --etcd-prefix was deleted or replaced")

    def _refuse(self, why: str) -> None:
        if not self.refusal:
            self._note(why)
        self.check()

    def _note(self, why: str) -> None:
        self.refusal = f"{why}; {_ADVICE}"
        self._log.error("not going on: {refusal}", refusal=self.refusal)
