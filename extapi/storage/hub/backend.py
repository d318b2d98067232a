"""A worker's side: a store that reads the file itself, as far as it has been told, and writes through the hub."""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.clock import stop_timer
from extapi.storage.base import (
    Compacted,
    Future,
    KeyValue,
    Overloaded,
    Page,
    RevisionConflict,
    TooLarge,
    Unavailable,
    Uncertain,
)
from extapi.storage.file import check_readable
from extapi.storage.group import WAITING, WAITING_BYTES
from extapi.storage.hub.channel import HubChannel
from extapi.storage.hub.messages import (
    LARGEST_VALUE,
    Ahead,
    Changes,
    Commit,
    Compact,
    Hello,
    HubAnswer,
    HubConflict,
    HubRefused,
    Refusing,
    Request,
    frame,
    read_message,
)
from extapi.storage.hub.shared import SharedRevisions
from extapi.storage.keys import check_write
from extapi.storage.probe import REFUSES
from extapi.storage.records import Reader
from extapi.storage.tail import LogReader, Past, Tails

T = TypeVar("T")

PATIENCE = 3.0
"""Seconds that a read waits for what others have been told already."""
_BUSY = 0.5
"""Seconds that a read waits for a new hub, which mends the file after the one before has died."""
_AWAY = "the process that writes the store is away"
_CLOSED = "the store is closed"


