"""The hub: the process's side that owns the file. Does what workers ask for, and tells all of them what was committed."""

from __future__ import annotations

import os
import socket
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from extapi.storage.base import Future, LogEvent, Overloaded, RevisionConflict, Unavailable
from extapi.storage.file import UnusableFile
from extapi.storage.hub.channel import HubChannel
from extapi.storage.hub.messages import (
    Ahead,
    Commit,
    Hello,
    HubAnswer,
    HubConflict,
    HubRefused,
    Message,
    Refusing,
    Request,
    frame,
    parts,
    read_request,
)
from extapi.storage.hub.shared import SharedRevisions
from extapi.storage.probe import ProbedBackend
from extapi.storage.sqlite import SqliteBackend


class Hub:
    """Serves one store to workers.

    Args:
        reactor: An ``IReactorFDSet``.
        path: The file.
        shared: What workers read instead of asking. If it has a revision, that is of an earlier hub.

    Raises:
        UnusableFile: The file cannot be used as a store, or is not the one that workers have been reading.
    """

    _log = Logger()

    def __init__(self, reactor: Any, path: str | os.PathLike[str], shared: SharedRevisions) -> None:
        self._reactor = reactor
        self._shared = shared
        self._workers: list[_Worker] = []
        self._path = path
        self._told = 0
        self.refusing = False
        """Whether the store refuses writes, which all workers are told, as each is asked for the whole server's readiness."""
        store = SqliteBackend(reactor, path, observer=self._published)
        self._store = ProbedBackend(store, reactor, judged=self._judged)
        shared.tell(self._told, self._oldest)

    def attach(self, sock: socket.socket) -> None:
        """Serve a worker at the other end of a connected Unix socket."""
        self._workers.append(_Worker(self, self._reactor, sock, self._store))

    @property
    def current(self) -> int:
        """The revision that workers have been told of."""
        return self._told

    def _judged(self, refusing: bool) -> None:
        self.refusing = refusing
        for worker in tuple(self._workers):
            worker.channel.send(frame(Refusing(refusing)))

    def ended(self, worker: _Worker) -> None:
        """A worker's connection has ended. What it asked for is done all the same."""
        if worker in self._workers:
            self._workers.remove(worker)

    def _published(self, changes: list[LogEvent], current: int, oldest: int) -> None:
        """Something is on the disk, and no writer has been answered yet.

        Who asks after an answer finds its revision in shared memory; a worker that finds one which it has not been told of
        waits for its stream.
        """
        begins = not self._told
        if begins and current < (before := self._shared.current):
            raise UnusableFile(
                f"{self._path}: is at revision {current}, but was at {before}: it was replaced while it was in use; "
                "restart the server"
            )
        self._oldest = oldest
        if not begins:
            self._shared.tell(current, oldest)
        if current == self._told:
            return
        self._told = current
        if not self._workers:
            return
        for part in parts(changes, current):
            data = frame(part)
            for worker in tuple(self._workers):
                worker.channel.send(data)

    async def close(self) -> None:
        """Finish what was asked for, and let go of the file."""
        await self._store.close()
        for worker in tuple(self._workers):
            worker.channel.close()


class _Worker:
    """The connection of one worker."""

    def __init__(self, hub: Hub, reactor: Any, sock: socket.socket, store: ProbedBackend) -> None:
        self._store = store
        self.channel = HubChannel(reactor, sock, received=self._received, lost=lambda: hub.ended(self))
        self.channel.send(frame(Hello(hub.current)))
        if hub.refusing:
            self.channel.send(frame(Refusing(True)))

    def _received(self, body: bytes) -> None:
        Deferred.fromCoroutine(self._do(read_request(body)))

    async def _do(self, request: Request) -> None:
        answer: Message
        try:
            if isinstance(request, Commit):
                result = await self._store.commit(request.key, request.value, expected=request.expected)
            else:
                result = await self._store.compact(request.revision, expected=request.expected)
            answer = HubAnswer(request.number, result)
        except RevisionConflict as conflict:
            answer = HubConflict(request.number, conflict.live)
        except Future as future:
            answer = Ahead(request.number, future.current)
        except Unavailable as error:
            answer = HubRefused(request.number, str(error), isinstance(error, Overloaded))
        if self.channel.connected:
            self.channel.send(frame(answer))
