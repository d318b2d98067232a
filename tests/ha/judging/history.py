"""What a run of the checker records: what clients sent and were told, and what etcd's log has. Pure data.

Times are seconds since the run began, of one monotonic clock. Revisions are those of etcd, which are resourceVersions here.
The content of an object is flat: what its annotations say, and its label ``half``. Each write has an id of its own, which is
the annotation ``op`` of what it wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Content = Mapping[str, str]
Verb = Literal["create", "update", "patch", "delete"]
Result = Literal["acknowledged", "uncertain", "refused"]


class Version(Struct, frozen=True):
    """One change in the log; ``content`` is None where the object was deleted."""

    revision: int
    key: str
    content: Content | None


class Write(Struct, frozen=True):
    """One write of a client.

    ``expected``: the revision that it named (update, delete), 0 for a create, -1 for a patch, which names none. ``sent``: the
    whole content (create, update), what is merged into it (patch), nothing (delete). ``revision``: what the answer said; 0
    where it said none, as the answer to a delete. ``status``: that of HTTP, 0 if there was no answer.
    """

    id: str
    verb: Verb
    key: str
    start: float
    end: float
    result: Result
    expected: int
    sent: Content
    revision: int = 0
    status: int = 0


class Get(Struct, frozen=True):
    """One object as it was read; revision 0: there was none. A read with resourceVersion=0 is not ``consistent``."""

    key: str
    start: float
    end: float
    consistent: bool
    revision: int
    content: Content | None


class Item(Struct, frozen=True):
    """One object in a list."""

    key: str
    revision: int
    content: Content


class Listed(Struct, frozen=True, tag=True):
    """A list, of the objects of one half if ``half`` is not empty; ``pages``: the revision of each page."""

    start: float
    end: float
    consistent: bool
    pages: tuple[int, ...]
    items: tuple[Item, ...]
    half: str = ""

    @property
    def revision(self) -> int:
        """That of the first page."""
        return self.pages[0]


class Opened(Struct, frozen=True, tag=True):
    """A watch was asked for, from a revision on."""

    time: float
    revision: int


class Event(Struct, frozen=True, tag=True):
    """An event came."""

    time: float
    kind: str
    key: str
    revision: int
    content: Content


class Bookmark(Struct, frozen=True, tag=True):
    """The server said that it has sent everything up to a revision."""

    time: float
    revision: int


class Ended(Struct, frozen=True, tag=True):
    """The watch ended: ``why`` is empty if the server's time for it was over."""

    time: float
    why: str


class Gone(Struct, frozen=True, tag=True):
    """The server answered 410: the watcher has to list."""

    time: float


Entry = Listed | Opened | Event | Bookmark | Ended | Gone


class Watch(Struct):
    """What one watcher saw, of the objects of one half if ``half`` is not empty."""

    name: str
    half: str
    entries: list[Entry]


class History(Struct):
    """All of it; ``ends``: the log is complete up to this revision, and watchers were given time to see it."""

    ends: int
    log: list[Version]
    writes: list[Write]
    gets: list[Get]
    lists: list[Listed]
    watches: list[Watch]