class HubBackend:
    """A :class:`~extapi.storage.base.Backend` and :class:`~extapi.storage.base.Engine` in a process beside the hub.

    While the hub is away, reads of a known revision go on, those of the current one wait, writes are
    :class:`~extapi.storage.base.Unavailable`, and the process is not ready.
    Writes that it has not answered are :class:`~extapi.storage.base.Uncertain`.

    Args:
        reactor: An ``IReactorFDSet`` with a clock.
        path: The file.
        shared: What the hub writes.
        ask: Asks for a connection to the hub; :meth:`attach` gets it. Called at the start, and when a connection has ended.
    """

    name = "storage-hub"
    _log = Logger()

    def __init__(
        self, reactor: Any, path: str | os.PathLike[str], shared: SharedRevisions, ask: Callable[[], None]
    ) -> None:
        self._reactor = reactor
        self._path = Path(os.path.realpath(path))
        self._shared = shared
        self._ask = ask
        self._tails = Tails(self)
        self._channel: HubChannel | None = None
        self._reader: Reader | None = None
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        self._told = 0
        """Tails have been given everything up to this revision, and nothing after it."""
        self._greeted = False
        """Whether the hub at the other end has said where its stream begins."""
        self._refusing = False
        """Whether it has said that the store refuses writes."""
        self._opening: list[Deferred[None]] = []
        self._waiting: list[tuple[int, Deferred[None]]] = []
        self._number = 0
        self._asked: dict[int, tuple[Deferred[int], int]] = {}
        self._asked_bytes = 0
        self._idle: list[Deferred[None]] = []
        self._closing = False
        self._closed = False
        ask()

    # -- the hub

    def attach(self, sock: socket.socket) -> None:
        """A connection to the hub, instead of any other."""
        if self._closed:
            sock.close()
            return
        if self._channel is not None:
            self._channel.close()
            self._broken()
        self._channel = HubChannel(self._reactor, sock, received=self._received, lost=self._lost)

    async def open(self) -> None:
        """See :meth:`extapi.storage.base.Engine.open`: wait for the hub."""
        if self._reader is None and not self._closed:
            waiting: Deferred[None] = Deferred(self._opening.remove)
            self._opening.append(waiting)
            await waiting

    def check(self) -> str | None:
        """See :meth:`extapi.storage.base.Engine.check`."""
        if not self._greeted:
            return _AWAY
        return REFUSES if self._refusing else None

    def _received(self, body: bytes) -> None:
        message = read_message(body)
        if isinstance(message, Changes):
            self._told = message.progress
            self._tails.publish(message.changes, message.progress)
            self._wake()
            return
        if isinstance(message, Hello):
            self._hello(message.current)
            return
        if isinstance(message, Refusing):
            self._refusing = message.refuses
            return
        done, size = self._asked.pop(message.number)
        self._asked_bytes -= size
        match message:
            case HubAnswer(result=result):
                done.callback(result)
            case HubConflict(live=live):
                done.errback(RevisionConflict(live))
            case Ahead(current=current):
                done.errback(Future(current))
            case HubRefused(why=why, overloaded=overloaded):
                done.errback((Overloaded if overloaded else Unavailable)(why))
        self._note_idle()

    def _hello(self, current: int) -> None:
        """The hub is there, with the file: tails begin after ``current``."""
        try:
            found = self._path.stat()
            if self._connection is None or self._identity != (found.st_dev, found.st_ino):
                self._open_file()
                self._identity = found.st_dev, found.st_ino
        except (OSError, sqlite3.Error) as error:
            self._log.error("{path}: cannot be read: {error}", path=self._path, error=error)
            return
        self._told = current
        self._greeted = True
        self._wake()
        opening, self._opening = self._opening, []
        for waiting in opening:
            waiting.callback(None)

    def _open_file(self) -> None:
        uri = f"file:{quote(str(self._path))}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY, isolation_level=None)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            check_readable(connection, self._path)
        except BaseException:
            connection.close()
            raise
        if self._connection is not None:
            self._connection.close()
        self._connection, self._reader = connection, Reader(connection)

    def _lost(self) -> None:
        self._channel = None
        self._broken()
        if not self._closing:
            self._log.warn("the process that writes the store is away; writes are refused until it is there again")
            self._ask()

    def _broken(self) -> None:
        """Nothing more comes on the stream: whoever follows it has to begin anew, from the file."""
        self._greeted = self._refusing = False
        asked, self._asked = self._asked, {}
        self._asked_bytes = 0
        waiting, self._waiting = self._waiting, []
        for done, _ in asked.values():
            done.errback(Uncertain(f"{_AWAY}; it has not said whether it was written"))
        for _, reached in waiting:
            reached.errback(Unavailable(_AWAY))
        self._tails.end(Unavailable(_AWAY))
        self._note_idle()

    def _note_idle(self) -> None:
        if not self._asked:
            idle, self._idle = self._idle, []
            for done in idle:
                done.callback(None)

    # -- reading

    def _wake(self) -> None:
        if self._waiting:
            told = self._told
            reached = [done for revision, done in self._waiting if revision <= told]
            self._waiting = [each for each in self._waiting if each[0] > told]
            for done in reached:
                done.callback(None)

    async def revision(self) -> int:
        """See :meth:`extapi.storage.base.Backend.revision`. Asks nobody; waits for what is on its way here.

        Also for a hub that is away: what it has written and not told may be in the file, and a client that was told that its
        write is uncertain reads to find out.
        """
        if self._closing:
            raise Unavailable(_CLOSED)
        if self._reader is None:
            await self.open()
        if not self._greeted:
            await self._returned()
        current = self._shared.current
        if current > self._told:
            await self._reached(current)
        if self._closing:
            raise Unavailable(_CLOSED)
        return self._told

    async def _returned(self) -> None:
        """Wait for the hub, within a bound.

        Raises:
            Unavailable: It stays away, or the store is closed.
        """
        waiting: Deferred[None] = Deferred(self._opening.remove)
        self._opening.append(waiting)
        late = self._reactor.callLater(PATIENCE, waiting.errback, Unavailable(_AWAY))
        try:
            await waiting
        finally:
            if waiting in self._opening:
                self._opening.remove(waiting)
            stop_timer(late)

    async def _reached(self, revision: int) -> None:
        if self._channel is None:
            raise Unavailable(_AWAY)
        done: Deferred[None] = Deferred()
        entry = (revision, done)
        self._waiting.append(entry)
        late = self._reactor.callLater(PATIENCE, done.errback, Unavailable(_AWAY))
        try:
            await done
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
            stop_timer(late)

    def _read(self, at: int, read: Callable[[Reader], T]) -> T:
        """Read as of a revision.

        Raises:
            Compacted: It is older than the oldest that is kept, at the end of the reading: rows may be gone.
            Unavailable: The file cannot be read now.
        """
        if self._reader is None or self._closing:
            raise Unavailable(_CLOSED)
        try:
            found = read(self._reader)
        except sqlite3.Error as error:
            raise Unavailable(str(error)) from error
        oldest = self._shared.oldest
        if at < oldest:
            raise Compacted(oldest)
        return found

    async def get(self, key: bytes) -> KeyValue | None:
        """See :meth:`extapi.storage.base.Backend.get`."""
        while True:
            at = await self.revision()
            try:
                return self._read(at, partial(Reader.get, key=key, at=at))
            except Compacted:
                continue  # even the current one, as others have gone on meanwhile

    async def page(self, prefix: bytes, *, at: int | None, after: bytes, limit: int) -> Page:
        """See :meth:`extapi.storage.base.Backend.page`."""
        while True:
            known = at is not None and at <= self._told and not self._closing
            current = self._told if known else await self.revision()
            revision = current if at is None else at
            if revision > current:
                raise Future(current)
            try:
                return self._read(revision, partial(Reader.page, prefix=prefix, at=revision, after=after, limit=limit))
            except Compacted:
                if at is not None:
                    raise

    async def oldest(self) -> int:
        """See :meth:`extapi.storage.base.Backend.oldest`."""
        await self.revision()
        return self._shared.oldest

    # -- the log

    def tail(self, after: int) -> LogReader:
        """See :meth:`extapi.storage.base.Backend.tail`."""
        return self._tails.tail(after)

    def past(self, after: int) -> Past:
        """See :class:`extapi.storage.tail.Log`."""
        if not self._greeted or self._closing:
            raise Unavailable(_CLOSED if self._closing else _AWAY)
        if after > self._told:
            raise Future(self._told)
        return self._read(after, lambda reader: reader.past(after, self._told))

    async def progress(self) -> None:
        """See :meth:`extapi.storage.base.Backend.progress`."""
        await self.revision()
        self._tails.publish([], self._told)

    # -- writing

    async def commit(self, key: bytes, value: bytes | None, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.commit`; if the caller is cancelled, the write may still happen."""
        check_write(key, value, expected)
        size = len(key) + len(value or b"")
        if size > LARGEST_VALUE:
            raise TooLarge(f"the value has {size} bytes; the store takes {LARGEST_VALUE}")
        if self._asked_bytes > WAITING_BYTES or len(self._asked) >= WAITING:
            raise Overloaded("too many writes are waiting for the disk")
        return await self._call(lambda number: Commit(number, key, value, expected), size)

    async def compact(self, revision: int, *, expected: int) -> int:
        """See :meth:`extapi.storage.base.Backend.compact`."""
        return await self._call(lambda number: Compact(number, revision, expected), 0)

    async def _call(self, request: Callable[[int], Request], size: int) -> int:
        if self._closing:
            raise Unavailable(_CLOSED)
        if self._reader is None:
            await self.open()
        if self._channel is None or not self._greeted:
            raise Unavailable(_AWAY)
        self._number = number = self._number + 1
        done: Deferred[int] = Deferred()
        self._asked[number] = done, size
        self._asked_bytes += size
        self._channel.send(frame(request(number)))
        return await done

    async def close(self) -> None:
        """See :meth:`extapi.storage.base.Backend.close`."""
        if self._closed:
            return
        self._closing = True
        if self._asked:
            idle: Deferred[None] = Deferred()
            self._idle.append(idle)
            await idle
        self._closed = True
        self._tails.end()
        opening, self._opening = self._opening, []
        for waiting in opening:
            waiting.errback(Unavailable(_CLOSED))
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._connection is not None:
            self._connection.close()
            self._connection = self._reader = None
