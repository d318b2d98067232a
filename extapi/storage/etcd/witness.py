"""By what a process recognizes the history that it has seen, when it meets etcd on a new connection.

An etcd that was restored is a new process, so that whoever was connected has to connect again. If others have written meanwhile,
its revision may be past all that this process knows. But what it had at a revision that this process has seen is something else.
"""

from __future__ import annotations

from collections.abc import Sequence

from extapi.storage.etcd import wire
from extapi.storage.etcd.call import RpcError
from extapi.storage.etcd.channel import OUT_OF_RANGE, Ask
from extapi.storage.etcd.numbering import Numbering


class Witness:
    """The last changes that this process has been given, in etcd's own keys and revisions. Pure."""

    def __init__(self) -> None:
        self.at = 0
        """No later change was given up to this revision; 0: none is known."""
        self._there: tuple[bytes, int] | None = None
        """The last key that was written and is still there, and the revision that wrote it."""
        self._gone: bytes | None = None
        """The last key that was deleted and is still gone."""

    def read(self, entries: Sequence[wire.Entry], at: int) -> None:
        """Keys were read, as they were at a revision; not all that there are."""
        if at > self.at:
            self.at, self._there, self._gone = at, None, None
        if at == self.at and entries:
            last = max(entries, key=lambda entry: entry.revision)
            if self._there is None or self._there[1] < last.revision:
                self._there = (last.key, last.revision)

    def change(self, key: bytes, revision: int, *, deleted: bool) -> None:
        """The next change was given, by one of several who get all of them."""
        if revision < self.at:
            return
        self.at = revision
        if deleted:
            self._gone = key
            if self._there is not None and self._there[0] == key:
                self._there = None
        else:
            self._there = (key, revision)
            if self._gone == key:
                self._gone = None

    def pass_to(self, at: int) -> None:
        """Everything up to a revision was given."""
        self.at = max(self.at, at)

    def forget(self) -> None:
        """Begin anew: what was seen means nothing now."""
        self.at, self._there, self._gone = 0, None, None

    def expected(self) -> list[tuple[bytes, int]]:
        """Keys and the revisions that must have written them, as of :attr:`at`; 0: the key must not be there."""
        found = [] if self._there is None else [self._there]
        return found if self._gone is None else [*found, (self._gone, 0)]


async def recognize(witness: Witness, numbers: Numbering, ask: Ask) -> None:
    """Compare what etcd had with what was seen; if it is something else, ``numbers`` are told, and refuse to go on.

    What was compacted meanwhile cannot be compared. Nor need it be: caches start over then.

    Args:
        witness: What was seen.
        numbers: Those of this process.
        ask: Makes calls on the new connection.

    Raises:
        Lost: The connection broke off.
    """
    at = witness.at
    for key, expected in witness.expected():
        try:
            answer = wire.read(wire.range_answer, await ask(wire.RANGE, wire.range_request(key, at=at)))
        except RpcError as error:
            if error.code == OUT_OF_RANGE and "future" in str(error):
                numbers.replaced(at, reached=False)
            return
        if (answer.entries[0].revision if answer.entries else 0) != expected and witness.at == at:
            numbers.replaced(at, reached=True)
            return
