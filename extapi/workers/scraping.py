"""``/metrics`` of a server of several processes: the one that is asked asks the others, and shows the sums."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from twisted.internet.defer import Deferred

from extapi.clock import stop_timer
from extapi.server.exposition import Family
from extapi.storage.hub.channel import HubChannel
from extapi.storage.hub.messages import framed
from extapi.workers import totals

PATIENCE: Final = 2.0
"""Seconds that others have for their answers. What has not come by then is left out."""

Ask = Callable[[int, socket.socket], None]
"""Has another process answer at the other end of this socket."""


def answer(reactor: Any, sock: socket.socket, families: Iterable[Family]) -> None:
    """Tell another process what the metrics of this one say."""
    channel = HubChannel(reactor, sock, received=lambda _: None, lost=lambda: None)
    channel.send(framed(totals.write(families)))
    channel.close()


async def gather(reactor: Any, own: list[Family], others: Iterable[int], ask: Ask) -> list[Family]:
    """The families of this process and of others, as one."""
    answers: list[list[Family]] = []
    waiting: set[int] = set()
    channels: list[HubChannel] = []
    done: Deferred[None] = Deferred()

    def ended(number: int) -> None:
        waiting.discard(number)
        if not waiting and not done.called:
            done.callback(None)

    for number in others:
        here, there = socket.socketpair()
        waiting.add(number)
        channels.append(_Asked(reactor, here, number, answers, ended).channel)
        ask(number, there)
    late = reactor.callLater(PATIENCE, done.callback, None)
    try:
        if waiting:
            await done
    finally:
        stop_timer(late)
        for channel in channels:
            channel.close()
    return totals.total([own, *answers])


class _Asked:
    """One process that was asked."""

    def __init__(
        self,
        reactor: Any,
        sock: socket.socket,
        number: int,
        answers: list[list[Family]],
        ended: Callable[[int], None],
    ) -> None:
        self._answers = answers
        self._number = number
        self._ended = ended
        self.channel = HubChannel(reactor, sock, received=self._received, lost=self._lost)

    def _received(self, body: bytes) -> None:
        with contextlib.suppress(msgspec.MsgspecError):  # as if it had not answered
            self._answers.append(totals.read(body))
        self._ended(self._number)

    def _lost(self) -> None:
        self._ended(self._number)
